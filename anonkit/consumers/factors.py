# SPDX-License-Identifier: Apache-2.0
"""P(value | class) of one attribute, with its error: estimated shares, and the factors of naive Bayes.

Estimated shares of values, cells or bins within classes are unbiased, or bounded where a band cannot be inverted.

`ClassConditionals` predicts the target that splits all tables of dp-marginals, from these tables themselves. The
mixture is fitted to all pairs of columns at once, and what separates the classes is a small part of them: its posterior
blurs it. The tables by class hold it as it was measured: naive Bayes of the columns, and what each measured pair says
of the class beyond its two columns (Friedman, Geiger, Goldszmidt: *Bayesian network classifiers*, 1997), each shrunken
by its noise, their sum by what columns have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from anonkit.consumers.column_statistics import Columns, answer_codes
from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError
from anonkit.estimators.consistent_counts import (
    JointAnswers,
    SeparateAnswers,
    TableChannel,
    interval,
    normal_quantile,
    smooth,
)
from anonkit.estimators.evidence_weight import weight_of_tables
from anonkit.estimators.number_estimates import bounding_functions
from anonkit.published.channels.number_channels import BandResponse, TransformedResponse
from anonkit.published.count_evidence import by_linear_shrinkage, normal, shares_of
from anonkit.published.noisy_tables import OneWayTable, PairTable
from anonkit.published.product_mixtures import ProductMixtures
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


_NEVER = 1e-9
_FEWEST_ROWS = 0.5
"""Rows of a class, as far as its share is concerned: noise may leave it none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassConditionals:
    """Evidence of columns and pairs for each class, in natural logarithms; a last row of zeros is for unknown cells."""

    classes: FloatArray
    """Logarithm of the share of each class, shape (n_classes,)."""
    columns: Mapping[str, FloatArray]
    """For each column shape (values + 1, n_classes)."""
    pairs: Mapping[tuple[str, str], FloatArray]
    """For each measured pair, beyond its columns, shape (values + 1, values + 1, n_classes)."""

    @classmethod
    def of(cls, mixtures: ProductMixtures, tables: Sequence[OneWayTable], pairs: Sequence[PairTable]) -> Self | None:
        """Return the evidence of the tables on the target that splits them; None where the mixture is to be read.

        Parameters
        ----------
        mixtures : ProductMixtures
        tables, pairs
            Noisy tables of columns and of pairs.

        Notes
        -----
        Where more than half of all pairs were measured they close circles, and what they say is no sum any more: the
        mixture was fitted to all of them together.
        """
        n_columns = len(mixtures.names)
        if not mixtures.anchored or 4 * len(pairs) > n_columns * (n_columns - 1):
            return None
        rows = np.maximum(mixtures.class_rows, _FEWEST_ROWS)
        classes = np.asarray(rows / rows.sum())
        domains = mixtures.schema.domains
        within = {}
        for table in tables:
            moved = table.counts + ((rows - table.counts.sum(axis=1)) / table.counts.shape[1])[:, np.newaxis]
            found = shares_of(moved.T[np.newaxis], math.sqrt(table.variance / 2), domains[table.name]).of_class[0].T
            positive = np.maximum(found, _NEVER)
            within[table.name] = positive / positive.sum(axis=1, keepdims=True)
        weight = weight_of_tables(list(within.values()), classes)
        groups = {table.name: table.groups for table in tables}
        return cls(
            classes=np.log(classes),
            columns={name: np.pad(weight * np.log(own).T, ((0, 1), (0, 0))) for name, own in within.items()},
            pairs={
                pair.names: np.pad(weight * _beyond(pair, within, groups, classes), ((0, 1), (0, 1), (0, 0)))
                for pair in pairs
            },
        )

    def probabilities(self, codes: Mapping[str, IntArray], n_rows: int) -> FloatArray:
        """Return the share of each class, shape (n_rows, n_classes).

        Parameters
        ----------
        codes : mapping of str to int array
            Of the columns that there are; the size of its domain for a cell outside it.
        n_rows : int
        """
        total = np.tile(self.classes, (n_rows, 1))
        for name, own in codes.items():
            total += self.columns[name][own]
        for (first, second), beyond in self.pairs.items():
            if first in codes and second in codes:
                total += beyond[codes[first], codes[second]]
        shares = np.exp(total - total.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _beyond(
    pair: PairTable, within: Mapping[str, FloatArray], groups: Mapping[str, IntArray], classes: FloatArray
) -> FloatArray:
    """Return the evidence of a pair of values on each class beyond both, shape (values, values, n_classes).

    Drawn towards independence within the class, as far as the noisy counts say that pairs are not.
    """
    (first, second), n_classes = pair.names, classes.size
    one, other = (_grouped(within[name], groups[name]) for name in pair.names)
    apart = one[:, :, np.newaxis] * other[:, np.newaxis, :]
    cells = apart.reshape(n_classes, -1)
    prior = normal(cells.T[np.newaxis], (classes @ cells)[np.newaxis])
    counts = pair.counts.reshape(n_classes, -1).T[np.newaxis].astype(np.float64)
    found = by_linear_shrinkage(counts, math.sqrt(pair.variance / 2), prior)
    ratio = np.log(np.maximum(found.of_class[0], _NEVER) / np.maximum(prior.of_class[0], _NEVER))
    by_group = ratio.reshape(one.shape[1], other.shape[1], n_classes)
    return np.asarray(by_group[groups[first]][:, groups[second]])


def _grouped(shares: FloatArray, groups: IntArray) -> FloatArray:
    """Return the sums over the values of each group, shape (n_classes, groups)."""
    return np.stack([np.bincount(groups, weights=own) for own in shares])


_LEAST = 1e-300  # keeps a logarithm finite where an answer is impossible


@dataclass(frozen=True, kw_only=True, eq=False)
class ShareFactor(
    ReportPart,
    keys=("name=attribute.name", "kind", "values?", "edges?", "probabilities", "standard_errors=errors"),
):
    """P(value | class) for categories, or for the cells of a grid."""

    kind: ClassVar[str] = "shares"
    attribute: PublishedAttribute
    probabilities: FloatArray
    """Probabilities for predictions, shape (n_classes, domain size); rows sum to 1 but for the published estimator."""
    unbiased: FloatArray | None
    """The moment estimates behind them, which may leave [0, 1]; None where the answers cannot be inverted."""
    error_source: Callable[[], FloatArray]
    """Computes `errors`: for a smoothed histogram that takes longer than the estimate."""
    notes: tuple[str, ...] = ()
    """Notes for the reader; no cell values."""

    @cached_property
    def errors(self) -> FloatArray:
        """Standard errors, shape (n_classes, domain size); 1 where nothing is known."""
        return np.nan_to_num(self.error_source()[: len(self.probabilities)], nan=1.0, posinf=1.0)

    def codes(self, data: Columns) -> IntArray:
        """Return the code of each true value, `UNKNOWN` outside the domain."""
        domain = self.attribute.domain
        assert domain is not None  # noqa: S101 - shares need a domain
        return data.true_codes(self.attribute.name, domain)

    def log_likelihood(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln P(true value | class), shape (n, n_classes), and how many values the factor knows nothing about."""
        return _looked_up(np.log(self.probabilities), self.codes(data))

    def log_likelihood_released(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln P(published answer | class) for rows that were randomized as well."""
        answers = self.attribute.value_channel(len(self.probabilities)).forward(self.probabilities)
        return _looked_up(np.log(np.maximum(answers, _LEAST)), answer_codes(self.attribute, data))

    def standard_errors(self) -> FloatArray:
        """Return the standard errors of the probabilities, shape (n_classes, domain size)."""
        return self.errors

    @property
    def values(self) -> list[str | None] | None:
        """The categories; None for a number."""
        return self.attribute.domain.labels() if isinstance(self.attribute.domain, Categories) else None

    @property
    def edges(self) -> FloatArray | None:
        """The ends of the bins; None for categories."""
        return self.attribute.domain.edges() if isinstance(self.attribute.domain, Grid) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class NormalFactor(
    ReportPart,
    keys=(
        "name=attribute.name",
        "kind",
        "mean",
        "variance=known_variance",
        "missing",
        "standard_errors=known_errors",
    ),
):
    """P(value | class) as a normal density, with a share of missing values."""

    kind: ClassVar[str] = "normal"
    attribute: PublishedAttribute
    mean: FloatArray
    """Shape (n_classes,)."""
    variance: FloatArray
    """Shape (n_classes,), positive; infinite where the published estimator has none and leaves the attribute out."""
    mean_error: FloatArray
    variance_error: FloatArray
    missing: FloatArray | None
    """Share of missing values per class; None when none can be missing."""
    missing_error: FloatArray | None
    notes: tuple[str, ...] = ()

    def log_likelihood(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln p(true value | class), shape (n, n_classes), and how many values the factor knows nothing about."""
        return self._density(data.numbers(self.attribute.name), self.mean, self.variance, self.missing)

    def log_likelihood_released(self, data: Columns) -> tuple[FloatArray, int]:
        """Return ln p(published number | class) for rows that were randomized as well, taken as normal."""
        mechanism = self.attribute.mechanism
        if not isinstance(mechanism, TransformedResponse):
            raise ParameterError(
                f"attribute {self.attribute.name!r}: randomized rows need the histogram of a grid",
                'numbers = "histogram"',
            )
        mean, variance = mechanism.answer_moments(self.mean, self.variance)
        shown_present, shown_missing = mechanism.presence_probabilities()
        missing = None
        if self.missing is not None:
            missing = (1 - shown_present) * (1 - self.missing) + (1 - shown_missing) * self.missing
        return self._density(data.numbers(self.attribute.name), mean, variance, missing)

    def _density(
        self, values: FloatArray, mean: FloatArray, variance: FloatArray, missing: FloatArray | None
    ) -> tuple[FloatArray, int]:
        absent = np.isnan(values)
        known = np.isfinite(variance)
        spread = np.where(known, variance, 1.0)
        gap = np.where(absent, 0.0, values)[:, np.newaxis] - mean
        density = np.where(known, -0.5 * (np.log(2 * np.pi * spread) + gap**2 / spread), 0.0)
        if missing is None:
            density[absent] = 0.0
            return density, int(absent.sum())
        density += np.log1p(-missing)
        density[absent] = np.log(missing)
        return density, 0

    def standard_errors(self) -> dict[str, FloatArray]:
        """Return the standard errors of mean, variance and share of missing values, each of shape (n_classes,)."""
        errors = {"mean": self.mean_error, "variance": self.variance_error}
        return errors if self.missing_error is None else {**errors, "missing": self.missing_error}

    @property
    def known_variance(self) -> list[float | None]:
        """The variances; None where there is none."""
        return _finite(self.variance)

    @property
    def known_errors(self) -> dict[str, list[float | None]]:
        """The standard errors; None where one is not known."""
        return {name: _finite(errors) for name, errors in self.standard_errors().items()}


def _finite(values: FloatArray) -> list[float | None]:
    """JSON has no infinity: an attribute left out has no variance, an unknown error is none."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


Factor = ShareFactor | NormalFactor


def _looked_up(logarithms: FloatArray, codes: IntArray) -> tuple[FloatArray, int]:
    """Return the column of each code, and 0 for every class where the code is unknown."""
    unknown = codes == UNKNOWN
    values = logarithms.T[np.where(unknown, 0, codes)]
    values[unknown] = 0.0
    return values, int(unknown.sum())
