# SPDX-License-Identifier: Apache-2.0
"""Estimators of P(value | class) from the sums of a randomized table: corrections, shrinkage and notes.

The estimator `shrunken`, which predictions use, moves the shares of randomized attributes towards no effect of the
class by their noise, and weights the sum of the factors by its evidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from anonkit.consumers.column_statistics import ClassStatistics
from anonkit.consumers.factors import Factor, NormalFactor, ShareFactor, band_interval, reach_from, smoothed_histogram
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import BoolArray, FloatArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import JointAnswers, SeparateAnswers, TableChannel, project_to_simplex
from anonkit.estimators.evidence_weight import (
    confirmed,
    evidence_weight,
    expected_shares,
    normal_separation,
    separation,
    shrunken,
    shrunken_shares,
    weight_of_tables,
)
from anonkit.estimators.number_estimates import (
    MomentEstimate,
    PowerSums,
    ScoreSums,
    estimate_moments,
    published_moments,
    score_sums,
)
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import Channel, TruthOrBlind
from anonkit.published.count_evidence import shares_of
from anonkit.published.randomized_table import PublishedAttribute, PublishedTarget

_NEVER = 1e-12  # what the published estimator's probabilities of 0 or less count as
_CLASS_SPREAD = 0.5  # how much variances of classes are expected to differ, as a share of the pooled one
_FLOOR = 0.1  # what an uncertain variance is at least, as a share of the pooled one
_LEVEL = 0.95  # of the intervals behind the errors of a smoothed histogram
_LEAST = 1e-9  # what any variance is at least, as a share of the attribute's


ESTIMATORS = ("shrunken", "likelihood", "moment", "published")
"""Estimators of shares: shrunken towards no effect of the class by their noise; by maximum likelihood; unbiased, on
the simplex; as published, uncorrected."""


@dataclass(frozen=True, kw_only=True)
class Estimation:
    """The estimator of probabilities from sums.

    Raises
    ------
    ParameterError
        When a value is unknown or out of range.
    """

    estimator: Literal["shrunken", "likelihood", "moment", "published"] = "shrunken"
    """Shares shrunk towards no effect of the class, as far as their noise requires; likeliest shares; unbiased shares
    projected on the simplex; or the paper's, with nothing put right."""
    smoothing: float = 0.5
    """Rows added to each value of each class (Laplace), in [0, inf)."""
    numbers: Literal["histogram", "normal"] = "histogram"
    """Distribution of numbers that were published on a grid; those of TRR are always normal."""

    def __post_init__(self) -> None:
        if self.estimator not in ESTIMATORS:
            raise ParameterError(f"estimator ({self.estimator}) must be shrunken, likelihood, moment or published")
        if self.numbers not in ("histogram", "normal"):
            raise ParameterError(f"numbers ({self.numbers}) must be histogram or normal")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing ({self.smoothing}) must be in [0, inf)")


@dataclass(frozen=True, kw_only=True, eq=False)
class Prior(ReportPart, keys=("probabilities", "standard_errors=errors", "expected")):
    """P(class)."""

    probabilities: FloatArray
    """Shape (n_classes,), positive, adding up to 1."""
    errors: FloatArray
    """Standard errors, shape (n_classes,)."""
    expected: FloatArray
    """Probabilities of predictions: `probabilities`, of the shrunken estimator shrunk together by their errors."""


def label_channel(target: PublishedTarget | None) -> Channel:
    """Return the channel of the labels; clear when there are none, or when they are part of the answers."""
    if target is None:
        return RandomizedResponse.clear(1)
    return target.mechanism or RandomizedResponse.clear(target.domain.size)


def table_channel(attribute: PublishedAttribute, target: PublishedTarget | None) -> TableChannel:
    """Return the channel from class × value of an attribute on codes to answers."""
    mechanism, label = attribute.mechanism, label_channel(target)
    assert isinstance(mechanism, Channel)  # noqa: S101 - TRR has power sums
    if attribute.joint_with_target:
        assert isinstance(mechanism, TruthOrBlind)  # noqa: S101 - checked by PublishedTable
        return JointAnswers(mechanism, label.n_inputs)
    return SeparateAnswers(label, mechanism)


