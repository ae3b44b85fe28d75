# SPDX-License-Identifier: Apache-2.0
"""Estimated shares of values, cells or bins within classes: unbiased, or bounded where a band cannot be inverted."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.estimators.band_bounds import bounding_functions
from anonkit.estimators.consistent_counts import (
    JointAnswers,
    SeparateAnswers,
    TableChannel,
    interval,
    normal_quantile,
    smooth,
)
from anonkit.published.channels.band_response import BandResponse
from anonkit.published.randomized_table import PublishedAttribute


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareEstimates:
    """Shares within classes; arrays of shape (n_classes, n_sets), a set being a value, a cell or a bin."""

    estimate: FloatArray
    """Unbiased, so that it may leave [0, 1]; behind a band the smoothed maximum-likelihood one."""
    error: FloatArray
    """Standard errors; behind a band the interval's farther end from the estimate in the same unit."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the intervals, in [0, 1]."""

    def head(self, n_classes: int) -> ShareEstimates:
        """Return the estimates of the first classes only."""
        return ShareEstimates(**{field.name: getattr(self, field.name)[:n_classes] for field in fields(self)})


def share_estimates(
    attribute: PublishedAttribute, channel: TableChannel, answers: FloatArray, bins: int | None, level: float
) -> ShareEstimates:
    """Return the share of each value within each class.

    Parameters
    ----------
    attribute : PublishedAttribute
        One on categories or on a grid.
    channel : TableChannel
        How class × value became answers.
    answers : array
        Their counts, in the shape the channel works on.
    bins : int, optional
        Equal bins to merge the cells of a grid into, a divisor of their number.
    level : float
        Confidence of each interval, in (0, 1).

    Raises
    ------
    ParameterError
        The number of bins does not fit, or the answers cannot be inverted.
    """
    refuse_bins(attribute, bins)
    band, grid = attribute.mechanism, attribute.domain
    if isinstance(band, BandResponse):
        assert isinstance(grid, Grid)  # noqa: S101 - checked by PublishedAttribute
        merged = bin_indicators(grid, bins or grid.cells)
        table = smoothed_histogram(grid, channel, answers)
        with np.errstate(divide="ignore", invalid="ignore"):
            estimate = np.nan_to_num(table @ merged / table.sum(axis=1, keepdims=True))
        lower, upper = band_interval(band, channel, answers, bins=bins or grid.cells, level=level)
        return ShareEstimates(
            estimate=estimate, error=reach_from(estimate, lower, upper, level), lower=lower, upper=upper
        )
    if bins is None:
        estimated = channel.estimate(answers)
        estimate, error, rarest = estimated.shares, estimated.errors, estimated.rarest
    else:
        assert isinstance(grid, Grid)  # noqa: S101 - refused above
        estimate, error, rarest = _merged(channel, answers, bin_indicators(grid, bins))
    lower, upper = interval(estimate, error, level, rarest=rarest, lowest=0.0, highest=1.0)
    known = np.isfinite(estimate) & np.isfinite(error)
    return ShareEstimates(
        estimate=estimate,
        error=np.where(known, error, 1.0),
        lower=np.where(known, lower, 0.0),
        upper=np.where(known, upper, 1.0),
    )


def refuse_bins(attribute: PublishedAttribute, bins: int | None) -> None:
    """Refuse a number of bins that the attribute cannot be divided into."""
    if bins is None:
        return
    if not isinstance(attribute.domain, Grid):
        raise ParameterError(f"attribute {attribute.name!r} has no grid to divide into bins", "leave bins out")
    if bins < 1 or attribute.domain.cells % bins:
        raise ParameterError(f"bins ({bins}) must divide the {attribute.domain.cells} cells of {attribute.name!r}")


