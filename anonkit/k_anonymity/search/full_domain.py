# SPDX-License-Identifier: Apache-2.0
"""Full-domain generalization: every column is released at one level of its hierarchy, the same in all rows.

The levels of all columns together form a lattice. Its bottom node releases every column in full, its top drops them
all; a node is above another when no column is finer in it. Two searches walk it: Datafly climbs one step at a time,
greedily (Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression", International
Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002); Incognito finds every node that meets the
requirements, and the one of least loss (LeFevre, DeWitt, Ramakrishnan, "Incognito: efficient full-domain k-anonymity",
SIGMOD 2005).
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

import numpy as np

from anonkit.domains.coded_columns import BoolArray, CodedColumn, FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.k_anonymity.search.equivalence import AtLeastK, DistinctL, DistinctRows, Partition, Requirement
from anonkit.k_anonymity.search.greedy_selection import suppressed_rows
from anonkit.k_anonymity.search.hierarchy_levels import Groups, Ladder

MAX_NODES = 20_000
"""Nodes that Incognito looks at, at most."""

Node = tuple[int, ...]
"""Level of each column, 0 the finest; the highest drops the column."""


class Lattice:
    """The full-domain generalizations of a table, and which of them meet the requirements.

    Parameters
    ----------
    columns : sequence of CodedColumn
        Quasi-identifiers, at least one, each of shape (n_rows,), in any order.
    ladders : mapping of column name to Ladder
        Levels of each column; one more, above them, drops it.
    requirements : sequence of Requirement
        What every class of the release must meet.
    max_suppressed : int
        Rows that may be left out, in [0, n_rows].
    kept : collection of str
        Columns that are not dropped, but where all their values are one: the lattice has no node without them.
    detail_weights : mapping of column name to float
        Worth of the detail of a column, above 0; 1 by default.
    """

    def __init__(
        self,
        columns: Sequence[CodedColumn],
        ladders: Mapping[str, Ladder],
        requirements: Sequence[Requirement],
        max_suppressed: int,
        *,
        kept_columns: Collection[str] = (),
        detail_weights: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.columns = sorted(columns, key=lambda column: column.name)
        self.levels = [_levels(ladders[column.name]) for column in self.columns]
        self.requirements = tuple(requirements)
        self.max_suppressed = max_suppressed
        self.weights = [detail_weights.get(column.name, 1.0) for column in self.columns]
        self._kept_indices = [
            at for at, column in enumerate(self.columns) if column.name in kept_columns and self.levels[at]
        ]
        self.rows = DistinctRows.of(self.columns, requirements)
        """The distinct rows of the table: classes are counted on them."""

    @property
    def bottom(self) -> Node:
        """The node that releases every column in full."""
        return (0,) * len(self.columns)

    @property
    def heights(self) -> Node:
        """The top: the number of levels of each column that do not drop it, or one less where it must be kept."""
        return tuple(len(levels) - (at in self._kept_indices) for at, levels in enumerate(self.levels))

    @property
    def n_nodes(self) -> int:
        """Nodes of the lattice."""
        return math.prod(height + 1 for height in self.heights)

    def groups(self, node: Node) -> dict[str, Groups | None]:
        """Return the group of every code of each column; None for a dropped column."""
        return {
            column.name: levels[level] if level < len(levels) else None
            for column, levels, level in zip(self.columns, self.levels, node, strict=True)
        }

    def suppressed(self, node: Node) -> tuple[Partition, BoolArray]:
        """Return the classes of a node, and which entries would have to go; identical rows are one entry."""
        partition = self.rows.whole
        for column, levels, level in zip(self.rows.columns, self.levels, node, strict=True):
            if partition.n_classes == partition.classes.size:
                break  # every entry is alone
            if level < len(levels):
                partition = partition.refine(levels[level][column.codes])
        return partition, suppressed_rows(partition, self.rows.requirements)

    def n_suppressed(self, node: Node) -> int:
        """Return the rows that would have to go."""
        partition, suppressed = self.suppressed(node)
        return partition.n_rows(suppressed)

    def meets(self, node: Node) -> bool:
        """Return True if no more rows than allowed would have to go, and not all."""
        partition, suppressed = self.suppressed(node)
        return partition.n_rows(suppressed) <= self.max_suppressed and not suppressed.all()

    def shows_kept_columns(self, node: Node) -> bool:
        """Return True if the rows that stay show two parts of every column to be kept."""
        if not self._kept_indices:
            return True
        _, suppressed = self.suppressed(node)
        shown = (self.levels[at][node[at]][self.rows.columns[at].codes[~suppressed]] for at in self._kept_indices)
        return not suppressed.all() and all(np.ptp(parts) > 0 for parts in shown)

    @property
    def is_monotone(self) -> bool:
        """Return True if a node meets the requirements wherever one below it does.

        Of k-anonymity and distinct l-diversity that is so whatever is suppressed: a row in a class that breaks one was
        in such a class before it was merged. The models on shares (entropy and recursive l, t, alpha, caps) promise it
        only where nothing is suppressed and equal values alone are one, and none but k where people hold values, who
        may be in several classes.
        """
        for requirement in self.requirements:
            by_people = getattr(requirement, "units", None) is not None
            measured = getattr(requirement, "ends", None) is not None
            always = isinstance(requirement, AtLeastK) or (isinstance(requirement, DistinctL) and not by_people)
            if not always and (by_people or measured or self.max_suppressed > 0):
                return False
        return True


def _levels(ladder: Ladder) -> tuple[Groups, ...]:
    """Return the levels that show anything; where all codes are one group the column is dropped."""
    return tuple(groups for groups in ladder.levels if groups.max(initial=0) > 0)


# --- Datafly -------------------------------------------------------------------------------------------------------


def datafly(lattice: Lattice) -> Node:
    """Generalize the column with most distinct values by one level until few enough rows are left out.

    Of a column with a weight its number of values counts divided by it. Which column comes next depends on the levels
    alone. So where the requirements are monotone, the first node that meets them is found by bisection.

    Returns
    -------
    tuple of int
        A node that meets the requirements, not always a minimal one; the top, whether or not it does, if none below
        on the way did. Of columns with equally many values the first by name is generalized.
    """
    steps = _climb(lattice)
    first = 0
    if lattice.is_monotone:
        first = bisect_left(range(len(steps)), True, key=lambda n_steps: lattice.meets(_after(lattice, steps, n_steps)))
    for n_steps in range(first, len(steps)):
        node = _after(lattice, steps, n_steps)
        if lattice.meets(node) and lattice.shows_kept_columns(node):
            return node
    return lattice.heights


def _climb(lattice: Lattice) -> IntArray:
    """Return the column that each step from the bottom to the top generalizes, shape (n_steps,)."""
    values = [
        [(int(levels[level].max()) + 1) / weight for level in range(height)]
        for levels, height, weight in zip(lattice.levels, lattice.heights, lattice.weights, strict=True)
    ]
    widest = [(-own[0], at, 0) for at, own in enumerate(values) if own]
    heapq.heapify(widest)
    steps = []
    while widest:
        _, at, level = widest[0]
        steps.append(at)
        if level + 1 < len(values[at]):
            heapq.heapreplace(widest, (-values[at][level + 1], at, level + 1))
        else:
            heapq.heappop(widest)
    return np.array(steps, dtype=np.int64)


def _after(lattice: Lattice, steps: IntArray, n_steps: int) -> Node:
    """Return the node that some of the first steps lead to."""
    return tuple(np.bincount(steps[:n_steps], minlength=len(lattice.columns)).tolist())


# --- Incognito -----------------------------------------------------------------------------------------------------


def satisfying_nodes(lattice: Lattice) -> list[Node]:
    """Return all nodes that meet the requirements, ascending.

    Where the requirements are monotone the lattice is walked from its top: a node is checked only if every node one
    step above it meets them. To drop a column is a step too, so no combination of levels is checked that fails for
    fewer columns: the pruning of LeFevre et al. over subsets of the columns. Where they are not monotone, every node is
    looked at.

    Raises
    ------
    ParameterError
        More than MAX_NODES nodes would have to be checked.
    """
    if not lattice.is_monotone:
        _refuse_many(lattice, lattice.n_nodes)
        return [node for node in product(*(range(height + 1) for height in lattice.heights)) if lattice.meets(node)]
    satisfying: set[Node] = set()
    candidates, n_seen = {lattice.heights}, 0
    while candidates:
        n_seen += len(candidates)
        _refuse_many(lattice, n_seen)
        met = {node for node in candidates if lattice.meets(node)}
        satisfying |= met
        candidates = set()
        for node in met:
            for finer in _one_step(node, -1, lattice):
                if finer not in candidates and satisfying.issuperset(_one_step(finer, 1, lattice)):
                    candidates.add(finer)
                    _refuse_many(lattice, n_seen + len(candidates))  # before there are as many as fill the memory
    return sorted(satisfying)


def _one_step(node: Node, step: int, lattice: Lattice) -> list[Node]:
    """Return the nodes in which one column is a level coarser (step 1) or finer (step -1)."""
    return [
        (*node[:at], level + step, *node[at + 1 :])
        for at, (level, height) in enumerate(zip(node, lattice.heights, strict=True))
        if 0 <= level + step <= height
    ]


def _refuse_many(lattice: Lattice, n_nodes: int) -> None:
    if n_nodes > MAX_NODES:
        raise ParameterError(
            f"more than {MAX_NODES:,} combinations of levels of {len(lattice.columns)} quasi-identifiers would have to "
            "be examined",
            "declare hierarchies with fewer levels, or fewer quasi-identifiers; datafly and rfka have no such limit",
        )


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The node of least loss among those that meet the requirements, with its loss in the unit of the loss function."""

    node: Node
    loss: float
    satisfying: int
    """Nodes that meet the requirements."""