def class_scores(attribute: PublishedAttribute, statistics: ClassStatistics) -> tuple[ScoreSums, FloatArray | None]:
    """Return the sums a number's moments are made of, and the weights that undo the label; None where scores do."""
    sums, mechanism = statistics.sums[attribute.name], attribute.mechanism
    label = label_channel(statistics.table.target)
    if isinstance(sums, PowerSums):
        assert isinstance(mechanism, TransformedResponse)  # noqa: S101 - only TRR has power sums
        return score_sums(mechanism, sums), label.unmix(np.eye(label.n_inputs))
    grid = attribute.domain
    assert isinstance(grid, Grid)  # noqa: S101 - a number that is not TRR
    assert isinstance(mechanism, Channel)  # noqa: S101 - a number that is not TRR
    if attribute.joint_with_target:
        return ScoreSums.of_counts(sums.astype(np.float64), mechanism, grid, label.n_inputs), None
    return ScoreSums.of_counts(sums.astype(np.float64), mechanism, grid), label.unmix(np.eye(label.n_inputs))


def class_moments(attribute: PublishedAttribute, statistics: ClassStatistics) -> MomentEstimate:
    """Estimate mean and variance of a number per true class, nothing put right; a missing class comes last."""
    return estimate_moments(*class_scores(attribute, statistics))


def make_prior(statistics: ClassStatistics, estimation: Estimation) -> Prior:
    """Reconstruct P(class) from published labels, or from the answers when the class is part of them."""
    target = statistics.table.target
    assert target is not None  # noqa: S101 - a classifier has a target
    n_classes = len(target.domain.values)
    sizes, variances = (figures[:n_classes] for figures in class_sizes(statistics, target))
    total = max(float(sizes.sum()), 1.0)
    floor = 0.0 if estimation.estimator == "published" else estimation.smoothing
    positive = np.maximum(project_to_simplex(sizes / total) * total + floor, _NEVER)
    errors = np.sqrt(np.maximum(variances, 0)) / total
    probabilities = positive / positive.sum()
    expected = probabilities
    exact = target.mechanism is not None and is_unperturbed(target.mechanism) and not statistics.noise
    if estimation.estimator == "shrunken" and not exact:
        rows = expected_shares(sizes / total, errors) * total + floor
        expected = rows / rows.sum()
    return Prior(probabilities=probabilities, errors=errors, expected=expected)


def class_sizes(statistics: ClassStatistics, target: PublishedTarget) -> tuple[FloatArray, FloatArray]:
    """Return unbiased class sizes, that of a missing class last, and their variances."""
    if target.mechanism is None:
        return _joint_sizes(statistics)
    counts = statistics.label_counts.astype(np.float64)
    sizes = target.mechanism.unmix(counts)
    variances = target.mechanism.unmix_squares(counts) - sizes**2 / max(counts.sum(), 1.0)
    return sizes, variances + statistics.noise.get(target.name, 0.0)


def _joint_sizes(statistics: ClassStatistics) -> tuple[FloatArray, FloatArray]:
    """Return class sizes, and their variances, from the joint answers about all attributes.

    Every attribute leads to shares of the classes, whose noise grows with its domain: they are weighed by how precise
    the mechanism makes them, whatever was answered, so that the mean stays unbiased.
    """
    rows, shares, variances, precisions = 0.0, [], [], []
    for attribute in statistics.table.attributes:
        mechanism, counts = attribute.mechanism, statistics.sums[attribute.name]
        assert isinstance(mechanism, TruthOrBlind)  # noqa: S101 - checked by PublishedTable
        assert isinstance(counts, np.ndarray)  # noqa: S101 - joint answers are counted
        scores = mechanism.class_scores(statistics.n_classes)
        answers = float(counts.sum())
        if answers:
            share = counts[0] @ scores / answers
            rows += answers
            shares.append(share)
            variances.append((counts[0] @ scores**2 / answers - share**2) / answers)
            precisions.append(answers / float((scores**2).mean(axis=0).sum()))
    if not shares:
        return np.zeros(statistics.n_classes), np.zeros(statistics.n_classes)
    weights = np.array(precisions) / sum(precisions)
    return rows * (weights @ np.array(shares)), rows**2 * (weights**2 @ np.array(variances))


