# SPDX-License-Identifier: Apache-2.0
"""The linkability attack: finding the released row of a person whose true values are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import IMPOSSIBLE, AttackColumn, FloatArray, Values, evidence_for
from anonkit.auditing.attacks.rates import Rate

_SAME = 1e-4
"""Evidence that differs by less is the same evidence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """Successes of the ranking of all rows by their evidence."""

    first: Rate
    """The row ranked first is the person's; ties are guessed among."""
    first_ten: Rate


def link(
    columns: Mapping[str, AttackColumn],
    names: Sequence[str],
    original: Mapping[str, Values],
    targets: Sequence[int],
    position: NDArray[np.int64] | None,
    people: NDArray[np.int64] | None = None,
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
    people : array, optional
        Person of every row of the source: any row of the target's person is a success.
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
                mine = min(_alike(original, names, target, people), fits)
                first += mine / fits
                ten += _among(fits, mine, 10)
            continue
        at = position[target : target + 1] if people is None else position[people == people[target]]
        at = at[at >= 0]
        if at.size:
            won = ranked(scores, at)
            first += won[0]
            ten += won[1]
    return Linkage(
        first=Rate(successes=first, attacks=len(targets)), first_ten=Rate(successes=ten, attacks=len(targets))
    )


def ranked(scores: FloatArray, own: NDArray[np.int64] | int) -> tuple[float, float]:
    """Return the chance that an own row is ranked first, and among the first ten, ties being ordered at random.

    Parameters
    ----------
    own : int or array of int
        The person's rows; the best of them count.
    """
    mine = scores[np.atleast_1d(np.asarray(own))]
    best = mine.max()
    better = int((scores > best + _SAME).sum())
    same = int((np.abs(scores - best) <= _SAME).sum())
    tied = int((np.abs(mine - best) <= _SAME).sum())
    return (tied / same if better == 0 else 0.0), _among(same, tied, 10 - better)


def _among(n_rows: int, own: int, drawn: int) -> float:
    """Return the chance that one of the own rows is among some drawn of all rows."""
    if drawn <= 0:
        return 0.0
    return 1.0 if drawn >= n_rows else 1 - comb(n_rows - own, drawn) / comb(n_rows, drawn)


def _alike(original: Mapping[str, Values], names: Sequence[str], target: int, people: NDArray[np.int64] | None) -> int:
    """Count the rows of the target's person in which all that the attacker knows is as in the target."""
    if people is None:
        return 1
    same = people == people[target]
    for name in names:
        same = same & (original[name].codes == original[name].codes[target])
    return int(same.sum())


def _complete(columns: Mapping[str, AttackColumn], names: Sequence[str], values: Mapping[str, int]) -> int:
    """Count the rows in which every known cell fits."""
    parts = [columns[name].scores(values[name]) > IMPOSSIBLE / 2 for name in names if name in columns]
    return int(np.logical_and.reduce(parts).sum()) if parts else 0
