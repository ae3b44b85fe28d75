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
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from anonkit.budget_rules.model_queries import PairGain
from anonkit.budget_rules.pair_rule import MOST_FEW_CELLS, PairGrid, PairRule, Places
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.additive_model.class_pairs import ClassPairs, groups_of, rule_of
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.exact_tables import JointCounts, TripleCounts
from anonkit.dp_trees.marginals.noisy_readings import Pair, Triple
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import draw_epsilon, rate_within
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.private_selection import permute_and_flip
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.published.statements.draws import PERMUTE_AND_FLIP, Draw
from anonkit.published.tree_attributes import TreeSchema
from anonkit.randomness import Randomness

PURPOSE = "interacting pair"


@dataclass(frozen=True, kw_only=True, eq=False)
class PairInteraction(ClassPairs):
    """The candidates of the choice: none, and pairs, triples and all attributes whose table has rows for its noise."""

    epsilon: float
    """Privacy loss of one row allowed for everything that follows."""

    @cached_property
    def rule(self) -> PairRule:
        """Public rule: which attributes are candidates."""
        return rule_of(self.schema, rows=self.rows, epsilon=self.epsilon)

    @cached_property
    def few_groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes where it is one of three, shape (codes,)."""
        return groups_of(self.schema, MOST_FEW_CELLS)

    def draw(self, units: int) -> Draw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        query = PairGain()
        rate = rate_within(units, sensitivity_of(query))
        return Draw(name=PURPOSE, law=PERMUTE_AND_FLIP, rate=rate, query=query)

    def least_gain(self, draw: Draw) -> int:
        """Return the gain from which on a pair leads the tree, in rows: the score of no pair, a public number."""
        return self.rule.least_gain(draw_epsilon(draw))

    def gains(self, tables: Mapping[Pair, IntArray]) -> IntArray:
        """Return the gain of each candidate, in rows, less the gain by chance, a public number.

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
        for pair in self.rule.candidates:
            table = tables[pair]
            alone = max(int(table.sum(axis=at).max(axis=0).sum()) for at in (1, 2))
            found.append(int(table.max(axis=0).sum()) - alone - math.floor(self.rule.chance(self.rule.cells(pair))))
        return np.array(found, dtype=np.int64)

    def gains_of_triples(self, tables: Mapping[Triple, IntArray]) -> IntArray:
        """Return the gain of each triple over the best two of its attributes; as `gains`, and of the same privacy.

        Parameters
        ----------
        tables : mapping
            For each triple its counts, shape (classes, groups, groups, groups).
        """
        found = []
        for table in tables.values():
            fewer = max(int(table.sum(axis=at).max(axis=0).sum()) for at in (1, 2, 3))
            found.append(int(table.max(axis=0).sum()) - fewer - math.floor(self.rule.chance(table.size)))
        return np.array(found, dtype=np.int64)

    def gains_of_all(self, table: IntArray | None) -> IntArray:
        """Return the gain of all attributes over the best three of them; as `gains`, and of the same privacy.

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
            int(table.sum(axis=tuple(at for at in axes if at not in triple)).max(axis=0).sum())
            for triple in combinations(axes, 3)
        )
        right = int(table.max(axis=0).sum())
        return np.array([right - fewer - math.floor(self.rule.chance(table.size))], dtype=np.int64)

    def table_of_all(self, counter: Counter) -> IntArray | None:
        """Count the rows of all attributes by class; None where they are no candidate. Private as `tables`."""
        if not self.rule.joint:
            return None
        groups = tuple(np.array(own.merged(MOST_FEW_CELLS), dtype=np.int64) for own in self.rule.attributes)
        counts = JointCounts(layout=self.layout, groups=groups)
        table = counter.sum_up(counts).reshape(counts.shapes[0])
        refuse_other_totals("table of all attributes", int(table.sum()), counter.n_rows)
        return table

    def tables_of_triples(self, counter: Counter) -> dict[Triple, IntArray]:
        """Count the rows of each triple by class; as `tables`, and of the same privacy."""
        if not self.rule.triples:
            return {}
        counts = TripleCounts(layout=self.layout, groups=self.few_groups, triples=self.rule.triples)
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
        draw: Draw,
        tables: Mapping[Pair, IntArray],
        randomness: Randomness,
        triples: Mapping[Triple, IntArray] | None = None,
        joint: IntArray | None = None,
    ) -> Interaction:
        """Choose by permute-and-flip, at the rate of a draw, among none and the candidates."""
        words = UniformStream(randomness.child(PURPOSE))
        every: tuple[Places, ...] = (*self.rule.candidates, *(triples or ()), *self.rule.joint)
        gains = [self.gains(tables), self.gains_of_triples(triples or {}), self.gains_of_all(joint)]
        scores = [np.array([self.least_gain(draw)]), *gains]
        (at,) = permute_and_flip(np.concatenate(scores)[np.newaxis], draw.rate, words).tolist()
        return Interaction(draw=draw, pair=every[at - 1] if at else None)


@dataclass(frozen=True, kw_only=True)
class Interaction:
    """The result of the choice, and its line of the account."""

    draw: Draw
    pair: Places | None
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
        return rule_of(schema, rows=1.0).grid(self.pair, strength)

    def named_in(self, schema: TreeSchema) -> dict[str, Any]:
        """Return the choice with the names of the schema, ready for JSON."""
        names = [schema.attributes[at].name for at in self.pair or ()]
        return {"purpose": self.draw.name, "rate": self.draw.rate, "pair": names}