def make_factor(attribute: PublishedAttribute, statistics: ClassStatistics, estimation: Estimation) -> Factor:
    """Reconstruct P(value | class) of one attribute from the sums of a table that is not empty."""
    sums, target = statistics.sums[attribute.name], statistics.table.target
    n_classes = 1 if target is None else len(target.domain.values)
    if isinstance(sums, PowerSums) and estimation.estimator == "published":
        return _published_normal(attribute, sums, class_moments(attribute, statistics).head(n_classes))
    if isinstance(sums, PowerSums) or (attribute.is_number and estimation.numbers == "normal"):
        moments = class_moments(attribute, statistics).head(n_classes)
        exact = _is_exact(attribute, target)
        return _normal(attribute, moments, _may_miss(attribute, sums), estimation.smoothing, exact=exact)
    counts = (sums[0] if attribute.joint_with_target else sums).astype(np.float64)
    noise = statistics.noise.get(attribute.name, 0.0)
    return _shares(attribute, table_channel(attribute, target), counts, n_classes, estimation, noise)


def is_unperturbed(mechanism: Channel | TransformedResponse) -> bool:
    """Return True if values, or classes, were published as they are."""
    if isinstance(mechanism, TransformedResponse):
        return mechanism.is_unperturbed
    return isinstance(mechanism, RandomizedResponse) and mechanism.truth_probability == 1


def _is_exact(attribute: PublishedAttribute, target: PublishedTarget | None) -> bool:
    """Return True if numbers and labels were published as they are, so that sample variances need no repair."""
    mechanism = attribute.mechanism
    return (
        is_unperturbed(label_channel(target))
        and isinstance(mechanism, TransformedResponse)
        and is_unperturbed(mechanism)
    )


def _may_miss(attribute: PublishedAttribute, sums: object) -> bool:
    if isinstance(attribute.mechanism, TransformedResponse):
        return attribute.mechanism.presence is not None or (isinstance(sums, PowerSums) and bool(sums.blanks.any()))
    return attribute.domain is not None and attribute.domain.has_missing


def _shares(
    attribute: PublishedAttribute,
    channel: TableChannel,
    answers: FloatArray,
    n_classes: int,
    estimation: Estimation,
    noise: float,
) -> ShareFactor:
    """Return the shares behind answers; noise on the counts themselves widens errors and smooths by its size."""
    notes: tuple[str, ...] = ()
    unbiased: FloatArray | None = None
    if isinstance(attribute.mechanism, BandResponse):
        assert isinstance(attribute.domain, Grid)  # noqa: S101 - checked by PublishedAttribute
        table, band = smoothed_histogram(attribute.domain, channel, answers), attribute.mechanism
    else:
        estimate, band = channel.estimate(answers), None
        unbiased = estimate.shares[:n_classes]
        if estimation.estimator in ("shrunken", "likelihood"):
            table = channel.maximum_likelihood(answers)
        else:
            sizes = np.maximum(estimate.counts.sum(axis=1, keepdims=True), 0)
            table = sizes * project_to_simplex(np.nan_to_num(estimate.shares))
    if estimation.estimator == "published" and unbiased is not None:
        probabilities = np.maximum(np.nan_to_num(unbiased), _NEVER)
        negative = int((unbiased <= 0).sum())
        if negative:
            notes = (f"attribute {attribute.name!r}: {negative} estimated probabilities are not above 0: taken as 0",)
    else:
        smoothing = estimation.smoothing + float(np.sqrt(noise))
        probabilities = smoothed_shares(table[:n_classes], smoothing, float(answers.sum()))
    if band is None:
        errors = partial(_with_noise, estimate.errors, answers, noise)
    else:
        errors = partial(_reach, band, channel, answers, probabilities)
    return ShareFactor(
        attribute=attribute,
        probabilities=probabilities,
        unbiased=unbiased,
        error_source=errors,
        notes=notes,
    )


def _reach(band: BandResponse, channel: TableChannel, answers: FloatArray, estimate: FloatArray) -> FloatArray:
    """Return errors for a smoothed histogram whose 95 % intervals hold the bias of the smoothing too."""
    lower, upper = band_interval(band, channel, answers, bins=band.positions, level=_LEVEL)
    return reach_from(estimate, lower[: len(estimate)], upper[: len(estimate)], _LEVEL)


