"""Pairs of columns before and after, against tables that are counted in another way."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.pipeline.pair_changes import MOST_COLUMNS, MOST_VALUES, pair_changes

Row = tuple[str | None, str | None]
ROWS = st.lists(
    st.tuples(st.none() | st.sampled_from("abc"), st.none() | st.sampled_from("xyz")), min_size=1, max_size=30
)


def drawn(*names: str, role: str = "quasi_identifier") -> list[dict[str, str]]:
    """Columns of a report whose cells are drawn from a model."""
    return [{"name": name, "role": role, "action": "synthesized"} for name in names]


def table(rows: list[Row]) -> pa.Table:
    """Two columns of text."""
    one, other = zip(*rows, strict=True)
    return pa.table({"one": pa.array(one, pa.string()), "other": pa.array(other, pa.string())})


def dependence(rows: list[Row]) -> Fraction:
    """Half the sum of what each cell's share differs by from the product of its margins."""
    joint, one, other = Counter(rows), Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    n = len(rows)
    return (
        sum(
            (abs(Fraction(joint[a, b], n) - Fraction(one[a] * other[b], n * n)) for a, b in product(one, other)),
            Fraction(),
        )
        / 2
    )


@given(before=ROWS, after=ROWS)
def test_distance_and_dependence_are_those_of_exact_tables(before: list[Row], after: list[Row]) -> None:
    """Missing is a value; values that only the release has are one more, those of the source each by itself."""
    found = pair_changes(table(before), table(after), drawn("one", "other"))

    assert found is not None
    (pair,) = found["pairs"]
    known = [{row[at] for row in before} for at in (0, 1)]
    told = [tuple(v if v is None or v in known[at] else "other" for at, v in enumerate(row)) for row in after]
    first, second = Counter(before), Counter(told)
    expected = (
        sum(
            abs(Fraction(first[row], len(before)) - Fraction(second[row], len(after)))  # type: ignore[index]
            for row in {*first, *second}
        )
        / 2
    )
    assert pair["distance"] == pytest.approx(float(expected), abs=1e-4)
    assert pair["dependence"]["before"] == pytest.approx(float(dependence(before)), abs=1e-4)
    assert pair["dependence"]["after"] == pytest.approx(float(dependence(told)), abs=1e-4)  # type: ignore[arg-type]


def test_what_two_samples_of_one_table_differ_by_is_told() -> None:
    """The figure by chance is that of tables which were drawn from one distribution."""
    random = np.random.default_rng(1)
    sides = [pa.table({name: random.integers(0, 60, 4_000) / 10 for name in "abcdefgh"}) for _ in range(2)]
    found = pair_changes(*sides, drawn(*"abcdefgh"))

    assert found is not None
    assert found["by_chance"] == pytest.approx(found["mean_distance"], rel=0.15)


def test_numbers_stand_in_ranges_and_a_cell_without_one_apart() -> None:
    """A number that the release moves within its range changes nothing; one that is missing does."""
    source = pa.table({"age": [21, 22, 35, 36, None], "sum": ["1", "2", "30", "40", "none"]})
    near = pa.table({"age": [21.6, 22.4, 35.5, 36.2, float("nan")], "sum": [1.0, 2.0, 30.0, 40.0, None]})
    found = pair_changes(source, near, drawn("age", "sum"))
    assert found is not None
    assert found["mean_distance"] == 0
    binned = pa.table({"age": [25.0, 25.0, 37.5, 37.5, None], "sum": [20.0, 20.0, 20.0, 20.0, None]})
    few = pair_changes(source, binned, drawn("age", "sum"))
    assert few is not None
    assert few["mean_distance"] == 0, "a released number stands for the range around it"
    gone = near.set_column(0, "age", pa.array([None] * 5, pa.float64()))
    assert (pair_changes(source, gone, drawn("age", "sum")) or {})["mean_distance"] == pytest.approx(0.8)


def test_rare_values_are_one_and_a_wide_table_is_cut() -> None:
    """At most so many values and columns are compared."""
    values = [f"v{at:02d}" for at in range(MOST_VALUES + 5)]
    shown = pa.table({"a": values + values[:20], "b": ["x", "y"] * 22 + ["x"]})
    rare = [*values[:20], *([values[-1]] * 5), *values[:20]]
    found = pair_changes(shown, shown.set_column(0, "a", pa.array(rare)), drawn("a", "b"))
    assert found is not None
    assert found["mean_distance"] == 0
    names = [f"c{at}" for at in range(MOST_COLUMNS + 3)]
    wide = pa.table({name: ["x", "y"] for name in names})
    cut = pair_changes(wide, wide, drawn(*names))
    assert cut is not None
    assert (len(cut["columns"]), len(cut["pairs"])) == (MOST_COLUMNS, MOST_COLUMNS * (MOST_COLUMNS - 1) // 2)


@pytest.mark.parametrize(
    "columns",
    [
        drawn("one"),
        [*drawn("one"), {"name": "other", "role": "quasi_identifier", "action": "randomized"}],
        [*drawn("one"), *drawn("other", role="unit")],
        drawn("one", "absent"),
    ],
    ids=["one column", "not drawn", "names people", "not released"],
)
def test_there_is_nothing_to_compare(columns: list[dict[str, Any]]) -> None:
    """Two columns at least are drawn from a model and name nobody."""
    assert pair_changes(table([("a", "x")]), table([("a", "x")]), columns) is None
    assert pair_changes(table([("a", "x")]), table([("a", "x")]).slice(1), drawn("one", "other")) is None
