# SPDX-License-Identifier: Apache-2.0
"""Intervals for discrete Laplace noise on a count, a sum, a mean or a rank, at a stated confidence.

One count: the law itself. Weighted sums of many draws: a draw of rate r, smeared over the unit interval around it, is
nearer to 0 than a Laplace variable of scale 1 / (2 tanh(r / 2)) (its tail lies below the exponential), and symmetric
unimodal laws keep that order when they are added up (Birnbaum 1948). So the tail of the sum of Laplace variables,
which the inversion of their characteristic function gives (Gil-Pelaez 1951), is never below that of the noise.

Intervals for discrete Gaussian noise on a count, or a weighted sum of counts, at a stated confidence.

One draw: the law itself. Sums: a sum of draws of one law is a discrete Gaussian variable of the added variances, up to
1e-15 of its masses where the law is not narrow (Kairouz, Liu, Steinke 2021), and a discrete Gaussian variable is within
1 of a normal one of the same parameter that is drawn together with it (Canonne, Kamath, Steinke 2020, proposition 25).
Sums of narrow laws: the tail that all of them have, being no wider than normal ones in their moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from anonkit.domains.coded_columns import FloatArray
from anonkit.published.exact_losses import RATE_BITS

WeighedDraws = tuple[tuple[float, int, int], ...]
"""Independent sums: the weight of each, the rate of its draws in units of 2**-52, and how many draws it has."""

_WIDE = 4.0
"""Square of the parameter of the law from which on a sum is a discrete Gaussian variable for all that matters."""
_TABULATED = 1e8
"""The same, up to which single draws are looked up in their law."""
_BEYOND = 1e-12


def gaussian_margin(parts: WeighedDraws, chance: float) -> float:
    """Return beyond what a weighted sum of draws is, either way, with this chance at most.

    Parameters
    ----------
    parts : tuple of (weight, rate, draws)
        Weights above 0, rates and draws at least 1; one part at least.
    chance : float
        Of both tails together, in (0, 1).
    """
    squares = [(1 << RATE_BITS) / (2 * rate) for _, rate, _ in parts]
    (weight, _, draws), *others = parts
    if not others and draws == 1 and squares[0] <= _TABULATED:
        return weight * _within(squares[0], chance)
    variance = sum(own**2 * n * square for (own, _, n), square in zip(parts, squares, strict=True))
    if min(squares) < _WIDE:
        return math.sqrt(2 * variance * math.log(2 / chance))
    return -NormalDist().inv_cdf(chance / 2) * math.sqrt(variance) + sum(own for own, _, _ in parts)


def _within(square: float, chance: float) -> int:
    """Return the least integer that one draw exceeds in absolute value with at most this probability."""
    reach = 2 + math.ceil(math.sqrt(2 * square * math.log(4 / (chance * _BEYOND))))
    masses = np.exp(-(np.arange(reach, dtype=np.float64) ** 2) / (2 * square))
    masses[1:] *= 2
    beyond = 1 - np.cumsum(masses) / masses.sum()
    return int(np.argmax(beyond <= chance - _BEYOND))


Parts: TypeAlias = tuple[tuple[float, int], ...]
"""Weights of independent variables, and how many there are of each."""

_PERIOD = 40.0
"""Deviations after which the numerical inversion repeats itself: the tails there are below 1e-20."""
_NEGLIGIBLE = 1e-12
_WIDEST = 1e3
"""Deviation of a sum of draws up to which its law is tabulated; beyond it is as good as a continuous one."""
_FIRST_NODES = 1 << 7
_MOST_NODES = 1 << 16
_HALVINGS = 60
_SHARES = 48
"""Shares up to a half at which the margin of a ratio is computed."""


def scale_of(rate: int) -> float:
    """Return the scale of a Laplace variable that is never nearer to 0 than noise of a rate in units of 2**-52."""
    return 1 / (2 * math.tanh(rate / 2**RATE_BITS / 2))


def count_margin(rate: int, draws: int, confidence: float) -> int:
    """Return the largest distance of a sum of so many draws from 0, with at least this probability.

    Parameters
    ----------
    rate : int
        In units of 2**-52.
    draws : int
        1 or more.
    confidence : float
        In (0, 1).
    """
    decay: float = rate / 2**RATE_BITS
    if draws > 1:
        deviations = math.sqrt(draws / 2) / math.sinh(decay / 2)
        if deviations > _WIDEST:
            return int(scale_of(rate) * margin(((1.0, draws),), 1 - confidence))
        within = _exactly_within(decay, draws, 1 << math.ceil(math.log2(_PERIOD * deviations + _PERIOD)))
        return int(np.argmax(within >= confidence + _NEGLIGIBLE))
    # P(|noise| > t) = 2 exp(-(t + 1) r) / (1 + exp(-r))
    beyond = math.log(2 / ((1 - confidence) * (1 + math.exp(-decay)))) / decay - 1
    return max(0, math.ceil(beyond - _NEGLIGIBLE))


@lru_cache(maxsize=256)
def _exactly_within(decay: float, draws: int, size: int) -> FloatArray:
    """Return the chance that a sum of draws is no further from 0 than 0, 1, 2, ..., by its characteristic function."""
    ratio = math.exp(-decay)
    turns = 2 * np.pi * np.arange(size) / size
    law = np.fft.ifft(((1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(turns) + ratio**2)) ** draws).real[: size // 2]
    return np.asarray(2 * np.cumsum(law) - law[0])


@lru_cache(maxsize=4096)
def margin(parts: Parts, chance: float) -> float:
    """Return beyond what a weighted sum of Laplace variables of scale 1 is, either way, with this chance at most.

    Parameters
    ----------
    parts : tuple of (weight, number)
        Independent variables: so many of each weight, not below 0.
    chance : float
        Of both tails together, in (0, 1).
    """
    known = _merged(parts)
    if not known:
        return 0.0
    if len(known) == 1 and known[0][1] == 1:
        return -known[0][0] * math.log(chance)
    beyond, low, high = _tail_of(known), 0.0, _deviation(known)
    while beyond(high) > chance:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > chance else (low, middle)
    return high


def tail(parts: Parts, beyond: float) -> float:
    """Return the chance that a weighted sum of Laplace variables of scale 1 is further from 0 than so far."""
    known = _merged(parts)
    if beyond <= 0 or not known:
        return float(beyond <= 0)
    return _tail_of(known)(beyond)


def _tail_of(known: Parts) -> Callable[[float], float]:
    """Return the tail of merged parts, one at least, at any distance above 0."""
    if len(known) == 1 and known[0][1] == 1:
        return lambda beyond: math.exp(-beyond / known[0][0])
    if len(known) == 2 and known[0][1] == known[1][1] == 1:
        return lambda beyond: _of_two(known[0][0], known[1][0], beyond)  # by weight, ascending
    frequencies, weights = _inversion(known)
    return lambda beyond: min(1.0, max(0.0, 1 - float(weights @ np.sin(frequencies * beyond))))


def _merged(parts: Parts) -> Parts:
    """Return parts with one entry a weight, and none that is nothing."""
    numbers: dict[float, int] = {}
    for weight, number in parts:
        if weight > 0 and number > 0:
            numbers[weight] = numbers.get(weight, 0) + number
    return tuple(sorted(numbers.items()))


def _of_two(small: float, large: float, beyond: float) -> float:
    """Return the tail of the sum of two variables of different scales; as they meet, (1 + t / 2 s) exp(-t / s)."""
    ratio, reach = small / large, beyond / large
    logs = 2 * math.log1p(-(1 - ratio))
    if logs == 0:
        return (1 + reach / 2) * math.exp(-reach)
    return math.exp(-reach) * math.expm1(logs - reach * (1 / ratio - 1)) / math.expm1(logs)


@lru_cache(maxsize=256)
def _inversion(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of P(|sum| <= t) = sum of weight * sin(node * t), exact but for tails 40 sd out."""
    step = math.pi / (_PERIOD * _deviation(parts))
    nodes, weights, size = np.zeros(0), np.zeros(0), _FIRST_NODES
    while True:
        # midpoints: the rule is exact for a law that repeats with alternating sign after the period
        more = step * (np.arange(nodes.size, size) + 0.5)
        logs = np.zeros(more.size)
        for weight, number in parts:
            logs -= number * np.log1p((weight * more) ** 2)
        nodes, weights = np.append(nodes, more), np.append(weights, 2 / math.pi * step * np.exp(logs) / more)
        if weights[-1] <= _NEGLIGIBLE * step or size >= _MOST_NODES:
            return nodes, weights
        size *= 2


