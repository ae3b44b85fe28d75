# SPDX-License-Identifier: Apache-2.0
"""The grower: all trees of a forest level by level, from the counts of a counter to noisy leaves.

It never sees a row. What it learns are exact counts; all that leaves it went through a draw that was planned and is
charged here before it is made. Which attributes are candidates, how many levels there are and when a node is a leaf
depends on public choices, secret words and earlier noisy draws alone.

A forest under construction: nodes as growing arrays, and its published form at the end.

Check before any noise is drawn that every row is counted as often as it is charged for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import plain
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.dp_trees.plan import Histograms, Leaves, Plan, TreeRows
from anonkit.dp_trees.questions import WITHOUT_ATTRIBUTE, Counter, Question, Routing, question_on
from anonkit.dp_trees.split_selection import Chosen, Tables
from anonkit.errors import GuaranteeError
from anonkit.mechanisms.accounting import PathAccount, draw_epsilon, draw_units
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.published.tree_model import MOST_ROUTES, Attribute, LeafContent, Node, PublishedForest, TreeSchema
from anonkit.randomness import Randomness

_NOT_COUNTED = np.iinfo(np.int64).min


@dataclass(kw_only=True, eq=False)
class GrowingForest:
    """A forest under construction: the nodes of all trees in one numbering, in which node t is the root of tree t."""

    attribute: IntArray
    split: IntArray
    first_child: IntArray
    """Number of the first child, -1 for a leaf; the others follow it."""
    width: IntArray
    """Number of children, 0 for a leaf."""
    rows: IntArray
    """Noisy count of the rows of each node; `_NOT_COUNTED` where none was drawn."""
    tree: IntArray
    child: NDArray[np.int32]
    depth: int = 0
    contents: dict[int, LeafContent] = field(default_factory=dict)

    @classmethod
    def roots(cls, trees: int, most_codes: int) -> GrowingForest:
        """Return a forest of roots that are leaves."""
        return cls(
            attribute=np.zeros(trees, dtype=np.int64),
            split=np.zeros(trees, dtype=np.int64),
            first_child=np.full(trees, -1, dtype=np.int64),
            width=np.zeros(trees, dtype=np.int64),
            rows=np.full(trees, _NOT_COUNTED),
            tree=np.arange(trees),
            child=np.repeat(np.arange(trees, dtype=np.int32)[:, np.newaxis], most_codes, axis=1),
        )

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.attribute.size

    @property
    def routing(self) -> Routing:
        """The routing of rows to nodes."""
        return Routing(attribute=self.attribute, child=self.child, depth=self.depth)

    def grow(self, nodes: IntArray, chosen: Chosen, attributes: Sequence[Attribute]) -> IntArray:
        """Split nodes; return the parent of each new node, in the order of the new numbers."""
        widths = np.zeros(nodes.size, dtype=np.int64)
        for at in np.unique(chosen.attribute):
            here = chosen.attribute == at
            widths[here] = attributes[at].n_children[chosen.split[here]]
        starts = self.size + np.cumsum(widths) - widths
        self.attribute[nodes], self.split[nodes] = chosen.attribute, chosen.split
        self.first_child[nodes], self.width[nodes] = starts, widths
        for at in np.unique(chosen.attribute):
            here, attribute = chosen.attribute == at, attributes[at]
            self.child[nodes[here], : attribute.codes] = (
                starts[here, np.newaxis] + attribute.branch_table[chosen.split[here]]
            )
        parents = np.repeat(nodes, widths)
        fresh = np.arange(self.size, self.size + parents.size)
        blank = np.zeros(fresh.size, dtype=np.int64)
        self.attribute, self.split = np.append(self.attribute, blank), np.append(self.split, blank)
        self.first_child, self.width = np.append(self.first_child, blank - 1), np.append(self.width, blank)
        own = np.repeat(fresh.astype(np.int32)[:, np.newaxis], self.child.shape[1], axis=1)
        self.child = np.concatenate([self.child, own])
        self.tree = np.append(self.tree, self.tree[parents])
        self.rows = np.append(self.rows, np.full(fresh.size, _NOT_COUNTED))
        self.depth += 1
        return parents

    def published(self, schema: TreeSchema, rows: TreeRows, vote: str | None = None) -> PublishedForest:
        """Return the forest with its nodes numbered tree by tree, level by level."""
        order = np.argsort(self.tree, kind="stable")
        sizes = np.bincount(self.tree, minlength=rows.trees)
        number = np.empty(self.size, dtype=np.int64)
        number[order] = np.arange(self.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = zip(
            order.tolist(),
            self.first_child[order].tolist(),
            self.attribute[order].tolist(),
            self.split[order].tolist(),
            self.width[order].tolist(),
            [None if count == _NOT_COUNTED else count for count in self.rows[order].tolist()],
            strict=True,
        )
        renumbered = number.tolist()
        nodes = [
            Node(leaf=self.contents[node], rows=counted)
            if start < 0
            else Node(attribute=at, at=split, children=tuple(renumbered[start : start + width]), rows=counted)
            for node, start, at, split, width, counted in columns
        ]
        ends = np.cumsum(sizes)
        return PublishedForest(
            schema=schema,
            trees=tuple(tuple(nodes[end - size : end]) for size, end in zip(sizes, ends, strict=True)),
            rows_per_tree=plain(rows),
            vote=vote,
        )


Totals = NDArray[np.integer[Any]] | int


def refuse_other_totals(what: str, found: Totals, wanted: Totals) -> None:
    """Refuse to go on when counts do not add up to the rows they are of.

    Parameters
    ----------
    what : str
        What was counted, in words.
    found, wanted : int or int array of one shape
        What the counts add up to, and the rows.

    Raises
    ------
    GuaranteeError
        They differ. No figure is in the message.

    Privacy
    -------
    The sums are the same for every table: it is the code that is tested, and no table decides.
    """
    if not np.array_equal(found, wanted):
        raise GuaranteeError(
            f"{what}: rows were counted more or less often than the budget accounts for",
            "a bug in the method; nothing was written",
        )


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
        totals = self.counter.answer(question).reshape(nodes.size, self.schema.n_classes)
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
        return question_on(
            nodes,
            attributes,
            self.codes,
            rows=self.choices.rows,
            key=self.key,
            routing=self.forest.routing,
            n_classes=self.schema.n_classes,
        )

    def _ends(self, level: int, frontier: IntArray, totals: IntArray) -> BoolArray:
        """Return a mask of the nodes that are leaves, with noisy counts of their rows where that is planned."""
        ends = self.used[frontier].all(axis=1) | (level == self.plan.levels - 1) | self.too_few
        units = self.plan.count_units(level)
        if units:
            draw = self.plan.count_draw(level, ends_path=False)
            # charged first: a path over its budget stops the release before anything is drawn
            self.account.charge(draw.name, draw_units(draw), frontier)
            rows = noisy_counts(totals.sum(axis=1), draw.rate, self.words)
            self.forest.rows[frontier] = rows
            if self.choices.threshold is not None:
                ends = ends | (rows < self.choices.threshold(draw_epsilon(draw), self.schema))
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
        answer = self.counter.answer(question)
        counts = [
            node_answer for node_answer in question.split(answer, self.codes) if node_answer[0] != WITHOUT_ATTRIBUTE
        ]
        for _, owners, block in counts:
            refuse_other_totals("class counts by attribute value", block.sum(axis=1), known[owners])
        tables = Tables(attributes=self.schema.attributes, nodes=nodes.size, counts=counts)
        units = self.plan.split_units(level)
        for draw in self.plan.split_draws(level):
            self.account.charge(draw.name, draw_units(draw), nodes)
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
        """Return a mask of the new leaves, by the noisy counts of their parents' splits: no privacy loss."""
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
                self.account.charge(draw.name, draw_units(draw), nodes)
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
        def count_histograms(nodes: IntArray, attributes: IntArray) -> list[tuple[int, IntArray, IntArray]]:
            question = self._question(nodes, attributes)
            return list(question.split(self.counter.answer(question), self.codes))

        return count_histograms
