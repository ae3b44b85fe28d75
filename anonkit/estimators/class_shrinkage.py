# SPDX-License-Identifier: Apache-2.0
"""Shrinkage of class × value shares towards independence of class and value, by the known noise of each estimate.

Empirical Bayes (Efron and Morris 1973): what a value says of a class has a normal prior around nothing, whose spread is
one of a few, learned from all attributes together. Attributes whose signal is below their noise drop out by themselves;
where there is hardly any noise the estimates stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonkit.domains.coded_columns import FloatArray
from anonkit.estimators.consistent_counts import Dependence, project_to_simplex

SPREADS = (0.45, 0.6, 0.8, 1.0, 1.4, 2.0, 3.0)
"""Standard deviations that a prior may have: of the excess of a share over what independence would make of it, relative
to that. Found on simulated customers: a grid with spreads down to 0 lets weak effects go too soon. Constants of this
module are measured together with the weight of evidence: `python recipes/benchmarks/evidence_tables.py`."""

SMALL_SPREADS = (0.0, 0.1, 0.2, 0.3)
"""Further ones by which the part of the attributes' evidence beyond noise is estimated: they are too small to rank rows
by, and right where attributes predict little. Found on simulated and generated tables (`evidence_weight`)."""

_STEPS = 50  # of expectation maximization: the weights of a dozen spreads settle in fewer
_WEIGHT = 2.0  # attributes that every spread is given beforehand
_CHECKING_WEIGHT = 0.5  # the same where it is judged what is noise: of .5 and 2 that which missed less of the commonest
_LEAST = 0.05  # of the share that independence makes: what noise may take away at most
_NOTHING = 1e-12


def shrunken(attributes: Sequence[Dependence], classes: FloatArray) -> list[FloatArray]:
    """Return the shares of class × value of every attribute, each of shape (n_classes, n_values), positive.

    Parameters
    ----------
    attributes : sequence of Dependence
    classes : array, shape (n_classes,)
        Share of each class, adding up to 1.
    """
    independent, spreads = _independent(attributes, classes), np.array(SPREADS)
    chances = _chances(attributes, independent, spreads, _WEIGHT)
    return [
        _posterior(one, shares, classes, spreads, chance, _LEAST)
        for one, shares, chance in zip(attributes, independent, chances, strict=True)
    ]


def confirmed(attributes: Sequence[Dependence], classes: FloatArray, shares: Sequence[FloatArray]) -> float:
    """Return the distance between classes in the scores that shares give, if weak effects are as likely as strong ones.

    Beside `evidence_weight.separation` of the same shares it says how much of what they claim is more than noise.

    Parameters
    ----------
    attributes : sequence of Dependence
    classes : array, shape (n_classes,)
        Share of each class, adding up to 1.
    shares : sequence of array, shape (n_classes, n_values)
        What `shrunken` returned.
    """
    independent, spreads = _independent(attributes, classes), np.array((*SMALL_SPREADS, *SPREADS))
    chances = _chances(attributes, independent, spreads, _CHECKING_WEIGHT)
    total = 0.0
    for one, apart, chance, claimed in zip(attributes, independent, chances, shares, strict=True):
        scores = np.log(claimed / (claimed.sum(axis=1, keepdims=True) * claimed.sum(axis=0)))
        excess = _posterior(one, apart, classes, spreads, chance, 0.0) - apart
        total += float((excess * scores).sum())
    return total


def _independent(attributes: Sequence[Dependence], classes: FloatArray) -> list[FloatArray]:
    """Return the shares of class × value without an effect."""
    return [np.outer(classes, shrunken_shares(one.values, one.values_variance)) for one in attributes]


def _chances(
    attributes: Sequence[Dependence], independent: Sequence[FloatArray], spreads: FloatArray, beforehand: float
) -> FloatArray:
    """Return the probability of each spread for each attribute, learned from all together."""
    fits = np.array([_fit(one, shares, spreads) for one, shares in zip(attributes, independent, strict=True)])
    weights = np.full(spreads.size, 1 / spreads.size)
    chances = np.zeros(fits.shape)
    for _ in range(_STEPS):
        chances = np.exp(fits - fits.max(axis=1, keepdims=True)) * weights
        chances /= chances.sum(axis=1, keepdims=True)
        weights = chances.sum(axis=0) + beforehand
        weights /= weights.sum()
    return chances


def shrunken_shares(shares: FloatArray, variances: FloatArray) -> FloatArray:
    """Return unbiased shares, drawn towards equal ones by their noise; positive, adding up to 1.

    Parameters
    ----------
    shares, variances : array, shape (n,)
        Adding up to 1; single shares may be negative.
    """
    size = shares.size
    noise = float(variances.sum())
    signal = max(float(((shares - 1 / size) ** 2).sum()) - noise, 0.0)
    trust = signal / (signal + noise) if signal + noise > 0 else 1.0
    shrunk = project_to_simplex(1 / size + trust * (shares - 1 / size))
    least = np.sqrt(np.maximum(variances, 0.0)) / 10 + _NOTHING  # of a share that noise may hide
    positive = np.maximum(shrunk, np.minimum(least, 0.1 / size))
    return np.asarray(positive / positive.sum())


def _fit(one: Dependence, shares: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return the log-likelihood of each spread; cells of a class and its others are counted once."""
    total = (shares * spreads[:, np.newaxis, np.newaxis]) ** 2 + one.excess_variance + _NOTHING**2
    cells = -0.5 * (np.log(total) + one.excess**2 / total)
    free = 1 - 1 / max(len(shares), 2)
    return np.asarray(free * cells.sum(axis=(1, 2)))


def _posterior(
    one: Dependence, shares: FloatArray, classes: FloatArray, spreads: FloatArray, chances: FloatArray, floor: float
) -> FloatArray:
    """Return the mean of the posterior, its margins those of the classes and values."""
    squares = (shares * spreads[:, np.newaxis, np.newaxis]) ** 2
    trust = squares / (squares + one.excess_variance + _NOTHING**2)
    shrunk = np.einsum("s,scv->cv", chances, trust) * one.excess
    doubt = np.sqrt(np.einsum("s,scv->cv", chances, trust) * one.excess_variance)
    shrunk = shrunk - classes[:, np.newaxis] * shrunk.sum(axis=0)
    shrunk = shrunk - shares.sum(axis=0) * shrunk.sum(axis=1, keepdims=True)
    least = np.minimum(floor * shares, doubt) + _NOTHING * shares
    return np.asarray(np.maximum(shares + shrunk, least))
