# SPDX-License-Identifier: Apache-2.0
"""Shrinkage and weight of the evidence of attributes about the class: how much of it is more than noise.

**Shrinkage** of class × value shares towards independence of class and value, by the known noise of each estimate.
Empirical Bayes (Efron and Morris 1973): what a value says of a class has a normal prior around nothing, whose spread is
one of a few, learned from all attributes together. Attributes whose signal is below their noise drop out by themselves;
where there is hardly any noise the estimates stay as they are.

**The weight** of the summed evidence is below 1 where noise feigns effects or attributes agree. Naive Bayes adds up the
log-likelihoods of all attributes. The sum is too sure of itself for two reasons: part of the evidence of estimated
shares is noise, and dependent attributes repeat the same evidence. One factor on the sum shrinks both: it leaves the
order of the rows of two classes as it is, and no row gets a class by noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
_LEAST_SHARE = 0.05  # of the share that independence makes: what noise may take away at most
_NO_SHARE = 1e-12


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
        _posterior(one, shares, classes, spreads, chance, _LEAST_SHARE)
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
    least = np.sqrt(np.maximum(variances, 0.0)) / 10 + _NO_SHARE  # of a share that noise may hide
    positive = np.maximum(shrunk, np.minimum(least, 0.1 / size))
    return np.asarray(positive / positive.sum())


def _fit(one: Dependence, shares: FloatArray, spreads: FloatArray) -> FloatArray:
    """Return the log-likelihood of each spread; cells of a class and its others are counted once."""
    total = (shares * spreads[:, np.newaxis, np.newaxis]) ** 2 + one.excess_variance + _NO_SHARE**2
    cells = -0.5 * (np.log(total) + one.excess**2 / total)
    free = 1 - 1 / max(len(shares), 2)
    return np.asarray(free * cells.sum(axis=(1, 2)))


def _posterior(
    one: Dependence, shares: FloatArray, classes: FloatArray, spreads: FloatArray, chances: FloatArray, floor: float
) -> FloatArray:
    """Return the mean of the posterior, its margins those of the classes and values."""
    squares = (shares * spreads[:, np.newaxis, np.newaxis]) ** 2
    trust = squares / (squares + one.excess_variance + _NO_SHARE**2)
    shrunk = np.einsum("s,scv->cv", chances, trust) * one.excess
    doubt = np.sqrt(np.einsum("s,scv->cv", chances, trust) * one.excess_variance)
    shrunk = shrunk - classes[:, np.newaxis] * shrunk.sum(axis=0)
    shrunk = shrunk - shares.sum(axis=0) * shrunk.sum(axis=1, keepdims=True)
    least = np.minimum(floor * shares, doubt) + _NO_SHARE * shares
    return np.asarray(np.maximum(shares + shrunk, least))


OVERLAP = 0.05
"""Correlation, within a class, that is expected between the evidence of two attributes. Answers about one attribute do
not determine it, so it is a constant: of .03, .05 and .1 the largest at which the mean accuracy at epsilon 2, 4 and 16,
where noise decides little, did not fall on fifteen simulated and generated tables
(`python recipes/benchmarks/evidence_tables.py`; docs/methods/rr.md).
"""

TABLE_OVERLAP = 0.1
"""The same between columns whose noisy counts by class are published, which do not determine it either. Of .05, .1, .15
and .25 that of the least loss in probability on simulated tables; of K classes evidence has K - 1 directions, which
share it."""
DOUBTED_OVERLAP = 0.2
"""Correlation under which a model of a skewed target shall still be right as often as its commonest class. Of .1, .2
and .3 the first under which none of these tables fell behind by more than chance."""
SKEWED = 0.75
"""Share of the commonest class from which on a target is skewed: a convention."""
_FACTORS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
_ROWS, _FEWEST_ROWS = 3000, 50

_LEAST = 0.02  # of the sum is kept, so that rows stay in their order
_NOTHING = 1e-12
_FARTHEST = 4.0  # standard errors outside [0, 1] that an estimated share counts as at most


def separation(within: FloatArray, classes: FloatArray) -> float:
    """Return the separation of classes by an attribute, from its shares, in [0, inf): the mean of its log-likelihoods.

    Parameters
    ----------
    within : array, shape (n_classes, n_values)
        Share of each value within each class, positive; rows add up to 1.
    classes : array, shape (n_classes,)
        Share of each class.
    """
    pooled = classes @ within
    return max(float((classes[:, np.newaxis] * (within - pooled) * np.log(within / pooled)).sum()), 0.0)


def normal_separation(means: FloatArray, variances: FloatArray, classes: FloatArray) -> float:
    """Return the same of a normal number, in [0, inf); 0 where a variance is infinite and it says nothing.

    Parameters
    ----------
    means, variances, classes : array, shape (n_classes,)
        Within each class, and its share.
    """
    if not np.all(np.isfinite(variances)):
        return 0.0
    middle = classes @ means
    pooled = classes @ (variances + (means - middle) ** 2)
    squares = variances + (means - middle) ** 2
    return max(float(classes @ (np.log(pooled / variances) + squares / pooled - 1)) / 2, 0.0)


def evidence_weight(separations: Sequence[float], confirmed: float) -> float:
    """Return the factor on the sum of the log-likelihoods of all attributes, in (0, 1].

    Parameters
    ----------
    separations : sequence of float
        What each attribute says, `separation` or `normal_separation`.
    confirmed : float
        How much of their sum is more than noise.

    Notes
    -----
    With k attributes that say as much each, of correlation r, the sum has 1 + (k - 1) r times the variance that it has
    of independent ones, and the best factor is the inverse. k is the effective number, (Σ √s)² / Σ s.
    """
    strengths = np.array(separations, dtype=np.float64)
    total = float(strengths.sum())
    if total <= _NOTHING:
        return 1.0
    effective = effective_number(strengths)
    real = min(max(confirmed / total, _LEAST), 1.0)
    return real / (1 + OVERLAP * (effective - 1))


def effective_number(strengths: FloatArray) -> float:
    """Return the number of equally strong attributes with the same evidence, at least 1; strengths are separations."""
    total = float(strengths.sum())
    return 1.0 if total <= _NOTHING else float(np.sqrt(strengths).sum() ** 2 / total)


def weight_of_tables(tables: Sequence[FloatArray], classes: FloatArray) -> float:
    """Return the factor on the sum of the log-likelihoods of all columns, each of a table by class, in (0, 1].

    Parameters
    ----------
    tables : sequence of array, shape (n_classes, n_values)
        For each column the share of each value within each class, positive; noise is shrunk away already.
    classes : array, shape (n_classes,)
        Share of each class.

    Notes
    -----
    Of a skewed target too sure a model names rare classes too often, and is right less often than who always names
    the commonest. There the factor is lowered until rows of these tables, their evidence correlated by
    `DOUBTED_OVERLAP`, would be named right no less often than that.
    """
    strengths = np.array([separation(within, classes) for within in tables])
    beyond = (effective_number(strengths) - 1) / max(classes.size - 1, 1)
    weight = 1 / (1 + TABLE_OVERLAP * beyond)
    if float(classes.max()) < SKEWED or beyond <= 0:
        return weight
    labels, scores = _made_up_scores(tables, classes)
    middles = np.stack([scores[labels == one].mean(axis=0) for one in range(classes.size)])[labels]
    apart = middles + np.sqrt(1 + DOUBTED_OVERLAP * beyond) * (scores - middles)
    of_row = (classes / np.bincount(labels))[labels]
    for factor in _FACTORS:
        right = (np.log(classes) + factor * weight * apart).argmax(axis=1) == labels
        if float(of_row[right].sum()) >= float(classes.max()) - _NOTHING:
            break
    return factor * weight


def _made_up_scores(tables: Sequence[FloatArray], classes: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Return labels and summed log-likelihoods of made-up rows with independent values, as many of each class.

    The same tables give the same rows: values have their shares exactly, in a fixed shuffled order.
    """
    order = np.random.default_rng(0)  # nothing depends on it but which values meet
    rows = max(_ROWS // classes.size, _FEWEST_ROWS)
    places = (np.arange(rows) + 0.5) / rows
    scores = np.zeros((classes.size, rows, classes.size))
    for within in tables:
        ends = within.cumsum(axis=1) / within.sum(axis=1, keepdims=True)
        for one in range(classes.size):
            values = np.searchsorted(ends[one, :-1], order.permutation(places))
            scores[one] += np.log(within.T[values])
    return np.repeat(np.arange(classes.size), rows), scores.reshape(-1, classes.size)


def expected_shares(shares: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the expected shares, each as likely as any other beforehand; positive, adding up to 1.

    The mean of a normal law within [0, 1]: where the error is small it is the estimate, where it is wide all shares
    are drawn together, and the larger of two stays the larger.

    Parameters
    ----------
    shares, errors : array, shape (n,)
        Unbiased estimates, which may leave [0, 1], and their standard errors.
    """
    from scipy.special import ndtr

    spread = np.maximum(errors, _NOTHING)
    middle = np.clip(shares, -_FARTHEST * spread, 1 + _FARTHEST * spread)
    low, high = -middle / spread, (1 - middle) / spread
    ends = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    means = np.clip(middle + spread * ends / (ndtr(high) - ndtr(low)), _NOTHING, 1.0)
    return np.asarray(means / means.sum())
