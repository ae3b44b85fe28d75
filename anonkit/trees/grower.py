# SPDX-License-Identifier: Apache-2.0
"""The grower: all trees of a forest level by level, from counts that a counter adds up, to noisy leaves.

It never sees a row. What it learns are exact counts; all that leaves it went through a draw that was planned and is
charged here before it is made. Which attributes are candidates, how many levels there are and when a node is a leaf
depends on public choices, secret words and earlier noisy draws alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anonkit.mechanisms.accounting import PathAccount
from anonkit.mechanisms.discrete_laplace import Words, noisy_counts
from anonkit.randomness import Randomness
from anonkit.trees.attributes import Attribute
from anonkit.trees.leaves import Histograms, Leaves
from anonkit.trees.plan import Plan
from anonkit.trees.published import LeafContent, Node, PublishedForest
from anonkit.trees.questions import WITHOUT_ATTRIBUTE, Counter, Question, Routing, ask_for
from anonkit.trees.selection import Chosen, Tables

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

MOST_CELLS = 1 << 24
"""Counts of one question; a level that would need more is not split. Which levels do depends on noisy splits alone."""
MOST_NODES = 1 << 18
"""Nodes of a forest; a level that could bring more is not split."""

_NOT_COUNTED = np.iinfo(np.int64).min

Watch = Callable[[int], None]
"""Called with each level as it begins."""


@dataclass(kw_only=True, eq=False)
class _Forest:
    """The nodes so far, all trees in one numbering; node t is the root of tree t."""

    attribute: IntArray
    split: IntArray
    first_child: IntArray
    """Number of the first child, -1 for a leaf; the others follow it."""
    rows: IntArray
    """Noisy count of the rows of each node; `_NOT_COUNTED` where none was drawn."""
    tree: IntArray
    child: NDArray[np.int32]
    depth: int = 0
    contents: dict[int, LeafContent] = field(default_factory=dict)

    @classmethod
    def roots(cls, trees: int, most_codes: int) -> _Forest:
        return cls(
            attribute=np.zeros(trees, dtype=np.int64),
            split=np.zeros(trees, dtype=np.int64),
            first_child=np.full(trees, -1, dtype=np.int64),
            rows=np.full(trees, _NOT_COUNTED),
            tree=np.arange(trees),
            child=np.repeat(np.arange(trees, dtype=np.int32)[:, np.newaxis], most_codes, axis=1),
        )

    @property
    def size(self) -> int:
        return self.attribute.size

    @property
    def routing(self) -> Routing:
        return Routing(attribute=self.attribute, child=self.child, depth=self.depth)

    def grow(self, nodes: IntArray, chosen: Chosen, attributes: Sequence[Attribute]) -> IntArray:
        """Split nodes; return the parent of each new node, in the order of the new numbers."""
        widths = np.array([one.n_children for one in attributes], dtype=np.int64)[chosen.attribute]
        starts = self.size + np.cumsum(widths) - widths
        self.attribute[nodes], self.split[nodes], self.first_child[nodes] = chosen.attribute, chosen.split, starts
        for at in np.unique(chosen.attribute):
            here, one = chosen.attribute == at, attributes[at]
            self.child[nodes[here], : one.codes] = starts[here, np.newaxis] + one.branch_table[chosen.split[here]]
        parents = np.repeat(nodes, widths)
        fresh = np.arange(self.size, self.size + parents.size)
        blank = np.zeros(fresh.size, dtype=np.int64)
        self.attribute, self.split = np.append(self.attribute, blank), np.append(self.split, blank)
        self.first_child = np.append(self.first_child, blank - 1)
        own = np.repeat(fresh.astype(np.int32)[:, np.newaxis], self.child.shape[1], axis=1)
        self.child = np.concatenate([self.child, own])
        self.tree = np.append(self.tree, self.tree[parents])
        self.rows = np.append(self.rows, np.full(fresh.size, _NOT_COUNTED))
        self.depth += 1
        return parents


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
        self.key = randomness.key("rows of trees")
        self.words = Words(randomness.child("noise of trees"))
        self.codes = [attribute.codes for attribute in self.schema.attributes]
        self.forest = _Forest.roots(self.choices.rows.trees, self.schema.most_codes)
        self.account = PathAccount(plan.path_units, self.forest.size)
        self.used: BoolArray = np.tile(~self.schema.splittable, (self.forest.size, 1))
        self.leaves: list[tuple[int, IntArray, IntArray]] = []

    def run(self, watch: Watch) -> PublishedForest:
        """Grow level by level, then fill the leaves."""
        frontier = np.arange(self.forest.size)
        question = self._question(frontier, np.full((frontier.size, 1), WITHOUT_ATTRIBUTE))
        totals = self.counter.ask(question).reshape(frontier.size, self.schema.n_classes)
        for level in range(self.plan.levels):
            watch(level)
            ends = self._ends(level, frontier, totals)
            candidates = self._candidates(frontier[~ends])
            if candidates.size and self._too_large(candidates):
                ends[:] = True
            if ends.any():
                self.leaves.append((level, frontier[ends], totals[ends]))
            if ends.all():
                break
            frontier, totals = self._split(level, frontier[~ends], candidates)
        self._fill()
        return self._published()

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
        ends = self.used[frontier].all(axis=1) | (level == self.plan.levels - 1)
        units = self.plan.count_units(level)
        if units:
            draw = self.plan.count_draw(level, ends_path=False)
            self.account.charge(draw.purpose, draw.units, frontier)
            rows = noisy_counts(totals.sum(axis=1), draw.rate, self.words)
            self.forest.rows[frontier] = rows
            if self.choices.threshold is not None:
                ends = ends | (rows < self.choices.threshold(draw.epsilon, self.schema))
        if self.choices.noiseless_purity:
            ends = ends | (totals.max(axis=1) == totals.sum(axis=1))
        return np.asarray(ends, dtype=bool)

    def _candidates(self, nodes: IntArray) -> IntArray:
        """Return the attributes each node chooses among, shape (n, at most m), padded with WITHOUT_ATTRIBUTE."""
        free = ~self.used[nodes]
        most = self.plan.terms.candidates
        if not self.choices.square_root:
            return np.where(free, np.arange(free.shape[1]), WITHOUT_ATTRIBUTE)
        words = self.words.take(free.size).reshape(free.shape) >> np.uint64(1)
        order = np.argsort(np.where(free, words, np.uint64(1) << np.uint64(63)), axis=1, kind="stable")[:, :most]
        chosen = np.sort(order, axis=1)
        return np.where(np.take_along_axis(free, chosen, axis=1), chosen, WITHOUT_ATTRIBUTE)

    def _too_large(self, candidates: IntArray) -> bool:
        codes = np.array([*self.codes, 0], dtype=np.int64)[candidates]
        cells = int(codes.sum()) * self.schema.n_classes
        return cells > MOST_CELLS or self.forest.size + int(codes.max(axis=1).sum()) > MOST_NODES

    def _split(self, level: int, nodes: IntArray, candidates: IntArray) -> tuple[IntArray, IntArray]:
        """Choose a split for each node; return the children and their class counts."""
        question = self._question(nodes, candidates)
        answer = self.counter.ask(question)
        counts = [one for one in question.split(answer, self.codes) if one[0] != WITHOUT_ATTRIBUTE]
        tables = Tables(attributes=self.schema.attributes, nodes=nodes.size, counts=counts)
        units = self.plan.split_units(level)
        for draw in self.plan.split_draws(level):
            self.account.charge(draw.purpose, draw.units, nodes)
        chosen = self.choices.selection.choose(tables, units, self.plan.terms, self.words)
        first = self.forest.size
        parents = self.forest.grow(nodes, chosen, self.schema.attributes)
        self.account.branch(parents)
        self._inherit(parents)
        totals = np.zeros((parents.size, self.schema.n_classes), dtype=np.int64)
        for at, owners, block in counts:
            here = chosen.attribute[owners] == at
            owners = owners[here]
            children = self.schema.attributes[at].children(block[here])[np.arange(owners.size), chosen.split[owners]]
            starts = self.forest.first_child[nodes[owners]] - first
            totals[starts[:, np.newaxis] + np.arange(children.shape[1])] = children
        return np.arange(first, self.forest.size), totals

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

    def _published(self) -> PublishedForest:
        """Renumber the nodes tree by tree, level by level."""
        trees = self.choices.rows.trees
        forest = self.forest
        tree_of = forest.tree
        order = np.argsort(tree_of, kind="stable")
        sizes = np.bincount(tree_of, minlength=trees)
        number = np.empty(forest.size, dtype=np.int64)
        number[order] = np.arange(forest.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        widths = [one.n_children for one in self.schema.attributes]
        rows = zip(
            order.tolist(),
            forest.first_child[order].tolist(),
            forest.attribute[order].tolist(),
            forest.split[order].tolist(),
            [None if rows == _NOT_COUNTED else rows for rows in forest.rows[order].tolist()],
            strict=True,
        )
        renumbered = number.tolist()
        nodes = [
            Node(leaf=forest.contents[node], rows=counted)
            if start < 0
            else Node(attribute=at, at=split, children=tuple(renumbered[start : start + widths[at]]), rows=counted)
            for node, start, at, split, counted in rows
        ]
        ends = np.cumsum(sizes)
        return PublishedForest(
            schema=self.schema,
            trees=tuple(tuple(nodes[end - size : end]) for size, end in zip(sizes, ends, strict=True)),
            rows_per_tree=self.choices.rows.to_params(),
        )
