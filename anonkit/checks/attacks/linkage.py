# SPDX-License-Identifier: Apache-2.0
"""Linkability: which released row belongs to a person whose true values are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.checks.attacks.evidence import IMPOSSIBLE, Column, FloatArray, Values, evidence_for
from anonkit.checks.attacks.rates import Rate

_SAME = 1e-4
"""Evidence that differs by less is the same evidence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """Successes of the ranking of all rows by their evidence."""

    first: Rate
    """The row ranked first is the person's; ties are guessed among."""
    first_ten: Rate


def link(
    columns: Mapping[str, Column],
    names: Sequence[str],
    original: Mapping[str, Values],
    targets: Sequence[int],
    position: NDArray[np.int64] | None,
) -> Linkage:
    """Rank the released rows for every target.

    Parameters
    ----------
    columns : mapping of Column
        The release as evidence.
    names : sequence of str
        What the attacker knows.
    original : mapping of Values
        The source.
    targets : sequence of int
        Rows of the source.
    position : array, optional
        Released row of every row of the source, -1 for none. Without it a row that fits in every known column is taken
        for the person's, as it is in a release that perturbs nothing.
    """
    first = ten = 0.0
    for target in targets:
        values = {name: int(original[name].codes[target]) for name in names}
        scores = evidence_for(columns, names, values)
        if scores.size == 0:
            continue
        if position is None:
            own = float(scores.max())
            if own < len(names) * IMPOSSIBLE / (len(names) + 1):  # some known cell does not fit any row
                continue
            fits = _complete(columns, names, values)
            if fits:
                first += 1 / fits
                ten += min(1.0, 10 / fits)
            continue
        at = int(position[target])
        if at >= 0:
            won = ranked(scores, at)
            first += won[0]
            ten += won[1]
    return Linkage(
        first=Rate(successes=first, attacks=len(targets)), first_ten=Rate(successes=ten, attacks=len(targets))
    )


def ranked(scores: FloatArray, own: int) -> tuple[float, float]:
    """Return the chance that the own row is ranked first, and among the first ten, ties being ordered at random."""
    better = int((scores > scores[own] + _SAME).sum())
    same = int((np.abs(scores - scores[own]) <= _SAME).sum())
    return (1 / same if better == 0 else 0.0), float(np.clip((10 - better) / same, 0, 1))


def _complete(columns: Mapping[str, Column], names: Sequence[str], values: Mapping[str, int]) -> int:
    """Count the rows in which every known cell fits."""
    parts = [columns[name].scores(values[name]) > IMPOSSIBLE / 2 for name in names if name in columns]
    return int(np.logical_and.reduce(parts).sum()) if parts else 0
