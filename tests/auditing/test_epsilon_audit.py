"""The auditor itself: limits that hold, bounds that are valid and close, on mechanisms it knows nothing of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from anonkit.auditing.epsilon_audit import (
    clopper_pearson,
    epsilon_from_counts,
    lower_bound,
    lower_bound_over_inputs,
)
from anonkit.errors import ParameterError


@pytest.mark.parametrize("p", [0.0, 0.003, 0.2, 0.5, 0.97, 1.0])
def test_limits_fail_no_more_often_than_promised(p: float) -> None:
    """Summed over all outcomes, each limit is on the wrong side with probability at most alpha."""
    n, alpha = 60, 0.05
    limits = [clopper_pearson(k, n, alpha) for k in range(n + 1)]
    weights = binom.pmf(np.arange(n + 1), n, p)
    assert sum(w for w, (low, _) in zip(weights, limits, strict=True) if low > p) <= alpha
    assert sum(w for w, (_, high) in zip(weights, limits, strict=True) if high < p) <= alpha


def test_the_bound_of_fixed_counts_is_the_ratio_of_limits() -> None:
    """ln((low − δ) / high), never below 0."""
    low, high = clopper_pearson(700, 1000, 0.005)[0], clopper_pearson(300, 1000, 0.005)[1]
    assert epsilon_from_counts((700, 1000), (300, 1000), alpha=0.01, delta=0.1) == pytest.approx(
        math.log((low - 0.1) / high)
    )
    assert epsilon_from_counts((300, 1000), (700, 1000)) == 0.0
    assert epsilon_from_counts((3, 1000), (0, 1000), delta=0.5) == 0.0


def test_bounds_are_valid_and_close_for_a_coin() -> None:
    """Over 200 audits of Warner's coin with ε = 1 at alpha = 5 %, few bounds are above 1 and most above 0.9."""
    rng, p = np.random.default_rng(0), math.e / (1 + math.e)
    bounds = np.array(
        [lower_bound(rng.random(20_000) < p, rng.random(20_000) < 1 - p, alpha=0.05).lower_bound for _ in range(200)]
    )
    assert (bounds > 1).mean() <= 0.05
    assert np.median(bounds) > 0.9


@pytest.mark.slow
def test_bounds_are_valid_and_close_for_numbers() -> None:
    """Laplace noise of scale 1 on neighbours 0 and 1 has ε = 1; tails show most of it."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        found = lower_bound(rng.laplace(0, 1, 100_000), rng.laplace(1, 1, 100_000))
        assert 0.85 < found.lower_bound <= 1.0


def test_equal_distributions_show_nothing() -> None:
    """No event from the pilot distinguishes two samples of one distribution."""
    rng = np.random.default_rng(2)
    bounds = [lower_bound(rng.integers(0, 40, 5000), rng.integers(0, 40, 5000)).lower_bound for _ in range(50)]
    assert max(bounds) == 0.0


def test_the_better_direction_and_pair_are_found() -> None:
    """The event is rare under one input only: the bound names that pair, in that direction."""
    rng = np.random.default_rng(3)
    samples = [rng.random(20_000) < p for p in (0.5, 0.5, 0.001)]
    found = lower_bound_over_inputs(samples)
    assert found.inputs[1] == 2
    assert found.lower_bound > 4
    assert found.rare[0] <= found.frequent[0]


def test_missing_numbers_are_an_answer_like_any_other() -> None:
    """A mechanism that shows absence is caught, though NaN equals nothing."""
    x, y = np.zeros(2000), np.zeros(2000)
    x[:1000] = np.nan
    rng = np.random.default_rng(4)
    found = lower_bound(rng.permutation(x), rng.permutation(y))
    assert found.lower_bound > 3


def test_delta_is_taken_off() -> None:
    """An (ε, δ) claim is audited with its δ."""
    rng = np.random.default_rng(5)
    first, second = rng.random(50_000) < 0.05, np.zeros(50_000, dtype=bool)
    assert lower_bound(first, second).lower_bound > 5
    assert lower_bound(first, second, delta=0.06).lower_bound == 0.0


def test_too_little_is_refused() -> None:
    """One sample, tiny samples, and impossible settings."""
    for samples in ([np.zeros(100)], [np.zeros(100), np.zeros(5)]):
        with pytest.raises(ParameterError):
            lower_bound_over_inputs(samples)
    with pytest.raises(ParameterError):
        lower_bound(np.zeros(100), np.zeros(100), alpha=0)
    with pytest.raises(ParameterError):
        clopper_pearson(5, 4, 0.05)
