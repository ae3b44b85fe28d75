# SPDX-License-Identifier: Apache-2.0
"""Power analysis of a noisy release: whether it can inform about its target, and the rows needed at this noise."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from anonkit.consumers.column_statistics import ClassStatistics
from anonkit.consumers.estimation import class_scores, table_channel
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Grid
from anonkit.estimators.consistent_counts import JointAnswers, SeparateAnswers, TableChannel, normal_quantile
from anonkit.estimators.number_estimates import PowerSums
from anonkit.published.channels.category_channels import SetResponse
from anonkit.published.one_thread import one_thread
from anonkit.published.randomized_table import PublishedAttribute

if TYPE_CHECKING:
    from anonkit.consumers.naive_bayes import Model

# Sizes of effects and levels of tests are conventions (docs/how-to/reconstruct.md). How often they warn is
# measured by `python recipes/benchmarks/told_or_not.py`.
SHARE_EFFECT = 0.1
"""Difference of a class from the others, in the share of a value or the mean of a number as a share of its bounds."""
SHIFT_EFFECT = 0.5
"""Difference of a class from the others in the mean of a number without bounds, in its standard deviations."""
BASE_RATE_REACH = 0.05
"""Most distance of the end of a 95 % interval of a class's share from the estimate for a known base rate."""

# chance that a release in which nothing depends on the class shows a difference, 5 % in all
_MISTAKEN_TOGETHER, _MISTAKEN_ALONE = 0.04, 0.01
_FOUND = 0.8  # chance that a difference of the size above is seen with the rows that are stated
_RANK = 1e-9  # share of the largest below which a variance is rounding
_ENOUGH = 5  # answers a contrast from which the law of all together is near χ²
_MOST_COMPARED = 512  # pairs of class and value: of more values the commonest are compared
_HEAVY = 20  # times as many where noise has heavy tails
_UNKNOWN_REACH = 0.2  # half a 95 % interval of every class's share, above which the base rate is unknown


@dataclass(frozen=True, kw_only=True)
class LearningPower(ReportPart):
    """The statistical power of the answers of a release for its target."""

    class_effect_told: bool
    """Some attribute is seen to differ between classes (by chance alone in 5 % of the releases)."""
    base_rate_told: bool
    """Some class's share is known within 20 points."""
    rows_for_class_effect: int | None
    """Answers at which a difference of 10 points (of half a standard deviation for a number without bounds) in the
    attribute that shows it best is seen with 80 % probability; None where noise leaves no finite error."""
    rows_for_base_rate: int | None
    """Rows at which the share of every class is known within 5 points, at 95 %."""
    rows: int

    def notes(self) -> Iterator[str]:
        """Yield the warnings for users of the model, one sentence each."""
        if not self.class_effect_told:
            needed = _about(self.rows_for_class_effect)
            yield (
                f"what this model predicts may be noise: in {self.rows:,} rows attributes differ between classes by no "
                f"more than this noise makes them differ; to see a difference of 10 points {needed} would be needed"
            )
        if not self.base_rate_told:
            needed = _about(self.rows_for_base_rate)
            yield (
                f"the shares of the classes are unknown: from {self.rows:,} rows none is known within 20 points; "
                f"to know each within 5 points {needed} would be needed"
            )


class NothingLearnedWarning(UserWarning):
    """The rows of a release are too few for its noise to show anything of the target."""


def _about(rows: int | None) -> str:
    if rows is None:
        return "more rows than can be estimated"
    scale = 10 ** max(len(str(rows)) - 2, 0)
    return f"about {-(-rows // scale) * scale:,} rows"