def _with_noise(errors: FloatArray, answers: FloatArray, noise: float) -> FloatArray:
    """Return standard errors of shares within classes with those of noise of some variance on every count."""
    if not noise:
        return np.asarray(errors)
    sizes = np.maximum(answers.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(np.sqrt(errors**2 + noise / sizes**2))


def smoothed_shares(table: FloatArray, smoothing: float, n_rows: float) -> FloatArray:
    """Add `smoothing` rows to each value and divide by the size of the class; one without rows gets pooled shares."""
    sizes, total = table.sum(axis=1, keepdims=True), float(table.sum())
    if total <= 0:
        return np.full(table.shape, 1 / table.shape[1])
    pooled = np.broadcast_to(table.sum(axis=0) / total, table.shape).copy()
    within = np.divide(table, sizes, out=pooled, where=sizes > 0)
    rows, least = n_rows * sizes / total, max(smoothing, _NEVER)  # a probability of 0 would outvote everything else
    return np.asarray((rows * within + least) / (rows + least * table.shape[1]))


def _published_normal(attribute: PublishedAttribute, powers: PowerSums, errors: MomentEstimate) -> NormalFactor:
    mechanism = attribute.mechanism
    assert isinstance(mechanism, TransformedResponse)  # noqa: S101 - only TRR has power sums
    mean, variance = (values[: len(errors.mean)] for values in published_moments(mechanism, powers))
    usable = np.isfinite(mean) & (variance > 0)
    notes: tuple[str, ...] = ()
    if not usable.all():
        unusable = int((~usable).sum())
        notes = (f"attribute {attribute.name!r}: the variance of {unusable} classes is not above 0; it is left out",)
    return NormalFactor(
        attribute=attribute,
        mean=np.where(usable.all(), mean, 0.0),
        variance=np.where(usable.all(), variance, np.inf),
        mean_error=errors.mean_error,
        variance_error=errors.variance_error,
        missing=None,
        missing_error=None,
        notes=notes,
    )


def _normal(
    attribute: PublishedAttribute, estimate: MomentEstimate, may_miss: bool, smoothing: float, *, exact: bool
) -> NormalFactor:
    known = (estimate.rows > 0) & (estimate.present > 0) & np.isfinite(estimate.mean) & np.isfinite(estimate.variance)
    weights = np.where(known, estimate.rows * estimate.present, 0.0)
    weights = weights / weights.sum() if known.any() else np.full(len(known), 1 / len(known))
    mean = np.where(known, estimate.mean, 0.0)
    mean = np.where(known, mean, weights @ mean)
    error = np.zeros(len(known)) if exact else estimate.variance_error
    variance, drowned = _positive_variance(estimate.variance, error, known, weights)
    spread = float(weights @ variance + weights @ (mean - weights @ mean) ** 2)
    missing, missing_error = None, None
    if may_miss:
        missing_error = np.nan_to_num(estimate.present_error, nan=1.0, posinf=1.0)
        rows, least = np.maximum(estimate.rows, 0), max(smoothing, _NEVER)
        share = np.clip(1 - np.nan_to_num(estimate.present, nan=1.0), 0, 1)
        missing = (rows * share + least) / (rows + 2 * least)
    return NormalFactor(
        attribute=attribute,
        mean=mean,
        variance=np.maximum(variance, _LEAST * spread or 1.0),
        mean_error=np.nan_to_num(estimate.mean_error, nan=np.inf),
        variance_error=np.nan_to_num(estimate.variance_error, nan=np.inf),
        missing=missing,
        missing_error=missing_error,
        notes=_drowned_note(attribute.name, drowned),
    )


def _positive_variance(
    estimate: FloatArray, error: FloatArray, known: BoolArray, weights: FloatArray
) -> tuple[FloatArray, int]:
    """Return variances that are not negative, and in how many classes the noise drowns the estimate.

    Each is drawn towards the pooled one as if the variances of classes differed by half of it (a normal prior): a
    precise estimate stays as it is, a hopeless one becomes the pooled one.
    """
    raw = np.where(known, estimate, 0.0)
    doubt = np.where(known, error, np.inf)
    pooled = float(weights @ raw)
    if pooled <= 0:  # says only that it is below its own error
        pooled = float(np.sqrt(weights[known] ** 2 @ doubt[known] ** 2))
    prior = (_CLASS_SPREAD * pooled) ** 2
    trust = np.divide(prior, prior + doubt**2, out=np.ones_like(doubt), where=doubt > 0)
    variance = np.maximum(pooled + trust * (raw - pooled), _FLOOR * (1 - trust) * pooled)
    return np.maximum(variance, 0.0), int((known & (raw <= 0) & (doubt > 0)).sum())


def _drowned_note(name: str, drowned: int) -> tuple[str, ...]:
    if not drowned:
        return ()
    return (
        f"attribute {name!r}: the noise drowns the variance of {drowned} classes; a floor replaces it "
        "(more rows, or noise centred on public bounds, would help)",
    )


_LEAST_SHARE = 1e-9
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
        positive = np.maximum(found, _LEAST_SHARE)
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
