# SPDX-License-Identifier: Apache-2.0
"""Figures of published aggregates worked out again from their noisy values, and how likely noise leaves each interval.

The law of a weighted sum of noise is tabulated here by a Fourier transform of its characteristic function; the methods
invert it at single points. A margin may be wider than the law asks by a little, and never narrower.

Weighted sums of independent Laplace variables: tails and margins, tabulated by a Fourier transform.

Written independently of the methods, which invert the characteristic function at single points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import TABLE, ModelQuery, PlaceHalves, PlaceSum
from anonkit.checks.central_noise import Noise, law_of_noise
from anonkit.checks.number_cells import Multiples
from anonkit.documents import ParamsPart

FloatArray = NDArray[np.float64]
Parts = tuple[tuple[float, int], ...]
"""Weights of Laplace variables of scale 1, and how many there are of each."""

_GRID = 1 << 12
_SPAN = 48.0
"""Points of a tabulated law, and its width in deviations: `_NARROWER` bounds the error of so many. Conventions."""


@lru_cache(maxsize=1024)
def _law(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return distances from 0 and the chance of being no further, of a weighted sum of Laplace variables of scale 1."""
    deviation = math.sqrt(sum(2 * times * weight * weight for weight, times in parts))
    step = _SPAN * deviation / _GRID
    turns = 2 * np.pi * np.fft.rfftfreq(_GRID, d=step)
    transform = np.exp(-sum(times * np.log1p((weight * turns) ** 2) for weight, times in parts))
    density = np.maximum(np.fft.irfft(transform, _GRID), 0.0)[: _GRID // 2] / step
    within = step * (2 * np.cumsum(density) - density - density[0])
    return np.asarray(step * np.arange(_GRID // 2), dtype=np.float64), np.asarray(within, dtype=np.float64)


def margin(parts: Parts, chance: float) -> float:
    """Return a bound on a weighted sum of noise, but for this chance."""
    known = _one_a_weight(parts)
    if not known:
        return 0.0
    if len(known) == 1 and known[0][1] == 1:
        return -known[0][0] * math.log(chance)
    far, within = _law(known)
    return float(np.interp(1 - chance, within, far))


def tail(parts: Parts, beyond: float) -> float:
    """Return the chance that a weighted sum is further from 0 than so far."""
    known = _one_a_weight(parts)
    if len(known) == 1 and known[0][1] == 1:
        return math.exp(-beyond / known[0][0])
    if len(known) == 2 and known[0][1] == known[1][1] == 1:
        return _of_two(known[0][0], known[1][0], beyond)
    far, within = _law(known)
    return 1 - float(np.interp(beyond, far, within))


def _one_a_weight(parts: Parts) -> Parts:
    weights = sorted({weight for weight, times in parts if weight > 0 and times > 0})
    return tuple((weight, sum(times for own, times in parts if own == weight)) for weight in weights)


def _of_two(first: float, second: float, beyond: float) -> float:
    """Return the tail of two single variables: partial fractions, and their limit where the scales are nearly one."""
    if abs(first - second) < 1e-5 * (first + second):
        middle = (first + second) / 2
        return (1 + beyond / (2 * middle)) * math.exp(-beyond / middle)
    parts = [scale**2 * math.exp(-beyond / scale) for scale in (first, second)]
    return (parts[0] - parts[1]) / (first**2 - second**2)


IntArray = NDArray[np.int64]
Line = tuple[float | None, float, float]
"""Value and both ends of its interval."""

_CLOSE = 1e-9
_NARROWER = 1e-3
"""Share by which a margin may be smaller than the one tabulated here: the error of the table."""
_WIDER = 1.35
"""Factor by which the margin of a rank may be larger: methods take that of a place up to a fifth away. A convention."""


@dataclass(frozen=True)
class NumberSteps(ParamsPart, keys=("mantissa", "exponent", "low=first", "high=last")):
    """A grid of multiples of a decimal step."""

    mantissa: int
    exponent: int
    first: int
    last: int

    @classmethod
    def over(cls, low: float, high: float, mantissa: int, exponent: int) -> NumberSteps:
        """Return the grid between the multiples around two bounds."""
        ten = 10.0 ** abs(exponent)
        first, last = ((bound / ten if exponent >= 0 else bound * ten) / mantissa for bound in (low, high))
        start = math.floor(first)
        return cls(mantissa, exponent, start, max(math.ceil(last), start + 1))

    @classmethod
    def of_multiples(cls, multiples: Multiples, most: int) -> NumberSteps:
        """Return the grid of at most so many places, 1, 2 or 5 times a power of ten of a column's steps apart."""
        step, exponent = multiples.step, 0
        while step.denominator > 1:
            step, exponent = step * 10, exponent - 1
        last = multiples.first + multiples.number - 1
        coarser = (digit * 10**tens for tens in itertools.count() for digit in (1, 2, 5))
        ends = ((t, math.floor(Fraction(multiples.first, t)), math.ceil(Fraction(last, t))) for t in coarser)
        times, low, high = next(end for end in ends if end[2] - end[1] < most)
        tens = len(str(times)) - 1
        return cls(step.numerator * (times // 10**tens), exponent + tens, low, high)

    def query(self, kind: str) -> ModelQuery:
        """Return the query of a measurement of this kind."""
        if kind == "points":
            return TABLE
        return (PlaceHalves if kind == "halves" else PlaceSum)(low=self.first, high=self.last)

    def number(self, steps: Fraction | float) -> float:
        """Return so many steps in the unit of the column."""
        return float(Fraction(steps) * self.mantissa * Fraction(10) ** self.exponent)


@dataclass(frozen=True, kw_only=True, eq=False)
class StatedMeasurement:
    """A noisy measurement, as params have it."""

    kind: str
    by: tuple[str, ...]
    sizes: tuple[int, ...]
    steps: NumberSteps | None
    rate: int
    values: IntArray

    @property
    def scale(self) -> float:
        """Scale of a Laplace variable at least as wide as its noise."""
        half = math.exp(-self.rate / 2**52)
        return (1 + half) / (2 * (1 - half))  # 1 / (2 tanh(r / 2))

    def summed(self, names: Sequence[str]) -> tuple[IntArray, int]:
        """Return the values by some of its columns, and how many cells went into each."""
        letters = {name: chr(ord("a") + at) for at, name in enumerate(self.by)}
        kept = "".join(letters[name] for name in names)
        table = self.values.reshape(*self.sizes, -1)
        values = np.einsum(f"{''.join(letters.values())}z->{kept}z", table)
        return values.reshape(-1, table.shape[-1]), table[..., 0].size // values[..., 0].size


def broken_lines(
    measured: StatedMeasurement,
    values: IntArray,
    draws: int,
    levels: Sequence[float],
    shown: Mapping[str, Line],
    confidence: float,
) -> Iterator[str]:
    """Yield `values`, `intervals` or `quantiles_ascend` for each figure of a group that is not what it must be.

    Parameters
    ----------
    measured : Measured
        What the table is read off.
    values : int array, shape (parts,)
        Its noisy values of the group.
    draws : int
        Cells that were added up to it.
    levels : sequence of float
        Of quantiles.
    shown : mapping
        By statistic, the lines that are published; NaN where one is not there.
    confidence : float
        Of the intervals.
    """
    chance = 1 - confidence
    if measured.steps is None:
        yield from _around(shown["count"], float(values[0]), _whole(measured, draws, chance))
    elif measured.kind == "sum":
        number = measured.steps.number
        far = [number(far) for far in _whole(measured, draws, chance)]
        yield from _around(shown["sum"], number(int(values[0])), far)
    elif measured.kind == "halves":
        yield from _of_halves(measured, measured.steps, values.tolist(), draws, shown, chance)
    else:
        yield from _of_points(measured, measured.steps, values, draws, levels, shown, chance)


def _around(line: Line, value: float, margins: Sequence[float]) -> Iterator[str]:
    """Compare a figure whose interval lies around it with its value and the least and the largest margin."""
    stated, low, high = line
    near = _CLOSE * max(abs(value), margins[1], 1e-300)
    if stated is None or not abs(stated - value) <= near:
        yield "values"
    if not all(margins[0] - near <= end <= margins[1] + near for end in (value - low, high - value)):
        yield "intervals"


def _whole(measured: StatedMeasurement, draws: int, chance: float) -> tuple[float, float]:
    """Return the least and the largest margin of a sum of so many draws, in whole steps."""
    if draws > 1:
        table = law_of_noise((Noise(measured.rate, draws),))
        if table is not None:
            fits = np.flatnonzero(np.cumsum(table) >= 1 - chance)
            return float(fits[0]), float(fits[0] + 1)
        exact = measured.scale * margin(((1.0, draws),), chance)
        return math.floor(exact * (1 - _NARROWER)), math.floor(exact * (1 + _NARROWER))
    decay = measured.rate / 2**52
    least = math.log(2 / (chance * (1 + math.exp(-decay)))) / decay - 1
    return max(0, math.ceil(least - 1e-6)), max(0, math.ceil(least + 1e-6))


def _real(exact: float) -> tuple[float, float]:
    return exact * (1 - _NARROWER), exact * (1 + _NARROWER)


def _of_halves(
    measured: StatedMeasurement,
    steps: NumberSteps,
    values: Sequence[int],
    draws: int,
    shown: Mapping[str, Line],
    chance: float,
) -> Iterator[str]:
    below, above = values
    span, (first, last) = steps.last - steps.first, (steps.first, steps.last)
    total = Fraction(below * last + above * first, span)
    far = measured.scale / span * margin(tuple(sorted(((abs(first), draws), (abs(last), draws)))), chance)
    yield from _around(shown["sum"], steps.number(total), [steps.number(end) for end in _real(far)])
    if "mean" not in shown:
        return
    far = measured.scale / span * margin(((1.0, 2 * draws),), chance)
    yield from _around(shown["count"], (below + above) / span, _real(far))
    value, low, high = shown["mean"]
    share = Fraction(min(max(below, 0), max(below + above, 0)), max(below + above, 1))
    mean = steps.number(first + span * share) if below + above > 0 else None
    near = _CLOSE * max(abs(steps.number(first)), abs(steps.number(last)))
    if (value is None) != (mean is None) or abs((value or 0.0) - (mean or 0.0)) > near:
        yield "values"
    for end, outermost in ((low, 0.0), (high, 1.0)):
        at = float((Fraction(end) / Fraction(steps.number(1)) - first) / span)
        if not _is_end(
            at, outermost, float(share) if mean is not None else None, values, measured.scale, draws, chance
        ):
            yield "intervals"


def _is_end(
    at: float,
    outermost: float,
    share: float | None,
    values: Sequence[int],
    scale: float,
    draws: int,
    chance: float,
) -> bool:
    """Return True if an end of a mean's interval is where its noise reaches so far with the chance that is left."""
    if share is None:
        return abs(at - outermost) < 1e-9

    def reached(place: float) -> float:
        beyond = abs(values[0] * (1 - place) - values[1] * place) / scale
        return tail(((1 - place, draws), (place, draws)), beyond)

    if reached(min(max(share, 0.0), 1.0)) < chance:  # nothing fits: the interval is the share itself
        return abs(at - share) < 1e-9
    if abs(at - outermost) < 1e-9:
        return reached(outermost) >= chance * (1 - 10 * _NARROWER)
    return 0 <= at <= 1 and abs(reached(at) - chance) <= 10 * _NARROWER * chance


def _of_points(
    measured: StatedMeasurement,
    steps: NumberSteps,
    values: IntArray,
    draws: int,
    levels: Sequence[float],
    shown: Mapping[str, Line],
    chance: float,
) -> Iterator[str]:
    reached, places = np.cumsum(values), values.size
    total, last = int(reached[-1]), -math.inf
    for level in levels:
        value, low, high = shown[f"quantile {level:g}"]
        share = Fraction(str(level))
        ahead = np.array(
            [int(rows) * share.denominator - total * share.numerator for rows in reached], dtype=np.float64
        )
        far = measured.scale * share.denominator * _rank_margins(level, places, draws, chance)
        first = int(np.flatnonzero(ahead >= 0)[0]) if total > 0 else None
        if value != (None if first is None else steps.number(steps.first + first)):
            yield "values"
        if value is not None and value < last:
            yield "quantiles_ascend"
        last = last if value is None else value
        inner, outer = (
            [steps.number(steps.first + place) for place in _inside(ahead, factor * far, first)]
            for factor in (1 - _NARROWER, _WIDER)
        )
        if not (outer[0] <= low <= inner[0] and inner[-1] <= high <= outer[-1]):
            yield "intervals"


def _inside(ahead: FloatArray, far: FloatArray, first: int | None) -> list[int]:
    """Return the places that a quantile may have, and the one at which it is published; all where nobody is counted."""
    if first is None:
        return list(range(ahead.size))
    fits = ahead >= -far
    fits[1:] &= ahead[:-1] <= far[:-1]
    return sorted({*np.flatnonzero(fits).tolist(), first})


@lru_cache(maxsize=64)
def _rank_margins(level: float, places: int, draws: int, chance: float) -> FloatArray:
    return np.array(
        [margin(((1 - level, (at + 1) * draws), (level, (places - 1 - at) * draws)), chance) for at in range(places)]
    )