def bin_indicators(grid: Grid, bins: int) -> FloatArray:
    """Return the membership of a grid's codes in its equal bins, missing last, shape (codes, sets)."""
    out = np.zeros((grid.size, bins + grid.has_missing))
    out[: grid.cells, :bins] = np.kron(np.eye(bins), np.ones((grid.cells // bins, 1)))
    out[grid.cells :, bins:] = 1.0
    return out


def smoothed_histogram(grid: Grid, channel: TableChannel, answers: FloatArray) -> FloatArray:
    """Return likeliest smoothed shares of class × cell behind a band response, whose matrix is too flat to invert."""
    return channel.likeliest(answers, smoothing=lambda shares: smooth(shares, grid.cells), tolerance=1e-4)


def _merged(channel: TableChannel, answers: FloatArray, sets: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return unbiased shares of sets of values, their standard errors, and the most one more answer could add."""
    counts = answers.reshape(-1)
    merged = []
    for row in range(channel.n_classes):
        scores = _inverted(channel, row, sets)
        size = float(counts @ scores.sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = counts @ scores / size
            influence = scores - shares * scores.sum(axis=1, keepdims=True)
            merged.append((shares, np.sqrt(counts @ influence**2) / abs(size), scores.max(axis=0) / abs(size)))
    shares, errors, rarest = (np.stack(columns) for columns in zip(*merged, strict=True))
    return shares, errors, rarest


def _inverted(channel: TableChannel, row: int, sets: FloatArray) -> FloatArray:
    """Return the score of each answer for the count of each set of values within a class, shape (n_answers, n_sets)."""
    if isinstance(channel, SeparateAnswers):
        of_class = channel.label.scores(np.eye(channel.n_classes)[:, [row]])
        return _side_by_side(of_class, channel.value.scores(sets))
    assert isinstance(channel, JointAnswers)  # noqa: S101 - there is no third
    return channel.joint.scores(_inside(channel, row, sets))


def _side_by_side(of_class: FloatArray, of_value: FloatArray) -> FloatArray:
    """Return the products for every pair of a class answer and a value answer, shape (n_pairs, n)."""
    return np.asarray((of_class[:, np.newaxis] * of_value).reshape(-1, of_value.shape[1]))


def _inside(channel: TableChannel, row: int, functions: FloatArray) -> FloatArray:
    """Return functions of the value as functions of (class, value) that are 0 in every class but one."""
    inside = np.zeros((channel.n_classes, *functions.shape))
    inside[row] = functions
    return inside.reshape(-1, functions.shape[1])


def reach_from(estimate: FloatArray, lower: FloatArray, upper: FloatArray, level: float) -> FloatArray:
    """Return the error whose usual interval around an estimate holds the whole of another interval."""
    farther = np.maximum(upper - estimate, estimate - lower)
    return np.asarray(np.maximum(farther, 0.0) / normal_quantile(level))


def band_interval(
    band: BandResponse, channel: TableChannel, answers: FloatArray, *, bins: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals of the share of each bin, and of missing, within each class.

    They hold the share at least as often as `level` requires whatever the distribution is: nothing is smoothed in them.

    Parameters
    ----------
    band : BandResponse
        What was done to the number (and to the class, when that is part of the answer).
    channel, answers
        As for `share_estimates`.
    bins : int
        Equal bins of the grid, a divisor of its cells.
    level : float
        Confidence of each interval, in (0, 1).

    Returns
    -------
    two arrays, shape (n_classes, n_sets)
    """
    counts = answers.reshape(-1)
    n_rows = float(counts.sum())
    about = 1 << max(round(np.log2(max(n_rows, 1.0))), 0)  # few different numbers, so that searches are shared
    functions = bounding_functions(band, bins, channel.n_classes, about, level)
    lower = np.empty((channel.n_classes, functions.upper.shape[1]))
    upper = np.empty_like(lower)
    for row in range(channel.n_classes):
        size = _unblinded(band, channel, row, np.ones((len(functions.upper), 1)))[:, 0]
        above = _unblinded(band, channel, row, functions.upper)
        below = _unblinded(band, channel, row, functions.lower)
        upper[row] = _largest_ratio(counts / n_rows, above, size, n_rows, level)
        lower[row] = -_largest_ratio(counts / n_rows, -below, size, n_rows, level)
    return np.clip(lower, 0, 1), np.clip(upper, 0, 1)


def _unblinded(band: BandResponse, channel: TableChannel, row: int, functions: FloatArray) -> FloatArray:
    """Return the score of each answer for the mean of functions of a class's truthful answers, shape (n_answers, n)."""
    if isinstance(channel, SeparateAnswers):
        of_class = channel.label.scores(np.eye(channel.n_classes)[:, [row]])
        return _side_by_side(of_class, band.unblinded(functions))
    return band.unblinded(_inside(channel, row, functions))


def _largest_ratio(
    observed: FloatArray, above: FloatArray, size: FloatArray, n_rows: float, level: float
) -> FloatArray:
    """Return the largest ratios of two means that answers do not contradict (Fieller 1954); infinite where any does.

    The numerator also gets what answers too rare to be seen could add, as in `interval`.
    """
    z = normal_quantile(level)
    mean, whole = observed @ above, float(observed @ size)
    unseen = np.maximum(above.max(axis=0), 0.0) * z / (2 * n_rows)
    noise = (observed @ above**2 - mean**2) / n_rows + unseen**2
    common = (observed @ (above * size[:, np.newaxis]) - mean * whole) / n_rows
    noise_of_size = (float(observed @ size**2) - whole**2) / n_rows
    mean = mean + z * unseen
    # the values θ with (mean - θ whole)² ≤ z² Var(numerator - θ denominator) lie between the roots of a parabola
    square = whole**2 - z**2 * noise_of_size
    if whole <= 0 or square <= 0:  # the class cannot be distinguished from an empty one
        return np.full(mean.shape, np.inf)
    middle = mean * whole - z**2 * common
    inner = np.maximum(middle**2 - square * (mean**2 - z**2 * noise), 0.0)
    return np.asarray((middle + np.sqrt(inner)) / square)
