# SPDX-License-Identifier: Apache-2.0
"""Means that a report states beside the columns of drawn rows: worked out again from the published noisy counts.

The method iterates to the end of an interval; here each stated end is put in, and the noise must reach just so far.
Ends are rounded outward by a thousandth of the width at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_params import GAUSSIAN, PublicColumn, PublicFacts, has_gaussian_tables
from anonkit.checks.laplace_sums import margin
from anonkit.checks.method_traits import Family
from anonkit.promises.guarantee import Check

FloatArray = NDArray[np.float64]

_CHANCE = 0.05
_CARRIED = 0.5
_NEAR = 5e-3
"""Share by which a margin may differ from the one tabulated here."""
_ROUNDED = 1.1e-3
"""Share of the width to which figures are rounded."""
_WIDE = 4.0
_HISTOGRAMS = "histograms by class"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counted:
    """Noisy counts of the numbers of a column by cell, missing ones left out."""

    column: PublicColumn
    counts: FloatArray
    draws: int
    rate: int
    is_gaussian: bool

    def reach(self, weights: FloatArray) -> float:
        """Return how far noise of the weighted counts is from 0 at most, but for the chance of an interval."""
        there = np.abs(weights[weights != 0])
        if not self.is_gaussian:
            half = math.exp(-self.rate / 2**52)
            scale = (1 + half) / (2 * (1 - half))
            return scale * margin(tuple((float(one), self.draws) for one in there), _CHANCE)
        square = 2**51 / self.rate
        variance = float((there**2).sum()) * self.draws * square
        if square < _WIDE:
            return math.sqrt(2 * variance * math.log(2 / _CHANCE))
        return NormalDist().inv_cdf(1 - _CHANCE / 2) * math.sqrt(variance) + float(there.sum())


def mean_checks(params: Mapping[str, Any], report: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Check the means of a report; nothing where it states none, as those of earlier versions.

    Parameters
    ----------
    params, report : mapping
    facts : PublicFacts
        Read from the params.
    """
    stated = {column["name"]: column["mean"] for column in report["columns"] if "mean" in column}
    if not stated:
        return
    counted = {one.column.name: one for one in _counted(params, facts)}
    wrong = len(set(stated) ^ set(counted))
    wrong += sum(not _follows(stated[name], one) for name, one in counted.items() if name in stated)
    yield Check(name="column_means", passed=wrong == 0, observed=wrong, required=0)


def _counted(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[_Counted]:
    """Yield the columns of numbers that noisy counts are published of."""
    own = {column.name: column for column in facts.columns if column.domain.bounds is not None}
    if facts.traits.family is Family.MARGINALS:
        gaussian = has_gaussian_tables(params)
        for table in params["tables"]:
            if table["name"] in own:
                yield _of(own[table["name"]], [table["counts"]], int(table["rate"]), is_gaussian=gaussian)
        return
    for line in params["accounting"]:
        if line["purpose"] != _HISTOGRAMS:
            continue
        for at, column in enumerate(facts.attributes):
            regions = [np.array(tables[at], dtype=np.float64) for tables in params["histograms"]]
            if column.name in own and regions[0].size:
                tables = [region.T for region in regions]
                yield _of(column, tables, int(line["rate"]), is_gaussian=line["mechanism"] == GAUSSIAN)
    if facts.target.name in own and "histogram" in params["target"]:
        histogram = params["target"]["histogram"]
        yield _of(facts.target, [[histogram["counts"]]], int(histogram["rate"]), is_gaussian=False)


def _of(column: PublicColumn, tables: Sequence[Any], rate: int, *, is_gaussian: bool) -> _Counted:
    """Return the counts of a column, of tables of classes by codes."""
    joined = np.concatenate([np.array(table, dtype=np.float64) for table in tables])
    cells = column.domain.fine or column.domain.cells
    return _Counted(
        column=column, counts=joined.sum(axis=0)[:cells], draws=len(joined), rate=rate, is_gaussian=is_gaussian
    )


def _follows(stated: Mapping[str, Any], counted: _Counted) -> bool:
    """Return True if a stated mean, its interval, and whether the rows carry it, follow from the counts."""
    grid, counts = counted.column.domain.grid, counted.counts
    if counts.size != grid.middles.size:  # another check says so
        return False
    low, high = grid.edges[:-1].copy(), grid.edges[1:].copy()
    if grid.multiples is not None:
        half = grid.multiples.at(1) - grid.multiples.at(0)
        low[1:] += half
        high[:-1] -= half
    least, most = stated["low"], stated["high"]
    unit = _ROUNDED * (most - least)
    total = float(counts.sum())
    shares = counts / total if total > 0 else np.full(counts.size, 1 / counts.size)
    plain = float(shares @ grid.middles)
    inside = min(max(plain, least), most)
    if not least <= stated["value"] <= most or abs(stated["value"] - inside) > unit + 1e-9 * abs(inside):
        return False
    if not (
        _is_end(counted, low, least, 1, float(low[0]), unit) and _is_end(counted, high, most, -1, float(high[-1]), unit)
    ):
        return False
    spread = math.sqrt(max(float(shares @ (grid.middles - plain) ** 2), 0.0))
    close = abs((most - least) - _CARRIED * spread) <= 3 * unit
    return close or stated["of_the_rows"] is bool(most - least <= _CARRIED * spread)


def _is_end(counted: _Counted, values: FloatArray, end: float, side: int, outermost: float, unit: float) -> bool:
    """Return True if the noise reaches just as far as a mean at this end of the interval would need.

    `side` is 1 for the lower end and -1 for the upper one; `outermost` is the bound that no mean is beyond.
    """
    counts = counted.counts
    total = float(counts.sum())
    nothing = total <= counted.reach(np.ones_like(counts)) * (1 + _NEAR)
    needed, reached = side * float(counts @ (values - end)), counted.reach(values - end)
    if abs(end - outermost) <= unit:
        return nothing or needed <= reached * (1 + _NEAR) + abs(total) * unit
    if total <= counted.reach(np.ones_like(counts)) * (1 - _NEAR):
        return False  # nothing is known: the interval is all that there can be
    return reached * (1 - _NEAR) <= needed <= reached * (1 + _NEAR) + total * unit
