# SPDX-License-Identifier: Apache-2.0
"""Counting queries to noisy marginals: conditions on columns, and counts with the interval of their noise.

A condition resolves to whole values of a column, of a number to whole bins.

A noisy table with all columns of a query answers it by sums of its cells; whole columns are summed away. Which table is
read follows from what was chosen before its own noise was added, so the noise of what is read is noise of its law, and
an interval misses the true count as rarely as it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, ReleaseFormatError, did_you_mean
from anonkit.published.noise_intervals import count_margin, gaussian_margin, margin, scale_of
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, OneWayTable, PairTable, noise_variance
from anonkit.published.product_mixtures import ProductMixtures

_TO = ".."


@dataclass(frozen=True, kw_only=True)
class NumberCondition(ReportPart):
    """The bins of a number that a condition means."""

    ranges: tuple[tuple[float, float], ...]
    missing: bool
    asked: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class RowCondition(ReportPart, keys=("values?=listed", "**of_number")):
    """A resolved condition on a column: whole values, of a number whole bins."""

    name: str
    """The column."""
    domain: Categories | Grid
    allowed: BoolArray
    """True for each code of the domain that meets it, shape (values,)."""
    asked: tuple[str, ...] = ()
    """Given conditions on the bins of a number, in words."""

    @property
    def values(self) -> tuple[object, ...]:
        """The values that meet it, None for missing; of a number the middles of the bins."""
        codes = np.flatnonzero(self.allowed)
        middles = self.domain.midpoints().tolist() if isinstance(self.domain, Grid) else []
        labels = [*middles, None] if isinstance(self.domain, Grid) else self.domain.labels()
        return tuple(labels[code] for code in codes)

    @property
    def missing(self) -> bool:
        """Return True if missing meets it."""
        return None in self.values

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Of a number the ends of the bins that meet it, neighbours as one: the low end included, the high one not.

        The high end of the domain is included.
        """
        if not isinstance(self.domain, Grid):
            return ()
        edges, met = self.domain.edges(), self.allowed[: self.domain.cells].astype(np.int8)
        changes = np.flatnonzero(np.diff(met, prepend=0, append=0))
        return tuple((float(edges[low]), float(edges[high])) for low, high in changes.reshape(-1, 2))

    @property
    def words(self) -> str:
        """All of it in a line: `[31.5, 49.5), the bins whose middles lie in 30..50`."""
        if not isinstance(self.domain, Grid):
            return " or ".join("missing" if value is None else str(value) for value in self.values)
        shown = [*(_interval(self.domain, *ends) for ends in self.ranges), *(["missing"] if self.missing else [])]
        return ", ".join([" or ".join(shown), *self.asked])

    @property
    def listed(self) -> tuple[object, ...] | None:
        """The values that are meant; None of a number."""
        return None if isinstance(self.domain, Grid) else self.values

    @property
    def of_number(self) -> NumberCondition | None:
        """The bins that are meant; None of categories."""
        if not isinstance(self.domain, Grid):
            return None
        return NumberCondition(ranges=self.ranges, missing=self.missing, asked=self.asked)

    def and_of(self, other: RowCondition) -> RowCondition:
        """Return the condition of both on one column."""
        return RowCondition(
            name=self.name,
            domain=self.domain,
            allowed=self.allowed & other.allowed,
            asked=tuple(dict.fromkeys([*self.asked, *other.asked])),
        )


def row_condition(name: str, domain: Categories | Grid, condition: object) -> RowCondition:
    """Read a condition on a column.

    Parameters
    ----------
    name, domain
        The column.
    condition : object
        See `MarginalModel.given`.

    Raises
    ------
    ParameterError
        There is no such value, no bin has its middle in a range, or its low end is above its high end.
    """
    members = _members(domain, condition)
    if not isinstance(domain, Grid):
        codes_of = domain.codes_of
        codes = [_code_of_category(name, domain, codes_of, one) for one in members]
        return RowCondition(name=name, domain=domain, allowed=np.isin(np.arange(domain.size), codes))
    allowed, numbers, ranges = np.zeros(domain.size, dtype=bool), [], []
    for one in members:
        ends = _ends(one)
        if ends is not None:
            low, high = (_number(name, end) for end in ends)
            allowed[_bins_between(name, domain, low, high)] = True
            ranges.append(_range(low, high))
        elif _is_missing(one):
            allowed[_code_of_missing(name, domain)] = True
        else:
            number = _number(name, one)
            allowed[_bin_of(name, domain, number)] = True
            numbers.append(f"{number:.10g}")
    values = []
    if numbers:
        values.append(f"the bin{'s' if len(numbers) > 1 else ''} of {' or '.join(dict.fromkeys(numbers))}")
    if ranges:
        values.append(f"the bins whose middles lie in {' or '.join(dict.fromkeys(ranges))}")
    return RowCondition(
        name=name, domain=domain, allowed=allowed, asked=tuple([" and ".join(values)] if values else [])
    )


# --- members -----------------------------------------------------------------------------------------------------


