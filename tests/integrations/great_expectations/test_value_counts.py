"""Diversity from numbers of classes and values, as the recount of the whole table has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks.counted_as import ReadValues
from anonkit.checks.disclosure import measure
from anonkit.integrations.great_expectations.value_counts import (
    ANYBODY,
    HOLDERS,
    PAIR,
    VALUE,
    ValueCounts,
    counted_cells,
    may_count_as_equal,
    numbers_that_count,
)

NUMBERS, TEXTS, PEOPLE = (st.sampled_from(some) for some in ([None, 1, 2, 5], [None, "a", "b"], [None, 1, 2, 3, 4]))
CELLS = st.tuples(st.integers(0, 3), NUMBERS, TEXTS, PEOPLE)


def _lines(rows: pd.DataFrame, sensitive: str, unit: str | None, missing_is_value: bool) -> list[tuple[Any, ...]]:
    """Count as an engine does, by plain loops over sets."""
    ranks = {value: at for at, value in enumerate(sorted(rows[sensitive].dropna().unique()), start=5)}
    cells = [
        (PAIR, klass, ranks.get(value), None if unit is None or pd.isna(who) else who)
        for klass, value, who in zip(rows["q"], rows[sensitive], rows[unit or "q"], strict=True)
    ]
    if unit is None:
        return [(*pair, sum(cell[:3] == pair for cell in cells)) for pair in {cell[:3] for cell in cells}]
    valued = [cell for cell in cells if missing_is_value or cell[2] is not None]
    groups = [
        (cells, lambda cell: (PAIR, cell[1], cell[2])),
        (valued, lambda cell: (HOLDERS, cell[1], None)),
        (valued, lambda cell: (VALUE, None, cell[2])),
    ]
    lines: list[tuple[Any, ...]] = []
    for among, key in groups:
        for group in {key(cell) for cell in among}:
            lines.append((*group, len({cell[3] for cell in among if key(cell) == group} - {None})))
    return [*lines, (ANYBODY, None, None, len({cell[3] for cell in valued} - {None}))]


@settings(max_examples=60)
@given(st.lists(CELLS, min_size=1, max_size=14), st.sampled_from(["n", "s"]), st.booleans(), st.booleans())
def test_cells_and_an_engine_give_the_same(
    cells: list[tuple[Any, ...]], sensitive: str, missing_is_value: bool, of_people: bool
) -> None:
    """For every small table: from pandas' cells, from an engine's numbers, and for rows from the recount."""
    rows = pd.DataFrame(cells, columns=["q", "n", "s", "who"]).astype({"n": "Int64", "s": object, "who": "Int64"})
    unit = "who" if of_people else None
    last = [sorted(found)[-1]] if len(found := rows[sensitive].dropna().tolist()) else []
    by_cells = ValueCounts.of_cells(
        rows["q"].to_numpy(), rows[sensitive], rows["who"] if of_people else None, missing_is_value
    ).diversity(missing_is_value)
    by_engine = ValueCounts.of_engine(_lines(rows, sensitive, unit, missing_is_value), last).diversity(missing_is_value)
    assert by_cells == pytest.approx(by_engine)
    if not of_people:
        own = measure(
            pa.Table.from_pandas(rows, preserve_index=False), ["q"], sensitive=[sensitive],
            missing_is_value=[sensitive] if missing_is_value else [],
        ).sensitive[sensitive]  # fmt: skip
        assert {name: by_cells[name] for name in ("l", "entropy_l", "t")} == pytest.approx(
            {name: own[name] for name in ("l", "entropy_l", "t")}
        )


def test_several_rows_of_one_person_are_one_holder() -> None:
    """Ten rows of one person are no diversity of ten, and rows that are nobody's hold nothing."""
    rows = pd.DataFrame({"s": ["a", "b", "c", "a"], "who": pd.array([1, 1, 1, None], dtype="Int64")})
    counts = ValueCounts.of_cells(np.zeros(4, dtype=np.int64), rows["s"], rows["who"], False)
    assert counts.anybody == 1
    assert counts.diversity(False)["l"] == 1
    alone = ValueCounts.of_cells(np.array([0, 0, 0, 1]), rows["s"], rows["who"], False)
    assert alone.diversity(False)["l"] == 0  # nobody is in the second class


def test_no_rows_have_no_diversity() -> None:
    """Nothing, which fails; not the best of all."""
    assert ValueCounts.of_engine([], []).diversity(True) == {}


# --- what counts as a value ------------------------------------------------------------------------------------------

SPELLED = ["hiv", "HIV", "hiv ", "unknown", None, "flu"]


def test_pandas_cells_are_read_as_values() -> None:
    """Spellings of one text are one, marks are missing, in columns of categories too; numbers stay."""
    for cells in (pd.Series(SPELLED), pd.Series(SPELLED, dtype="category"), pd.Series(SPELLED, dtype="string")):
        read = counted_cells(cells, ReadValues(), "s")
        assert [None if pd.isna(cell) else cell for cell in read] == ["hiv", "hiv", "hiv", None, None, "flu"]
    numbers = pd.Series([1.0, 2.0])
    assert counted_cells(numbers, ReadValues(), "s") is numbers


def test_numbers_of_texts_count_as_those_of_their_spelling() -> None:
    """The first of a spelling represents all; declared categories are values."""
    told = {1: "?", 2: "HIV", 3: "flu", 4: "hiv"}
    assert numbers_that_count(told, ReadValues(), "s") == {1: None, 4: 2}
    assert numbers_that_count(told, ReadValues(categories={"s": ["?"]}), "s") == {4: 2}
    assert numbers_that_count({1: 0.5}, ReadValues(), "s") == {}


@pytest.mark.parametrize(
    ("last", "told"),
    [(["a"], True), ([1], True), ([2.5], True), ([True], False), ([pd.Timestamp(0)], False), ([], False)],
)
def test_texts_and_numbers_are_told(last: list[Any], told: bool) -> None:
    """Nothing else has spellings, or is close."""
    assert may_count_as_equal(last) is told


@pytest.mark.parametrize("of_people", [False, True])
def test_numbers_within_the_width_are_one_value_of_a_batch(of_people: bool) -> None:
    """From pandas' cells and from an engine's numbers; where nobody names a width it is the column's own."""
    rows = pd.DataFrame({"q": [0] * 4, "s": [1.0, 1.5, 9.0, np.nan], "who": pd.array([1, 2, 3, 4], dtype="Int64")})
    unit = "who" if of_people else None
    cells = ValueCounts.of_cells(rows["q"].to_numpy(), rows["s"], rows["who"] if of_people else None, False)
    told = {5: 1.0, 6: 1.5, 7: 9.0}
    engine = ValueCounts.of_engine(_lines(rows, "s", unit, False), [9.0], told)
    for counts in (cells, engine):
        assert counts.diversity(False, ReadValues(widths={"s": 1.0}), "s")["l"] == 2
        assert counts.diversity(False, ReadValues(widths={"s": 0.0}), "s")["l"] == 3
        assert of_people or counts.diversity(True, ReadValues(widths={"s": 1.0}), "s")["l"] == 3
        assert counts.diversity(False)["l"] == 3  # 5 % of 8
    assert not cells.whole
    assert ValueCounts.of_engine(_lines(rows, "s", unit, False), [9], told).whole
