# SPDX-License-Identifier: Apache-2.0
"""The mechanism of a bounded numeric column: bins, sets of bins, square wave or piecewise, chosen without data.

Each candidate is judged by how far a receiver's distribution function of the number would be from the true one, for
a bell in the middle of the bounds: the variance an efficient estimate would have, and the error of cells that are too
wide.

The mechanism of a category: one value kept or blind, or a set of values, chosen without reading data.

Both are judged by the noise of an estimated share, which follows from ε and the numbers of classes and values. A set of
m pairs of class and value is judged by its frequencies over classes and values: noise is the mean of what it takes to
undo them, least where all are equally strong. The sets tried are the same for everybody: what is searched has no
random part and no part in the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from anonkit.domains.coded_columns import BoolArray, FloatArray
from anonkit.published.channels.category_channels import MOST_PAIRS, RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import LARGEST_BAND_EPSILON, BandResponse
from anonkit.published.channels.response_channel import TruthOrBlind

_WORTH = 0.9
"""Share of the noise of randomized response from which on a set is worth it: a single value is easier to read."""
_SIZES = (1.0, 0.8, 1.2)
"""Sizes of sets that are tried, as parts of the best one if all frequencies were equally strong."""
_STARTS = 4
_MANY = 256
"""Pairs beyond which one size and one start have to do: what is found differs little then, and takes longer."""
_STEPS = 60
_SIDES = 4
"""Members and others that are tried against each other in a step of the search."""
_DIGITS = 9
"""Noise is compared after rounding: the last bits of a transform differ between machines, the set must not."""


def best_category_response(epsilon: float, *, segments: int, values: int) -> TruthOrBlind:
    """Return the mechanism with the least noise at this privacy loss.

    Parameters
    ----------
    epsilon : float
        Target privacy loss of one answer, in (0, 40].
    segments : int
        Number of classes hidden in the same answer; 1 when the class is not part of it.
    values : int
        Number of values, missing included.
    """
    pairs = segments * values
    single = RandomizedResponse.from_epsilon(pairs, epsilon)
    if not 4 <= pairs <= MOST_PAIRS:
        return single
    wanted = _WORTH * _undoing(epsilon, pairs, 1)
    found, members = min(_candidate_sets(epsilon, segments, values, wanted), default=(math.inf, ()))
    if found > wanted:
        return single
    return SetResponse.from_epsilon(epsilon, members, segments=segments, values=values)


def _candidate_sets(epsilon: float, segments: int, values: int, wanted: float) -> list[tuple[float, tuple[int, ...]]]:
    """Return noise and members of the sets of each size that could be good enough."""
    pairs = segments * values
    best = pairs / (math.exp(epsilon) + 1)
    out = []
    for size in sorted({round(part * best) for part in (_SIZES if pairs <= _MANY else _SIZES[:1])}):
        if size < 2 or _undoing(epsilon, pairs, size) * (pairs - 1) / (size * (pairs - size)) > wanted:
            continue
        strength, members = flattest_set(segments, values, size)
        out.append((round(strength * _undoing(epsilon, pairs, size), _DIGITS), members))
    return out


def _undoing(epsilon: float, pairs: int, size: int) -> float:
    """Return the variance of an estimated share, but for the number of answers, at frequencies of strength 1."""
    return ((pairs + size * math.expm1(epsilon)) / math.expm1(epsilon)) ** 2 / pairs


@lru_cache(maxsize=1024)
def flattest_set(segments: int, values: int, size: int) -> tuple[float, tuple[int, ...]]:
    """Search a set of pairs of class and value whose frequencies are nearly equally strong.

    Parameters
    ----------
    segments, values : int
        Numbers of classes and of values.
    size : int
        Members of the set, in [1, segments · values / 2].

    Returns
    -------
    float
        Mean of one over the squared size of its frequencies; infinite where one is lost.
    tuple of int
        The members as codes `class * values + value`, ascending, 0 among them.
    """
    shape = (segments, values)
    found = min((_improved(start, shape) for start in _starts(segments * values, size)), key=lambda one: one[0])
    members = np.flatnonzero(found[1])
    # shifted so that the pair an answer shows is a member of its set
    of_class, of_value = np.divmod(members, values)
    shifted = (of_class - of_class[0]) % segments * values + (of_value - of_value[0]) % values
    return found[0], tuple(sorted(shifted.tolist()))


def _starts(pairs: int, size: int) -> list[BoolArray]:
    """Return sets to begin with: scattered by a fixed rule of integers, the same everywhere and always."""
    out = []
    for number in range(_STARTS if pairs <= _MANY else 1):
        scattered = sorted(range(pairs), key=lambda code: (_scrambled(code + number * pairs), code))
        chosen = np.zeros(pairs, dtype=np.bool_)
        chosen[scattered[:size]] = True
        out.append(chosen)
    return out


def _scrambled(number: int) -> int:
    """Return 32 bits that look unrelated to those of neighbouring numbers (the finalizer of MurmurHash3)."""
    for factor in (0x85EBCA6B, 0xC2B2AE35):
        number = ((number ^ (number >> 16)) * factor) & 0xFFFFFFFF
    return number ^ (number >> 16)


def _improved(chosen: BoolArray, shape: tuple[int, int]) -> tuple[float, BoolArray]:
    """Exchange members for others, those that promise most by the slope of the noise, as long as it falls."""
    noise = float(_noise(chosen[np.newaxis], shape)[0])
    for _ in range(_STEPS):
        gains = np.round(_slope(chosen, shape), _DIGITS)
        inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        leaving = inside[np.argsort(-gains[inside], kind="stable")[:_SIDES]]
        coming = outside[np.argsort(gains[outside], kind="stable")[:_SIDES]]
        tried = np.repeat(chosen[np.newaxis], leaving.size * coming.size, axis=0)
        at = np.arange(len(tried))
        tried[at, np.repeat(leaving, coming.size)] = False
        tried[at, np.tile(coming, leaving.size)] = True
        found = _noise(tried, shape)
        best = int(np.argmin(found))
        if found[best] >= noise:
            break
        noise, chosen = float(found[best]), tried[best]
    return noise, chosen


def _strengths(chosen: BoolArray, shape: tuple[int, int]) -> FloatArray:
    """Return the squared sizes of the frequencies of sets, shape (n, classes · values); the first one is not used."""
    spectrum = np.fft.fft2(chosen.reshape(-1, *shape).astype(np.float64))
    return np.asarray(spectrum.real**2 + spectrum.imag**2).reshape(len(chosen), -1)


def _noise(chosen: BoolArray, shape: tuple[int, int]) -> FloatArray:
    """Return the mean of one over the strengths of each set, shape (n,), rounded; infinite where one is lost."""
    strengths = _strengths(chosen, shape)[:, 1:]
    lost = strengths.min(axis=1) < 1e-6
    return np.asarray(np.where(lost, np.inf, np.round((1 / np.maximum(strengths, 1e-6)).mean(axis=1), _DIGITS)))


def _slope(chosen: BoolArray, shape: tuple[int, int]) -> FloatArray:
    """Return by how much the noise grows with each pair's part in the set, shape (classes · values,)."""
    spectrum = np.fft.fft2(chosen.reshape(shape).astype(np.float64))
    strengths = np.maximum(spectrum.real**2 + spectrum.imag**2, 1e-6)
    weights = spectrum / strengths**2
    weights[0, 0] = 0.0
    return np.asarray(-2 * np.fft.ifft2(weights).real.reshape(-1))


