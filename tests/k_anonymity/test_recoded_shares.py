"""Shares of a recoded column, against rows counted one by one."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.k_anonymity.recoded_shares import recoded_shares
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
    UnchangedAxis,
)

AGE = IntervalAxis(name="age", cuts=(10, 20), has_missing=True)
JOB = CategoryAxis(name="job", values=("cook", "nurse", "smith"), has_other=False, has_missing=False)


@given(ages=st.lists(st.none() | st.integers(0, 29), min_size=1, max_size=40), left_out=st.integers(0, 3))
def test_groups_hold_the_rows_that_show_their_label(ages: list[int | None], left_out: int) -> None:
    """Both sides of a bar are counts of rows, and the coarseness is the mean share of the source behind a cell."""
    grouping = Grouping(axis=AGE, labels=("< 20", "< 20", ">= 20", None))
    shown = [None if age is None else "< 20" if age < 20 else ">= 20" for age in ages]
    released = shown[left_out:]

    found = recoded_shares(
        GlobalRecoding(columns=(grouping, UnchangedAxis(name="job"))), "age", pa.array(ages, pa.int64()),
        pa.array(released, pa.string()), most=9,
    )  # fmt: skip

    assert found is not None
    before, after = Counter(shown), Counter(released)
    assert {bar.label: (bar.source_rows, bar.released_rows) for bar in found.bars} == {
        label: (before[label], after[label]) for label in ("< 20", ">= 20", None)
    }
    assert not found.is_spread
    covered = [before[label] / len(ages) for label in released]
    assert found.coarseness == pytest.approx(sum(covered) / len(covered) if covered else 1.0)


def test_overlapping_sets_count_evenly_over_their_parts() -> None:
    """A box that holds two parts gives half a row to each, and a suppressed cell covers every row."""
    recoding = LocalRecoding(
        axes=(AGE, JOB),
        nodes=(
            RecodingSplit(axis=0, left=(0,), children=(1, 2)),
            None,
            RecodingSplit(axis=1, left=(0,), children=(3, 4)),
            None,
            None,
        ),
    )
    source = pa.array(["cook", "nurse", "smith", "smith"])
    released = pa.array(["*", "nurse|smith", "nurse|smith", "cook"])

    found = recoded_shares(recoding, "job", source, released, most=9)

    assert found is not None
    assert found.is_spread
    assert {bar.label: bar.source_rows for bar in found.bars} == {"cook": 1, "nurse": 1, "smith": 2}
    assert {bar.label: bar.released_rows for bar in found.bars} == pytest.approx(
        {"cook": 1 + 1 / 3, "nurse": 1 + 1 / 3, "smith": 1 + 1 / 3}
    )
    assert found.coarseness == pytest.approx((1 + 0.75 + 0.75 + 0.25) / 4)


def test_many_parts_are_few_bars() -> None:
    """Neighbours are one bar on an ordered axis, the rarest categories one without a name; nothing is lost."""
    ordered = IntervalAxis(name="age", cuts=tuple(range(1, 30)), has_missing=True)
    named = CategoryAxis(name="job", values=tuple("abcdefgh"), has_other=False, has_missing=True)
    recoding = LocalRecoding(axes=(ordered, named), nodes=(None,))
    ages, jobs = pa.array([*range(30), None]), pa.array([*"aabbccddefgh", None])

    by_age = recoded_shares(recoding, "age", ages, pa.array(["*"] * 31), most=5)
    by_job = recoded_shares(recoding, "job", jobs, pa.array(["*"] * 13), most=5)

    assert by_age is not None
    assert [bar.source_rows for bar in by_age.bars] == [6, 6, 6, 6, 6, 1]
    assert [bar.label for bar in by_age.bars] == ["< 6", "[6, 12)", "[12, 18)", "[18, 24)", ">= 24", None]
    assert sum(bar.released_rows for bar in by_age.bars) == pytest.approx(31)
    assert by_job is not None
    assert [(bar.label, bar.others, bar.source_rows) for bar in by_job.bars] == [
        ("a", 0, 2), ("b", 0, 2), ("c", 0, 2), ("d", 0, 2), ("", 4, 4), (None, 0, 1),
    ]  # fmt: skip


def test_a_column_that_is_not_recoded_has_no_shares() -> None:
    """Kept columns and columns that are not in the recoding are described in another way."""
    cells = pa.array(["cook"])
    recoding = GlobalRecoding(columns=(UnchangedAxis(name="job"),))

    assert recoded_shares(recoding, "job", cells, cells, most=9) is None
    assert recoded_shares(recoding, "town", cells, cells, most=9) is None
    assert recoded_shares(LocalRecoding(axes=(JOB,), nodes=(None,)), "town", cells, cells, most=9) is None
