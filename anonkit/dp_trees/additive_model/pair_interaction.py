# SPDX-License-Identifier: Apache-2.0
"""A private choice of two attributes that say much more of the class together than the better one: they lead the tree.

Splits are chosen one at a time, so a greedy tree finds an interaction of which neither attribute shows anything by
itself by luck alone (a chessboard). A table of both would show it. One private choice looks at the tables of all pairs,
and at what there is to lose: the rows that the larger class of each cell gets right, beyond those that the better of
both attributes gets right alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.dp_trees.additive_model.budget_rule import least_gain
from anonkit.dp_trees.additive_model.class_pairs import MOST_CELLS, ClassPairs, groups_of
from anonkit.dp_trees.marginals.column_layout import Pair
from anonkit.dp_trees.pair_grid import PairGrid, steps_to_one
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


@dataclass(frozen=True, kw_only=True, eq=False)
class PairInteraction(ClassPairs):
    """The candidates of the choice: no pair, and the pairs whose table has enough rows for the noise of its counts."""

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

    def draw(self, units: int) -> AccountedDraw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        rate = rate_within(units, WIDTH)
        return AccountedDraw(purpose=PURPOSE, mechanism=PERMUTE_AND_FLIP, rate=rate, sensitivity=WIDTH)

    def least_gain(self, draw: AccountedDraw) -> int:
        """Return the gain from which on a pair leads the tree, in rows: the score of no pair, a public number."""
        share = least_gain(epsilon=draw.epsilon, rows=self.rows, pairs=len(self.candidates))
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

    def choose(self, draw: AccountedDraw, tables: Mapping[Pair, IntArray], randomness: Randomness) -> Interaction:
        """Choose by permute-and-flip, at the rate of a draw, among no pair and the candidates."""
        words, scores = UniformStream(randomness.child(PURPOSE)), np.append(self.least_gain(draw), self.gains(tables))
        (at,) = permute_and_flip(scores[np.newaxis], draw.rate, words).tolist()
        return Interaction(draw=draw, pair=self.candidates[at - 1] if at else None)


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """The result of the choice, and its line of the account."""

    draw: AccountedDraw
    pair: Pair | None
    """Numbers of two attributes; None where no pair was chosen."""

    def grid(self, schema: TreeSchema, strength: float) -> PairGrid | None:
        """Return the grid of the pair, as fine as its counts have rows for their noise; None where none was chosen.

        Parameters
        ----------
        schema : TreeSchema
        strength : float
            Product of epsilon and the number of rows.
        """
        if self.pair is None:
            return None
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


def grid_of(schema: TreeSchema, pair: Pair, cells: int) -> PairGrid:
    """Return the grid of two attributes of a schema, a number in at most this many cells."""
    first, second = (schema.attributes[at] for at in pair)
    return PairGrid(places=pair, attributes=(first, second), groups=(groups_of(first, cells), groups_of(second, cells)))