BINS = (4, 8, 16, 32, 64)
"""Numbers of equal bins that are considered."""
MOST_SET_BINS = 8
"""Bins up to which sets of them are considered: more are never best where a set is better than one of them."""
BAND_CELLS = 64
"""Cells of the grid under the square wave and the piecewise mechanism."""
MOST_CODES = 2048
"""Pairs of class and cell at most of a mechanism that is considered: judging one takes the cube of their number."""

_ROWS_OF_A_CLASS = 1000  # answers about the number within a class that the rule has in mind
_BELL_SPREAD = 1 / 8  # standard deviation of its bell, as a share of the bounds
_KNOTS = 8  # cells of the distribution behind a band, whose finer detail so many answers cannot show
_POINTS = 64  # where the distribution functions are compared


@lru_cache(maxsize=256)
def best_number_response(
    epsilon: float, *, segments: int, has_missing: bool, most: int | None = None
) -> tuple[int, TruthOrBlind]:
    """Return the number of cells and the mechanism with the least expected error at this privacy loss.

    Parameters
    ----------
    epsilon : float
        Target privacy loss of one answer, in (0, 40].
    segments : int
        Number of classes hidden in the same answer; 1 when the class is not part of it.
    has_missing : bool
        Whether missing is one more value.
    most : int, optional
        How many values the column has, such as integers within its bounds: there are no more cells.
    """
    if segments * BINS[1] > MOST_CODES:
        fewest = BINS[0] if most is None else min(BINS[0], most)
        return fewest, RandomizedResponse.from_epsilon(segments * (fewest + has_missing), epsilon)
    scored = [
        (distribution_error(channel, cells, knots, segments=segments, each=cells == most), -at, cells, channel)
        for at, (cells, knots, channel) in enumerate(_candidates(epsilon, segments, has_missing, most))
    ]
    _, _, cells, channel = min(scored, key=lambda candidate: candidate[:2])
    return cells, channel