def incognito(lattice: Lattice, loss: Callable[[Lattice, Node], float]) -> Optimum | None:
    """Return the node of least loss that meets the requirements; None where not even the top does.

    Of nodes with equal loss the lowest is taken, then the first in the order of the columns' names. What is returned
    has been checked itself, not inferred by monotonicity alone.
    """
    losses = {node: loss(lattice, node) for node in satisfying_nodes(lattice)}
    for node in sorted(losses, key=lambda node: (losses[node], sum(node), node)):
        if lattice.meets(node) and lattice.shows_kept_columns(node):
            return Optimum(node=node, loss=losses[node], satisfying=len(losses))
    return None


def granularity_loss(lattice: Lattice, node: Node) -> float:
    """Return the mean share of a column's values that a released cell covers, in [0, 1] (Iyengar, KDD 2002).

    A cell in full costs 0, one of a group of g of m values (g - 1) / (m - 1), a dropped column or row 1. The mean over
    the columns is weighted by what their detail is worth.
    """
    partition, suppressed = lattice.suppressed(node)
    costs = np.zeros(suppressed.size)
    for column, levels, level, weight in zip(lattice.rows.columns, lattice.levels, node, lattice.weights, strict=True):
        costs += weight * _cell_loss(column, levels, level)
    costs = np.where(suppressed, 1.0, costs / sum(lattice.weights))
    n_rows = np.ones(suppressed.size) if partition.weights is None else partition.weights
    # fsum rounds once, so the loss does not depend on the order of the rows
    return math.fsum((costs * n_rows).tolist()) / partition.n_rows()


def _cell_loss(column: CodedColumn, levels: Sequence[Groups], level: int) -> FloatArray:
    """Return the share of the column's other values that each released cell may mean, shape (n_entries,)."""
    if level >= len(levels):
        return np.ones(column.codes.size)
    n_values = np.bincount(levels[level])[levels[level]]
    return np.asarray((n_values - 1)[column.codes] / (column.size - 1))


def discernibility_loss(lattice: Lattice, node: Node) -> float:
    """Return the rows that each row is indistinguishable from, added up (Bayardo & Agrawal, ICDE 2005).

    A class of n rows costs n², a row that is left out as much as the table has rows.
    """
    partition, suppressed = lattice.suppressed(node)
    n_gone, n_rows = partition.n_rows(suppressed), partition.n_rows()
    # Python integers: the sum of squared sizes may exceed 64 bits
    sizes = partition.at(~suppressed).sizes().astype(object)
    return float((sizes * sizes).sum() + n_gone * n_rows)


LOSSES: Mapping[str, Callable[[Lattice, Node], float]] = {
    "granularity": granularity_loss,
    "discernibility": discernibility_loss,
}
"""Objective that Incognito minimizes, by its name on the command line."""
