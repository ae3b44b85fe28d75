# SPDX-License-Identifier: Apache-2.0
"""Tables of pairs of attributes by class: which are looked at, in which groups of values, and how they are counted.

Nothing is published of them but noisy readings and private choices; which tables there are is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonkit.budget_rules.pair_rule import MOST_CELLS, AttributeSize, PairRule
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.exact_tables import PairCounts
from anonkit.dp_trees.marginals.noisy_readings import ColumnLayout, Pair
from anonkit.dp_trees.questions import Counter
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.tree_attributes import TreeSchema


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassPairs:
    """The pairs of attributes that have rows enough for a table by class."""

    schema: TreeSchema
    rows: float
    """Number of rows, public or noisy."""

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """For each attribute the group of each of its codes, shape (codes,)."""
        return groups_of(self.schema)

    @cached_property
    def rule(self) -> PairRule:
        """Public rule: which pairs are looked at."""
        return rule_of(self.schema, rows=self.rows)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are looked at, by public facts and the number of rows alone."""
        return self.rule.pairs

    @property
    def layout(self) -> ColumnLayout:
        """The attributes as columns that the classes split."""
        schema = MarginalSchema(
            attributes=self.schema.attributes, target=self.schema.target, classes=self.schema.classes
        )
        return ColumnLayout(schema=schema, anchored=True)

    def tables(self, counter: Counter) -> dict[Pair, IntArray]:
        """Count the rows of each pair by class, shape (classes, groups, groups), in one pass.

        Privacy
        -------
        Private: a row is in one cell of each table. They are read with noise, or chosen by, alone.
        """
        counts = PairCounts(layout=self.layout, groups=self.groups, pairs=self.pairs)
        tables = counts.split(counter.sum_up(counts))
        for table in tables.values():
            refuse_other_totals("table of a pair", int(table.sum()), counter.n_rows)
        return tables


def sizes_of(schema: TreeSchema) -> tuple[AttributeSize, ...]:
    """Return the public sizes of the attributes of a schema."""
    return tuple(
        AttributeSize(
            codes=one.codes,
            cells=one.domain.cells if isinstance(one.domain, Grid) else 0,
            has_missing=one.domain.has_missing,
        )
        for one in schema.attributes
    )


def rule_of(schema: TreeSchema, *, rows: float, epsilon: float = 0.0) -> PairRule:
    """Return the public rule of the pairs of a schema."""
    return PairRule(attributes=sizes_of(schema), classes=schema.n_classes, rows=rows, epsilon=epsilon)


def groups_of(schema: TreeSchema, most: int = MOST_CELLS) -> tuple[IntArray, ...]:
    """Return the group of each code of each attribute, shape (codes,) each.

    Parameters
    ----------
    schema : TreeSchema
    most : int
        Cells of a number that are distinguished.
    """
    return tuple(np.array(own.groups(most), dtype=np.int64) for own in sizes_of(schema))
