# SPDX-License-Identifier: Apache-2.0
"""Equal cells of numbers, written independently: their ends, and the number by which each is shown.

Of a column of multiples of a step, such as integers, cells end halfway between two of them, and each is shown as
one of its own.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.errors import ReleaseFormatError

FloatArray = NDArray[np.float64]
_LARGEST = sys.float_info.max


@dataclass(frozen=True, kw_only=True)
class Multiples:
    """The multiples of a step from one to another."""

    first: int
    """In steps."""
    number: int
    """Number of multiples."""
    step: Fraction
    alone: tuple[int, ...] = ()
    """Those that are cells of their own, in steps above the first, ascending."""

    def at(self, halves: int) -> float:
        """Return so many half steps above the first, in the unit of the column."""
        over, under = self.step.numerator, self.step.denominator
        return (2 * self.first + halves) * over / (2 * under)  # the nearest double, as of a fraction


def multiples_of(raw: Mapping[str, Any], bounds: tuple[float, float]) -> Multiples | None:
    """Read which numbers a domain of the params states that its column holds; None where it holds any.

    Raises
    ------
    ReleaseFormatError
        The step is no number above 0, or the bounds are no two multiples of it.
    """
    if "step" not in raw:
        return None
    step = raw["step"]
    if type(step) not in (int, float) or not 0 < step <= sys.float_info.max:
        raise ReleaseFormatError("a domain of the params has a step that is no number above 0")
    exact = Fraction(repr(step))
    first, last = (Fraction(repr(float(bound))) / exact for bound in bounds)
    if first.denominator != 1 or last.denominator != 1 or not first < last:
        raise ReleaseFormatError("a domain of the params has bounds that are no multiples of its step")
    return Multiples(
        first=first.numerator,
        number=(last - first).numerator + 1,
        step=exact,
        alone=tuple(_alone(raw.get("spikes", []), first, last, exact)),
    )


def _alone(raw: Any, first: Fraction, last: Fraction, step: Fraction) -> list[int]:
    """Read which multiples are cells of their own, in steps above the first."""
    if not isinstance(raw, list) or any(type(one) not in (int, float) or not abs(one) <= _LARGEST for one in raw):
        raise ReleaseFormatError("a domain of the params has spikes that are no numbers")
    places = [Fraction(repr(float(one))) / step - first for one in raw]
    if any(place.denominator != 1 or not 0 <= place <= last - first for place in places) or places != sorted(
        set(places)
    ):
        raise ReleaseFormatError("a domain of the params has spikes that are no different values of it")
    return [place.numerator for place in places]


@dataclass(frozen=True, kw_only=True)
class EqualCells:
    """Equal cells over bounds, and half cells beyond them in the answers of a band response."""

    low: float
    high: float
    cells: int
    multiples: Multiples | None = None
    beyond: int = 0
    """Half cells below the lower bound, and as many above the upper one."""
    bins: int = 0
    """Number of equal cells that single multiples divide; 0 where none is a cell of its own."""

    @property
    def begins(self) -> list[int]:
        """The first multiple of each cell, in steps above the lower bound, and the one after the last cell."""
        assert self.multiples is not None  # noqa: S101 - whoever asks has looked
        n, equal = self.multiples.number, self.bins or self.cells
        span = n if equal == n else n - 1  # each multiple is a cell, or the last one closes the last cell
        places = range(-self.beyond, 2 * equal + self.beyond + 1, 2)
        found = [-(-place * span // (2 * equal)) for place in places]
        if self.beyond:
            return found
        apart = [end for one in self.multiples.alone for end in (one, one + 1)]
        return sorted({*found[:-1], *apart, n})

    def divided(self, parts: int) -> EqualCells:
        """Return the cells when each equal one is divided into parts, as far as it holds so many multiples."""
        equal = (self.bins or self.cells) * parts
        return over(self.low, self.high, equal, self.multiples)

    def cells_of_parts(self, parts: int) -> NDArray[np.int64]:
        """Return the cell of each cell of `divided`, in order, shape (number of them,)."""
        counts = np.full(self.cells, parts)
        if self.multiples is not None:
            shown = self.divided(parts).middles
            counts = np.diff(np.searchsorted(shown, self.edges[1:-1]), prepend=0, append=shown.size)
        return np.repeat(np.arange(self.cells), counts)

    @cached_property
    def edges(self) -> FloatArray:
        """Ends of the cells, shape (number of cells + 1,)."""
        if self.multiples is None:
            out = np.linspace(self.low, self.high, self.cells + 1)
        else:
            first, *inner, after = self.begins
            halves = [2 * first, *(2 * begin - 1 for begin in inner), 2 * after - 2]
            out = np.array([self.multiples.at(half) for half in halves])
        return np.asarray(out, dtype=np.float64)

    @cached_property
    def middles(self) -> FloatArray:
        """The number by which each cell is shown, shape (number of cells,)."""
        if self.multiples is None:
            return np.asarray((self.edges[:-1] + self.edges[1:]) / 2, dtype=np.float64)
        begins = self.begins
        shown = [(begin + after - (1 - at % 2)) // 2 for at, (begin, after) in enumerate(itertools.pairwise(begins))]
        return np.array([self.multiples.at(2 * one) for one in shown], dtype=np.float64)

    def codes_of_multiples(self, numbers: FloatArray) -> NDArray[np.int64]:
        """Return the cell of each number, -1 for what lies outside or is no multiple, shape (n,)."""
        assert self.multiples is not None  # noqa: S101 - whoever asks has looked
        near = self._nearest(numbers)
        codes = np.searchsorted(self.edges[1:-1], near, side="right")
        inside = (near >= self.edges[0]) & (near <= self.edges[-1]) & (near == numbers)
        return np.where(inside, codes, -1).astype(np.int64)

    def codes_of_shown(self, numbers: FloatArray) -> NDArray[np.int64]:
        """Return the cell that is shown as each number, -1 for what shows none, shape (n,)."""
        order = np.argsort(self.middles, kind="stable")
        ordered = self.middles[order]
        at = np.minimum(np.searchsorted(ordered, numbers), ordered.size - 1)
        return np.where(ordered[at] == numbers, order[at], -1).astype(np.int64)

    def _nearest(self, numbers: FloatArray) -> FloatArray:
        """Return the multiple of the step next to each number, as a double."""
        assert self.multiples is not None  # noqa: S101 - whoever asks has looked
        over, under = self.multiples.step.numerator, self.multiples.step.denominator
        with np.errstate(all="ignore"):  # what is infinite or missing is next to none
            return np.asarray(np.rint(numbers * under / over) * over / under, dtype=np.float64)


def is_as_written(kind: pa.DataType, multiples: Multiples | None) -> bool:
    """Return True if a column has the written type of its numbers: integers as such, others as floats."""
    whole = multiples is not None and multiples.step.denominator == 1
    return bool(pa.types.is_int64(kind) if whole else pa.types.is_floating(kind))


def over(low: float, high: float, equal: int, multiples: Multiples | None) -> EqualCells:
    """Return so many equal cells: of multiples no more than there are, and those of their own besides."""
    if multiples is None:
        return EqualCells(low=low, high=high, cells=equal)
    bins = min(equal, multiples.number)
    return EqualCells(
        low=low,
        high=high,
        cells=fewest(equal, multiples),
        multiples=multiples,
        bins=bins if multiples.alone else 0,
    )


def fewest(cells: int, multiples: Multiples | None) -> int:
    """Return the number of cells of a column that has so many equal ones, 1 or more.

    Of multiples no more than there are; and those that are cells of their own divide the equal ones.
    """
    if multiples is None:
        return cells
    equal = min(cells, multiples.number)
    if not multiples.alone:
        return equal
    low, high = multiples.at(0), multiples.at(2 * multiples.number - 2)
    return len(EqualCells(low=low, high=high, cells=equal, multiples=multiples, bins=equal).begins) - 1