@one_thread()
def learning_power(model: Model) -> LearningPower:
    """Return the power of the rows of a model, by unbiased contrasts under no class effect.

    For every class c and value v the contrast D = N_cv − P_v N_c − π_c (N_v − P_v N) of estimated counts has mean 0
    when the value does not depend on the class (for a number, its mean takes the place of the share of v). Its
    variance s² is that of answers in which it does not. A class effect is detected when all contrasts together leave a
    χ² law of their rank at 4 %, or one of the m contrasts leaves the interval of Bernstein's inequality at 1 % / m,
    b L / 3 + √((b L / 3)² + 2 L s²) with L = ln(2 m / 0.01) and b what one answer can add.

    Where P(v|c) and the share in all other classes differ by δ, D is n π_c (1 − π_c) δ, and s grows as √n: the
    difference is seen with 80 % probability from n ((√(2 L) + z_0.8) s / (n π_c (1 − π_c) δ))² rows on. The least over
    values is stated, for a class as common as one of equals. A class's share of error e is known within d from
    n (1.96 e / d)² rows on; the most over classes is stated.
    """
    statistics, rows, prior = model.statistics, model.statistics.n_rows, model.prior
    parts = [_contrasts(statistics, attribute, prior.probabilities) for attribute in statistics.table.attributes]
    contrasts = np.concatenate([part.found for part in parts])
    deviation = np.concatenate([part.deviation for part in parts])
    most, effect = np.concatenate([part.most for part in parts]), np.concatenate([part.effect for part in parts])
    exponent = float(np.log(2 * max(contrasts.size, 1) / _MISTAKEN_ALONE))
    reach = most * exponent / 3 + np.sqrt((most * exponent / 3) ** 2 + 2 * exponent * deviation**2)
    known = (deviation > 0) & np.isfinite(effect) & (effect > 0)
    factor = np.sqrt(2 * exponent) + NormalDist().inv_cdf(_FOUND)
    fixed = np.concatenate([part.fixed for part in parts])[known]
    needed = _rows_needed(factor, deviation[known] ** 2, fixed, effect[known], rows)
    base, target = normal_quantile(0.95) * prior.errors, statistics.table.target
    assert target is not None  # noqa: S101 - a classifier has a target
    counted = _rows_needed(
        normal_quantile(0.95),
        (prior.errors * rows) ** 2,
        np.full(prior.errors.shape, statistics.noise.get(target.name, 0.0)),
        np.full(prior.errors.shape, BASE_RATE_REACH * rows),
        rows,
    )
    return LearningPower(
        class_effect_told=bool((np.abs(contrasts) > reach).any()) or _differ_jointly(parts),
        base_rate_told=bool(base.min() <= _UNKNOWN_REACH),
        rows_for_class_effect=_whole(float(needed.min())) if needed.size else None,
        rows_for_base_rate=_whole(float(counted.max())),
        rows=rows,
    )


def _rows_needed(factor: float, variance: FloatArray, fixed: FloatArray, effect: FloatArray, rows: int) -> FloatArray:
    """Return from how many rows on effects pass `factor` standard errors.

    Effects grow as the rows, and so do variances but for the part that noise on counts makes, which stays: the larger
    root of (effect n / rows)² = factor² ((variance − fixed) n / rows + fixed).
    """
    slope, growing = effect / rows, factor**2 * np.maximum(variance - fixed, 0) / rows
    return np.asarray((growing + np.sqrt(growing**2 + 4 * slope**2 * factor**2 * fixed)) / (2 * slope**2))


def _differ_jointly(parts: list[_Contrasts]) -> bool:
    """Return True if the contrasts of all attributes with answers enough are too large together to be noise."""
    from scipy.special import chdtrc

    tested = [part.joint for part in parts if part.joint is not None]
    rank = sum(rank for _, rank in tested)
    return rank > 0 and bool(chdtrc(rank, sum(distance for distance, _ in tested)) < _MISTAKEN_TOGETHER)


def warn_of_power(power: LearningPower, stacklevel: int) -> None:
    """Warn of what cannot be learned."""
    for note in power.notes():
        warnings.warn(note, NothingLearnedWarning, stacklevel=stacklevel + 1)


