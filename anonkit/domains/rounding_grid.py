# SPDX-License-Identifier: Apache-2.0
"""Public grids to which numbers are rounded before they are added up or counted, so that sums are integers."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.domains.whole_values import WholeValues
from anonkit.errors import ParameterError

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