def _members(domain: Categories | Grid, condition: object) -> list[object]:
    """Return the values that a condition lists: any of them is enough."""
    if isinstance(domain, Grid) and _ends(condition) is not None:
        return [condition]
    listed = condition.tolist() if hasattr(condition, "tolist") else condition
    if isinstance(listed, Iterable) and not isinstance(listed, str | bytes | Mapping):
        return list(listed)
    return [listed]


def _ends(member: object) -> tuple[object, object] | None:
    """Return the ends of a range; None for anything else, a pair of ranges among it."""
    if isinstance(member, str):
        low, sign, high = member.partition(_TO)
        return (low, high) if sign else None
    if not isinstance(member, tuple) or len(member) != 2:
        return None
    return None if any(isinstance(end, tuple) or _ends(end) is not None for end in member) else (member[0], member[1])


def _is_missing(value: object) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"  # of pandas, which is neither equal nor unequal to anything


def _code_of_missing(name: str, domain: Categories | Grid) -> int:
    if not domain.has_missing:
        raise ParameterError(f"column {name!r} is never missing")
    return domain.size - 1


def _code_of_category(name: str, domain: Categories, codes_of: Mapping[str | None, int], value: object) -> int:
    """Return the code of a value; a string as it is goes first, then without outer spaces."""
    if isinstance(value, str) or not _is_missing(value):
        for text in (str(value), str(value).strip()):
            if text in codes_of:
                return codes_of[text]
    if _is_missing(value):
        return _code_of_missing(name, domain)
    raise ParameterError(f"column {name!r} has no such value", did_you_mean(str(value), domain.values))


# --- numbers -----------------------------------------------------------------------------------------------------


