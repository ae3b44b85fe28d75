# SPDX-License-Identifier: Apache-2.0
"""Check that the noise of a statement is present: counts of the same rows by several draws differ by noise alone.

Two contingency tables of the same rows have, for each value of the columns that both have, two noisy counts of the same
rows. Draws are looked at in pairs, so that each takes part in one comparison of a kind.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_noise import CountDifference, shown_checks
from anonkit.checks.noise_e_values import SameRows
from anonkit.checks.noise_laws import Noise
from anonkit.checks.stated_params import COUNT, StatedDraw, StatedRelease
from anonkit.promises.guarantee import Check

_MOST_TABLES = 64
"""Tables of the same rows among which pairs are looked for."""


def noise_checks(release: StatedRelease) -> Iterator[Check]:
    """Compare the visible noise with the stated rates; nothing where no rows were counted twice.

    A statement is made before any row is read: no draw decides on another, as the e-values require.
    """
    tables: dict[tuple[tuple[str, int], ...], list[StatedDraw]] = defaultdict(list)
    for draw in release.draws:
        if draw.query.kind == COUNT:
            tables[tuple(sorted(draw.where.items()))].append(draw)
    closest = [pair for same_rows in tables.values() for pair in _closest(release, same_rows)]
    chains = [closest, *([pair for own in tables.values() for pair in _neighbours(own, start)] for start in (0, 1))]
    bets = [bet for first, second in closest for bet in _twice(release, first, second)]
    yield from shown_checks(
        bets, [[_difference(bet) for pair in chain for bet in _twice(release, *pair)] for chain in chains]
    )


def _closest(release: StatedRelease, draws: Sequence[StatedDraw]) -> list[tuple[StatedDraw, StatedDraw]]:
    """Return disjoint pairs of draws, those first that count the most cells twice."""
    first = draws[:_MOST_TABLES]
    pairs = sorted(itertools.combinations(first, 2), key=lambda pair: -_shared_cells(release, *pair))
    chosen: list[tuple[StatedDraw, StatedDraw]] = []
    used: set[str] = set()
    for one, other in pairs:
        if not used & {one.name, other.name}:
            chosen.append((one, other))
            used |= {one.name, other.name}
    return chosen


def _neighbours(draws: Sequence[StatedDraw], start: int) -> list[tuple[StatedDraw, StatedDraw]]:
    """Return disjoint pairs of draws one after the other, from a first one on."""
    return list(zip(draws[start::2], draws[start + 1 :: 2], strict=False))


def _shared(first: StatedDraw, second: StatedDraw) -> list[str]:
    return [name for name in first.query.by if name in second.query.by]


def _shared_cells(release: StatedRelease, first: StatedDraw, second: StatedDraw) -> int:
    return math.prod(release.domains[name].size for name in _shared(first, second))


def _difference(counted: SameRows) -> CountDifference:
    (one, other), (noise, other_noise) = counted.values, counted.noise
    return CountDifference(value=one - other, parts=(*noise, *other_noise))


def _twice(release: StatedRelease, first: StatedDraw, second: StatedDraw) -> Iterator[SameRows]:
    """Yield the counts by the columns that two tables share, once by each: of all rows where they share none."""
    shared = _shared(first, second)
    one, of_one = _margin(release, first, shared)
    other, of_other = _margin(release, second, shared)
    for mine, yours in zip(one.tolist(), other.tolist(), strict=True):
        yield SameRows(values=(mine, yours), noise=((Noise(first.rate, of_one),), (Noise(second.rate, of_other),)))


def _margin(release: StatedRelease, draw: StatedDraw, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return the sums of a table by some of its columns, flat, and how many cells went into each."""
    by = draw.query.by
    table = np.array(draw.numbers, dtype=np.int64).reshape([release.domains[name].size for name in by])
    summed = table.sum(axis=tuple(at for at, name in enumerate(by) if name not in columns), dtype=np.int64)
    left = [name for name in by if name in columns]
    ordered = np.transpose(summed, [left.index(name) for name in columns])
    return ordered.reshape(-1), table.size // ordered.size
