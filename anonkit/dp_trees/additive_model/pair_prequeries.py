# SPDX-License-Identifier: Apache-2.0
"""Private pre-queries on pairs of attributes, charged before the model is learned: a noisy reading and a choice.

Both use the same contingency tables, counted in one pass over the rows. The reading is of the dependence of attributes
within classes: it decides whether weights pay. The choice is of the two attributes on which the class depends jointly:
they then lead the tree.

A noisy reading of the dependence of attributes within classes, which decides whether weights and a tree pay.

Where attributes are independent within classes, the naive Bayes classifier of their histograms is the best there is:
weights and a tree could add nothing but noise. Whatever is wrong with it shows as a dependence within classes, an
interaction too: given the class, one of its two attributes depends on the other. One pair may depend much, as the two
of an interaction, or many pairs a little, as where one factor is behind all attributes: the reading covers both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anonkit.budget_rules import model_queries
from anonkit.budget_rules.forest_rule import Rule, reading_share
from anonkit.budget_rules.pair_rule import PairGrid, choice_share_of
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.additive_model.class_pairs import ClassPairs
from anonkit.dp_trees.additive_model.pair_interaction import Interaction, PairInteraction
from anonkit.dp_trees.marginals.exact_tables import error_of_independence
from anonkit.dp_trees.marginals.noisy_readings import Pair, Reading, reading_draw
from anonkit.dp_trees.questions import Counter
from anonkit.mechanisms.accounting import draw_units
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.mechanisms.query_sensitivity import MANY_PAIRS, STEPS, sensitivity_of
from anonkit.published.statements.draws import Draw
from anonkit.published.tree_attributes import TreeSchema
from anonkit.randomness import Randomness

PURPOSE = "dependence within classes"


@dataclass(frozen=True, kw_only=True, eq=False)
class DependenceWithinClasses(ClassPairs):
    """The statistic of the reading: distances from independence within classes, of pairs with enough rows.

    The largest of them, or a quarter of the sum of the largest, one fewer than there are attributes, if that is more.
    """

    @property
    def _summed(self) -> int:
        return min(len(self.groups) - 1, len(self.pairs))

    @property
    def query(self) -> model_queries.ClassDependence:
        """Query of the reading."""
        return model_queries.ClassDependence(attributes=len(self.groups), pairs=len(self.pairs))

    @property
    def moved(self) -> float:
        """By how many rows one row moves what is read, at most; rounding to steps is apart."""
        return (sensitivity_of(self.query) - 2) / STEPS

    def draw(self, units: int) -> Draw:
        """Return the line of the account, for so many units of 2**-52 of epsilon."""
        return reading_draw(PURPOSE, units, self.query)

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
        return Reading.of(draw, self.distance(tables), UniformStream(randomness.child(PURPOSE)))


@dataclass(frozen=True, kw_only=True)
class PairFindings:
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

    def to_params(self, schema: TreeSchema) -> dict[str, Any]:
        """Return the readings and the choice, ready for JSON."""
        return {
            "dependence": None if self.dependence is None else self.dependence.to_params(),
            "interaction": None if self.interaction is None else self.interaction.named_in(schema),
        }


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
