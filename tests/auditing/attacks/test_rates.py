# SPDX-License-Identifier: Apache-2.0
"""The success rates of attacks, and the conclusions that they allow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.auditing.attacks.rates import FEW, NONE, RISK, TOLERATED, WEAK, Attack, Rate, excess

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