def _candidates(
    epsilon: float, segments: int, has_missing: bool, most: int | None
) -> Iterator[tuple[int, int, TruthOrBlind]]:
    """Yield cells of the grid, cells that are estimated, and mechanism."""
    few = most is not None and most < BAND_CELLS
    numbers = BINS if most is None else sorted({min(bins, most) for bins in BINS})
    for cells in (bins for bins in numbers if segments * bins <= MOST_CODES):
        single = RandomizedResponse.from_epsilon(segments * (cells + has_missing), epsilon)
        yield cells, cells, single
        if cells <= MOST_SET_BINS:
            several = best_category_response(epsilon, segments=segments, values=cells + has_missing)
            yield from () if several == single else ((cells, cells, several),)
    if epsilon <= LARGEST_BAND_EPSILON and segments * BAND_CELLS <= MOST_CODES and not few:
        for make in (BandResponse.square_wave, BandResponse.piecewise):
            yield BAND_CELLS, _KNOTS, make(epsilon, BAND_CELLS, has_missing=has_missing, segments=segments)


def distribution_error(
    channel: TruthOrBlind, cells: int, knots: int, *, segments: int = 1, each: bool = False
) -> float:
    """Return the mean squared error of the estimated distribution function within a class.

    Parameters
    ----------
    channel : TruthOrBlind
        Its codes are `segments` runs of `cells` grid cells, each followed by missing when it has that.
    cells, knots : int
        Cells of the grid, and the equal cells, a divisor of them, whose shares are estimated.
    segments : int
        Number of classes in a code, taken as equally frequent.
    each : bool
        True when each cell is one value of the column: then nothing is lost within it.

    Returns
    -------
    float
        Variance of an efficient estimate from 1,000 answers a class (the inverse of the Fisher information of the
        shares), plus the squared error of a straight line within each cell.
    """
    shares = np.tile(_bell(knots), segments) / segments
    answers = channel.forward(_spread(channel.n_inputs, cells, knots, segments))
    scaled = answers / np.sqrt(shares @ answers)
    covariance = np.linalg.pinv(scaled @ scaled.T, rcond=1e-12) - np.outer(shares, shares)
    at = np.linspace(0, 1, _POINTS + 1)[1:-1]
    lines = np.clip(at[:, np.newaxis] * knots - np.arange(knots), 0, 1)
    blocks = covariance.reshape(segments, knots, segments, knots) * segments**2
    variance = np.mean([np.einsum("ti,ij,tj->t", lines, blocks[s, :, s], lines).mean() for s in range(segments)])
    # a band's positions inform more than its knots do, so only bins are charged for their width
    missed = lines @ _bell(knots) - np.cumsum(_bell(_POINTS))[:-1] if knots == cells and not each else np.zeros(1)
    return float(variance / (_ROWS_OF_A_CLASS * segments) + (missed**2).mean())


def _spread(n_inputs: int, cells: int, knots: int, segments: int) -> FloatArray:
    """Return the distribution over the codes within each knot of each class, shape (segments · knots, n_inputs)."""
    within = _bell(cells).reshape(knots, -1)
    within = within / within.sum(axis=1, keepdims=True)
    out = np.zeros((segments, knots, segments, n_inputs // segments))
    for knot in range(knots):
        start = knot * (cells // knots)
        for segment in range(segments):
            out[segment, knot, segment, start : start + cells // knots] = within[knot]
    return out.reshape(segments * knots, n_inputs)


def _bell(cells: int) -> FloatArray:
    """Return the shares of a normal distribution, cut at the bounds, in equal cells; adding up to 1."""
    bell = NormalDist(0.5, _BELL_SPREAD)
    edges = np.array([bell.cdf(place) for place in np.linspace(0, 1, cells + 1)])
    return np.asarray(np.diff(edges) / (edges[-1] - edges[0]))
