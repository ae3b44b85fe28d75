"""Guesses about coins as a bound on epsilon: valid whatever is guessed, and as good as the records are apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from anonkit.auditing.attacks.loss import Guesser, epsilon_of_guesses


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_fails_no_more_often_than_promised(epsilon: float) -> None:
    """Summed over all numbers of right guesses that the worst mechanism allows."""
    n, alpha, p = 80, 0.05, math.exp(epsilon) / (1 + math.exp(epsilon))
    bounds = np.array([epsilon_of_guesses(k, n, alpha) for k in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p)[bounds > epsilon].sum() <= alpha
    assert bounds[n] > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.02), (0.5, 0.05), (1.0, 1e-3)])
def test_the_bound_at_a_delta_fails_no_more_often_than_promised(epsilon: float, delta: float) -> None:
    """The worst mechanism shows a coin with probability delta, and else answers as epsilon allows.

    The attacker guesses about all coins, or about those alone that he was shown.
    """
    rng, coins, alpha, runs = np.random.default_rng(3), 60, 0.05, 3000
    shown = rng.binomial(coins, delta, runs)
    others = rng.binomial(coins - shown, 1 / (1 + math.exp(-epsilon)))
    for right, guesses in ((shown + others, np.full(runs, coins)), (shown, shown)):
        pairs, times = np.unique(np.column_stack([right, guesses]), axis=0, return_counts=True)
        bounds = np.array([epsilon_of_guesses(*map(int, pair), alpha, delta=delta, coins=coins) for pair in pairs])
        assert times[bounds > epsilon].sum() <= alpha * runs


def test_a_small_delta_costs_little_and_none_costs_nothing() -> None:
    """At 0 it is the bound of pure epsilon, and it falls with delta and with the coins that delta adds up over."""
    assert epsilon_of_guesses(90, 100, delta=0.0, coins=900) == epsilon_of_guesses(90, 100)
    bounds = [epsilon_of_guesses(90, 100, delta=delta, coins=100) for delta in (0.0, 1e-9, 1e-5, 1e-3, 1e-2, 0.5)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] - bounds[1] < 1e-6
    assert bounds[3] > epsilon_of_guesses(90, 100, delta=1e-3, coins=1_000)
    assert bounds[-1] == 0
    assert epsilon_of_guesses(100, 100, delta=1e-9) > 3


def test_no_guess_says_nothing() -> None:
    """Nor do half of the guesses being right."""
    assert epsilon_of_guesses(0, 0) == 0
    assert epsilon_of_guesses(50, 100) == 0


def test_the_guesser_finds_most_of_what_noise_leaves() -> None:
    """Laplace noise of scale 1 on a count of 0 or 1 has epsilon 1; a feature that says nothing does no harm."""
    rng = np.random.default_rng(1)
    inside = rng.random(60_000) < 0.5
    features = np.column_stack([inside + rng.laplace(0, 1, inside.size), rng.normal(0, 50, inside.size)])
    guesser = Guesser.trained(features[:20_000], inside[:20_000], 40_000)
    right, guesses = guesser.judge(features[20_000:], inside[20_000:])
    assert 0.85 < epsilon_of_guesses(right, guesses, 1e-3) <= 1


def test_nothing_is_made_of_noise() -> None:
    """Features that do not know the coins: over 50 audits at 5 %, the bound is 0 nearly always."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(50):
        features, inside = rng.normal(size=(2_000, 5)), rng.random(2_000) < 0.5
        guesser = Guesser.trained(features[:800], inside[:800], 1_200)
        found.append(epsilon_of_guesses(*guesser.judge(features[800:], inside[800:])))
    assert sum(one > 0 for one in found) <= 7
