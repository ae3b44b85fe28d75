"""The rows that a tree reads, and the effect on its budget.

Leaves: their contents, and their cost.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from anonkit.budget_rules.model_queries import TABLE
from anonkit.dp_trees.plan import (
    LEAVES,
    ROWS,
    Disjoint,
    LabelOnly,
    Leaf,
    Leaves,
    NoisyClassCounts,
    PoissonBootstrap,
    PublishedBootstrap,
    Shared,
)
from anonkit.mechanisms.accounting import Accounting, draw_units
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import Draw
from anonkit.randomness import Randomness
from tests.dp_trees.tables import MIXED

ONE = 1 << 52


def filled(leaf: Leaf, totals: list[list[int]], units: int) -> list:  # type: ignore[type-arg]
    """The contents of leaves with these counts."""
    leaves = Leaves(
        level=1, units=units, schema=MIXED, nodes=np.arange(len(totals)), totals=np.array(totals),
        histograms=lambda nodes, attributes: [],
    )  # fmt: skip
    return list(leaf.fill(leaves, UniformStream(Randomness.seeded(1))))


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_spends_all_it_may_and_ends_the_path(name: str) -> None:
    """One row is in one count, and adds to one: the sensitivity is 1."""
    (draw,) = LEAVES[name]().draws(2, ONE // 3, MIXED)
    assert draw_units(draw) == ONE // 3
    assert draw.ends_path
    assert draw.level == 2


def test_counts_have_noise_of_their_rate() -> None:
    """The mean deviation of discrete Laplace noise at epsilon 1 is 2 q / (1 - q^2), q = 1/e."""
    contents = filled(NoisyClassCounts(), [[100, 7]] * 20_000, ONE)
    deviation = np.abs(np.array([content.counts for content in contents]) - [100, 7]).mean()
    q = np.exp(-1)
    assert deviation == pytest.approx(2 * q / (1 - q * q), rel=0.03)


def test_labels_are_chosen_and_counts_are_not_told() -> None:
    """Permute-and-flip on two counts that differ by one: the second wins with probability e^-1 / 2."""
    contents = filled(LabelOnly(), [[3, 2]] * 20_000, ONE)
    assert all(content.counts is None for content in contents)
    share = np.mean([content.label for content in contents])
    assert share == pytest.approx(np.exp(-1) / 2, abs=0.012)


KEY = Randomness.seeded(1).key("rows")
N = 40_000


def test_every_row_is_in_one_tree_drawn_uniformly() -> None:
    """Disjoint trees: one group, all trees equally likely."""
    ((trees, copies),) = Disjoint(trees=7).groups(KEY, 0, N)
    assert copies is None
    assert chisquare(np.bincount(trees, minlength=7)).pvalue > 1e-3


def test_copies_are_poisson_and_independent_from_tree_to_tree() -> None:
    """The bootstrap has the published weights; two trees share no words."""
    rows = PoissonBootstrap(trees=2)
    (_, first), (_, second) = rows.groups(KEY, 0, N)
    shares = np.array(rows.bootstrap.weights[:6]) / 2**32
    assert shares == pytest.approx([math.exp(-1) / math.factorial(k) for k in range(6)], abs=1e-8)
    counts = np.bincount(np.minimum(first, 5), minlength=6)
    assert chisquare(counts, np.append(shares[:5], 1 - shares[:5].sum()) * N).pvalue > 1e-3
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / math.sqrt(N)


@pytest.mark.parametrize("kind", ROWS)
def test_batches_do_not_matter(kind: str) -> None:
    """A row's trees and copies are a function of its number."""
    rows = ROWS[kind](trees=3)
    whole = list(rows.groups(KEY, 0, 1000))
    parts = list(rows.groups(KEY, 400, 600))
    for (trees, copies), (some, some_copies) in zip(whole, parts, strict=True):
        assert np.array_equal(trees[400:], some)
        assert copies is some_copies is None or np.array_equal(copies[400:], some_copies)


@pytest.mark.parametrize("kind", [kind for kind in ROWS if not kind.startswith("published")])
@pytest.mark.parametrize(("trees", "epsilon"), [(1, 1.0), (25, 0.05), (25, 2.0), (100, 10.0)])
def test_a_path_spends_what_a_row_may_lose_and_no_more(kind: str, trees: int, epsilon: float) -> None:
    """The realised loss is within a millionth below what was requested."""
    rows = ROWS[kind](trees=trees)
    units = rows.path_units(Fraction(epsilon))
    line = Draw(name="path", query=TABLE, law=LAPLACE, rate=units, times=rows.times)
    found = Accounting(draws=(line,), bootstrap=rows.bootstrap).epsilon
    assert epsilon * (1 - 1e-6) <= found <= epsilon


def test_a_bootstrap_that_is_accounted_like_shared_rows_claims_too_little() -> None:
    """25 trees at epsilon / 25 each lose 25 (e^(1/25) - 1) = 1.0203, not 1."""
    copied = PublishedBootstrap(trees=25)
    assert copied.path_units(Fraction(1)) == Shared(trees=25).path_units(Fraction(1))
    line = Draw(name="path", query=TABLE, law=LAPLACE, rate=copied.path_units(Fraction(1)))
    assert Accounting(draws=(line,), bootstrap=copied.bootstrap).epsilon == pytest.approx(25 * math.expm1(1 / 25))
