# SPDX-License-Identifier: Apache-2.0
"""Check that the noise of a statement is present: counts of the same rows by several draws differ by noise alone.

Two contingency tables of the same rows have, for each value of the columns that both have, two noisy counts of the same
rows. Draws are looked at in pairs, so that each takes part in one comparison of a kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.central_noise import Difference, shown_checks
from anonkit.checks.noise_bets import SameRows
from anonkit.checks.noise_laws import Noise
from anonkit.checks.stated_params import COUNT, StatedDraw, StatedRelease
from anonkit.promises.guarantee import Check


def noise_checks(release: StatedRelease) -> Iterator[Check]:
    """Compare the noise that shows with the stated rates; nothing where no rows were counted twice.

    A statement is made before any row is read: no draw decides on another, as the bets ask for.
    """
    tables: dict[tuple[tuple[str, int], ...], list[StatedDraw]] = defaultdict(list)
    for draw in release.draws:
        if draw.query.kind == COUNT:
            tables[tuple(sorted(draw.where.items()))].append(draw)
    pairs = [_pairs(same_rows, start) for start in (0, 1) for same_rows in tables.values()]
    half = len(tables)
    bets = [bet for pair in pairs[:half] for first, second in pair for bet in _twice(release, first, second)]
    chains = [pairs[:half], pairs[half:]]
    yield from shown_checks(
        bets,
        [
            [
                Difference(value=one.values[0] - one.values[1], parts=(*one.noise[0], *one.noise[1]))
                for pair in chain
                for first, second in pair
                for one in _twice(release, first, second)
            ]
            for chain in chains
        ],
    )


def _pairs(draws: Sequence[StatedDraw], start: int) -> list[tuple[StatedDraw, StatedDraw]]:
    """Return disjoint pairs of neighbours in a sequence, from a first one on."""
    return list(zip(draws[start::2], draws[start + 1 :: 2], strict=False))


def _twice(release: StatedRelease, first: StatedDraw, second: StatedDraw) -> Iterator[SameRows]:
    """Yield the counts by the columns that two tables share, once by each: of all rows where they share none."""
    shared = [name for name in first.query.by if name in second.query.by]
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
