# SPDX-License-Identifier: Apache-2.0
"""A private choice of two, three or all attributes that say much more of the class together than fewer, to lead a tree.

Splits are chosen one at a time, so a greedy tree finds an interaction of which neither attribute shows anything by
itself by luck alone (a chessboard). A table of both would show it. One private choice looks at the tables of all pairs,
and at what there is to lose: the rows that the larger class of each cell gets right, beyond those that the better of
both attributes gets right alone. Three attributes of few cells each (a parity) are candidates beside the pairs, where
these cost nothing more: by what they get right beyond the best two of them. So are all attributes of a table of few
cells ("exactly two of six hold"): by what they get right beyond the best three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.additive_model.budget_rule import choice_share, least_gain
from anonkit.dp_trees.additive_model.class_pairs import CHANCE, MOST_CELLS, ROWS_A_CELL, ClassPairs, groups_of
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.marginals.column_layout import Pair, Triple
from anonkit.dp_trees.marginals.table_counts import JointCounts, TripleCounts
from anonkit.dp_trees.pair_grid import PairGrid, steps_to_one
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import PERMUTE_AND_FLIP, AccountedDraw, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.published.tree_attributes import MOST_ROUTES, Attribute, TreeSchema
from anonkit.randomness import Randomness

PURPOSE = "interacting pair"
WIDTH = 2
"""Rows of the range in which one row moves the gains of all pairs: each by one, up or down."""
_STRENGTH_A_CELL = 8
"""Product of epsilon and rows for each cell of the table of a pair by class, at least."""
_FINER_CELLS = (32, 16)
_STRENGTH_A_FINER_CELL = 16
"""The same for each cell of the grid of a tree that distinguishes more cells of numbers than the choice does."""
_MOST_LEVELS = 12
"""Levels of a grid: categories are taken off one by one."""
_MOST_FEW_CELLS = 4
"""Cells of a number, or categories, of an attribute that is one of three; missing is one more."""
_MOST_TRIPLES = 5_000
_COUNTS_AS = 8
"""Pairs that a triple counts as in the price: none is taken where nothing gains anything in 98 of 100 releases."""
_MOST_ROW_LOOKS = 1 << 28
"""Triples times rows at most."""
_FEWEST_JOINT = 4
"""Attributes from which on all of them are more than a triple."""
_ROWS_A_JOINT_CELL = 8
"""Rows for each cell of the table of all attributes by class, at least: half of what pairs have, as it is one table."""


Attributes = tuple[int, ...]
"""Numbers of two, three or all attributes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairInteraction(ClassPairs):
    """The candidates of the choice: none, and the pairs and triples whose table has enough rows for its noise."""

    epsilon: float
    """Privacy loss of one row allowed for everything that follows."""

    @cached_property
    def candidates(self) -> tuple[Pair, ...]:
        """The pairs, by public facts and the number of rows alone."""
        strength, classes = self.epsilon * self.rows, self.schema.n_classes
        steps = [steps_to_one(*own) for own in zip(self.schema.attributes, self.sizes.tolist(), strict=True)]
        return tuple(
            (first, second)
            for (first, second), cells in zip(self.pairs, map(self.cells, self.pairs), strict=True)
            if cells * _STRENGTH_A_CELL <= strength
            and _is_small(steps[first] + steps[second], cells // classes, self.schema)
        )

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """The triples, by the same facts: of the attributes with fewest cells, and none where they would cost more."""
        known = len(self.candidates)
        if not known:
            return ()
        price = partial(choice_share, epsilon=self.epsilon, rows=self.rows)
        sizes = [int(groups.max()) + 1 for groups in self.few_groups]
        strength = min(self.epsilon * self.rows / _STRENGTH_A_CELL, self.rows / ROWS_A_CELL) / self.schema.n_classes
        order = sorted((size, at) for at, size in enumerate(sizes) if 1 < size <= _MOST_FEW_CELLS + 1)
        while order and (
            math.comb(len(order), 3) > min(_MOST_TRIPLES, _MOST_ROW_LOOKS / max(self.rows, 1.0))
            or price(pairs=known + _COUNTS_AS * math.comb(len(order), 3)) != price(pairs=known)
            or math.prod(size for size, _ in order[-3:]) > strength
            or not _is_small(0, math.prod(size for size, _ in order[-3:]), self.schema)
        ):
            order.pop()
        return tuple(combinations(sorted(at for _, at in order), 3))

    @cached_property
    def few_groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes where it is one of three, shape (codes,)."""
        return tuple(groups_of(attribute, _MOST_FEW_CELLS) for attribute in self.schema.attributes)

    @cached_property
    def joint(self) -> Attributes:
        """All attributes, where their table has rows enough and costs nothing more; none where it is no candidate."""
        attributes, groups = self.schema.attributes, self.joint_groups
        counted, price = len(self.candidates), partial(choice_share, epsilon=self.epsilon, rows=self.rows)
        if not self.triples or len(attributes) < _FEWEST_JOINT:
            return ()
        sizes = [int(own.max()) + 1 for own in groups]
        cells = self.schema.n_classes * math.prod(sizes)
        levels = sum(steps_to_one(*own) for own in zip(attributes, sizes, strict=True))
        is_candidate = (
            cells * _STRENGTH_A_CELL <= self.epsilon * self.rows
            and cells * _ROWS_A_JOINT_CELL <= self.rows
            and _is_small(levels, math.prod(sizes), self.schema)
            and price(pairs=counted + _COUNTS_AS * (len(self.triples) + 1)) == price(pairs=counted)
        )
        return tuple(range(len(attributes))) if is_candidate else ()

    @cached_property
    def joint_groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes where all are together, shape (codes,)."""
        return tuple(map(joint_groups_of, self.schema.attributes))

    @property
    def number(self) -> int:
        """Number of candidates."""
        return len(self.candidates) + len(self.triples) + bool(self.joint)

    def draw(self, units: int) -> AccountedDraw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        rate = rate_within(units, WIDTH)
        return AccountedDraw(purpose=PURPOSE, mechanism=PERMUTE_AND_FLIP, rate=rate, sensitivity=WIDTH)

    def least_gain(self, draw: AccountedDraw) -> int:
        """Return the gain from which on a pair leads the tree, in rows: the score of no pair, a public number."""
        share = least_gain(epsilon=draw.epsilon, rows=self.rows, pairs=self.number)
        return math.floor(share * self.rows)

    def gains(self, tables: Mapping[Pair, IntArray]) -> IntArray:
        """Return what each candidate gains, in rows; what chance makes of it, a public number, is taken off.

        Parameters
        ----------
        tables : mapping
            For each pair its counts, shape (classes, groups, groups).

        Returns
        -------
        int array, shape (candidates,)

        Privacy
        -------
        Private: to be chosen by alone. A row that comes raises the rows that a table gets right by one or by none,
        those of both attributes together and those of each: the difference moves by one, up or down.
        """
        found = []
        for pair in self.candidates:
            table = tables[pair]
            alone = max(int(table.sum(axis=at).max(axis=0).sum()) for at in (1, 2))
            found.append(int(table.max(axis=0).sum()) - alone - math.floor(self.chance(pair)))
        return np.array(found, dtype=np.int64)

    def gains_of_triples(self, tables: Mapping[Triple, IntArray]) -> IntArray:
        """Return what each triple gains over the best two of its attributes; as `gains`, and of the same privacy.

        Parameters
        ----------
        tables : mapping
            For each triple its counts, shape (classes, groups, groups, groups).
        """
        found = []
        for table in tables.values():
            fewer = max(int(table.sum(axis=at).max(axis=0).sum()) for at in (1, 2, 3))
            found.append(int(table.max(axis=0).sum()) - fewer - math.floor(CHANCE * math.sqrt(table.size * self.rows)))
        return np.array(found, dtype=np.int64)

    def gains_of_all(self, table: IntArray | None) -> IntArray:
        """Return what all attributes gain over the best three of them; as `gains`, and of the same privacy.

        Parameters
        ----------
        table : int array, shape (classes, groups of each attribute), optional
            None where they are no candidate.

        Returns
        -------
        int array, shape (1,) or (0,)
        """
        if table is None:
            return np.zeros(0, dtype=np.int64)
        axes = range(1, table.ndim)
        fewer = max(
            int(table.sum(axis=tuple(at for at in axes if at not in kept)).max(axis=0).sum())
            for kept in combinations(axes, 3)
        )
        chance = math.floor(CHANCE * math.sqrt(table.size * self.rows))
        return np.array([int(table.max(axis=0).sum()) - fewer - chance], dtype=np.int64)

    def table_of_all(self, counter: Counter) -> IntArray | None:
        """Count the rows of all attributes by class; None where they are no candidate. Private as `tables`."""
        if not self.joint:
            return None
        counts = JointCounts(layout=self.layout, groups=self.joint_groups)
        table = counter.sum_up(counts).reshape(counts.shapes[0])
        refuse_other_totals("table of all attributes", int(table.sum()), counter.n_rows)
        return table

    def tables_of_triples(self, counter: Counter) -> dict[Triple, IntArray]:
        """Count the rows of each triple by class; as `tables`, and of the same privacy."""
        if not self.triples:
            return {}
        counts = TripleCounts(layout=self.layout, groups=self.few_groups, triples=self.triples)
        sizes = [int(groups.max()) + 1 for groups in self.few_groups]
        tables = {
            triple: table.reshape(-1, *(sizes[at] for at in triple))
            for triple, table in counts.split(counter.sum_up(counts))
        }
        for table in tables.values():
            refuse_other_totals("table of a triple", int(table.sum()), counter.n_rows)
        return tables

    def choose(
        self,
        draw: AccountedDraw,
        tables: Mapping[Pair, IntArray],
        randomness: Randomness,
        triples: Mapping[Triple, IntArray] | None = None,
        joint: IntArray | None = None,
    ) -> Interaction:
        """Choose by permute-and-flip, at the rate of a draw, among none and the candidates."""
        words = UniformStream(randomness.child(PURPOSE))
        every: tuple[Attributes, ...] = (*self.candidates, *(triples or ()), self.joint)
        gains = [self.gains(tables), self.gains_of_triples(triples or {}), self.gains_of_all(joint)]
        scores = [np.array([self.least_gain(draw)]), *gains]
        (at,) = permute_and_flip(np.concatenate(scores)[np.newaxis], draw.rate, words).tolist()
        return Interaction(draw=draw, pair=every[at - 1] if at else None)


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """The result of the choice, and its line of the account."""

    draw: AccountedDraw
    pair: Attributes | None
    """Numbers of two attributes, of three or of all; None where none were chosen."""

    def grid(self, schema: TreeSchema, strength: float) -> PairGrid | None:
        """Return the grid, of a pair as fine as its counts have rows for their noise; None where none was chosen.

        Parameters
        ----------
        schema : TreeSchema
        strength : float
            Product of epsilon and the number of rows.
        """
        if self.pair is None:
            return None
        if len(self.pair) >= _FEWEST_JOINT:
            groups = tuple(map(joint_groups_of, schema.attributes))
            return PairGrid(places=self.pair, attributes=schema.attributes, groups=groups)
        if len(self.pair) > 2:
            return grid_of(schema, self.pair, _MOST_FEW_CELLS)
        every = [grid_of(schema, self.pair, cells) for cells in _FINER_CELLS]
        enough = (
            grid
            for grid in every
            if _STRENGTH_A_FINER_CELL * schema.n_classes * grid.cells <= strength
            and _is_small(grid.depth, grid.cells, schema)
        )
        return next(enough, grid_of(schema, self.pair, MOST_CELLS))

    def to_params(self, schema: TreeSchema) -> dict[str, Any]:
        """Return the choice, ready for JSON."""
        names = [schema.attributes[at].name for at in self.pair or ()]
        return {"purpose": self.draw.purpose, "rate": self.draw.rate, "pair": names}


def _is_small(depth: int, cells: int, schema: TreeSchema) -> bool:
    """Return whether a tree may begin with a grid: few levels, and few routes of its nodes for all codes."""
    return depth <= _MOST_LEVELS and 2 * cells * schema.most_codes <= MOST_ROUTES


def grid_of(schema: TreeSchema, places: Attributes, cells: int) -> PairGrid:
    """Return the grid of some attributes of a schema, a number in at most this many cells."""
    attributes = tuple(schema.attributes[at] for at in places)
    return PairGrid(places=places, attributes=attributes, groups=tuple(groups_of(own, cells) for own in attributes))


def joint_groups_of(attribute: Attribute) -> IntArray:
    """Return the group of each code where all attributes are together: missing counts with the last, for few cells."""
    groups = groups_of(attribute, _MOST_FEW_CELLS)
    return np.minimum(groups, groups[-2]) if attribute.domain.has_missing and groups.size > 1 else groups
