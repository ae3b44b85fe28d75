"""Axes of a recoding: parts of one column, their codes and their labels."""

from __future__ import annotations

from datetime import date, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.published.recoding import (
    UNKNOWN,
    CategoryAxis,
    IntervalAxis,
    unique_labels,
)
from tests.published.recoding.small_recodings import AGE, SEX


def test_a_cut_belongs_to_the_interval_above_it() -> None:
    """Part i holds cuts[i-1] <= x < cuts[i]; missing is the last part."""
    codes = AGE.codes(pa.array([19, 20, 39, 40, None, -5]))
    assert codes.tolist() == [0, 1, 1, 2, 3, 0]


def test_values_not_listed_join_the_others_or_are_unknown() -> None:
    """Without a group for the rest, nothing is said about a new value."""
    closed = CategoryAxis(name="sex", values=("F", "M"), has_other=False, has_missing=True)
    cells = pa.array(["M", "X", None, "F"])
    assert SEX.codes(cells).tolist() == [1, 2, 3, 0]
    assert closed.codes(cells).tolist() == [1, UNKNOWN, 2, 0]


@pytest.mark.parametrize(
    ("axis", "parts", "label"),
    [
        (AGE, [0], "< 20"),
        (AGE, [1], "[20, 40)"),
        (AGE, [2], ">= 40"),
        (AGE, [0, 1], "< 40"),
        (AGE, [0, 2], "< 20|>= 40"),
        (AGE, [0, 3], "< 20|missing"),
        (AGE, [3], None),
        (AGE, [0, 1, 2], "*"),
        (AGE, [0, 1, 2, 3], "*"),
        (
            CategoryAxis(name="c", values=tuple("abcdefg"), has_other=True, has_missing=True),
            [0, 1, 2, 3, 4, 7, 8],
            "not f|g",
        ),
        (
            CategoryAxis(name="c", values=tuple("abcdefg"), has_other=True, has_missing=True),
            [0, 1, 2, 7],
            "a|b|c|other",
        ),
        (SEX, [0], "F"),
        (SEX, [0, 1], "F|M"),
        (SEX, [2], "other"),
        (SEX, [1, 3], "M|missing"),
        (SEX, [3], None),
        (SEX, [0, 1, 2], "*"),
        (SEX, [0, 1, 2, 3], "*"),
    ],
)
def test_labels_say_what_a_group_holds(axis: IntervalAxis | CategoryAxis, parts: list[int], label: str | None) -> None:
    """Intervals with open ends, categories joined by a bar, a star for everything."""
    assert axis.label(parts) == label


@given(st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=8), st.randoms())
def test_labels_are_unique_exactly_by_group(labels: list[str | None], random: object) -> None:
    """Two parts share a label when, and only when, they share a group."""
    groups = [hash((at * 7919) % 5) % 4 for at in range(len(labels))]
    out = unique_labels(labels, groups)
    for i in range(len(out)):
        for j in range(len(out)):
            assert (out[i] == out[j]) == (groups[i] == groups[j])


def test_dates_are_cut_like_numbers() -> None:
    """Days and timestamps before and after a cut fall on their sides."""
    days = IntervalAxis(name="d", cuts=(date(2000, 1, 1),), has_missing=True)
    assert days.codes(pa.array([date(1999, 12, 31), date(2000, 1, 1), None])).tolist() == [0, 1, 2]
    times = IntervalAxis(name="t", cuts=(datetime(2000, 1, 1, 12),), has_missing=True)
    cells = pa.array([datetime(2000, 1, 1, 11, 59), datetime(2000, 1, 1, 12), None], pa.timestamp("us"))
    assert times.codes(cells).tolist() == [0, 1, 2]


def test_nothing_is_said_about_missing_where_there_was_none() -> None:
    """A recoding of a table without missing values does not know what to do with one."""
    ages = IntervalAxis(name="age", cuts=(20,), has_missing=False)
    sexes = CategoryAxis(name="sex", values=("F",), has_other=True, has_missing=False)
    assert ages.codes(pa.array([1, None])).tolist() == [0, UNKNOWN]
    assert sexes.codes(pa.array(["F", None])).tolist() == [0, UNKNOWN]
    assert (ages.label([1]), ages.label([0, 1]), sexes.label([0, 1])) == (">= 20", "*", "*")
