# SPDX-License-Identifier: Apache-2.0
"""Public grids to which numbers are rounded before they are added up or counted, so that sums are integers.

Numbers that are multiples of a public step, such as integers, and runs of them as the cells of a grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.errors import ParameterError

_EXACT = 2**52
"""Up to so many steps, halves of steps are doubles."""


@dataclass(frozen=True, kw_only=True)
class WholeValues:
    """The multiples of a step between two of them, both included.

    Raises
    ------
    ParameterError
        There are not two values, or doubles do not distinguish halves of a step.
    """

    step: Fraction
    """In the unit of the column; 1 for integers, exact for decimals."""
    low: int
    """The first value, in steps."""
    high: int
    """The last value, in steps."""
    spikes: tuple[int, ...] = ()
    """Values that are cells of their own however few cells there are, in steps, ascending."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ParameterError("there are no two multiples of the step between the bounds")
        inside = all(self.low <= spike <= self.high for spike in self.spikes)
        if not inside or list(self.spikes) != sorted(set(self.spikes)):
            raise ParameterError("spikes must be different values of the column within its bounds")
        reach = max(abs(self.low), abs(self.high))
        if (2 * reach + 1) * self.step.numerator > _EXACT or 2 * self.step.denominator > _EXACT:
            raise ParameterError("the bounds are too large for the step: doubles do not tell halves of a step apart")

    @classmethod
    def within(cls, lower: float, upper: float, step: float | Fraction, spikes: Sequence[float] = ()) -> WholeValues:
        """Return the multiples of a step within bounds; all numbers are the decimals they are written as.

        Raises
        ------
        ParameterError
            A spike is no multiple of the step, too.
        """
        exact = exact_step(step)
        low, high = (Fraction(str(float(bound))) / exact for bound in (lower, upper))
        own = sorted(Fraction(str(float(spike))) / exact for spike in spikes)
        if any(spike.denominator != 1 for spike in own):
            raise ParameterError("spikes must be different values of the column within its bounds")
        return cls(
            step=exact, low=math.ceil(low), high=math.floor(high), spikes=tuple(spike.numerator for spike in own)
        )

    @property
    def size(self) -> int:
        """Number of values."""
        return self.high - self.low + 1

    @property
    def stated_step(self) -> int | float:
        """The step as JSON has it: an integer, or a decimal."""
        return written_step(self.step)

    @property
    def are_integers(self) -> bool:
        """True when every value is an integer."""
        return self.step.denominator == 1

    @property
    def decimals(self) -> int:
        """Number of digits of the step after the point."""
        digits = 0
        while (self.step * 10**digits).denominator > 1:
            digits += 1
        return digits

    def nearest(self, numbers: FloatArray) -> FloatArray:
        """Return the value next to each number, of two the upper one, as cells of a grid have it; NaN stays."""
        steps = np.floor(numbers * self.step.denominator / self.step.numerator + 0.5)
        inside = np.clip(steps, self.low, self.high)
        return np.asarray(inside * self.step.numerator / self.step.denominator, dtype=np.float64)

    def number(self, steps: Fraction | int) -> float:
        """Return so many steps as the nearest double, in the unit of the column."""
        return float(steps * self.step)

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last value, in the unit of the column."""
        return self.number(self.low), self.number(self.high)

    @property
    def own_cells(self) -> tuple[float, ...]:
        """The values that are cells of their own, in the unit of the column."""
        return tuple(self.number(spike) for spike in self.spikes)

    def cells_of(self, bins: int) -> int:
        """Return the number of cells when so many equal ones are divided by the values of their own."""
        return len(_firsts(self, bins, 0)) - 1

    def width(self, cells: int) -> Fraction:
        """Return the width of equal cells over the values, in steps; 1 where each value is a cell."""
        return Fraction(1) if cells == self.size else Fraction(self.size - 1, cells)

    def edges(self, cells: int, beyond: int = 0) -> FloatArray:
        """Return the ends of cells: the bounds, and between them halfway between two values, shape (cells + 1,).

        Parameters
        ----------
        cells : int
            Equal cells over the values, from 1 to their number. A cell holds the values from its real beginning up to
            the next. Spikes divide them further.
        beyond : int
            Half cells that are added below the first value, and as many above the last.
        """
        return _edges(self, cells, beyond)

    def shown(self, cells: int, beyond: int = 0) -> FloatArray:
        """Return the representative value of each cell, shape (cells + beyond,).

        The middle one; of two middle ones the lower in every other cell, so that a mean is not moved.
        """
        return _shown(self, cells, beyond)


def exact_step(step: float | Fraction) -> Fraction:
    """Return a step as the decimal that it is written as.

    Raises
    ------
    ParameterError
        It is no finite number above 0.
    """
    if isinstance(step, Fraction):
        return step
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < math.inf:
        raise ParameterError("a step must be a number above 0")
    return Fraction(str(step))


def written_step(step: Fraction) -> int | float:
    """Return a step as JSON has it: an integer, or a decimal."""
    return step.numerator if step.denominator == 1 else float(step)


@lru_cache(maxsize=4096)
def _firsts(values: WholeValues, cells: int, beyond: int) -> tuple[int, ...]:
    """Return the first value of each cell from the lower bound, in steps, and the one after the last cell."""
    width, half = values.width(cells), Fraction(beyond, 2)
    firsts = [math.ceil((at - half) * width) for at in range(cells + beyond)]
    end = values.size if not beyond else math.ceil((cells + half) * width)
    own = {place - values.low + after for place in values.spikes for after in (0, 1)}
    return (*sorted({*firsts, *own} - {end}), end)


@lru_cache(maxsize=4096)
def _edges(values: WholeValues, cells: int, beyond: int) -> FloatArray:
    firsts = _firsts(values, cells, beyond)
    inner = [values.number(values.low + first - Fraction(1, 2)) for first in firsts[1:-1]]
    out: FloatArray = np.array(
        [values.number(values.low + firsts[0]), *inner, values.number(values.low + firsts[-1] - 1)], dtype=np.float64
    )
    out.setflags(write=False)
    return out


@lru_cache(maxsize=4096)
def _shown(values: WholeValues, cells: int, beyond: int) -> FloatArray:
    firsts = _firsts(values, cells, beyond)
    middles = [(first + after - 1 + at % 2) // 2 for at, (first, after) in enumerate(pairwise(firsts))]
    out: FloatArray = np.array([values.number(values.low + middle) for middle in middles], dtype=np.float64)
    out.setflags(write=False)
    return out


FINEST = 6
"""A grid for sums has at least 10**6 steps between the bounds."""
_DIGITS = 10
"""No number of such a grid has more than 10**10 steps, so that sums of 10**8 rows stay below 2**63."""


@dataclass(frozen=True, kw_only=True)
class RoundingGrid(ParamsPart):
    """Multiples of a decimal step, from the one at or below the lower bound to the one at or above the upper.

    The step is mantissa * 10**exponent; the mantissa is 1, 2 or 5, times that of the column's own step where it has
    one. A number is rounded to the nearest multiple; integers and short decimals are multiples themselves, and
    keep their value.

    Raises
    ------
    ParameterError
        The mantissa is not positive, or there are not two places.
    """

    mantissa: int
    exponent: int
    low: int
    """The first place, in steps."""
    high: int
    """The last place, in steps."""

    def __post_init__(self) -> None:
        if self.mantissa < 1 or not self.low < self.high:
            raise ParameterError("a grid needs a step above 0 and two places at least")

    @classmethod
    def fine(cls, lower: float, upper: float) -> Self:
        """Return the grid on which numbers between bounds are added up."""
        largest = max(abs(lower), abs(upper))
        exponent = max(math.floor(math.log10(upper - lower)) - FINEST, math.ceil(math.log10(largest)) - _DIGITS)
        return cls._over(lower, upper, 1, exponent)

    @classmethod
    def of_points(cls, lower: float, upper: float, most: int, values: WholeValues | None = None) -> Self:
        """Return the grid of the smallest step that has at most so many places: 3 or more, as around 0.

        Of a column of multiples of a step every place is one of them.
        """
        if values is not None:
            return cls._of_multiples(values, most)
        exponent = math.floor(math.log10((upper - lower) / most)) - 1
        while True:
            for mantissa in (1, 2, 5):
                grid = cls._over(lower, upper, mantissa, exponent)
                if grid.places <= most:
                    return grid
            exponent += 1

    @classmethod
    def _of_multiples(cls, values: WholeValues, most: int) -> Self:
        """Return the grid whose step is 1, 2 or 5 times a power of ten of the column's own steps, from 1."""
        digits = values.decimals
        own = int(values.step * 10**digits)
        for power in itertools.count():
            for mantissa in (1, 2, 5):
                each = mantissa * 10**power
                low, high = values.low // each, -(-values.high // each)
                if high - low < most:
                    return cls(mantissa=own * mantissa, exponent=power - digits, low=low, high=high)
        raise AssertionError  # pragma: no cover - one place above and one below 0 are left at the latest

    @classmethod
    def _over(cls, lower: float, upper: float, mantissa: int, exponent: int) -> Self:
        low = math.floor(_in_steps(lower, mantissa, exponent))
        high = math.ceil(_in_steps(upper, mantissa, exponent))
        return cls(mantissa=mantissa, exponent=exponent, low=low, high=max(high, low + 1))

    @property
    def steps(self) -> int:
        """Steps between the first and the last place."""
        return self.high - self.low

    @property
    def places(self) -> int:
        """Number of places."""
        return self.steps + 1

    @property
    def largest(self) -> int:
        """Steps from 0 to the place that is furthest from it."""
        return max(abs(self.low), abs(self.high))

    def rounded(self, numbers: FloatArray) -> IntArray:
        """Return the nearest place of each number, in steps from 0; numbers beyond the ends count as the ends.

        NaN is refused by no one: its place is the first one, and whoever counts leaves it out.
        """
        present = np.where(np.isnan(numbers), 0.0, numbers)
        scaled = present / 10.0**self.exponent if self.exponent >= 0 else present * 10.0**-self.exponent
        return np.clip(np.rint(scaled / self.mantissa), self.low, self.high).astype(np.int64)

    def number(self, steps: float) -> float:
        """Return so many steps as a number, in the unit of the column."""
        whole = steps * self.mantissa
        return float(whole * 10.0**self.exponent if self.exponent >= 0 else whole / 10.0**-self.exponent)


def _in_steps(number: float, mantissa: int, exponent: int) -> float:
    return (number / 10.0**exponent if exponent >= 0 else number * 10.0**-exponent) / mantissa