def _whole(rows: float) -> int | None:
    return int(np.ceil(rows)) if np.isfinite(rows) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Contrasts:
    """Contrasts of one attribute, arrays of shape (n,)."""

    found: FloatArray
    deviation: FloatArray
    """Standard errors when nothing depends on the class."""
    fixed: FloatArray
    """The part of their variances that does not grow with the rows: of noise on counts."""
    most: FloatArray
    """Largest contribution of one answer to each, in absolute value."""
    effect: FloatArray
    """Expected value of each under the effect looked for."""
    joint: tuple[float, int] | None
    """Squared distance of all together from 0 in units of their covariance, and its rank; None with few answers."""

    @classmethod
    def of(
        cls,
        contrasts: FloatArray,
        covariance: FloatArray,
        fixed: FloatArray,
        most: FloatArray,
        effect: float,
        *,
        enough: bool,
    ) -> _Contrasts:
        deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0))
        joint = None
        if enough and np.isfinite(covariance).all():
            inverse = np.linalg.pinv(covariance, rcond=_RANK, hermitian=True)
            joint = float(contrasts @ inverse @ contrasts), round(float(np.trace(inverse @ covariance)))
        return cls(
            found=contrasts,
            deviation=deviation,
            fixed=fixed,
            most=most,
            effect=np.full(contrasts.shape, effect),
            joint=joint,
        )


def _contrasts(statistics: ClassStatistics, attribute: PublishedAttribute, prior: FloatArray) -> _Contrasts:
    """Return the contrasts of each class with all rows."""
    target = statistics.table.target
    assert target is not None  # noqa: S101 - a classifier has a target
    equal = (len(prior) - 1) / len(prior) ** 2  # π (1 − π) of a class as common as the others
    sums = statistics.sums[attribute.name]
    if isinstance(sums, PowerSums):
        return _of_powers(attribute, statistics, equal)
    counts = (sums[0] if attribute.joint_with_target else sums).astype(np.float64)
    channel = table_channel(attribute, target)
    rows, noise = float(counts.sum()), statistics.noise.get(attribute.name, 0.0)
    expected = _without_effect(channel, counts, prior).reshape(-1)
    functions = _functions(attribute, channel, _compared(channel, counts))  # (answers, classes, 1 + what is compared)
    totals = np.tensordot(counts.reshape(-1), functions, axes=(0, 0)).sum(axis=0)
    shares = totals[1:] / totals[0] if totals[0] > 0 else np.zeros(len(totals) - 1)
    centred = functions[..., 1:] - shares * functions[..., :1]
    # less the class's part of all rows: both margins are estimated, and what they are off by must not count
    scores = centred[:, : len(prior)] - prior[:, np.newaxis] * centred.sum(axis=1, keepdims=True)
    scores = scores.reshape(len(functions), -1)
    effect = SHARE_EFFECT * (attribute.domain.cells if isinstance(attribute.domain, Grid) else 1)
    return _Contrasts.of(
        counts.reshape(-1) @ scores,
        (scores * (expected + noise)[:, np.newaxis]).T @ scores,
        noise * (scores**2).sum(axis=0),
        np.abs(scores).max(axis=0),
        rows * equal * effect,
        enough=rows >= _ENOUGH * scores.shape[1],
    )


