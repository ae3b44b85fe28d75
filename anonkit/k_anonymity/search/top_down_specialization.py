# SPDX-License-Identifier: Apache-2.0
"""Top-down specialization: from everything dropped, refine the column with the best gain for the target.

The default search of `rfka`. A selection that takes the most important feature at full detail first spends the
classes on it; here every column gets as much detail as pays for the rows it costs. The gain of a refinement is
the part of the guide's variance that it moves between the classes, weighted by the column's importance. Taxonomies
are cut as in top-down specialization for classification (Fung, Wang & Yu 2005); without one, ordered columns are
cut anywhere and categories are divided in the order of their mean guide (Breiman et al. 1984).

A column without a hierarchy offers to cut one of its groups in two, a column with one to divide a group as the next
level of the hierarchy does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from anonkit.domains.coded_columns import BoolArray, CodedColumn, FloatArray, IntArray, densify
from anonkit.k_anonymity.search.equivalence import AtLeastK, NumberedRows, Requirement, released_partition
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder, equal_mass, number_groups
from anonkit.k_anonymity.search.refinement import Prospects, Refinable, cut_prospects, guide_of, split_prospects


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


# Charge, exponent and worths are conventions: no experiment on record compared others, but for the searches of large k
# (docs/methods/rfka.md, "Large k"). `python recipes/benchmarks/held_out.py rfka` measures the search.
SUPPRESSION_CHARGE = 0.25
"""Cost of a row that a refinement suppresses, as a share of the guide's variance over all rows, with a guide or
without. Rows worth more than the detail bought with them stay, even when the limit would let them go."""

IMPORTANCE_EXPONENT = 0.25
"""Gains are weighted by the column's importance, relative to the largest, to this power: among refinements that
inform about as much, those of columns the forest relies on come first, also where a column informs only
together with another."""

FROM_K = 40
"""Rows (people) of a group from which on several searches are made: few refinements fit then, what the first ones spend
decides the rest, and a search has few steps. A convention."""
STARTS = ((IMPORTANCE_EXPONENT, SUPPRESSION_CHARGE), (1.0, 0.25), (0.0, 0.25), (0.25, 1.0))
"""Exponent and charge of each search; the first is the only one where groups are small.

Their number was settled on affairs, visits to a doctor, cars and Wisconsin; 16 searches, and no charge for rows left
out, did not gain (docs/methods/rfka.md, "Large k").
"""

_FIRST_DETAIL = 0.01
"""Worth of separating all rows of a column that must be kept, as a share of the guide's variance: it decides
between divisions that inform about as much on the target."""

_LEAST_IMPORTANCE = 1e-3  # relative importance of a column that has none or less
_GRID = 64  # ranges of an ordered column between which the search may cut: a bound on time
_NEGLIGIBLE = 1e-9  # share of the guide's variance


@dataclass(frozen=True, kw_only=True)
class RefinementStep:
    """One accepted refinement."""

    column: str
    groups: int
    """Groups of the column after it."""
    explained: float
    """Share of the guide's variance between the classes after it, in [0, 1]."""
    suppressed: int
    """Rows suppressed for it."""
    classes: int
    """Equivalence classes after it."""


class DropReason(StrEnum):
    """The reasons for which a column is not released."""

    CONSTANT = "constant"
    """It has one value."""
    SUPPRESSION = "suppression"
    """Its mildest refinement would suppress more rows than may still go."""
    UNINFORMATIVE = "uninformative"
    """The information of its refinements about the target is not worth the rows they would suppress."""


@dataclass(frozen=True, kw_only=True)
class Drop:
    """The reason for which one column is not released, in rows that a refinement would have suppressed."""

    reason: DropReason
    suppressed: int
    """Fewest further rows that any refinement of it would suppress; 0 for a constant column."""
    available: int
    """Further rows that might have been suppressed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Specialization:
    """Result of top-down specialization: a recoding of every column, with the steps that led to it."""

    groups: Mapping[str, Groups | None]
    """Group of every code of each column; None for a dropped column."""
    suppressed: BoolArray
    """Rows to leave out, shape (n_rows,); all of them if not even one class of all rows meets the requirements."""
    steps: tuple[RefinementStep, ...]
    dropped: Mapping[str, Drop]
    """Why, for each column whose groups are None."""
    explained: float
    """Share of the guide's variance between the released classes, in [0, 1]; 0 without a guide."""


