"""Levels of detail from public domains, and the schemes that combine them."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from anonkit.domains.number_bins import Categories
from anonkit.k_anonymity.public_levels import PublicLevels, schemes_of
from anonkit.policy.public_domains import CategoricalAttribute, NumericAttribute
from anonkit.published.recoding import Grouping, UnchangedAxis

AGE = NumericAttribute(name="age", bounds=(17.0, 90.0), has_missing=True)
SEX = CategoricalAttribute(name="sex", domain=Categories(values=("f", "m")))
JOB = CategoricalAttribute(
    name="job",
    domain=Categories(values=("clerk", "nurse", "miner"), has_missing=True),
    tree=(("clerk", "indoors", "work"), ("nurse", "indoors", "work"), ("miner", "outdoors", "work")),
)


def shown(levels: PublicLevels, level: int, cells: list[object]) -> list[str | None]:
    """Return what cells show at a level."""
    batch = pa.RecordBatch.from_arrays([pa.array(cells)], names=[levels.name])
    return [levels.labels[level][code] for code in levels.codes(batch).tolist()]


def test_numbers_have_round_bins_that_double() -> None:
    """73 years in at most 16 bins: of five, ten, twenty and forty years; a cell beyond a bound is at it."""
    levels = PublicLevels.of(AGE)
    assert [len(set(own.tolist())) - 1 for own in levels.groups] == [15, 8, 5, 3]
    assert shown(levels, 0, [17.0, 25.0, 24.9, 200.0, None]) == ["< 20", "[25, 30)", "[20, 25)", ">= 85", None]
    assert shown(levels, 3, [17.0, 40.0, 79.0, 80.0, None]) == ["< 40", "[40, 80)", "[40, 80)", ">= 80", None]


def test_what_is_published_of_a_level_says_what_rows_show() -> None:
    """The recoding of every level maps numbers to the same labels."""
    levels, numbers = PublicLevels.of(AGE), [17.0, 19.99, 20.0, 44.0, 89.0, None]
    for level in range(levels.n_levels):
        recoding = levels.recoding(level)
        assert isinstance(recoding, Grouping)
        codes = recoding.axis.codes(pa.array(numbers, pa.float64()))
        assert [recoding.labels[code] for code in codes.tolist()] == shown(levels, level, list(numbers))


def test_declared_widths_are_the_levels() -> None:
    """Multiples of the widths between the bounds; one beyond them leaves nothing but that a number is there."""
    levels = PublicLevels.of(NumericAttribute(name="n", bounds=(0.0, 10.0), has_missing=False), (2.5, 5.0))
    assert levels.labels[0] == ("< 2.5", "[2.5, 5)", "[5, 7.5)", ">= 7.5")
    assert levels.labels[1] == ("< 5", "< 5", ">= 5", ">= 5")
    assert shown(levels, 1, [-3.0, None, 5.0]) == ["< 5", "< 5", ">= 5"]
    alone = PublicLevels.of(NumericAttribute(name="n", bounds=(0.0, 10.0), has_missing=False), (50.0,))
    assert alone.labels == (("*",),)
    assert alone.detail(0) == 0


@pytest.mark.parametrize(
    "bounds", [(0.0, 1e-7), (-1.0, 1.0), (0.0, 1e12), (999.0, 1000.0), (0.0, 16.0), (1e15, 1e15 + 8)]
)
def test_bins_of_any_bounds_are_at_most_sixteen_or_so(bounds: tuple[float, float]) -> None:
    """The finest level has no more than the bins requested, and the ends that a round width leaves over."""
    levels = PublicLevels.of(NumericAttribute(name="n", bounds=bounds, has_missing=False))
    assert 5 <= levels.axis.size <= 18
    for finer, coarser in zip(levels.groups, levels.groups[1:], strict=False):
        assert len(set(zip(finer.tolist(), coarser.tolist(), strict=True))) == len(set(finer.tolist()))


def test_categories_are_told_as_they_are_or_as_groups_of_their_tree() -> None:
    """Missing stays apart; a level that joins nothing is none; what the domain lacks is missing, or the first."""
    levels = PublicLevels.of(JOB)
    assert levels.labels == (
        ("clerk", "nurse", "miner", None),
        ("indoors", "indoors", "outdoors", None),
        ("work", "work", "work", None),
    )
    assert isinstance(levels.recoding(0), UnchangedAxis)
    assert levels.recoding(1).to_dict()["labels"] == ["indoors", "indoors", "outdoors", None]
    assert shown(levels, 1, ["miner", "pilot", "nurse"]) == ["outdoors", None, "indoors"]
    assert shown(PublicLevels.of(SEX), 0, ["m", "x", None]) == ["m", "f", "f"]


def test_detail_is_full_at_the_finest_level_and_none_where_a_column_is_dropped() -> None:
    """Logarithms of the numbers of groups."""
    levels = PublicLevels.of(JOB)
    assert [levels.detail(level) for level in range(4)] == pytest.approx([1, math.log(3) / math.log(4), 0.5, 0])


def test_schemes_show_as_many_columns_as_the_list_has_room_for() -> None:
    """All of one column, then of two, and so on; nothing at all only where a target is left."""
    levels = [PublicLevels.of(own) for own in (AGE, JOB, SEX)]
    everything = schemes_of(levels, 5000, may_show_nothing=True)
    assert len(everything) == len(set(everything)) == 5 * 4 * 2
    assert (4, 3, 1) in everything
    assert (4, 3, 1) not in schemes_of(levels, 5000, may_show_nothing=False)
    few = schemes_of(levels, 9, may_show_nothing=True)
    assert len(few) == 1 + 4 + 3 + 1
    assert len(schemes_of(levels, 1, may_show_nothing=False)) == 8
    assert all(np.sum([level < own.n_levels for level, own in zip(one, levels, strict=True)]) <= 1 for one in few)
