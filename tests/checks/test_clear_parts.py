# SPDX-License-Identifier: Apache-2.0
"""Rows that are alike when target and insensitive columns are known too, against a count by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks import clear_parts as parts_module
from anonkit.checks.clear_parts import ClearParts, KnownBeside, same_width, width_between, width_of
from anonkit.checks.disclosure import measure
from anonkit.checks.people import PeopleCounts
from anonkit.checks.table_scans import opened

NUMBERS = st.sampled_from([0.0, 1.0, 2.5, 3.0, 8.0, None])
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2]), NUMBERS, st.sampled_from(["x", "y", None])),
    max_size=30,
)
Row = tuple[Any, ...]


def table_of(rows: list[Row]) -> pa.Table:
    """A quasi-identifier, an insensitive column, a target and a sensitive column."""
    q, i, t, s = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return pa.table(
        {
            "q": pa.array(q, pa.string()),
            "i": pa.array(i, pa.int64()),
            "t": pa.array(t, pa.float64()),
            "s": pa.array(s, pa.string()),
        }
    )


def found_in(table: pa.Table, **asked: Any) -> ClearParts | None:
    """Count the parts of a table whose classes are those of `q`."""
    return measure(table, ["q"], beside=KnownBeside(**asked)).clear


def by_hand(rows: list[Row], places: tuple[int, ...], k: int, width: float | None) -> dict[str, Any]:
    """Count for every row the rows that are like it, with loops."""

    def alike(one: Row, other: Row) -> bool:
        if any(one[at] != other[at] for at in (0, *places) if at != 2 or width is None):
            return False
        if 2 not in places or width is None:
            return True
        return one[2] == other[2] or (None not in (one[2], other[2]) and abs(one[2] - other[2]) <= width)

    sizes = np.array([sum(alike(one, other) for other in rows) for one in rows], dtype=int)
    n = max(len(rows), 1)
    return {
        "k": int(sizes.min(initial=sizes.max(initial=0))),
        "share_alone": float((sizes == 1).sum() / n),
        "share_below_k": float((sizes < k).sum() / n),
    }


@given(rows=ROWS, k=st.integers(2, 5), is_measured=st.booleans())
def test_the_parts_are_those_of_a_count_by_hand(rows: list[Row], k: int, is_measured: bool) -> None:
    """Equal values of an insensitive column, numbers of the target within the width, the sensitive column besides."""
    with pytest.MonkeyPatch.context() as patch:
        width = 0.5 if is_measured else None
        patch.setattr(parts_module, "width_of", lambda lines, name: width)
        found = found_in(table_of(rows), columns=("i", "t"), sensitive=("s", "t"), target="t", k=k)

    assert found is not None
    assert found.width == width
    assert found.to_dict() == {
        "columns": ["i", "t"],
        **by_hand(rows, (1, 2), k, width),
        "sensitive": {"columns": ["i", "t", "s"], **by_hand(rows, (1, 2, 3), k, width)},
    }


def test_a_target_of_many_numbers_is_counted_within_a_twentieth_of_their_middle() -> None:
    """1,000 salaries: the middle 90 % is 900 wide, its twentieth 45."""
    table = pa.table({"q": ["x"] * 1000, "t": pa.array(range(1000), pa.int64())})
    with opened(table) as lines:
        assert width_of(lines, "t") == 45.0
    found = found_in(table, columns=("t",), target="t", k=50)

    assert found is not None
    assert found.to_dict() == {"columns": ["t"], "k": 46, "share_alone": 0.0, "share_below_k": 0.008}


def test_codes_texts_and_days_are_counted_by_equal_values() -> None:
    """They have no width: twenty numbers are codes, and postcodes are, however many there are."""
    coded = found_in(pa.table({"q": ["x"] * 99, "zip": range(99)}), columns=("zip",), target="zip", k=2)
    assert coded is not None
    assert (coded.width, coded.to_dict()["share_alone"]) == (None, 1.0)
    days = pa.array(np.arange(100).astype("datetime64[D]"))
    for cells in (pa.array([at % 20 for at in range(100)]), pa.array([str(at) for at in range(100)]), days):
        found = found_in(pa.table({"q": ["x"] * 100, "t": cells}), columns=("t",), target="t", k=2)
        assert found is not None
        assert found.width is None


def test_a_sensitive_column_of_many_values_is_not_taken_for_known() -> None:
    """And without any column that may be known nothing is counted."""
    table = pa.table({"q": ["x"] * 30, "s": [str(at) for at in range(30)], "f": ["a", "b"] * 15})
    assert found_in(table, columns=(), sensitive=("s",), k=2) is None
    found = found_in(table, columns=(), sensitive=("s", "f"), k=20)
    assert found is not None
    assert found.to_dict() == {
        "columns": [],
        "k": 30,
        "share_alone": 0.0,
        "share_below_k": 0.0,
        "sensitive": {"columns": ["f"], "k": 15, "share_alone": 0.0, "share_below_k": 1.0},
    }


def test_a_width_has_two_digits_and_is_none_for_no_spread() -> None:
    """Nor for ends that are no numbers."""
    assert width_between(0.0, 246.9) == 12.0
    assert width_between(3.0, 3.0) == width_between(0.0, float("inf")) == 0.0
    assert same_width({}, None)
    assert not same_width({"target_width": 3.0}, None)


def test_columns_may_be_named_like_words_of_the_count() -> None:
    """A column `n` or `size` is none of the counts."""
    table = pa.table({"q": ["x"] * 4, "n": [7, 7, 7, 8], "size": [1, 1, 2, 2], "number": [1.5, 1.5, 1.5, 1.5]})
    found = found_in(table, columns=("n", "size", "number"), target="number", k=2)
    assert found is not None
    assert found.to_dict() == {
        "columns": ["n", "size", "number"], "k": 1, "share_alone": 0.5, "share_below_k": 0.5
    }  # fmt: skip


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 1.0, 2.5, 3.0]), st.sampled_from("uvw")), min_size=1
    ),
    is_measured=st.booleans(),
)
def test_people_of_parts_are_those_of_a_count_by_hand(rows: list[Row], is_measured: bool) -> None:
    """Two who may be one person of several rows count as one; the published counts give the same figures again."""
    table = pa.table({"q": [q for q, *_ in rows], "t": [t for _, t, _ in rows], "u": [u for *_, u in rows]})
    width = 0.5 if is_measured else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts_module, "width_of", lambda lines, name: width)
        asked: Any = {"beside": KnownBeside(columns=("t",), target="t", k=3)}
        found = measure(table, ["q"], unit="u", **asked)
        assert found.counts is not None
        told = PeopleCounts.from_params(json.loads(json.dumps(found.counts.to_params())))
        again = measure(table.drop_columns(["u"]), ["q"], people=told, **asked)

    def fewest(inside: list[Row]) -> int:
        people = max(len({u for *_, u in inside}), min(len(inside), 2))
        return 1 if people == 2 and len(inside) > 1 else people

    parts = {
        (q, t): (
            fewest([row for row in rows if row[:2] == (q, t)]),
            fewest([row for row in rows if row[0] == q and abs(row[1] - t) <= (width or 0.0)]),
        )
        for q, t, _ in rows
    }
    everybody = sum(own for own, _ in parts.values())
    figures = {
        "columns": ["t"],
        "k": min(near for _, near in parts.values()),
        "share_alone": sum(own for own, near in parts.values() if near == 1) / everybody,
        "share_below_k": sum(own for own, near in parts.values() if near < 3) / everybody,
    }
    assert found.clear is not None
    assert again.clear is not None
    assert found.clear.to_dict() == again.clear.to_dict() == figures
    assert again.checks[-1].name == "people_of_parts"
    assert again.checks[-1].passed


FORGED: dict[str, tuple[tuple[tuple[int, ...], ...], ...]] = {
    "nothing": (),
    "another kind besides": (((2, 2, 2, 2, 2),), ((2, 2, 2, 2, 2),)),
    "more people than rows": (((2, 3, 2, 3, 2),),),
    "one who has several rows as one": (((2, 1, 2, 2, 2),),),
    "fewer near than in the part": (((2, 2, 2, 1, 2),),),
    "a part more": (((2, 2, 2, 2, 3),),),
    "parts of other sizes": (((1, 1, 1, 1, 4),),),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_people_that_no_parts_can_have_are_refused(forgery: str) -> None:
    """Four people in two parts of two rows; with other counts the figures are those of rows."""
    table = pa.table({"q": ["x"] * 4, "t": ["a", "a", "b", "b"], "u": ["1", "2", "3", "4"]})
    asked: Any = {"beside": KnownBeside(columns=("t",), target="t", k=2)}
    told = measure(table, ["q"], unit="u", **asked).counts
    assert told is not None
    assert told.parts == (((2, 2, 2, 2, 2),),)
    found = measure(table.drop_columns(["u"]), ["q"], people=replace(told, parts=FORGED[forgery]), **asked)

    assert [check.name for check in found.checks if not check.passed] == ["people_of_parts"]


def test_fewer_people_in_parts_than_in_classes_are_refused() -> None:
    """Everybody of a class is in a part of it."""
    table = pa.table({"q": ["x"] * 6, "t": ["a"] * 6, "u": list("123456")})
    asked: Any = {"beside": KnownBeside(columns=("t",), k=2)}
    told = measure(table, ["q"], unit="u", **asked).counts
    assert told is not None
    found = measure(table.drop_columns(["u"]), ["q"], people=replace(told, parts=(((6, 5, 6, 5, 1),),)), **asked)
    assert not found.checks[-1].passed