def specialize(
    columns: Sequence[CodedColumn],
    probabilities: FloatArray,
    importance: Mapping[str, float],
    requirements: Sequence[Requirement],
    max_suppressed: int,
    ladders: Mapping[str, Ladder] | None = None,
    *,
    kept_columns: Collection[str] = (),
    wished: Collection[str] = (),
    detail_weights: Mapping[str, float] = MappingProxyType({}),
    exponent: float = IMPORTANCE_EXPONENT,
    charge: float = SUPPRESSION_CHARGE,
) -> Specialization:
    """Find a global recoding that keeps what matters for the target.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Quasi-identifiers, at least one, each of shape (n_rows,).
    probabilities : ndarray of shape (n_rows, n_classes)
        Out-of-bag class probabilities; NaN rows guide nothing but count. n_classes may be 0: then columns are
        refined in order of importance as far as it costs no row.
    importance : mapping of column name to float
        Weights the gains, and says who is first when detail costs nothing.
    requirements : sequence of Requirement
        What every class of the release must meet.
    max_suppressed : int
        Rows that may be left out, in [0, n_rows].
    ladders : mapping of column name to Ladder, optional
        Columns with a hierarchy are refined along it, group by group; the others automatically.
    kept_columns : collection of str
        Columns that are divided in two before any other detail is looked for. Where that is not possible within the
        limit, one of them is dropped: whoever must have it looks.
    wished : collection of str
        Columns that are divided in two next, each where an equal share of the rows that may still be left out allows.
    detail_weights : mapping of column name to float
        Multiplies the gains of a column, above 0; 1 by default.
    exponent, charge : float
        As `IMPORTANCE_EXPONENT` and `SUPPRESSION_CHARGE` say, 0 or more.

    Returns
    -------
    Specialization
        The same for any order of rows and columns.

    Privacy
    -------
    Every class of the rows not suppressed meets the requirements, which are counted again on all rows at the end.
    They protect what each of them says and no more. The recoding depends on the labels: a class may come out pure
    in the target, which only a requirement on it (l, t, alpha) prevents.
    """
    ladders = ladders or {}
    for cheapest in (False, True):
        search = _Search(
            columns, probabilities, importance, requirements, max_suppressed, ladders, detail_weights, exponent, charge
        )
        if search.divide_first(kept_columns, cheapest=cheapest):
            break
    search.divide_wished([name for name in wished if name not in kept_columns])
    search.run()
    # on all rows and by the requirements themselves, not by the estimates that led the search
    groups, suppressed = search.checked(columns, requirements)
    return Specialization(
        groups=groups,
        suppressed=suppressed,
        steps=tuple(search.steps),
        dropped={name: search.reason(name) for name, of_code in groups.items() if of_code is None},
        explained=search.steps[-1].explained if search.steps else 0.0,
    )


def best_specialization(
    columns: Sequence[CodedColumn],
    probabilities: FloatArray,
    importance: Mapping[str, float],
    requirements: Sequence[Requirement],
    *given: Any,
    **more: Any,
) -> Specialization:
    """Return the search that explains most of the guide, the first of several that explain as much; see `specialize`.

    The guide are out-of-bag probabilities, so that no row's own label is among what decides.
    """
    k = max((one.k for one in requirements if isinstance(one, AtLeastK)), default=1)
    search = partial(specialize, columns, probabilities, importance, requirements, *given, **more)
    found = [search(exponent=exponent, charge=charge) for exponent, charge in STARTS[: None if k >= FROM_K else 1]]
    return max(found, key=lambda result: result.explained)


def _atoms(column: CodedColumn, ladder: Ladder | None) -> Groups:
    """Return the finest groups the search may distinguish: those of the hierarchy, or of a grid for many numbers."""
    if ladder is not None:
        return ladder.levels[0]
    if not column.ordered or column.size <= _GRID:
        return np.arange(column.size, dtype=np.int32)
    counts = np.bincount(column.codes, minlength=column.size).astype(np.float64)
    values = counts[: column.size - (column.missing is not None)]
    for _ in range(8):  # a value that fills several ranges counts as one
        values = np.minimum(values, values.sum() / _GRID)
    full = values >= values.sum() / _GRID
    parts = equal_mass(values, _GRID)
    borders = (parts[1:] != parts[:-1]) | full[1:] | full[:-1]
    ranges = np.append(0, np.cumsum(borders))
    return number_groups(np.append(ranges, column.size) if column.missing is not None else ranges)


