# SPDX-License-Identifier: Apache-2.0
"""The singling-out attack: predicates taken from the release that match exactly one row of the source.

The membership attack: deciding from the best-matching released row whether a person was in the table.

The linkability attack: finding the released row of a person whose true values are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import (
    IMPOSSIBLE,
    AttackColumn,
    Equal,
    FloatArray,
    Transformed,
    Values,
    Weighed,
    evidence_for,
)
from anonkit.auditing.attacks.success_rates import Attack, Rate


def membership(members: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> Attack:
    """Return the attack that calls everybody a member who is fitted at least so well.

    Parameters
    ----------
    members, others : array
        Evidence of the best-fitting row for people of the table and for people who are not in it.

    Notes
    -----
    One half of each chooses the threshold, the other half is attacked: the attack rate is the share of members that are
    recognised, the control rate that of others who are taken for members. Under pure ε-differential privacy their
    difference is at most (e^ε - 1) / (e^ε + 1).
    """
    half_m, half_o = members.size // 2, others.size // 2
    thresholds = np.unique(np.concatenate([members[:half_m], others[:half_o], [np.inf]]))
    seen = np.array(
        [(members[:half_m] >= threshold).mean() - (others[:half_o] >= threshold).mean() for threshold in thresholds]
    )
    best = thresholds[int(np.argmax(seen))] if half_m and half_o else np.inf
    return Attack(
        name="membership",
        attack=Rate(successes=float((members[half_m:] >= best).sum()), attacks=members.size - half_m),
        control=Rate(successes=float((others[half_o:] >= best).sum()), attacks=others.size - half_o),
        identity=None,
        renamed=None,
        shuffled=None,
    )


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


def _among(n_rows: int, own: int, sample: int) -> float:
    """Return the chance that one of the own rows is among some drawn of all rows."""
    if sample <= 0:
        return 0.0
    return 1.0 if sample >= n_rows else 1 - comb(n_rows - own, sample) / comb(n_rows, sample)


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


MOST_COLUMNS = 5
"""Columns in a description, at most: a bound on time."""

Predicate = dict[str, NDArray[np.bool_]]
"""For each column of a description, which of the source's values fit."""


def predicates(
    columns: Mapping[str, AttackColumn], original: Mapping[str, Values], n_predicates: int, random: np.random.Generator
) -> list[Predicate]:
    """Draw descriptions: some cells of a released row, read as sets of original values; no two alike.

    Rows with rare cells are drawn more often, since they single out more. Fewer than wanted are returned when there are
    no more.
    """
    names = [name for name, column in columns.items() if not isinstance(column, Transformed)]
    if not names:
        return []
    n_rows = max(_codes(columns[name]).size for name in names)
    if n_rows == 0:
        return []
    rarity = np.sum([_rarity(columns[name]) for name in names], axis=0)
    found: dict[tuple[tuple[str, int], ...], Predicate] = {}
    for row in random.choice(n_rows, size=2 * n_predicates, p=rarity / rarity.sum()).tolist():
        size = int(random.integers(1, min(MOST_COLUMNS, len(names)) + 1))
        chosen = sorted(random.choice(names, size=size, replace=False).tolist())
        key = tuple((name, int(_codes(columns[name])[row])) for name in chosen)
        if key not in found:
            found[key] = {name: _fitting(columns[name], row, len(original[name].values)) for name in chosen}
        if len(found) == n_predicates:
            break
    return list(found.values())


def singled_out(
    descriptions: list[Predicate], rows: Mapping[str, Values], people: NDArray[np.int64] | None = None
) -> Rate:
    """Count the descriptions that fit exactly one of the rows; every row counts, those that are alike too.

    With `people`, the person of each row, shape (n_rows,), they have to fit rows of exactly one person.
    """
    counts = {name: rows[name].counts for predicate in descriptions for name in predicate}
    hits = 0
    for predicate in descriptions:
        # the column that leaves fewest rows first: the others are looked up in these rows alone
        first, *others = [
            name for _, name in sorted((int(counts[name][mask].sum()), name) for name, mask in predicate.items())
        ]
        fits = np.flatnonzero(predicate[first][rows[first].codes])
        for name in others:
            fits = fits[predicate[name][rows[name].codes[fits]]]
        hits += int(fits.size == 1 if people is None else np.unique(people[fits]).size == 1)
    return Rate(successes=float(hits), attacks=len(descriptions))


def _codes(column: AttackColumn) -> NDArray[np.int64]:
    assert isinstance(column, Weighed | Equal)  # noqa: S101 - others are left out above
    return column.codes


def _rarity(column: AttackColumn) -> NDArray[np.float64]:
    codes = _codes(column)
    counts = np.bincount(codes - codes.min(initial=0))
    return np.asarray(1 / counts[codes - codes.min(initial=0)])


def _fitting(column: AttackColumn, row: int, n_values: int) -> NDArray[np.bool_]:
    """Return the values that a cell most probably generalizes."""
    if isinstance(column, Equal):
        return np.asarray(column.label_of == column.codes[row])
    assert isinstance(column, Weighed)  # noqa: S101
    weights = column.weights[column.codes[row]]
    if column.codes[row] < 0:
        return np.ones(n_values, dtype=bool)
    return np.asarray((weights >= weights.max() - 1e-4) & (weights > IMPOSSIBLE / 2))
