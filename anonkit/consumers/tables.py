# SPDX-License-Identifier: Apache-2.0
"""Tables estimated from a randomized release: frequencies, histograms, moments, two-way tables, each with intervals.

All are post-processing of the release. Intervals are at the given level, for each number on its own: normal, with
what answers too rare to be seen could add; for a number answered by a band they hold for every distribution.

Published aggregates as data frames, one a table: its groups, and each statistic with its interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anonkit.bundle.data_files import read_rows
from anonkit.bundle.release_place import DATA, Place
from anonkit.bundle.stored_release import refuse_changed
from anonkit.consumers.column_statistics import ClassStatistics, Columns, answer_codes
from anonkit.consumers.estimation import class_moments, table_channel
from anonkit.consumers.factors import ShareEstimates, refuse_bins, share_estimates
from anonkit.consumers.release_files import read_params
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.errors import ParameterError, SourceError
from anonkit.estimators.consistent_counts import interval
from anonkit.estimators.number_estimates import MomentEstimate
from anonkit.published.aggregates import FORMAT, Aggregates, AggregateTable, Statistic
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable

if TYPE_CHECKING:
    import pandas as pd


def aggregate_tables(release: str | Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a release by dp-tables, by name.

    Parameters
    ----------
    release : path
        The Parquet file of the release; its `params.json` is beside it.

    Returns
    -------
    dict of str to DataFrame
        A column for each column by which the table is divided (all groups of the public domains, in their order), and
        of each statistic three: `count`, `count_low`, `count_high`, or `0.5`, `0.5_low`, `0.5_high` of a quantile.
        A table of counts has integers.

    Raises
    ------
    ParameterError
        The release holds no aggregates.
    GuaranteeError
        A file is not the one whose hash is in the descriptor of the release.
    ReleaseFormatError
        A file is missing or damaged.

    Privacy
    -------
    Post-processing of what was published: no privacy loss.
    """
    place, params = Place.of(release), read_params(release)
    refuse_changed(place, DATA)
    if params.get("format") != FORMAT:
        raise ParameterError(
            f"{str(place.file(DATA))!r} holds no aggregates", "they are what method dp-tables publishes"
        )
    aggregates = Aggregates.from_params(params)
    lines = read_rows(place.file(DATA)).to_pandas()
    return {table.name: _frame(lines[lines["table"] == table.name], table) for table in aggregates.tables}


def _frame(lines: pd.DataFrame, table: AggregateTable) -> pd.DataFrame:
    """Return the lines of a table with a column for each statistic and each end of its interval."""
    import pandas as pd

    kind = "int64" if table.statistic is Statistic.COUNT else "float64"
    columns: dict[str, Any] = {}
    for statistic in lines["statistic"].drop_duplicates():
        own = lines[lines["statistic"] == statistic]  # the groups in the order of the table, as of every statistic
        name = str(statistic).removeprefix("quantile ")
        columns |= {group: own[group].astype(str).to_numpy() for group in table.by}
        columns |= {
            f"{name}{end}": own[of].to_numpy().astype(kind)
            for of, end in (("value", ""), ("low", "_low"), ("high", "_high"))
        }
    return pd.DataFrame(columns)


