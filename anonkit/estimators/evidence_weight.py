# SPDX-License-Identifier: Apache-2.0
"""The weight of the summed evidence of attributes: below 1 where noise feigns effects or attributes agree.

Naive Bayes adds up the log-likelihoods of all attributes. The sum is too sure of itself for two reasons: part of the
evidence of estimated shares is noise, and dependent attributes repeat the same evidence. One factor on the sum shrinks
both: it leaves the order of the rows of two classes as it is, and no row gets a class by noise alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray

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
