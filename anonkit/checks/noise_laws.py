# SPDX-License-Identifier: Apache-2.0
"""The laws of sums of discrete Laplace and discrete Gaussian noise: tabulated, and bounded far out."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import Lock
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.gaussian_lines import gaussian_variance

_LARGEST_GRID = 1 << 20
_DEVIATIONS = 64
"""Width of the grid of a law, in standard deviations."""
FLOOR = 1e-12
"""Errors of the transform: none of its probabilities is distinguished from this."""
_NARROW = 4.0
"""Squared width of a Gaussian law up to which its few masses are added up."""
_LEAST_VARIANCE = 1e-9
_LEAST_LOG = -700.0
"""Below its exponential there is no normal floating-point number."""


P = ParamSpec("P")
Table = TypeVar("Table", bound=NDArray[np.float64] | None)

_ENTRY = 1 << 10
"""Bytes that an entry takes besides its table, generously."""


def kept_within(megabytes: int) -> Callable[[Callable[P, Table]], Callable[P, Table]]:
    """Keep the tables that a function made last, in so much memory: a wide law takes that of a thousand narrow ones."""

    def keeping(made: Callable[P, Table]) -> Callable[P, Table]:
        kept: OrderedDict[Hashable, Table] = OrderedDict()
        lock, left = Lock(), megabytes << 20

        @wraps(made)
        def table(*args: P.args, **kwargs: P.kwargs) -> Table:
            nonlocal left
            key = (args, tuple(sorted(kwargs.items())))
            with lock:
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
            new = made(*args, **kwargs)
            with lock:
                if key not in kept:  # another thread may have been as fast
                    kept[key] = new
                    left -= _size(new)
                while left < 0:
                    left += _size(kept.popitem(last=False)[1])
            return new

        return table

    return keeping


def _size(table: NDArray[np.float64] | None) -> int:
    return _ENTRY + (0 if table is None else table.nbytes)


class Noise(NamedTuple):
    """Independent draws of one law."""

    rate: int
    """In units of 2**-52."""
    times: int
    """Number of draws."""
    is_gaussian: bool = False
    """True for weights exp(-rate y**2), False for exp(-rate |y|)."""


Parts = tuple[Noise, ...]
"""The noise of a difference."""


def far_tail(size: int, parts: Parts) -> float:
    """Bound the chance of a difference at least as large, far beyond the resolution of a grid (Chernoff 1952).

    Without it one impossible difference would have the chance `FLOOR`, which a few likely ones beside it outweigh.
    """
    lowest = min((part.rate / 2**52 for part in parts if not part.is_gaussian), default=math.inf)
    tilts = [0.5 * lowest, 0.9 * lowest] if lowest < math.inf else []
    tilts.append(min(size / variance_of(parts), 0.9 * lowest))
    logs = []
    for tilt in tilts:
        log = math.log(2.0) - tilt * size
        for rate, times, gaussian in parts:
            decay = rate / 2**52
            if gaussian:  # no wider than the continuous law: its moments are bounded by that law's
                log += times * tilt**2 / (4 * decay)
                continue
            near, far = math.expm1(tilt - decay), math.expm1(-tilt - decay)
            log += times * (2 * math.log(-math.expm1(-decay)) - math.log(-near) - math.log(-far))
        logs.append(log)
    return math.exp(max(min([*logs, 0.0]), _LEAST_LOG))


@kept_within(128)
def law_of_noise(parts: Parts) -> NDArray[np.float64] | None:
    """Return the probabilities of |difference| = 0, 1, 2, ... for noise of these parts; None where it is too wide."""
    grid = 1 << max(8, math.ceil(math.log2(_DEVIATIONS * math.sqrt(variance_of(parts)) + 1)))
    if grid > _LARGEST_GRID:
        return None
    turn = 2 * np.pi * np.arange(grid) / grid
    transform = np.ones(grid)
    for rate, times, gaussian in parts:
        if gaussian:
            transform = transform * _gaussian_transform(rate, turn) ** times
            continue
        decay = math.exp(-rate / 2**52)
        transform = transform * ((1 - decay) ** 2 / (1 - 2 * decay * np.cos(turn) + decay * decay)) ** times
    probabilities = np.maximum(np.fft.ifft(transform).real, 0.0)
    half = grid // 2
    return np.asarray(np.concatenate([probabilities[:1], probabilities[1:half] + probabilities[:half:-1]]))


def _gaussian_transform(rate: int, turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the characteristic function of the discrete Gaussian: its own sum, or for wide laws its dual (Poisson)."""
    square = 2**51 / rate
    if square < _NARROW:
        steps = np.arange(1, 64)
        masses = np.exp(-(steps**2) / (2 * square))
        waves = sum((2 * mass * np.cos(turn * step) for step, mass in zip(steps, masses, strict=True)), np.zeros(()))
        return np.asarray((1 + waves) / (1 + 2 * masses.sum()))
    around = [np.exp(-((turn + 2 * np.pi * whole) ** 2) * square / 2) for whole in (-2, -1, 0, 1)]
    return np.asarray(sum(around) / sum(wave[0] for wave in around))


@lru_cache(maxsize=1024)
def variance_of(parts: Parts) -> float:
    """Return the variance of noise of these parts; above 0, where rounding leaves nothing of it."""
    variance = sum(
        times * (gaussian_variance(rate) if gaussian else 2 * math.exp(-rate / 2**52) / math.expm1(-rate / 2**52) ** 2)
        for rate, times, gaussian in parts
    )
    return max(variance, _LEAST_VARIANCE)
