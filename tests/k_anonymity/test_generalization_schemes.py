"""Levels of detail from public domains, and the schemes that combine them.

Scores of schemes: by hand, and how far one row moves them, brute force.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from anonkit.budget_rules.model_queries import SchemeScore
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories
from anonkit.k_anonymity.generalization_schemes import STEP_BITS, PublicLevels, schemes_of, scores_of
from anonkit.mechanisms.accounting import sensitivity_of
from anonkit.policy.public_domains import CategoricalAttribute, NumericAttribute
from anonkit.published.recoding import Grouping, UnchangedAxis

LEVELS = [
    PublicLevels.of(
        CategoricalAttribute(
            name="a",
            domain=Categories(values=("x", "y", "z")),
            tree=(("x", "xy"), ("y", "xy"), ("z", "z")),
        )
    ),
    PublicLevels.of(CategoricalAttribute(name="b", domain=Categories(values=("0", "1")))),
]
CELLS = list(product(range(3), range(2), range(2)))
SCHEMES = schemes_of(LEVELS, 100, may_show_nothing=True)


def scores(counts: IntArray, needed: int, *, target: bool = True) -> dict[tuple[int, ...], int]:
    """Return the scores of a table of counts by cell of (a, b, class)."""
    there = np.flatnonzero(counts)
    codes = np.array([CELLS[at] for at in there.tolist()], dtype=np.int64).reshape(-1, 3).T
    found = scores_of(SCHEMES, LEVELS, codes[:2], codes[2] if target else None, counts[there], needed)
    return dict(zip(SCHEMES, found.tolist(), strict=True))


def by_hand(counts: IntArray, scheme: tuple[int, ...], needed: int) -> Fraction:
    """Return the score of a scheme, group by group, in exact fractions."""
    groups: dict[tuple[int, ...], list[int]] = {}
    total = [0, 0]
    for (a, b, label), n_rows in zip(CELLS, counts.tolist(), strict=True):
        key = tuple(
            int(LEVELS[at].groups[level][code])
            for at, (level, code) in enumerate(zip(scheme, (a, b), strict=True))
            if level < LEVELS[at].n_levels
        )
        groups.setdefault(key, [0, 0])[label] += n_rows
        total[label] += n_rows
    left = [[max(0, n_rows - needed) for n_rows in group] for group in groups.values()]
    left.append([total[label] - sum(group[label] for group in left) for label in (0, 1)])
    return sum((Fraction(n**2 + m**2, n + m) for n, m in left if n + m), Fraction(0))


def test_a_score_is_what_its_definition_says() -> None:
    """Within a step a group, rounded down."""
    counts = np.array([9, 2, 7, 1, 0, 8, 3, 3, 5, 0, 1, 6], dtype=np.int64)
    for scheme, found in scores(counts, 2).items():
        exact = by_hand(counts, scheme, 2) * (1 << STEP_BITS)
        assert exact - 8 < found <= exact


@pytest.mark.parametrize("needed", [1, 3])
def test_one_row_moves_no_score_by_more_than_the_width_says(needed: int) -> None:
    """A row more in every cell of many small tables: a row up or down with a target, up to a row up without."""
    random = np.random.default_rng(5)
    for _ in range(60):
        counts = random.integers(0, 6, len(CELLS)).astype(np.int64)
        for target in (True, False):
            before = scores(counts, needed, target=target)
            for at in range(len(CELLS)):
                more = counts.copy()
                more[at] += 1
                moves = [found - before[scheme] for scheme, found in scores(more, needed, target=target).items()]
                low = -(1 << STEP_BITS) if target else 0
                assert low <= min(moves) <= max(moves) <= 1 << STEP_BITS
                assert max(moves) - min(0, *moves) <= sensitivity_of(SchemeScore(has_target=target))


def test_without_a_target_rows_that_count_are_weighed_by_the_detail() -> None:
    """Everything shown counts in full; what is dropped does not."""
    counts = np.zeros(12, dtype=np.int64)
    counts[[0, 10]] = [30, 20]
    found = scores(counts, 10, target=False)
    assert found[0, 0] == (20 + 10) << STEP_BITS
    assert found[2, 1] == 0


def test_an_empty_table_has_scores() -> None:
    """An empty table's scores are those of no information."""
    assert set(scores(np.zeros(12, dtype=np.int64), 3).values()) == {0}


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