def _compared(channel: TableChannel, counts: FloatArray) -> FloatArray:
    """Return sets of values to compare, shape (n_values, n_sets): each value, or the commonest ones and the rest."""
    most = max(_MOST_COMPARED // channel.n_classes, 2)
    if channel.n_values <= most:
        return np.eye(channel.n_values)
    common = np.argsort(-counts.reshape(-1, channel.n_values).sum(axis=0), kind="stable")
    sets = np.zeros((channel.n_values, most))
    sets[common[: most - 1], np.arange(most - 1)] = 1.0
    sets[common[most - 1 :], -1] = 1.0
    return sets


def _functions(attribute: PublishedAttribute, channel: TableChannel, sets: FloatArray) -> FloatArray:
    """Return unbiased functions of an answer, shape (answers, classes, 1 + n): present, each value or the position."""
    grid = attribute.domain
    if isinstance(grid, Grid):
        if isinstance(channel, JointAnswers):
            return channel.joint.power_scores(grid.cells, channel.n_classes)[..., 1:3]
        assert isinstance(channel, SeparateAnswers)  # noqa: S101 - there is no third
        of_value = channel.value.power_scores(grid.cells)[:, 0, 1:3]
    elif isinstance(channel, JointAnswers):
        inside = np.asarray(np.kron(np.eye(channel.n_classes), sets), dtype=np.float64)
        functions = channel.joint.scores(inside).reshape(-1, channel.n_classes, sets.shape[1])
        return np.concatenate([functions.sum(axis=2, keepdims=True), functions], axis=2)
    else:
        assert isinstance(channel, SeparateAnswers)  # noqa: S101 - there is no third
        functions = channel.value.scores(sets)
        of_value = np.concatenate([functions.sum(axis=1, keepdims=True), functions], axis=1)
    of_class = channel.label.scores(np.eye(channel.n_classes))
    both = of_class[:, np.newaxis, :, np.newaxis] * of_value[np.newaxis, :, np.newaxis, :]
    return np.asarray(both.reshape(-1, channel.n_classes, of_value.shape[1]))


def _without_effect(channel: TableChannel, counts: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the answer counts to expect with these margins when the value does not depend on the class."""
    rows = max(float(counts.sum()), 1.0)
    if isinstance(channel, SeparateAnswers):
        return np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    assert isinstance(channel, JointAnswers)  # noqa: S101 - there is no third
    if isinstance(channel.joint, SetResponse):
        return _independent(channel.joint, counts, prior)
    blind = channel.joint.blind_probabilities.reshape(channel.n_classes, -1)
    shares = counts.reshape(channel.n_classes, -1).sum(axis=0) / rows
    truthful = np.maximum(shares - blind.sum(axis=0), 0.0)
    classes = np.zeros(channel.n_classes)  # a missing class comes last
    classes[: len(prior)] = prior
    return np.asarray(rows * (classes[:, np.newaxis] * truthful + blind))


def _independent(sets: SetResponse, counts: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the counts of sets to expect: their answers mix classes and values, so margins are mixed anew."""
    rows = max(float(counts.sum()), 1.0)
    of_values = counts.reshape(sets.segments, sets.values).sum(axis=0)
    values = np.maximum(sets.marginal(sets.segments).unmix(of_values), 0.0)
    classes = np.zeros(sets.segments)  # a missing class comes last
    classes[: len(prior)] = prior
    shares = np.outer(classes, values / max(float(values.sum()), 1.0))
    return np.asarray(rows * sets.forward(shares.reshape(-1)).reshape(sets.segments, -1))


def _of_powers(attribute: PublishedAttribute, statistics: ClassStatistics, equal: float) -> _Contrasts:
    """Return the contrasts of a number with transformed noise, whose scores are sums of powers and have no bound."""
    scores, inverse = class_scores(attribute, statistics)
    assert inverse is not None  # noqa: S101 - trr is never joint with the target
    n_classes = len(statistics.table.target.domain.values) if statistics.table.target else 0
    rows, (_, present, values, squares) = float(scores.rows.sum()), scores.totals.sum(axis=0)
    mean = values / present if present > 0 else 0.0
    variance = squares / present - mean**2 if present > 0 else 0.0
    by = np.array([0.0, -mean, 1.0, 0.0])
    per_row = float(by @ scores.products.sum(axis=0) @ by) / max(rows, 1.0)
    powers = (inverse.T @ scores.totals @ by)[:n_classes]
    centred = inverse - inverse.T @ scores.rows / max(rows, 1.0)
    covariance = per_row * (centred.T * scores.rows) @ centred
    effect = rows * equal * SHIFT_EFFECT * np.sqrt(variance) if variance > 0 else np.nan
    return _Contrasts.of(
        powers,
        covariance[:n_classes, :n_classes],
        np.zeros(n_classes),
        np.zeros(n_classes),
        effect,
        enough=rows >= _ENOUGH * n_classes * _HEAVY,
    )
