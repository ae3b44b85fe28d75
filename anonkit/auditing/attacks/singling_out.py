# SPDX-License-Identifier: Apache-2.0
"""The singling-out attack: predicates taken from the release that match exactly one row of the source."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import IMPOSSIBLE, AttackColumn, Equal, Transformed, Values, Weighed
from anonkit.auditing.attacks.rates import Rate

MOST_COLUMNS = 5
"""Columns in a description, at most."""

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
    drawn: dict[tuple[tuple[str, int], ...], Predicate] = {}
    for row in random.choice(n_rows, size=2 * n_predicates, p=rarity / rarity.sum()).tolist():
        size = int(random.integers(1, min(MOST_COLUMNS, len(names)) + 1))
        chosen = sorted(random.choice(names, size=size, replace=False).tolist())
        key = tuple((name, int(_codes(columns[name])[row])) for name in chosen)
        if key not in drawn:
            drawn[key] = {name: _fitting(columns[name], row, len(original[name].values)) for name in chosen}
        if len(drawn) == n_predicates:
            break
    return list(drawn.values())


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
