# SPDX-License-Identifier: Apache-2.0
"""Secrets that are guessed: which guesses are right, and which holders of which values are counted by themselves.

A guess at a measured number is right within the width in which numbers count as one value of the column. That a value
is rare hides what is disclosed of those who hold it, among all the guesses that anybody gets right: so the holders of a
value are attacked apart, beside as many people who do not hold it, and what is guessed is who does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import Values
from anonkit.auditing.attacks.rates import Rate
from anonkit.promises.no_values import TOLERANCE

FEW = 50
"""Numbers of a column of no known width are exact where there are no more different ones."""
_RAREST = 20
"""Values whose holders are attacked apart, at most: the rarest."""
_BANDS = 10
"""Bands of a measured column whose holders are."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldValue:
    """A value of a secret, or a band of its numbers, whose holders are attacked apart."""

    value: Any
    """As JSON has it; of a band its least and greatest number."""
    codes: Bools
    """By value of the column: it is this one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Secret:
    """A column that is guessed."""

    name: str
    values: Values
    numbers: NDArray[np.float64] | None
    """Number of each value, NaN for missing; None where values are compared as they are."""
    width: float
    """Numbers as near as this are one value."""

    @classmethod
    def of(cls, name: str, values: Values, width: float | None) -> Secret:
        """Read a column of the source.

        Parameters
        ----------
        name : str
        values : Values
        width : float, optional
            What the release states of it; else that of any measured column, where it has many different numbers.
        """
        numbers = _numbers(values.values)
        if numbers is None or width == 0:
            return cls(name=name, values=values, numbers=None, width=0.0)
        if width is None:
            held = numbers[values.codes]
            held = held[~np.isnan(held)]
            low, high = np.quantile(held, (0.05, 0.95)) if np.unique(held).size > FEW else (0.0, 0.0)
            width = float(f"{TOLERANCE * (high - low):.1e}")
        return cls(name=name, values=values, numbers=numbers if width else None, width=width)

    def guess(self, votes: NDArray[np.float64], overall: NDArray[np.float64]) -> int:
        """Return the value that most speaks for, with those that count as one with it.

        Among several it is the one for which most speaks itself, then the one that is commonest in the release.
        """
        near, commonest = self._near(votes), self._near(overall)
        best = _largest(near)
        if self.numbers is not None:
            best = best[_largest(votes[best])]
        return int(best[np.argmax(commonest[best])])

    def is_right(self, guess: int, truth: int) -> bool:
        """Return True if a guess is right."""
        if guess == truth or self.numbers is None:
            return guess == truth
        return bool(abs(self.numbers[guess] - self.numbers[truth]) <= self.width)

    def nearest(self, shown: Sequence[Any]) -> NDArray[np.int64] | None:
        """Return the value of a measured column that is nearest to each released number, -1 where none is in reach.

        None where the column is not measured, or released cells are no numbers.
        """
        numbers = _numbers(shown) if shown and self.numbers is not None else None
        if numbers is None or self.numbers is None:
            return None
        there = np.flatnonzero(~np.isnan(self.numbers))
        order = there[np.argsort(self.numbers[there], kind="stable")]
        ascending = self.numbers[order]
        above = np.clip(np.searchsorted(ascending, numbers), 1, ascending.size - 1)
        at = np.where(numbers - ascending[above - 1] <= ascending[above] - numbers, above - 1, above)
        missing = next((code for code, value in enumerate(self.values.values) if value is None), -1)
        found = np.where(np.abs(ascending[at] - numbers) <= self.width, order[at], -1)
        return np.where(np.isnan(numbers), missing, found)

    def _near(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes for every value and for all numbers that count as one with it."""
        if self.numbers is None:
            return votes
        there = np.flatnonzero(~np.isnan(self.numbers))
        order = there[np.argsort(self.numbers[there], kind="stable")]
        ascending, sums = self.numbers[order], np.concatenate([[0.0], np.cumsum(votes[order])])
        first = np.searchsorted(ascending, ascending - self.width, side="left")
        last = np.searchsorted(ascending, ascending + self.width, side="right")
        near = votes.copy()
        near[order] = sums[last] - sums[first]
        return near

    def held(self) -> list[HeldValue]:
        """Return the values, or bands, whose holders are attacked apart, the rarest first; missing is none."""
        counts = self.values.counts
        if self.numbers is None:
            there = [code for code, value in enumerate(self.values.values) if value is not None and counts[code]]
            rarest = sorted(there, key=lambda code: int(counts[code]))[:_RAREST]
            places = np.arange(len(self.values.values))
            return [HeldValue(value=_json(self.values.values[code]), codes=places == code) for code in rarest]
        held = self.numbers[self.values.codes]
        held = held[~np.isnan(held)]
        edges = np.unique(np.quantile(held, np.linspace(0, 1, _BANDS + 1), method="lower")) if held.size else held
        bands = [(self.numbers >= low) & (self.numbers < high) for low, high in pairwise(edges)]
        if bands:
            bands[-1] |= self.numbers == edges[-1]
        shown = [self.numbers[band] for band in bands]
        return [
            HeldValue(value=[float(numbers.min()), float(numbers.max())], codes=band)
            for band, numbers in zip(bands, shown, strict=True)
            if numbers.size
        ]


def right_about(
    held: HeldValue, votes: Sequence[NDArray[np.float64]], overall: NDArray[np.float64], holds: Sequence[bool]
) -> Rate:
    """Return the rate of right decisions on who holds a value: yes where the evidence exceeds everybody else's."""
    usual = _share(overall, held.codes) * (1 + 1e-9)
    right = sum((_share(own, held.codes) > usual) == true for own, true in zip(votes, holds, strict=True))
    return Rate(successes=float(right), attacks=len(holds))


def _largest(votes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the largest votes, but for rounding."""
    return np.flatnonzero(votes >= votes.max() - 1e-12 * max(abs(float(votes.max())), 1.0))


def _share(votes: NDArray[np.float64], codes: Bools) -> float:
    clear = np.maximum(votes, 0.0)  # the inverse of a response may speak against a value
    total = float(clear.sum())
    return float(clear[codes].sum()) / total if total > 0 else 0.0


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the numbers that values are, NaN for missing; None where one is none."""
    if not all(
        value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool)) for value in values
    ):
        return None
    return np.array([np.nan if value is None else float(value) for value in values])


def _json(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)
