"""Scores of schemes: by hand, and how far one row moves them, brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from anonkit.budget_rules.model_queries import SchemeScore
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories
from anonkit.k_anonymity.public_levels import PublicLevels, schemes_of
from anonkit.k_anonymity.sampled_rows import STEP_BITS, scores_of
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.policy.public_domains import CategoricalAttribute

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
