# SPDX-License-Identifier: Apache-2.0
"""Factors of naive Bayes as predictions use them: shares shrunken by their noise, the sum weighted by its evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonkit.consumers.class_statistics import ClassStatistics
from anonkit.consumers.estimation import (
    Estimation,
    class_sizes,
    is_unperturbed,
    label_channel,
    make_prior,
    smoothed_shares,
    table_channel,
)
from anonkit.consumers.factors import Factor, NormalFactor, ShareFactor
from anonkit.domains.coded_columns import FloatArray
from anonkit.estimators.class_shrinkage import confirmed, shrunken, shrunken_shares
from anonkit.estimators.evidence_weight import evidence_weight, normal_separation, separation, weight_of_tables
from anonkit.published.count_evidence import shares_of
from anonkit.published.randomized_table import PublishedAttribute, PublishedTarget

_NEVER = 1e-9
"""Share of what no class has."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrunkenFactors:
    """The terms of the sum behind a prediction."""

    factors: tuple[Factor, ...]
    weight: float
    """Factor on the sum of their log-likelihoods, in (0, 1]."""


def shrink_factors(factors: Sequence[Factor], statistics: ClassStatistics, estimation: Estimation) -> ShrunkenFactors:
    """Return the factors with the shares of randomized attributes drawn towards no effect of the class.

    So are those of noisy counts (`anonkit.published.count_evidence`). Shares behind a band are smoothed already, and
    what is clear has no noise: they stay. So do errors, which are those of the unbiased estimates. Where nothing was
    randomized all is as it is.
    """
    target = statistics.table.target
    if estimation.estimator != "shrunken" or target is None:
        return ShrunkenFactors(factors=tuple(factors), weight=1.0)
    if statistics.noise:
        return _of_tables(factors, statistics, make_prior(statistics, estimation).expected)
    if not any(_is_noisy(factor.attribute, target) for factor in factors):
        return ShrunkenFactors(factors=tuple(factors), weight=1.0)
    sizes, variances = class_sizes(statistics, target)
    total = max(float(sizes.sum()), 1.0)
    classes = shrunken_shares(sizes / total, variances / total**2)
    chosen = [
        factor.attribute
        for factor in factors
        if isinstance(factor, ShareFactor) and factor.unbiased is not None and _is_noisy(factor.attribute, target)
    ]
    answers = [_answers(one, statistics) for one in chosen]
    found = [
        table_channel(one, target).dependence(counts, classes) for one, counts in zip(chosen, answers, strict=True)
    ]
    n_classes, least = len(target.domain.values), estimation.smoothing
    tables = shrunken(found, classes) if chosen else []
    shares_by_name = {
        one.name: smoothed_shares(shares[:n_classes], least, float(counts.sum()))
        for one, counts, shares in zip(chosen, answers, tables, strict=True)
    }
    result = tuple(
        replace(factor, probabilities=shares_by_name[factor.attribute.name])
        if isinstance(factor, ShareFactor) and factor.attribute.name in shares_by_name
        else factor
        for factor in factors
    )
    of_classes = classes[:n_classes] / classes[:n_classes].sum()
    separations = [_separation(factor, of_classes) for factor in result]
    sure = sum(s for factor, s in zip(result, separations, strict=True) if factor.attribute.name not in shares_by_name)
    real = sure + (confirmed(found, classes, tables) if chosen else 0.0)
    return ShrunkenFactors(factors=result, weight=evidence_weight(separations, real))


def _of_tables(factors: Sequence[Factor], statistics: ClassStatistics, classes: FloatArray) -> ShrunkenFactors:
    """Return the factors of noisy tables: shares drawn together by the noise, cells of numbers smoothed.

    Counts are taken as they were published, and only moved so that those of a class add up to its rows by all tables:
    where they are cut off at 0 their noise is of another size.
    """
    result = []
    for factor in factors:
        name, domain, rows = factor.attribute.name, factor.attribute.domain, statistics.label_counts
        counts = statistics.noisy.get(name, statistics.sums[name])
        if not isinstance(factor, ShareFactor) or domain is None or not isinstance(counts, np.ndarray):
            result.append(factor)
            continue
        moved = counts + ((rows - counts.sum(axis=1)) / counts.shape[1])[:, np.newaxis]
        scale = math.sqrt(statistics.noise.get(name, 0.0) / 2)
        found = shares_of(moved.T[np.newaxis], scale, domain).of_class[0].T
        positive = np.maximum(found, _NEVER)
        result.append(replace(factor, probabilities=positive / positive.sum(axis=1, keepdims=True)))
    tables = [factor.probabilities for factor in result if isinstance(factor, ShareFactor)]
    return ShrunkenFactors(factors=tuple(result), weight=weight_of_tables(tables, classes))


def _separation(factor: Factor, classes: FloatArray) -> float:
    if isinstance(factor, NormalFactor):
        return normal_separation(factor.mean, factor.variance, classes)
    return separation(factor.probabilities, classes)


def _answers(attribute: PublishedAttribute, statistics: ClassStatistics) -> FloatArray:
    """Return the counts of the answers; of an attribute that nobody answered, as if each answer had been given once."""
    sums = statistics.sums[attribute.name]
    assert isinstance(sums, np.ndarray)  # noqa: S101 - shares are made of counts
    counts = (sums[0] if attribute.joint_with_target else sums).astype(np.float64)
    return counts if counts.any() else counts + 1


def _is_noisy(attribute: PublishedAttribute, target: PublishedTarget) -> bool:
    """Return True if answers about the value or the class are randomized, in a way that moments undo."""
    return not all(is_unperturbed(one) for one in (attribute.mechanism, label_channel(target)))
