# SPDX-License-Identifier: Apache-2.0
"""The grower: all trees of a forest level by level, from the counts of a counter to noisy leaves.

It never sees a row. What it learns are exact counts; all that leaves it went through a draw that was planned and is
charged here before it is made. Which attributes are candidates, how many levels there are and when a node is a leaf
depends on public choices, secret words and earlier noisy draws alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.dp_trees.counted_once import refuse_other_totals
from anonkit.dp_trees.growing import GrowingForest
from anonkit.dp_trees.leaves import Histograms, Leaves
from anonkit.dp_trees.plan import Plan
from anonkit.dp_trees.questions import WITHOUT_ATTRIBUTE, Counter, Question, ask_for
from anonkit.dp_trees.split_selection import Chosen, Tables
from anonkit.mechanisms.accounting import PathAccount
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.published.tree_attributes import MOST_ROUTES
from anonkit.published.tree_model import PublishedForest
from anonkit.randomness import Randomness

MOST_CELLS = 1 << 24
"""Counts of one question; a level that would need more is not split. Which levels do depends on noisy splits alone."""
MOST_NODES = 1 << 18
"""Nodes of a forest; a level that could bring more is not split."""

Watch = Callable[[int], None]
"""Called with each level as it begins."""


def grow(plan: Plan, counter: Counter, randomness: Randomness, watch: Watch | None = None) -> PublishedForest:
    """Grow the forest of a plan.

    Parameters
    ----------
    plan : Plan
    counter : Counter
        Holds the rows.
    randomness : Randomness
        Keys which rows a tree sees, and all noise.
    watch : callable, optional
        Called with each level.

    Returns
    -------
    PublishedForest
        Noisy through and through: it may be published as it is.

    Privacy
    -------
    The plan's accounting holds: every draw is charged to the path of its node first, and a path that would exceed the
    plan stops the release. With `noiseless_purity` nothing holds.
    """
    return _Grower(plan, counter, randomness).run(watch or (lambda level: None))


class _Grower:
    def __init__(self, plan: Plan, counter: Counter, randomness: Randomness) -> None:
        self.plan, self.schema, self.choices = plan, plan.schema, plan.choices
        self.counter = counter
        # separate children: the assignment of rows to trees does not depend on how much noise was drawn before
        self.key = randomness.key("rows of trees")
        self.words = UniformStream(randomness.child("noise of trees"))
        self.codes = [attribute.codes for attribute in self.schema.attributes]
        widths = [int(attribute.n_children.max(initial=0)) for attribute in self.schema.attributes]
        self.widths = np.array([*widths, 0], dtype=np.int64)  # -1, no attribute, takes the last
        self.forest = GrowingForest.roots(self.choices.rows.trees, self.schema.most_codes)
        self.account = PathAccount(plan.path_limit, self.forest.size)
        self.used: BoolArray = np.tile(~self.schema.splittable, (self.forest.size, 1))
        self.leaves: list[tuple[int, IntArray, IntArray]] = []
        self.too_few: BoolArray = np.zeros(self.forest.size, dtype=bool)
        """Nodes of the newest level that had too few rows by the noisy counts that their parents were split by."""

    def run(self, watch: Watch) -> PublishedForest:
        """Grow level by level, then fill the leaves."""
        started = self._led()
        nodes = np.concatenate(started)
        question = self._question(nodes, np.full((nodes.size, 1), WITHOUT_ATTRIBUTE))
        totals = self.counter.ask(question).reshape(nodes.size, self.schema.n_classes)
        # under a bootstrap the total is random, so there is nothing to compare it with
        if self.choices.rows.bootstrap is None:
            refuse_other_totals("trees", int(totals.sum()), self.counter.n_rows * self.choices.rows.times)
        *ended, frontier = started
        *known, totals = np.split(totals, np.cumsum([own.size for own in ended]))
        self.leaves += [(level, own, known[level]) for level, own in enumerate(ended) if own.size]
        for level in range(len(ended), self.plan.levels):
            watch(level)
            ends = self._ends(level, frontier, totals)
            candidates = self._candidates(frontier[~ends])
            # decided by the public schema and the noisy tree alone, so stopping here discloses nothing of the rows
            if candidates.size and self._too_large(candidates):
                ends[:] = True
            if ends.any():
                self.leaves.append((level, frontier[ends], totals[ends]))
            if ends.all():
                break
            frontier, totals = self._split(level, frontier[~ends], candidates, totals[~ends])
        self._fill()
        return self.forest.published(self.schema, self.choices.rows, self.choices.vote)

    def _led(self) -> list[IntArray]:
        """Split by the public grid, without a look at the rows; return its leaves by level, then those that go on."""
        frontier, ended = np.arange(self.forest.size), []
        for divisions in () if self.choices.lead is None else self.choices.lead.levels:
            goes_on = np.array([division is not None for division in divisions])
            ended.append(frontier[~goes_on])
            attribute, split = np.array([division for division in divisions if division is not None]).T
            chosen, first = Chosen(attribute=attribute, split=split), self.forest.size
            parents = self.forest.grow(frontier[goes_on], chosen, self.schema.attributes)
            self.account.branch(parents)
            self._inherit(parents)
            frontier = np.arange(first, self.forest.size)
            self.too_few = np.zeros(frontier.size, dtype=bool)
        return [*ended, frontier]

    def _question(self, nodes: IntArray, attributes: IntArray) -> Question:
        return ask_for(
            nodes,
            attributes,
            self.codes,
            rows=self.choices.rows,
            key=self.key,
            routing=self.forest.routing,
            n_classes=self.schema.n_classes,
        )

    def _ends(self, level: int, frontier: IntArray, totals: IntArray) -> BoolArray:
        """Return which nodes are leaves, counting their rows with noise where that is planned."""
        ends = self.used[frontier].all(axis=1) | (level == self.plan.levels - 1) | self.too_few
        units = self.plan.count_units(level)
        if units:
            draw = self.plan.count_draw(level, ends_path=False)
            # charged first: a path over its budget stops the release before anything is drawn
            self.account.charge(draw.purpose, draw.units, frontier)
            rows = noisy_counts(totals.sum(axis=1), draw.rate, self.words)
            self.forest.rows[frontier] = rows
            if self.choices.threshold is not None:
                ends = ends | (rows < self.choices.threshold(draw.epsilon, self.schema))
        # an exact look at the data: methods with this choice promise nothing
        if self.choices.noiseless_purity:
            ends = ends | (totals.max(axis=1) == totals.sum(axis=1))
        return np.asarray(ends, dtype=bool)

    def _candidates(self, nodes: IntArray) -> IntArray:
        """Return the attributes each node chooses among, shape (n, at most m), padded with WITHOUT_ATTRIBUTE."""
        free = ~self.used[nodes]
        most = self.plan.terms.candidates
        if not self.choices.square_root:
            return np.where(free, np.arange(free.shape[1]), WITHOUT_ATTRIBUTE)
        # one bit less: a used attribute, 2**63, sorts after every free one
        words = self.words.take(free.size).reshape(free.shape) >> np.uint64(1)
        order = np.argsort(np.where(free, words, np.uint64(1) << np.uint64(63)), axis=1, kind="stable")[:, :most]
        chosen = np.sort(order, axis=1)
        return np.where(np.take_along_axis(free, chosen, axis=1), chosen, WITHOUT_ATTRIBUTE)

    def _too_large(self, candidates: IntArray) -> bool:
        codes = np.array([*self.codes, 0], dtype=np.int64)[candidates]
        cells = int(codes.sum()) * self.schema.n_classes
        nodes = self.forest.size + int(self.widths[candidates].max(axis=1).sum())
        return cells > MOST_CELLS or nodes > MOST_NODES or nodes * self.schema.most_codes > MOST_ROUTES

    def _split(self, level: int, nodes: IntArray, candidates: IntArray, known: IntArray) -> tuple[IntArray, IntArray]:
        """Choose a split for each node, whose class counts are known; return the children and their class counts."""
        question = self._question(nodes, candidates)
        answer = self.counter.ask(question)
        counts = [
            node_answer for node_answer in question.split(answer, self.codes) if node_answer[0] != WITHOUT_ATTRIBUTE
        ]
        for _, owners, block in counts:
            refuse_other_totals("class counts by attribute value", block.sum(axis=1), known[owners])
        tables = Tables(attributes=self.schema.attributes, nodes=nodes.size, counts=counts)
        units = self.plan.split_units(level)
        for draw in self.plan.split_draws(level):
            self.account.charge(draw.purpose, draw.units, nodes)
        chosen = self.choices.selection.choose(tables, units, self.plan.terms, self.words)
        first = self.forest.size
        # children are disjoint, so they compose in parallel; along a path the charges add up
        parents = self.forest.grow(nodes, chosen, self.schema.attributes)
        self.too_few = self._too_few(nodes, chosen, parents, first)
        self.account.branch(parents)
        self._inherit(parents)
        # exact counts of the children, known from the same answer: kept for the next level, never published as they are
        totals = np.zeros((parents.size, self.schema.n_classes), dtype=np.int64)
        for at, owners, block in counts:
            here = chosen.attribute[owners] == at
            owners = owners[here]
            children = self.schema.attributes[at].children(block[here])[np.arange(owners.size), chosen.split[owners]]
            starts = self.forest.first_child[nodes[owners]] - first
            totals[starts[:, np.newaxis] + np.arange(children.shape[1])] = children
        return np.arange(first, self.forest.size), totals

    def _too_few(self, nodes: IntArray, chosen: Chosen, parents: IntArray, first: int) -> BoolArray:
        """Return which new nodes are leaves by the noisy counts that their parents were split by: costs nothing."""
        if chosen.rows is None or not self.choices.min_rows:
            return np.zeros(parents.size, dtype=bool)
        child = np.arange(first, self.forest.size) - self.forest.first_child[parents]
        return np.asarray(chosen.rows[np.searchsorted(nodes, parents), child] < self.choices.min_rows)

    def _inherit(self, parents: IntArray) -> None:
        """Note which attributes the new nodes can still be split by: all but the multiway ones above them."""
        used = self.used[parents].copy()
        multiway = np.array([not attribute.is_cut for attribute in self.schema.attributes])
        attribute = self.forest.attribute[parents]
        used[np.arange(parents.size), attribute] |= multiway[attribute]
        self.used = np.concatenate([self.used, used])

    def _fill(self) -> None:
        """Draw the contents of all leaves, level by level."""
        for level, nodes, totals in self.leaves:
            for draw in self.plan.leaf_draws(level):
                self.account.charge(draw.purpose, draw.units, nodes)
            leaves = Leaves(
                level=level,
                units=self.plan.leaf_units(level),
                schema=self.schema,
                nodes=nodes,
                totals=totals,
                histograms=self._histograms(),
            )
            for node, content in zip(nodes, self.choices.leaf.fill(leaves, self.words), strict=True):
                self.forest.contents[int(node)] = content

    def _histograms(self) -> Histograms:
        def ask(nodes: IntArray, attributes: IntArray) -> list[tuple[int, IntArray, IntArray]]:
            question = self._question(nodes, attributes)
            return list(question.split(self.counter.ask(question), self.codes))

        return ask