def _deviation(parts: Parts) -> float:
    return math.sqrt(sum(2 * number * weight * weight for weight, number in parts))


def ratio_bounds(first: float, second: float, draws: int, scale: float, chance: float) -> tuple[float, float]:
    """Return between what the share first / (first + second) lies, both observed with noise, at least with 1 - chance.

    The shares p at which (1 - p) first - p second is not further from 0 than its noise is with this chance (Fieller
    1954); what is between two of them counts too. The margin is a convex function of p (Bobkov 2010, for symmetric
    log-concave noise): chords between some shares are never below it, and on either side of the observed share there is
    one end.

    Parameters
    ----------
    first, second : float
        Noisy amounts; the true ones are not negative, nor both 0 where the share means anything.
    draws : int
        Draws in each of them.
    scale : float
        Of a draw: see `scale_of`.
    chance : float
        That the interval misses the share, in (0, 1).
    """
    total = first + second
    if total <= 0:
        return 0.0, 1.0
    observed = min(max(first / total, 0.0), 1.0)
    shares, margins = _margins_of_shares(draws, chance)

    def fits(share: float) -> bool:
        far = scale * float(np.interp(share, shares, margins))
        return abs(first * (1 - share) - second * share) <= far

    return _end(0.0, observed, fits), _end(1.0, observed, fits)


@lru_cache(maxsize=256)
def _margins_of_shares(draws: int, chance: float) -> tuple[FloatArray, FloatArray]:
    """Return shares p, and how far noise of scale 1 carries (1 - p) first - p second at each."""
    shares = np.linspace(0, 1, 2 * _SHARES + 1)
    half = [margin(((1 - share, draws), (share, draws)), chance) for share in map(float, shares[: _SHARES + 1])]
    return shares, np.array([*half, *half[-2::-1]])


def _end(outside: float, inside: float, fits: Callable[[float], bool]) -> float:
    """Return the first share that fits between an end of [0, 1] and the observed share."""
    if fits(outside):
        return outside
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if fits(middle) else (middle, inside)
    return outside
