# SPDX-License-Identifier: Apache-2.0
"""Numbers that are multiples of a public step, such as integers, and runs of them as the cells of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from anonkit.domains.array_types import FloatArray
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