def _number(name: str, value: object) -> float:
    plain = isinstance(value, int | float | str | np.integer | np.floating) and not isinstance(value, bool)
    try:
        number = float(value) if plain else np.nan  # type: ignore[arg-type]
    except (ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise ParameterError(f"column {name!r} holds numbers", "give a number, or two: 30..50")
    return float(number)


def _bin_of(name: str, domain: Grid, number: float) -> int:
    if not domain.lower <= number <= domain.upper:
        raise ParameterError(
            f"column {name!r} has no such number", f"its bounds are {domain.lower:g} and {domain.upper:g}"
        )
    return int(domain.encode(np.array([number]))[0])


def _bins_between(name: str, domain: Grid, low: float, high: float) -> IntArray:
    """Return the bins whose middles lie in a range, both ends included."""
    if low > high:
        raise ParameterError(
            f"column {name!r}: the low end of {_range(low, high)} is above its high end", f"say {_range(high, low)}"
        )
    middles = domain.midpoints()
    found = np.flatnonzero((middles >= low) & (middles <= high))
    if not found.size:
        edges, at = domain.edges(), int(np.searchsorted(middles, low))
        near = [code for code in (at - 1, at) if 0 <= code < domain.cells]
        inside = [
            f"{_interval(domain, float(edges[code]), float(edges[code + 1]))} around {middles[code]:.10g}"
            for code in near
        ]
        raise ParameterError(
            f"column {name!r}: no bin has its middle in {_range(low, high)}",
            f"near {'are' if len(inside) > 1 else 'is'} {' and '.join(inside)}; a single number means its bin",
        )
    return np.asarray(found, dtype=np.int64)


def _range(low: float, high: float) -> str:
    return f"{low:.10g}{_TO}{high:.10g}"


def _interval(domain: Grid, low: float, high: float) -> str:
    return f"[{low:.10g}, {high:.10g}{']' if high >= domain.upper else ')'}"


MEASURED, TOGETHER, MODEL = "measured", "together", "model"
"""Read from noisy cells; at most what was measured of it together with others; not measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCells:
    """Noisy counts over the groups of the values of some columns.

    Raises
    ------
    ReleaseFormatError
        The groups do not fit the counts.
    """

    names: tuple[str, ...]
    counts: IntArray
    """One axis a column."""
    groups: tuple[IntArray, ...]
    """For each column the group of each value, shape (values,)."""
    rate: int
    """Of the noise, in units of 2**-52."""
    law: str = LAPLACE
    """Of the noise."""

    def __post_init__(self) -> None:
        shape = tuple(int(own.max(initial=-1)) + 1 for own in self.groups)
        if self.counts.shape != shape or self.rate < 1:
            raise ReleaseFormatError("a noisy table of the params does not fit its columns")


@dataclass(frozen=True, kw_only=True, eq=False)
class MarginalCounts:
    """Counts of the cells of a question, all arrays of one shape."""

    counts: FloatArray
    """Unbiased where `basis` says measured, below 0 where noise made them so."""
    lower: FloatArray
    upper: FloatArray
    """Ends of the interval, not below 0."""
    basis: NDArray[np.object_]
    """`measured` or `together`."""


def noisy_cells(
    mixtures: ProductMixtures, tables: Sequence[OneWayTable], pairs: Sequence[PairTable]
) -> tuple[list[NoisyCells], list[NoisyCells]]:
    """Return the tables of columns, and of pairs, with what splits them as a column."""
    target = mixtures.schema.target
    split = mixtures.anchored and target is not None
    sizes = mixtures.schema.sizes
    anchor = (np.arange(len(mixtures.classes)),) if split else ()
    before = (str(target),) if split else ()
    grouped = {table.name: table.groups for table in tables}
    if set(grouped) != set(mixtures.names) or any(own.size != sizes[name] for name, own in grouped.items()):
        raise ReleaseFormatError("the noisy tables of the params are not of the columns of the release")

    def cells(names: Sequence[str], counts: IntArray, groups: Sequence[IntArray], rate: int) -> NoisyCells:
        shown = counts if split else counts.sum(axis=0)  # one class of all rows
        return NoisyCells(names=(*before, *names), counts=shown, groups=(*anchor, *groups), rate=rate, law=mixtures.law)

    columns = [cells((table.name,), table.counts, (np.arange(sizes[table.name]),), table.rate) for table in tables]
    return columns, [
        cells(table.names, table.counts, [grouped[name] for name in table.names], table.rate) for table in pairs
    ]


def answer(
    columns: Sequence[NoisyCells],
    pairs: Sequence[NoisyCells],
    names: Sequence[str],
    allowed: Mapping[str, BoolArray],
    level: float,
) -> MarginalCounts | None:
    """Return the noisy counts of each combination of values, among rows with allowed values.

    Parameters
    ----------
    columns, pairs
        Noisy tables of single columns and of pairs, as `noisy_cells` returns them.
    names : sequence of str
        The columns of the query.
    allowed : mapping of str to bool array
        Columns on which the rows are conditioned.
    level : float
        Confidence of each interval on its own, in (0, 1).

    Returns
    -------
    Answer or None
        None where no table holds all these columns.
    """
    involved = {*names, *allowed}
    chosen = [table for table in columns if involved <= set(table.names)]
    chosen = chosen or [table for table in pairs if involved <= set(table.names)][:1]
    if not chosen:
        return None
    # what splits all tables alone is in each of them: they answer together, weighted by precision
    known = [_summed(table, names, allowed) for table in chosen]
    precisions = [
        1 / (noise_variance(table.rate, table.law) * one.draws) for table, one in zip(chosen, known, strict=True)
    ]
    weights = [own / sum(precisions) for own in precisions]
    counts = sum(weight * one.counts for weight, one in zip(weights, known, strict=True))
    parts = list(zip(weights, chosen, known, strict=True))
    if chosen[0].law == GAUSSIAN:
        far = gaussian_margin(tuple((weight, table.rate, one.draws) for weight, table, one in parts), 1 - level)
    elif len(known) == 1:
        far = float(count_margin(chosen[0].rate, known[0].draws, level))
    else:
        far = margin(tuple((weight * scale_of(table.rate), one.draws) for weight, table, one in parts), 1 - level)
    exact, upper = known[0].exact, np.maximum(counts + far, 0.0)
    outside = np.zeros(exact.shape, dtype=bool)
    for axis, name in enumerate(names):
        if name in allowed:
            outside |= np.expand_dims(~allowed[name], [at for at in range(len(names)) if at != axis])
    return MarginalCounts(
        counts=np.where(outside, 0.0, counts),
        lower=np.where(exact & ~outside, np.maximum(counts - far, 0.0), 0.0),
        upper=np.where(outside, 0.0, upper),
        basis=np.where(exact | outside, MEASURED, TOGETHER).astype(object),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sums:
    """Sums of the noisy cells of a table, one a cell of the question."""

    counts: FloatArray
    exact: BoolArray
    """False where the count covers more than the query."""
    draws: int
    """Cells that were added up for each."""


def _summed(table: NoisyCells, names: Sequence[str], allowed: Mapping[str, BoolArray]) -> _Sums:
    """Return the sums: over all groups of a column outside the query, or over those of its allowed values."""
    counts, draws, whole = table.counts.astype(np.float64), 1, True
    for axis, (name, groups) in enumerate(zip(table.names, table.groups, strict=True)):
        if name in names:
            continue
        wanted = allowed.get(name, np.ones(groups.size, dtype=bool))
        touched = np.unique(groups[wanted])
        whole = whole and bool(wanted[np.isin(groups, touched)].all())
        counts = np.take(counts, touched, axis=axis).sum(axis=axis, keepdims=True)
        draws *= touched.size
    axes = [axis for axis, name in enumerate(table.names) if name in names]
    counts = counts.reshape([counts.shape[axis] for axis in axes])
    shown = [table.names[axis] for axis in axes]
    counts = counts.transpose([shown.index(name) for name in names])
    groups_of = [table.groups[table.names.index(name)] for name in names]
    exact = np.full((1,) * len(names), whole)
    for axis, groups in enumerate(groups_of):
        alone = np.bincount(groups)[groups] == 1
        exact = exact & np.expand_dims(alone, [at for at in range(len(names)) if at != axis])
    return _Sums(
        counts=counts[np.ix_(*groups_of)], exact=np.broadcast_to(exact, [g.size for g in groups_of]), draws=draws
    )