Axis = tuple[str, tuple[object, ...]]
Axes = tuple[Axis, ...]
Params = Mapping[str, Any] | PublishedTable
_MOMENTS: Axis = ("moment", ("mean", "variance", "present"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimates:
    """Estimated numbers with what they belong to; all arrays have one shape."""

    index: Axes
    """Name and labels of each axis, in order."""
    estimate: FloatArray
    """Unbiased (smoothed maximum likelihood for a band response's histogram); shares may leave [0, 1]."""
    error: FloatArray
    """Standard errors, rows and noise both random; for the histogram of a band response half-widths of the interval in
    the same unit, so that the bias of the smoothing is part of them."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the confidence interval, cut to what is possible."""
    level: float
    """Confidence of each interval."""
    n_rows: int
    """Rows that answered."""

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per number, the labels as index levels."""
        import pandas as pd

        index = pd.MultiIndex.from_product([labels for _, labels in self.index], names=[name for name, _ in self.index])
        columns = ("estimate", "error", "lower", "upper")
        return pd.DataFrame({name: getattr(self, name).reshape(-1) for name in columns}, index=index)


def frequencies(
    released: object, params: Params, name: str, *, level: float = 0.95, bins: int | None = None
) -> Estimates:
    """Estimate the share of each category of an attribute or of the target, or of each cell of a number's grid.

    Where answers come from a band around the value, an interval holds the share at least as often as `level` requires,
    whatever the distribution; the estimate is smoothed and need not be its middle, and single cells are hardly
    determined. Fewer bins give more precise shares.

    Parameters
    ----------
    released : table
        The published table.
    params : mapping or PublishedTable
        Its params.
    name : str
        An attribute, or the target.
    level : float
        Confidence of each interval, in (0, 1).
    bins : int, optional
        Equal bins to merge the cells of a number's grid into, a divisor of their number; the cells when not given.
    """
    attribute, statistics = _marginal(released, params, name)
    counts = _counts(statistics, name)
    estimates = share_estimates(attribute, table_channel(attribute, None), counts, bins, level)
    return _shares((_axis(attribute, bins),), estimates, counts.sum(), level)


def histogram(
    released: object, params: Params, name: str, *, level: float = 0.95, bins: int | None = None
) -> Estimates:
    """Estimate the share of each cell, or bin, of a number's grid; parameters are those of `frequencies`."""
    if not isinstance(_table(params).attribute(name).domain, Grid):
        raise ParameterError(f"attribute {name!r} has no grid", "ask for its moments or frequencies")
    return frequencies(released, params, name, level=level, bins=bins)


def moments(released: object, params: Params, name: str, *, level: float = 0.95) -> Estimates:
    """Estimate the mean and the variance of a number, and the share of rows that have a value.

    Parameters are those of `frequencies`. For a mechanism on a grid the moments are those of the middles of the cells.
    """
    attribute, statistics = _marginal(released, params, name)
    if not attribute.is_number:
        raise ParameterError(f"attribute {name!r} is not a number", "ask for its frequencies")
    return _moments((_MOMENTS,), class_moments(attribute, statistics), statistics, level)


def by_class(released: object, params: Params, name: str, *, level: float = 0.95, bins: int | None = None) -> Estimates:
    """Estimate, within each class of the target, the shares of an attribute's values, or the moments of a number.

    Numbers published by TRR have moments, everything else shares. Parameters are those of `frequencies`.
    """
    table = _table(params)
    if table.target is None:
        raise ParameterError("the params name no target")
    attribute, statistics = table.attribute(name), ClassStatistics(table, only=(name,))
    statistics.add(Columns(released))
    _refuse_no_rows(statistics.n_rows)
    n_classes = len(table.target.domain.values)
    classes = (table.target.name, table.target.domain.values)
    if attribute.domain is None:
        refuse_bins(attribute, bins)
        return _moments((_MOMENTS, classes), class_moments(attribute, statistics).head(n_classes), statistics, level)
    counts = _counts(statistics, name)
    channel = table_channel(attribute, table.target)
    estimates = share_estimates(attribute, channel, counts[0] if attribute.joint_with_target else counts, bins, level)
    return _shares((classes, _axis(attribute, bins)), estimates.head(n_classes), statistics.n_rows, level)


def two_way(released: object, params: Params, rows: str, columns: str, *, level: float = 0.95) -> Estimates:
    """Estimate the share of each pair of values of two attributes (or an attribute and the target).

    The response matrix of a pair is the Kronecker product of the two; its inverse is applied side by side.

    Parameters
    ----------
    released, params, level
        As for `frequencies`.
    rows, columns : str
        Two attributes on categories or bins; either may be the target.

    Raises
    ------
    ParameterError
        When rows answer one attribute only, or an answer cannot be inverted.
    """
    table, data = _table(params), Columns(released)
    if table.asked_column is not None:
        raise ParameterError("each row answers one attribute only: two were never seen together")
    sides = [_described(table, name) for name in (rows, columns)]
    first, second = (side.value_channel(1) for side in sides)
    if BandResponse in (type(first), type(second)):
        raise ParameterError("a band response cannot be inverted cell by cell", "publish the number in bins instead")
    codes = [answer_codes(side, data) for side in sides]
    if any(bool((side == UNKNOWN).any()) for side in codes):
        raise SourceError("some rows hold a value outside the published domains")
    counts = np.zeros((first.n_outputs, second.n_outputs))
    np.add.at(counts, (codes[0], codes[1]), 1.0)
    n_rows = _refuse_no_rows(counts.sum())
    shares = first.unmix(second.unmix(counts).T).T / n_rows
    squares = first.unmix_squares(second.unmix_squares(counts).T).T / n_rows
    errors = np.sqrt(np.maximum(squares - shares**2, 0) / n_rows)
    rarest = np.outer(first.largest_scores, second.largest_scores) / n_rows
    lower, upper = interval(shares, errors, level, rarest=rarest, lowest=0.0, highest=1.0)
    return Estimates(
        index=(_axis(sides[0]), _axis(sides[1])),
        estimate=shares,
        error=errors,
        lower=lower,
        upper=upper,
        level=level,
        n_rows=int(n_rows),
    )


def _table(params: Params) -> PublishedTable:
    return params if isinstance(params, PublishedTable) else PublishedTable.from_params(params)


def _described(table: PublishedTable, name: str) -> PublishedAttribute:
    """Return the description of an attribute, or of the target as if it were one."""
    target = table.target
    if target is None or target.name != name:
        return table.attribute(name)
    if target.mechanism is None:
        raise ParameterError(f"target {name!r} was answered jointly with the attributes", "ask for by_class tables")
    return PublishedAttribute(name=name, domain=target.domain, mechanism=target.mechanism)


def _marginal(released: object, params: Params, name: str) -> tuple[PublishedAttribute, ClassStatistics]:
    """Sum one column over all classes."""
    table = _table(params)
    if table.target is not None and table.target.name == name:
        whole = PublishedTable(target=None, attributes=(_described(table, name),))
    else:
        whole = table.without_target()
    statistics = ClassStatistics(whole, only=(name,))
    statistics.add(Columns(released))
    _refuse_no_rows(statistics.n_rows)
    return whole.attribute(name), statistics


def _counts(statistics: ClassStatistics, name: str) -> FloatArray:
    counts = statistics.sums[name]
    if not isinstance(counts, np.ndarray):
        raise ParameterError(f"attribute {name!r} was published by trr", "ask for its moments")
    _refuse_no_rows(float(counts.sum()))
    return counts.astype(np.float64)


def _refuse_no_rows(n_rows: float) -> float:
    if n_rows == 0:
        raise SourceError("the table has no rows that answer this")
    return n_rows


def _axis(attribute: PublishedAttribute, bins: int | None = None) -> Axis:
    domain = attribute.domain
    if isinstance(domain, Categories):
        return attribute.name, tuple(domain.labels())
    assert isinstance(domain, Grid)  # noqa: S101 - callers have refused TRR
    middles = tuple(replace(domain, cells=bins or domain.cells).midpoints().tolist())
    return attribute.name, (*middles, None) if domain.has_missing else middles


def _shares(axes: Axes, estimates: ShareEstimates, n_rows: float, level: float) -> Estimates:
    """Put shares on their axes; those of a single class have one axis only."""
    arrays = {name: getattr(estimates, name) for name in ("estimate", "error", "lower", "upper")}
    if len(axes) == 1:
        arrays = {name: values[0] for name, values in arrays.items()}
    return Estimates(index=axes, **arrays, level=level, n_rows=int(n_rows))


def _moments(axes: Axes, estimate: MomentEstimate, statistics: ClassStatistics, level: float) -> Estimates:
    """Put mean, variance and share of present values on one axis."""
    values = np.stack([estimate.mean, estimate.variance, estimate.present])
    errors = np.stack([estimate.mean_error, estimate.variance_error, estimate.present_error])
    if len(axes) == 1:
        values, errors = values[:, 0], errors[:, 0]
    lower, upper = interval(values, errors, level)
    return Estimates(
        index=axes, estimate=values, error=errors, lower=lower, upper=upper, level=level, n_rows=statistics.n_rows
    )