class _Search:
    """The state of one search."""

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        probabilities: FloatArray,
        importance: Mapping[str, float],
        requirements: Sequence[Requirement],
        max_suppressed: int,
        ladders: Mapping[str, Ladder],
        detail_weights: Mapping[str, float],
        exponent: float,
        charge: float,
    ) -> None:
        self.atoms = {column.name: _atoms(column, ladders.get(column.name)) for column in columns}
        distinct = NumberedRows.of([_coarsened(column, self.atoms[column.name]) for column in columns], requirements)
        guide, self.total = guide_of(probabilities, distinct.entry, distinct.whole.classes.size)
        self.charge = charge * self.total / max(distinct.whole.n_rows(), 1)  # rows without a guide go too
        self.begin = partial(Refinable.start, guide=guide, requirements=distinct.requirements)
        self.whole = distinct.whole
        self.state = self.begin(distinct.whole)
        self.max_suppressed = max_suppressed
        self.divided: list[str] = []
        """Columns that must stay divided: their rows may not all but one part be suppressed."""
        by_importance = sorted(distinct.columns, key=lambda column: (-importance.get(column.name, 0.0), column.name))
        self.columns = {
            column.name: refinable_column(column, self.atoms[column.name], ladders.get(column.name))
            for column in by_importance
        }
        by_target = _weights([importance.get(name, 0.0) for name in self.columns], exponent)
        self.weights = {
            name: weight * detail_weights.get(name, 1.0) for name, weight in zip(self.columns, by_target, strict=True)
        }
        self.steps: list[RefinementStep] = []
        self.earlier: list[RefinableColumn] = []
        """For each step the column as it was before."""

    @property
    def available(self) -> int:
        """Rows that may still be suppressed; negative if too many have to be anyway."""
        return self.max_suppressed - (self.whole.n_rows() - self.state.partition.n_rows())

    def run(self) -> None:
        """Refine until nothing that fits helps, then add the detail that costs nothing."""
        if self.available < 0 or self.state.retained.size == 0:
            return
        while self._best_step() or any(self._free_detail(name) for name in self.columns):
            pass

    def _best_step(self) -> bool:
        """Make the refinement with the largest score; False if none pays for the rows it suppresses."""
        chance = self.state.chance(self.total)
        offers = [column.offers(self.state, chance) for column in self.columns.values()]
        scores = [
            self._scores(offer.prospects, weight) for offer, weight in zip(offers, self.weights.values(), strict=True)
        ]
        while True:
            best = [score.max(initial=-np.inf) for score in scores]
            at = int(np.argmax(best))
            if best[at] <= _NEGLIGIBLE * self.total:
                return False
            choice = int(np.argmax(scores[at]))
            if self._refine(offers[at].take(choice), self.available):
                return True
            scores[at][choice] = -np.inf  # breaks a requirement that was only estimated

    def divide_first(self, names: Collection[str], *, cheapest: bool) -> bool:
        """Divide columns before any other detail, the most important first; return whether all could be.

        Parameters
        ----------
        cheapest : bool
            Whether each is divided where fewest rows are suppressed for it, else where that informs most; then each may
            suppress an equal share of the rows that may still go.
        """
        waiting = [name for name in self.columns if name in names]
        if waiting and (self.available < 0 or self.state.retained.size == 0):
            return False
        for at, name in enumerate(waiting):
            limit = self.available if cheapest else self.available // (len(waiting) - at)
            if not self._divide(name, limit, cheapest=cheapest):
                return False
            self.divided.append(name)
        return True

    def divide_wished(self, names: Collection[str]) -> None:
        """Divide columns before other detail is looked for, the most important first, those that can be."""
        if self.available < 0 or self.state.retained.size == 0:
            return
        waiting = [name for name in self.columns if name in names]
        for at, name in enumerate(waiting):
            if self._divide(name, self.available // (len(waiting) - at), cheapest=False):
                self.divided.append(name)

    def _divide(self, name: str, limit: int, *, cheapest: bool) -> bool:
        """Make the best first division of a column that suppresses no more rows than the limit; False without one."""
        offers = self.columns[name].offers(self.state, self.state.chance(self.total))
        prospects = offers.prospects
        worth = self.weights[name] * (prospects.gain - self.charge * prospects.violating) / (self.total or 1.0)
        scores = worth + _FIRST_DETAIL * prospects.separated / self.state.partition.n_rows()
        possible = np.flatnonzero((prospects.violating <= limit) & (prospects.separated > 0))
        rows = prospects.violating if cheapest else np.zeros_like(prospects.violating)
        by_worth = possible[np.lexsort((-scores[possible], rows[possible]))]
        return any(self._refine(offers.take(choice), limit, divides=name) for choice in by_worth.tolist())

    def _scores(self, prospects: Prospects, weight: float) -> FloatArray:
        scores = weight * (prospects.gain - self.charge * prospects.violating)
        possible = (prospects.violating <= self.available) & (prospects.separated > 0)
        return np.where(possible, scores, -np.inf)

    def _free_detail(self, name: str) -> bool:
        """Refine a column as far as no row is suppressed for it; False if that is not at all."""
        if self.columns[name].is_finest:
            return False
        if self._refine(self.columns[name].finest(), 0):
            return True
        n_steps = len(self.steps)
        while self._free_step(name):
            pass
        return len(self.steps) > n_steps

    def _free_step(self, name: str) -> bool:
        """Make the refinement of a column that separates most pairs of rows without suppressing one."""
        offers = self.columns[name].offers(self.state, 0.0)
        separated = np.where(offers.prospects.violating == 0, offers.prospects.separated, 0.0)
        while separated.max(initial=0.0) > 0:
            choice = int(np.argmax(separated))
            if self._refine(offers.take(choice), 0):
                return True
            separated[choice] = 0.0
        return False

    def _refine(self, column: RefinableColumn, limit: int, *, divides: str | None = None) -> bool:
        """Put a refined column in place unless that suppresses more rows than the limit; return whether it was done.

        It is not where a column that must stay divided, or the one that this divides, would show one part.
        """
        finer, suppressed = self.state.refined(column.parts(self.state))
        if suppressed > limit or finer.retained.size == 0:
            return False
        for name in (*self.divided, *([] if divides is None else [divides])):
            after = column if name == column.name else self.columns[name]
            if np.ptp(after.parts(finer)) == 0:
                return False
        self.earlier.append(self.columns[column.name])
        self.columns[column.name] = column
        self.state = finer
        explained = finer.explained / self.total if self.total > 0 else 0.0
        self.steps.append(
            RefinementStep(
                column=column.name,
                groups=column.n_groups,
                explained=explained,
                suppressed=suppressed,
                classes=finer.partition.n_classes,
            )
        )
        return True

    def checked(
        self, columns: Sequence[CodedColumn], requirements: Sequence[Requirement]
    ) -> tuple[dict[str, Groups | None], BoolArray]:
        """Return the groups of every column and the rows to suppress, counted anew on the whole table.

        Steps are taken back should the count exceed the limit: the table that t-closeness is measured against
        changes with every row suppressed.
        """
        while True:
            groups = self._groups()
            partition = released_partition(columns, groups)
            suppressed = suppressed_rows(partition, requirements)
            if int(suppressed.sum()) <= self.max_suppressed or not self.steps:
                break
            self._take_back()
        by_name = {column.name: column for column in columns}
        for name, column in self.columns.items():  # beyond the grid, where that costs no row
            codes = by_name[name].codes
            if groups[name] is None or not column.is_finest or column.n_groups == by_name[name].size:
                continue
            finer = partition.refine(codes)
            suppressed_mask = suppressed_rows(finer, requirements)
            if int(suppressed_mask.sum()) <= int(suppressed.sum()):
                groups[name] = np.arange(by_name[name].size, dtype=np.int32)
                partition, suppressed = finer, suppressed_mask
        return groups, suppressed

    def _take_back(self) -> None:
        self.steps.pop()
        before = self.earlier.pop()
        self.columns[before.name] = before
        partition = self.whole
        for column in self.columns.values():
            partition = partition.refine(column.groups[column.codes])
        self.state = self.begin(partition)

    def _groups(self) -> dict[str, Groups | None]:
        return {
            name: number_groups(column.groups[self.atoms[name]]) if column.n_groups > 1 else None
            for name, column in sorted(self.columns.items())
        }

    def reason(self, name: str) -> Drop:
        """Return the reason why a column is dropped."""
        if self.state.retained.size == 0:
            return Drop(reason=DropReason.SUPPRESSION, suppressed=0, available=0)
        prospects = self.columns[name].offers(self.state, 0.0).prospects
        possible = prospects.violating[prospects.separated > 0]
        available = max(self.available, 0)
        if possible.size == 0:
            return Drop(reason=DropReason.CONSTANT, suppressed=0, available=available)
        fewest = int(possible.min())
        reason = DropReason.SUPPRESSION if fewest > available else DropReason.UNINFORMATIVE
        return Drop(reason=reason, suppressed=fewest, available=available)


def _weights(importance: Sequence[float], exponent: float) -> list[float]:
    """Return the weights of gains, 1 for the most important column."""
    top = max(importance)
    if top <= 0:
        return [1.0] * len(importance)
    return [max(value / top, _LEAST_IMPORTANCE) ** exponent for value in importance]


def _coarsened(column: CodedColumn, atoms: Groups) -> CodedColumn:
    n_atoms = int(atoms.max(initial=-1)) + 1
    return replace(column, codes=atoms[column.codes], values=range(n_atoms))
