"""The rows that a tree reads, and the effect on its budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from anonkit.budget_rules.model_queries import TABLE
from anonkit.dp_trees.tree_rows import ROWS, Disjoint, PoissonBootstrap, PublishedBootstrap, Shared
from anonkit.mechanisms.accounting import Accounting
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.draws import Draw
from anonkit.randomness import Randomness

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
