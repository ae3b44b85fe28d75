# SPDX-License-Identifier: Apache-2.0
"""A private choice of two or three attributes that say much more of the class together than fewer: they lead the tree.

Splits are chosen one at a time, so a greedy tree finds an interaction of which neither attribute shows anything by
itself by luck alone (a chessboard). A table of both would show it. One private choice looks at the tables of all pairs,
and at what there is to lose: the rows that the larger class of each cell gets right, beyond those that the better of
both attributes gets right alone. Three attributes of few cells each (a parity) are candidates beside the pairs, where
these cost nothing more: by what they get right beyond the best two of them.
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
from anonkit.dp_trees.marginals.table_counts import TripleCounts
from anonkit.dp_trees.pair_grid import PairGrid, steps_to_one
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import PERMUTE_AND_FLIP, AccountedDraw, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.published.tree_attributes import MOST_ROUTES, TreeSchema
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


Attributes = tuple[int, ...]
"""Numbers of two or three attributes."""


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

    @property
    def number(self) -> int:
        """Number of candidates."""
        return len(self.candidates) + len(self.triples)

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
    ) -> Interaction:
        """Choose by permute-and-flip, at the rate of a draw, among none and the candidates."""
        words = UniformStream(randomness.child(PURPOSE))
        every: tuple[Attributes, ...] = (*self.candidates, *(triples or ()))
        scores = [np.array([self.least_gain(draw)]), self.gains(tables), self.gains_of_triples(triples or {})]
        (at,) = permute_and_flip(np.concatenate(scores)[np.newaxis], draw.rate, words).tolist()
        return Interaction(draw=draw, pair=every[at - 1] if at else None)


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """The result of the choice, and its line of the account."""

    draw: AccountedDraw
    pair: Attributes | None
    """Numbers of two attributes, or of three; None where none were chosen."""

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
