# SPDX-License-Identifier: Apache-2.0
"""One column on its way from dropped to full detail: the refinements it offers, and its groups after each.

A column without a hierarchy offers to cut one of its groups in two, a column with one to divide a group as the next
level of the hierarchy does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from anonkit.domains.coded_columns import CodedColumn, FloatArray, IntArray, densify
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder
from anonkit.k_anonymity.search.refinement import Prospects, Refinable, cut_prospects, split_prospects


@dataclass(frozen=True, kw_only=True, eq=False)
class Offers:
    """The refinements that a column offers, with the gain and cost of each."""

    prospects: Prospects
    """Of every refinement; one that divides nothing has `separated` 0."""
    take: Callable[[int], RefinableColumn]
    """Return the column after a refinement."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RefinableColumn(ABC):
    """A column under top-down refinement. Its codes are atoms: the finest groups of values that may be distinguished.

    At the start all atoms are one group (the column is dropped); every accepted refinement divides one group.
    """

    name: str
    codes: IntArray
    """Atom of each entry, shape (n_entries,)."""
    groups: IntArray
    """Group of each atom, shape (n_atoms,); all 0: dropped."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.groups.max(initial=0)) + 1

    @property
    def is_finest(self) -> bool:
        """True when every atom is a group of its own."""
        return self.n_groups >= self.groups.size

    @abstractmethod
    def finest(self) -> RefinableColumn:
        """Return the column with every atom in a group of its own."""

    @abstractmethod
    def offers(self, state: Refinable, chance: float) -> Offers:
        """Return every refinement by one step; `chance` is what one more class explains by chance."""

    def parts(self, state: Refinable) -> IntArray:
        """Return the group of each kept entry."""
        return self.groups[self.codes[state.retained]]


@dataclass(frozen=True, kw_only=True, eq=False)
class CutColumn(RefinableColumn):
    """A column without a declared hierarchy: any group may be cut in two.

    An ordered column is cut between neighbouring values, a categorical one between categories sorted by their mean
    guide (Breiman et al. 1984, theorem 4.5).
    """

    ordered: bool

    def finest(self) -> CutColumn:
        """Return the column with every atom in a group of its own."""
        return replace(self, groups=np.arange(self.groups.size))

    def offers(self, state: Refinable, chance: float) -> Offers:
        """Return the cuts of each group between neighbours in value or, for categories, in mean guide."""
        order = self._order(state)
        position = np.empty(order.size, dtype=np.int64)
        position[order] = np.arange(order.size)
        prospects = cut_prospects(state, position[self.codes[state.retained]], order.size, chance)

        def take(choice: int) -> CutColumn:
            groups = self.groups.copy()
            group = groups[order[choice]]
            groups[(groups == group) & (position > choice)] = self.n_groups
            return replace(self, groups=groups)

        return Offers(prospects=prospects, take=take)

    def _order(self, state: Refinable) -> IntArray:
        """Return the atoms in the order in which they may be cut; groups are together.

        For two target classes and one equivalence class, the best division of categories is a cut in the order of
        their mean (Breiman et al. 1984, theorem 4.5). Means are taken about those of the equivalence classes, so
        categories are distinguished by what the other columns do not show.
        """
        if self.ordered:
            return np.arange(self.groups.size)
        return np.lexsort((self._surplus(state), self.groups))

    def _surplus(self, state: Refinable) -> FloatArray:
        if not len(state.guide.sums):
            return np.zeros(self.groups.size)
        partition, guide = state.partition, state.guide
        classes = guide.over(partition.classes, partition.n_classes)
        expected = guide.rows * (classes.sums[0] / np.maximum(classes.rows, 1.0))[partition.classes]
        atoms = self.codes[state.retained]
        surplus = np.bincount(atoms, guide.sums[0] - expected, minlength=self.groups.size)
        return np.asarray(surplus / np.maximum(np.bincount(atoms, guide.rows, minlength=self.groups.size), 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class LadderColumn(RefinableColumn):
    """A column with a declared hierarchy: a group is divided into its children at the next finer level."""

    levels: tuple[IntArray, ...]
    """Group of each atom at every level, the finest first, each of shape (n_atoms,)."""

    def finest(self) -> LadderColumn:
        """Return the column with every atom in a group of its own."""
        return replace(self, groups=np.arange(self.groups.size))

    def offers(self, state: Refinable, chance: float) -> Offers:
        """Return the division of each group by the coarsest level that divides it."""
        parts, n_parts = densify(self._divided())
        atoms = self.codes[state.retained]
        prospects = split_prospects(state, parts[atoms], n_parts, self.groups[atoms], self.n_groups, chance)

        def take(choice: int) -> LadderColumn:
            inside = self.groups == choice
            groups = self.groups.copy()
            fresh, _ = densify(parts[inside])
            groups[inside] = np.where(fresh == 0, choice, self.n_groups + fresh - 1)
            return replace(self, groups=groups)

        return Offers(prospects=prospects, take=take)

    def _divided(self) -> IntArray:
        """Return a key per atom: the group it would be in if every group were divided, ascending by group."""
        n_atoms = self.groups.size
        keys = self.groups * n_atoms
        undivided = np.ones(self.n_groups, dtype=bool)
        for level in reversed(self.levels):
            finer = self.groups * n_atoms + level
            low, high = np.full(self.n_groups, n_atoms), np.full(self.n_groups, -1)
            np.minimum.at(low, self.groups, level)
            np.maximum.at(high, self.groups, level)
            divides = undivided & (low < high)
            keys = np.where(divides[self.groups], finer, keys)
            undivided &= ~divides
        return keys


def refinable_column(column: CodedColumn, atoms: Groups, ladder: Ladder | None) -> RefinableColumn:
    """Begin with a column dropped.

    Parameters
    ----------
    column : CodedColumn
        Its codes are atoms already.
    atoms : ndarray of shape (n_values,)
        Atom of each value of the original column.
    ladder : Ladder or None
        Ladder of the original column; its finest level are the atoms.
    """
    codes = column.codes.astype(np.int64)
    groups = np.zeros(column.size, dtype=np.int64)
    if ladder is None:
        return CutColumn(name=column.name, codes=codes, groups=groups, ordered=column.ordered)
    example = np.empty(column.size, dtype=np.int64)
    example[atoms] = np.arange(atoms.size)
    levels = tuple(level[example].astype(np.int64) for level in ladder.levels)
    return LadderColumn(name=column.name, codes=codes, groups=groups, levels=levels)
