# SPDX-License-Identifier: Apache-2.0
"""Private pre-queries on pairs of attributes, charged before the model is learned: a noisy reading and a choice.

Both use the same contingency tables, counted in one pass over the rows. Which tables there are is public; nothing is
published of them but the reading and the choice.

The reading is of the dependence of attributes within classes: it decides whether weights and a tree pay. Where
attributes are independent within classes, the naive Bayes classifier of their histograms is the best there is: weights
and a tree could add nothing but noise. Whatever is wrong with it shows as a dependence within classes, an interaction
too: given the class, one of its two attributes depends on the other. One pair may depend much, as the two of an
interaction, or many pairs a little, as where one factor is behind all attributes: the reading covers both.

The choice is of two, three or all attributes that say much more of the class together than fewer: they then lead the
tree. Splits are chosen one at a time, so a greedy tree finds an interaction of which neither attribute shows anything
by itself by luck alone (a chessboard). A table of both would show it. One private choice looks at the tables of all
pairs, and at what there is to lose: the rows that the larger class of each cell gets right, beyond those that the
better of both attributes gets right alone. Three attributes of few cells each (a parity) are candidates beside the
pairs, where these cost nothing more: by what they get right beyond the best two of them. So are all attributes of a
table of few cells ("exactly two of six hold"): by what they get right beyond the best three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from anonkit.budget_rules.model_queries import ClassDependence, PairGain
from anonkit.budget_rules.pair_rule import (
    MOST_CELLS,
    MOST_FEW_CELLS,
    AttributeSize,
    PairGrid,
    PairRule,
    Places,
    choice_share_of,
)
from anonkit.budget_rules.tree_rule import Rule, reading_share
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Grid
from anonkit.dp_trees.grower import refuse_other_totals
from anonkit.dp_trees.marginals.exact_tables import JointCounts, PairCounts, TripleCounts, error_of_independence
from anonkit.dp_trees.marginals.measurement_plan import ColumnLayout, Pair, Reading, Triple, reading_draw
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import MANY_PAIRS, STEPS, draw_epsilon, draw_units, rate_within, sensitivity_of
from anonkit.mechanisms.exact_samplers import UniformStream, permute_and_flip
from anonkit.published.noisy_tables import MarginalSchema
from anonkit.published.statements.noise_statement import PERMUTE_AND_FLIP, Draw
from anonkit.published.tree_model import TreeSchema
from anonkit.randomness import Randomness

READING = "dependence within classes"
CHOICE = "interacting pair"


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


@dataclass(frozen=True, kw_only=True, eq=False)
class DependenceWithinClasses(ClassPairs):
    """The statistic of the reading: distances from independence within classes, of pairs with enough rows.

    The largest of them, or a quarter of the sum of the largest, one fewer than there are attributes, if that is more.
    """

    @property
    def _summed(self) -> int:
        return min(len(self.groups) - 1, len(self.pairs))

    @property
    def query(self) -> ClassDependence:
        """Query of the reading."""
        return ClassDependence(attributes=len(self.groups), pairs=len(self.pairs))

    @property
    def moved(self) -> float:
        """By how many rows one row moves what is read, at most; rounding to steps is apart."""
        return (sensitivity_of(self.query) - 2) / STEPS

    def draw(self, units: int) -> Draw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        return reading_draw(READING, units, self.query)

    def distance(self, tables: Mapping[Pair, IntArray]) -> float:
        """Return the value of the reading, in rows; 0 where chance explains all.

        Parameters
        ----------
        tables : mapping
            For each pair its counts, shape (classes, groups, groups).

        Privacy
        -------
        Private: to be read with noise. An error of independence moves by less than 4 when a row comes or goes, half of
        it by less than 2; what chance makes of it is a public number. The sum of the k largest of such numbers is the
        largest of the sums of k of them, and moves by less than 2 k.
        """
        distances = [0.0]
        for pair in self.pairs:
            distances.append(
                max(0.0, error_of_independence(tables[pair]) / 2 - self.rule.chance(self.rule.cells(pair)))
            )
        largest = sorted(distances, reverse=True)
        return max(largest[0], math.fsum(largest[: self._summed]) / MANY_PAIRS)

    def read(self, draw: Draw, tables: Mapping[Pair, IntArray], randomness: Randomness) -> Reading:
        """Return the distance with the noise of a draw."""
        return Reading.of(draw, self.distance(tables), UniformStream(randomness.child(READING)))


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
        return Draw(name=CHOICE, law=PERMUTE_AND_FLIP, rate=rate, query=query)

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
        words = UniformStream(randomness.child(CHOICE))
        every: tuple[Places, ...] = (*self.rule.candidates, *(triples or ()), *self.rule.joint)
        gains = [self.gains(tables), self.gains_of_triples(triples or {}), self.gains_of_all(joint)]
        scores = [np.array([self.least_gain(draw)]), *gains]
        (at,) = permute_and_flip(np.concatenate(scores)[np.newaxis], draw.rate, words).tolist()
        pair = every[at - 1] if at else None
        names = tuple(self.schema.attributes[place].name for place in pair or ())
        return Interaction(draw=draw, pair=pair, names=names)


@dataclass(frozen=True, kw_only=True)
class Interaction(ParamsPart, keys=("purpose=draw.name", "rate=draw.rate", "pair=names")):
    """The result of the choice, and its line of the account."""

    draw: Draw
    pair: Places | None
    """Numbers of two attributes, of three or of all; None where none were chosen."""
    names: tuple[str, ...]
    """Names of these attributes."""

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


@dataclass(frozen=True, kw_only=True)
class PairFindings(ParamsPart):
    """The results of the pre-queries: a reading and a choice."""

    dependence: Reading | None = None
    """Dependence of attributes within classes; None where the rule takes no reading."""
    interaction: Interaction | None = None
    """The pair that leads the tree, if any; None where the rule makes no choice."""

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Lines of the account."""
        return tuple(one.draw for one in (self.dependence, self.interaction) if one is not None)

    @property
    def units(self) -> int:
        """Privacy loss of one row, in units of 2**-52 of epsilon."""
        return sum(draw_units(draw) for draw in self.draws)

    def grid(self, schema: TreeSchema, strength: float) -> PairGrid | None:
        """Return the grid that leads the tree, for a product of epsilon and rows; None where no pair was chosen."""
        return None if self.interaction is None else self.interaction.grid(schema, strength)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairQuestions:
    """The pre-queries of a rule and their shares of epsilon: functions of public facts and the number of rows alone."""

    dependence: DependenceWithinClasses
    interaction: PairInteraction
    for_reading: Fraction
    """Share of epsilon; 0 where nothing is read."""
    for_choice: Fraction
    """Share of epsilon; 0 where nothing is chosen."""

    @classmethod
    def of(
        cls,
        rule: Rule,
        schema: TreeSchema,
        *,
        epsilon: float,
        rows: float,
        trees: int = 1,
        in_cells: bool = False,
        is_free: bool = True,
    ) -> PairQuestions:
        """Return the pre-queries of a rule that knows nothing of pairs yet.

        Parameters
        ----------
        rule : Rule
        schema : TreeSchema
            Numbers on the grid of the rule.
        epsilon, rows, trees, in_cells
            As for `forest_rule.rule_for`. No pair leads leaves that are released as cells.
        is_free : bool
            False where the owner declares the depth of trees: no pair leads them then.
        """
        dependence = DependenceWithinClasses(schema=schema, rows=rows)
        interaction = PairInteraction(schema=schema, rows=rows, epsilon=epsilon)
        read = reading_share(rule, epsilon=epsilon, rows=rows, moved=dependence.moved, in_cells=in_cells)
        return cls(
            dependence=dependence,
            interaction=interaction,
            for_reading=read if dependence.pairs else Fraction(0),
            for_choice=choice_share_of(interaction.rule, trees=trees, in_cells=in_cells, is_free=is_free),
        )

    def measure(self, counter: Counter, units: int, randomness: Randomness) -> PairFindings:
        """Measure the pairs, in one pass over the rows; in none where the rule has no query.

        Parameters
        ----------
        counter : Counter
            Holds the rows.
        units : int
            What one row may lose in all that follows, in units of 2**-52 of epsilon: the shares are of it.
        randomness : Randomness

        Privacy
        -------
        Charged by the lines of the account that come with the answer, which the plan that follows has to have.
        """
        if not (self.for_reading or self.for_choice):
            return PairFindings()
        tables = self.dependence.tables(counter)
        reading, choice = (int(units * share) for share in (self.for_reading, self.for_choice))
        return PairFindings(
            dependence=self.dependence.read(self.dependence.draw(reading), tables, randomness) if reading else None,
            interaction=self._chosen(choice, counter, tables, randomness) if choice else None,
        )

    def _chosen(
        self, units: int, counter: Counter, tables: Mapping[Pair, IntArray], randomness: Randomness
    ) -> Interaction:
        """Choose, for so many units, with one more pass over the rows for triples, and one for all attributes."""
        triples, joint = self.interaction.tables_of_triples(counter), self.interaction.table_of_all(counter)
        return self.interaction.choose(self.interaction.draw(units), tables, randomness, triples, joint)
