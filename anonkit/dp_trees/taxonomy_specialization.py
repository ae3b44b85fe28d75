# SPDX-License-Identifier: Apache-2.0
"""Top-down specialization (DiffGen, DT-Diff): a fully generalized table is refined step by step, then counted.

A step refines one value of one attribute, an interval or a group of categories, in all cells at once. Its score needs
counts by code and class of single attributes only: one pass over the rows serves all steps, a second one the counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.budget_rules.model_queries import TABLE
from anonkit.domains.coded_columns import IntArray
from anonkit.dp_trees.grower import GrowingForest, refuse_other_totals
from anonkit.dp_trees.plan import Disjoint
from anonkit.dp_trees.questions import WITHOUT_ATTRIBUTE, Counter, question_on
from anonkit.dp_trees.split_selection import INFORMATION_GAIN, LARGEST_TABLE, MAX_CLASS, Chosen, Score
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import Accounting, PathAccount, draw_units, rate_within, sensitivity_of, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, exponential_mechanism, noisy_counts
from anonkit.promises.guarantee import ADD_OR_REMOVE, changed_rows
from anonkit.published.noisy_tables import LAPLACE
from anonkit.published.statements.noise_statement import EXPONENTIAL, Draw
from anonkit.published.tree_model import MOST_ROUTES, Attribute, LeafContent, PublishedForest, Split, TreeSchema
from anonkit.randomness import Randomness

MOST_LEAVES = 1 << 14
"""Cells of a table; a step that would make more is no candidate. How many it makes follows from earlier noisy steps."""

_WEIGHT = 1 << 20
"""Weight of a value that can be made finer: no more cuts than this share it."""

SCORES = {score.name: score for score in (MAX_CLASS, INFORMATION_GAIN)}


@dataclass(frozen=True, kw_only=True)
class SpecializationPlan:
    """Steps, score and budget, before any data is seen.

    With `joint` (DT-Diff) a step is one choice among all categories and all cuts of all intervals. Otherwise (DiffGen)
    every interval has a cut drawn beforehand: one draw for each number at the start, and one after each step.
    """

    schema: TreeSchema
    epsilon: float
    steps: int
    score: Score
    joint: bool
    weighted: bool = False
    """True: an interval weighs as much as a group of categories, its cuts share the weight; else every cut does."""
    slack: int = 1
    """Divides the rate of choices: 2 is what papers spend that do not use that a score moves only one way."""
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE

    def __post_init__(self) -> None:
        if any(attribute.split is Split.ONE_VS_REST for attribute in self.schema.attributes):
            raise ParameterError("specialization needs multiway splits of categories")

    @cached_property
    def path_units(self) -> int:
        """Privacy loss of a row allowed for all draws together."""
        return units_of(Fraction(self.epsilon) / changed_rows(self.rows_per_unit, self.adjacency))

    @property
    def numbers(self) -> int:
        """Numbers that can be cut."""
        return sum(attribute.is_cut and attribute.n_splits > 0 for attribute in self.schema.attributes)

    @property
    def choices(self) -> int:
        """Private choices on the way: half of the budget is divided over them."""
        return self.steps if self.joint else self.numbers + 2 * self.steps

    @cached_property
    def choice(self) -> Draw:
        """Every choice, of a cut or of a step."""
        query = self.score.query(self.schema.n_classes, LARGEST_TABLE)
        units = math.floor(Fraction(self.path_units, 2 * self.choices))
        return Draw(
            name="specialization" if self.joint else "cuts and specializations",
            law=EXPONENTIAL,
            rate=rate_within(units, sensitivity_of(query) * self.slack),
            query=query,
            times=self.choices,
        )

    @cached_property
    def count(self) -> Draw:
        """The counts of the cells; what a published rate of choices leaves over is not spent on them."""
        rate = rate_within(self.path_units - draw_units(self.choice) * self.slack, 1)
        return Draw(name="class counts of a cell", query=TABLE, law=LAPLACE, rate=rate)

    @cached_property
    def accounting(self) -> Accounting:
        """Two lines: a row pays for all of it."""
        return Accounting(
            draws=(self.choice, self.count),
            rows_per_unit=self.rows_per_unit,
            adjacency=self.adjacency,
            by_level=True,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """A value that can be made finer: an interval of a number, or a group of categories."""

    attribute: int
    codes: NDArray[np.bool_]
    """True for the codes in it."""
    splits: IntArray
    """The splits of the attribute that divide it: one drawn beforehand, or all cuts that may be chosen."""


def specialize(plan: SpecializationPlan, counter: Counter, randomness: Randomness) -> PublishedForest:
    """Make the table finer by the plan's steps and count its cells with noise.

    Returns
    -------
    PublishedForest
        One tree, whose leaves are the cells.

    Privacy
    -------
    The plan's accounting holds: every draw is charged before it is made.
    """
    return _Specializer(plan, counter, randomness).run()


class _Specializer:
    def __init__(self, plan: SpecializationPlan, counter: Counter, randomness: Randomness) -> None:
        self.plan, self.counter = plan, counter
        self.attributes: Sequence[Attribute] = plan.schema.attributes
        self.key = randomness.key("rows of trees")
        self.words = UniformStream(randomness.child("noise of trees"))
        self.forest = GrowingForest.roots(1, plan.schema.most_codes)
        self.account = PathAccount(plan.path_units, 1)
        self.tables = self._marginals()
        self.leaves = np.zeros(1, dtype=np.int64)
        self.parts: list[_Part] = []
        self.part_of = np.zeros((1, len(self.attributes)), dtype=np.int64)
        """Part of each attribute that a node lies in, as its number in `parts`; -1 where it cannot be made finer."""

    def run(self) -> PublishedForest:
        """Start fully generalized, take the steps, count."""
        for at, attribute in enumerate(self.attributes):
            self.part_of[0, at] = self._add_part(at, np.ones(attribute.codes, dtype=bool))
        self._draw_cuts([number for number in self.part_of[0].tolist() if number >= 0], together=False)
        for _ in range(self.plan.steps):
            candidates = self._candidates()
            if not candidates:
                break
            self._take(*self._choose(candidates))
        self._count()
        return self.forest.published(self.plan.schema, Disjoint(trees=1))

    def _marginals(self) -> list[IntArray]:
        codes = [attribute.codes for attribute in self.attributes]
        question = question_on(
            np.zeros(1, dtype=np.int64),
            np.arange(len(codes))[np.newaxis],
            codes,
            rows=Disjoint(trees=1),
            key=self.key,
            routing=self.forest.routing,
            n_classes=self.plan.schema.n_classes,
        )
        tables = [counts[0] for _, _, counts in question.split(self.counter.answer(question), codes)]
        for table in tables:
            refuse_other_totals("tables", int(table.sum()), self.counter.n_rows)
        return tables

    def _add_part(self, attribute: int, codes: NDArray[np.bool_]) -> int:
        splits = self.attributes[attribute].splits_of(codes)
        if not splits.size:
            return -1
        self.parts.append(_Part(attribute=attribute, codes=codes, splits=splits))
        return len(self.parts) - 1

    def _draw(self, scores: IntArray, weights: IntArray | None = None) -> int:
        """Make one private choice, charged first."""
        choice = self.plan.choice
        return int(exponential_mechanism(scores[np.newaxis], choice.rate, self.words, weights=weights)[0])

    def _charge_choice(self) -> None:
        choice = self.plan.choice
        self.account.charge(choice.name, draw_units(choice) // choice.times, np.zeros(1, dtype=np.int64))

    def _draw_cuts(self, numbers: Sequence[int], *, together: bool) -> None:
        """Draw cuts of new intervals; intervals of one attribute hold disjoint rows and are paid together."""
        new = [number for number in numbers if number >= 0 and self.attributes[self.parts[number].attribute].is_cut]
        if self.plan.joint or not new:
            return
        if together:
            self._charge_choice()
        for number in new:
            if not together:
                self._charge_choice()
            part = self.parts[number]
            cut = part.splits[self._draw(self._scores(part))]
            self.parts[number] = replace(part, splits=np.array([cut]))

    def _scores(self, part: _Part) -> IntArray:
        """Return the scores of the splits of a part, shape (n_splits,)."""
        counts = np.where(part.codes[:, np.newaxis], self.tables[part.attribute], 0)
        children = self.attributes[part.attribute].children(counts[np.newaxis])[0, part.splits]
        if self.plan.score is not INFORMATION_GAIN:
            return self.plan.score.of(children, LARGEST_TABLE)
        whole = counts.sum(axis=0)[np.newaxis, np.newaxis]
        gain = self.plan.score.of(children, LARGEST_TABLE) - self.plan.score.of(whole, LARGEST_TABLE)
        return np.asarray(np.maximum(gain, 0))  # in [0, log2 m] as the paper bounds it

    def _candidates(self) -> list[int]:
        """Return the parts that cells lie in and that can be divided without making too many cells."""
        occupied, cells = np.unique(self.part_of[self.leaves], return_counts=True)
        candidates = []
        for number, size in zip(occupied.tolist(), cells.tolist(), strict=True):
            if number < 0:
                continue
            part = self.parts[number]
            children = int(self.attributes[part.attribute].n_children[part.splits].max())
            leaves = self.leaves.size + size * (children - 1)
            nodes = self.forest.size + size * children
            if leaves <= MOST_LEAVES and nodes * self.plan.schema.most_codes <= MOST_ROUTES:
                candidates.append(number)
        return candidates

    def _choose(self, candidates: Sequence[int]) -> tuple[int, int]:
        """Return a part and the split it is divided by."""
        parts = [self.parts[number] for number in candidates]
        sizes = [part.splits.size for part in parts]
        scores = np.concatenate([self._scores(part) for part in parts])
        splits = np.concatenate([part.splits for part in parts])
        weights = np.repeat([_WEIGHT // size for size in sizes], sizes) if self.plan.weighted else None
        self._charge_choice()
        choice = self._draw(scores, weights)
        return int(np.repeat(candidates, sizes)[choice]), int(splits[choice])

    def _take(self, number: int, split: int) -> None:
        """Divide all cells that lie in a part."""
        part = self.parts[number]
        at, attribute = part.attribute, self.attributes[part.attribute]
        inside = self.part_of[self.leaves, at] == number
        nodes = self.leaves[inside]
        chosen = Chosen(attribute=np.full(nodes.size, at), split=np.full(nodes.size, split))
        first = self.forest.size
        parents = self.forest.grow(nodes, chosen, self.attributes)
        self.part_of = np.concatenate([self.part_of, self.part_of[parents]])
        fresh = np.arange(first, self.forest.size)
        children = range(int(attribute.n_children[split]))
        finer = [self._add_part(at, part.codes & (attribute.branches(split) == child)) for child in children]
        self.part_of[fresh, at] = np.tile(finer, nodes.size)
        self._draw_cuts(finer, together=True)
        self.leaves = np.concatenate([self.leaves[~inside], fresh])

    def _count(self) -> None:
        """Draw the counts of all cells, each row being in one."""
        question = question_on(
            self.leaves,
            np.full((self.leaves.size, 1), WITHOUT_ATTRIBUTE),
            [attribute.codes for attribute in self.attributes],
            rows=Disjoint(trees=1),
            key=self.key,
            routing=self.forest.routing,
            n_classes=self.plan.schema.n_classes,
        )
        counts = self.counter.answer(question).reshape(self.leaves.size, self.plan.schema.n_classes)
        refuse_other_totals("cells", int(counts.sum()), self.counter.n_rows)
        self.account.charge(self.plan.count.name, draw_units(self.plan.count), np.zeros(1, dtype=np.int64))
        noisy = noisy_counts(counts, self.plan.count.rate, self.words)
        for node, row in zip(self.leaves.tolist(), noisy.tolist(), strict=True):
            self.forest.contents[node] = LeafContent(counts=tuple(row))
