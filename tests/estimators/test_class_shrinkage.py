"""Shrinkage towards independence of class and value: exact moments, both limits of the noise, no effect out of none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import FloatArray
from anonkit.estimators.class_shrinkage import shrunken
from anonkit.estimators.consistent_counts import Dependence, JointAnswers, SeparateAnswers, TableChannel
from anonkit.published.channels.kary_response import RandomizedResponse

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
