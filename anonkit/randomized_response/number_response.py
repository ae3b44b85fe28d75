# SPDX-License-Identifier: Apache-2.0
"""The mechanism of a bounded numeric column: bins, sets of bins, square wave or piecewise, chosen without data.

Each candidate is judged by how far a receiver's distribution function of the number would be from the true one, for
a bell in the middle of the bounds: the variance an efficient estimate would have, and the error of cells that are too
wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from anonkit.domains.array_types import FloatArray
from anonkit.published.channels.band_response import LARGEST_BAND_EPSILON, BandResponse
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.channels.response_channel import TruthOrBlind
from anonkit.randomized_response.answer_sets import best_category_response

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
