# SPDX-License-Identifier: Apache-2.0
"""Conditions on the columns of a mixture: as they are given, and the values or bins that they resolve to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from anonkit.documents import ReportPart
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ParameterError, did_you_mean

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
