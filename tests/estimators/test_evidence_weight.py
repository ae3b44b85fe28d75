"""Shrinkage towards independence of class and value: exact moments, both limits of the noise, no effect out of none.

The factor on the sum of all evidence: 1 of one certain attribute, less for copies and for noise; expected shares.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import FloatArray
from anonkit.estimators.consistent_counts import Dependence, JointAnswers, SeparateAnswers, TableChannel
from anonkit.estimators.evidence_weight import (
    OVERLAP,
    confirmed,
    evidence_weight,
    expected_shares,
    normal_separation,
    separation,
    shrunken,
)
from anonkit.published.channels.category_channels import RandomizedResponse

STRENGTHS = st.lists(st.floats(0, 10), min_size=1, max_size=12)
SHARE = st.floats(-0.5, 1.5)
ERROR = st.floats(0, 10)


def test_one_attribute_that_is_certain_counts_in_full() -> None:
    """A single attribute overlaps with none, nor does an idle one beside it take anything off."""
    assert evidence_weight([0.3], 0.3) == 1
    assert evidence_weight([0.3, 0.0], 0.3) == pytest.approx(1)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_equal_attributes_count_by_the_variance_of_their_sum(n: int) -> None:
    """Of n that say as much each the factor is 1 / (1 + (n - 1) r)."""
    assert evidence_weight([0.2] * n, 0.2 * n) == pytest.approx(1 / (1 + OVERLAP * (n - 1)))


@given(STRENGTHS, st.floats(-1, 200))
def test_the_factor_is_positive_and_at_most_one(strengths: list[float], real: float) -> None:
    """For any estimates rows keep their order and nothing is counted more than once."""
    assert 0 < evidence_weight(strengths, real) <= 1


@given(STRENGTHS, st.floats(0, 1))
def test_less_that_is_confirmed_counts_less(strengths: list[float], part: float) -> None:
    """The factor never grows when more of what is said may be noise."""
    total = sum(strengths)
    assert evidence_weight(strengths, part * total) <= evidence_weight(strengths, total) + 1e-12


def test_separations_by_hand() -> None:
    """Two classes with 80 and 40 % of a value are Σ p (difference) ln(ratio) apart; equal ones are not."""
    within, even = np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0.5, 0.5])
    by_hand = 0.5 * (
        0.2 * np.log(0.8 / 0.6) - 0.2 * np.log(0.2 / 0.4) - 0.2 * np.log(0.4 / 0.6) + 0.2 * np.log(0.6 / 0.4)
    )
    assert separation(within, even) == pytest.approx(by_hand)
    assert separation(within[[0, 0]], even) == 0
    assert normal_separation(np.array([3.0, 3.0]), np.array([2.0, 2.0]), even) == pytest.approx(0)
    assert normal_separation(np.array([0.0, 2.0]), np.array([1.0, 1.0]), even) == pytest.approx(np.log(2) / 2)
    assert normal_separation(np.array([0.0, 2.0]), np.array([1.0, np.inf]), even) == 0


@given(SHARE, ERROR)
def test_the_larger_of_two_shares_stays_the_larger(share: float, error: float) -> None:
    """The expected shares add up to 1, are positive, and lie between even shares and the estimate."""
    found = expected_shares(np.array([share, 1 - share]), np.array([error, error]))
    assert found.sum() == pytest.approx(1)
    assert (found > 0).all()
    if share > 0.5:
        assert found[0] >= 0.5 - 1e-9
        assert found[0] <= max(min(share, 1.0), 0.5) + 1e-9


def test_a_share_known_well_stays_and_a_hopeless_one_becomes_even() -> None:
    """The limits of the error."""
    shares = np.array([0.7, 0.2, 0.1])
    assert expected_shares(shares, np.full(3, 1e-6)) == pytest.approx(shares, abs=1e-6)
    assert expected_shares(shares, np.full(3, 1e3)) == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_the_expected_share_is_the_mean_of_the_normal_law_within_its_limits() -> None:
    """Against a sum over many points."""
    points = np.linspace(0, 1, 20_001)
    for share, error in ((0.9, 0.25), (-0.1, 0.1), (1.2, 0.5)):
        weights = np.exp(-((points - share) ** 2) / (2 * error**2))
        mean = float(points @ weights / weights.sum())
        assert expected_shares(np.array([share, 1 - share]), np.array([error, error]))[0] == pytest.approx(
            mean, abs=1e-3
        )


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_noise_is_not_confirmed_and_an_effect_is(effect: float) -> None:
    """Of twelve attributes that say nothing less than half of what they claim is kept, of strong ones nearly all."""
    draw = np.random.default_rng(1)
    classes, values, noise = np.array([0.7, 0.3]), np.full(4, 0.25), 0.03
    signal = effect * 0.06 * np.array([[1, -1, 1, -1], [-1, 1, -1, 1]])
    found = []
    for _ in range(12):
        drawn = draw.normal(0, noise, 4)
        drawn -= drawn.mean()
        excess = signal + np.array([drawn, -drawn])
        found.append(
            Dependence(
                excess=excess,
                excess_variance=np.full((2, 4), noise**2),
                values=values,
                values_variance=np.full(4, 1e-6),
            )
        )
    shares = shrunken(found, classes)
    claimed = sum(separation(one / one.sum(axis=1, keepdims=True), one.sum(axis=1)) for one in shares)
    kept = confirmed(found, classes, shares) / claimed
    assert kept > 0.8 if effect else kept < 0.5


SIZES = st.tuples(st.integers(2, 4), st.integers(2, 5), st.integers(0, 2**32 - 1))


def _channel(kind: str, n_classes: int, n_values: int) -> TableChannel:
    if kind == "joint":
        return JointAnswers(RandomizedResponse.from_epsilon(n_classes * n_values, 1.0), n_classes)
    return SeparateAnswers(RandomizedResponse.equal(n_classes, 0.6), RandomizedResponse.equal(n_values, 0.4))


def _shares(n_classes: int, n_values: int, seed: int) -> FloatArray:
    return np.random.default_rng(seed).dirichlet(np.ones(n_classes * n_values)).reshape(n_classes, n_values)


@pytest.mark.parametrize("kind", ["joint", "separate"])
@given(SIZES)
def test_dependence_is_unbiased_with_its_variance(kind: str, sizes: tuple[int, int, int]) -> None:
    """Expected answers give the true dependence, and the variance is that of a sum over independent rows."""
    channel, shares, n = _channel(kind, *sizes[:2]), _shares(*sizes), 1000.0
    classes, values = shares.sum(axis=1), shares.sum(axis=0)
    answers = channel.forward(shares)
    found = channel.dependence(n * answers, classes)
    assert np.allclose(found.excess, shares - np.outer(classes, values))
    assert np.allclose(found.values, values)
    singles = np.eye(answers.size).reshape(answers.size, *answers.shape)
    alone = [channel.dependence(one, classes) for one in singles]
    for name, mean in (("excess", found.excess), ("values", found.values)):
        each = np.array([getattr(one, name) for one in alone])
        variance = np.tensordot(answers.reshape(-1), (each - mean) ** 2, 1) / n
        assert np.allclose(getattr(found, f"{name}_variance"), variance)


@given(SIZES)
def test_without_noise_nothing_is_changed(sizes: tuple[int, int, int]) -> None:
    """Exact estimates come back as they are."""
    shares = 0.7 * _shares(*sizes) + 0.3 / (sizes[0] * sizes[1])
    (found,) = shrunken([_exact(shares, 1e-18)], shares.sum(axis=1))
    assert np.allclose(found, shares, atol=1e-6)


@given(SIZES)
def test_noise_alone_says_nothing_of_the_class(sizes: tuple[int, int, int]) -> None:
    """If the noise is far above any effect, every class has the same shares of values."""
    shares = _shares(*sizes)
    (found,) = shrunken([_exact(shares, 1e6)], shares.sum(axis=1))
    within = found / found.sum(axis=1, keepdims=True)
    assert np.allclose(within, within[0], atol=1e-3)
    assert (found > 0).all()


def test_attributes_learn_of_each_other() -> None:
    """Beside attributes that say nothing an effect is trusted less than beside attributes that say much."""
    classes, variance = np.array([0.5, 0.5]), np.full((2, 2), 0.02**2)
    effect, none = np.array([[0.04, -0.04], [-0.04, 0.04]]), np.zeros((2, 2))
    half = np.array([0.5, 0.5])

    def trusted(others: FloatArray) -> float:
        attributes = [
            Dependence(excess=excess, excess_variance=variance, values=half, values_variance=half * 0)
            for excess in (effect, *[others] * 20)
        ]
        return float(shrunken(attributes, classes)[0][0, 0] - 0.25)

    assert 0 <= trusted(none) < trusted(4 * effect) < 0.04


def _exact(shares: FloatArray, variance: float) -> Dependence:
    classes, values = shares.sum(axis=1), shares.sum(axis=0)
    return Dependence(
        excess=shares - np.outer(classes, values),
        excess_variance=np.full(shares.shape, variance),
        values=values,
        values_variance=np.full(values.shape, variance),
    )
