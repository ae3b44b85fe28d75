# SPDX-License-Identifier: Apache-2.0
"""The success rates of attacks, and the conclusions that they allow.

Guesses about coins as a bound on epsilon: valid whatever is guessed, and as good as the records are apart.

An audit ends with what to do about it: the gravest finding decides.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from anonkit.auditing.attacks.success_rates import (
    BELOW,
    FEW,
    NONE,
    REFUTED,
    RISK,
    TOLERATED,
    WEAK,
    Attack,
    Guesser,
    Rate,
    epsilon_of_guesses,
    excess,
    next_step,
)
from anonkit.errors import in_python, on_command_line


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_fails_no_more_often_than_promised(epsilon: float) -> None:
    """Summed over all numbers of right guesses that the worst mechanism allows."""
    n, alpha, p = 80, 0.05, math.exp(epsilon) / (1 + math.exp(epsilon))
    bounds = np.array([epsilon_of_guesses(k, n, alpha) for k in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p)[bounds > epsilon].sum() <= alpha
    assert bounds[n] > epsilon


@pytest.mark.quick_cases("0.5-0.05", "0.0-0.02")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_nothing_is_made_of_noise() -> None:
    """Features that do not know the coins: over 50 audits at 5 %, the bound is 0 nearly always."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(50):
        features, inside = rng.normal(size=(2_000, 5)), rng.random(2_000) < 0.5
        guesser = Guesser.trained(features[:800], inside[:800], 1_200)
        found.append(epsilon_of_guesses(*guesser.judge(features[800:], inside[800:])))
    assert sum(one > 0 for one in found) <= 7


def _attack(name: str, found: float, *, n: int = 200, identity: float | None = 200, **details: Any) -> Attack:
    best = None if identity is None else Rate(successes=identity, attacks=n)
    control = Rate(successes=0, attacks=n)
    return Attack(
        name=name, attack=Rate(successes=found, attacks=n), control=control, identity=best, renamed=None, shuffled=None,
        details=details,
    )  # fmt: skip


def test_a_refuted_claim_comes_first() -> None:
    """A refuted claim comes first, with any other results of the attacks."""
    loss: Any = SimpleNamespace(verdict=REFUTED, surest=2.5, claimed=1.0)
    assert next_step([_attack("linkability", 150)], loss).startswith("Do not hand it out: its epsilon is at least 2.5")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("linkability", "the row of about 1 in 4 people attacked is found"),
        ("singling_out", "about 1 in 4 descriptions taken from the release fit exactly one person"),
        ("membership", "that a person is in the table shows for about 1 in 4 people attacked"),
    ],
)
def test_the_largest_risk_decides(name: str, says: str) -> None:
    """With its share, and with what lessens it, spelled for the reader."""
    loss: Any = SimpleNamespace(verdict=BELOW)
    told = next_step([_attack("inference", 20, secret="illness"), _attack(name, 50)], loss)
    assert _attack(name, 50).verdict == RISK
    assert says in told
    assert "a larger --k or a smaller --epsilon" in on_command_line(told)
    assert "--" not in in_python(told)


def test_a_secret_that_is_inferred_is_named() -> None:
    """The advice names the column and the protection that fits it."""
    told = next_step([_attack("inference", 120, secret="illness"), _attack("linkability", 40)], None)
    assert "gives away 'illness' of about 60% of the people attacked" in told
    assert "--sensitive illness --l 2" in on_command_line(told)
    assert "gives away a secret of" in next_step([_attack("inference", 120)], None)


def test_without_a_risk_the_attempts_decide() -> None:
    """Enough and able: nothing to mend; too few: more of them; unable even on the table: the promise alone."""
    enough, few = _attack("linkability", 0), _attack("linkability", 0, n=12, identity=12)
    weak = _attack("linkability", 0, identity=0)
    assert (enough.verdict, few.verdict, weak.verdict) == (NONE, FEW, WEAK)
    assert next_step([enough, weak], None).startswith("Nothing to mend")
    assert "--attacks 2000" in on_command_line(next_step([enough, few], None))
    assert next_step([weak, _attack("inference", 0, n=0, identity=None)], None).startswith("Rely on the promise alone")


STRONG, SILENT = Rate(successes=9.0, attacks=10), Rate(successes=0.0, attacks=10)


def attack(successes: float, n: int, control: float = 0.0) -> Attack:
    """An attack with as many attempts as its control, strong enough where the rows are known."""
    return Attack(
        name="linkability",
        attack=Rate(successes=successes, attacks=n),
        control=Rate(successes=control, attacks=n),
        identity=Rate(successes=float(n), attacks=n),
        renamed=None,
        shuffled=None,
    )


@pytest.mark.parametrize(("n", "verdict"), [(10, FEW), (14, FEW), (20, NONE), (2000, NONE)])
def test_no_success_tells_little_when_there_were_few_attacks(n: int, verdict: str) -> None:
    """Four attempts without a success leave half of the people open: that is not "none measurable"."""
    assert attack(0, n).verdict == verdict


def test_a_success_is_a_risk_however_few_attacks_there_were() -> None:
    """An audit may raise a stated risk; a wide interval does not take that away."""
    assert attack(10, 10).verdict == RISK


def test_an_attack_that_fails_on_the_source_itself_is_too_weak() -> None:
    """An attack that fails on the source itself is too weak, with any interval."""
    weak = Attack(name="x", attack=SILENT, control=SILENT, identity=SILENT, renamed=None, shuffled=None)
    assert weak.verdict == WEAK


@given(n=st.integers(1, 3000), control=st.floats(0, 1))
def test_none_measurable_means_that_no_large_risk_fits_the_figures(n: int, control: float) -> None:
    """The verdict is given only where the interval ends at what is tolerated, or below."""
    tried = attack(control * n, n, control * n)
    high = excess(tried.attack, tried.control)[1][1]
    assert (tried.verdict == NONE) == (high <= TOLERATED)


@given(n=st.integers(1, 500), share=st.floats(0, 0.5))
def test_the_least_detectable_risk_would_have_been_a_verdict_of_risk(n: int, share: float) -> None:
    """One success fewer than the power says would not have shown; so many do. Worked out by trying every number."""
    control = share * n
    tried = attack(control, n, control)
    shown = [k for k in range(n + 1) if excess(Rate(successes=k, attacks=n), tried.control)[1][0] > 0]
    if not shown:
        assert tried.least_detectable_risk == 1.0
    else:
        least = excess(Rate(successes=shown[0], attacks=n), tried.control)[0]
        assert tried.least_detectable_risk == pytest.approx(least)
