# SPDX-License-Identifier: Apache-2.0
"""Families of published trees: the depth, stopping rule and scores that they share, and the pruning of C4.5.

**Pruning** (Quinlan 1993, chapter 4) on counts that have noise: subtrees that predict no better than a leaf by their
noisy counts become leaves. It reads a published forest and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from anonkit.budget_rules.tree_rule import TOTALS, RequestedTrees
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.dp_trees.plan import Plan
from anonkit.dp_trees.questions import Counter
from anonkit.dp_trees.release.declared_schema import bins_parameter
from anonkit.dp_trees.release.tree_releases import GrownTrees
from anonkit.dp_trees.split_selection import LARGEST_TABLE, SCORES, NoisyCounts, SplitSelection, noisy_gain_ratio
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.protocols import Progress
from anonkit.published.tree_model import VOTES, LeafContent, Node, PublishedForest, Split
from anonkit.randomness import Randomness

_CONFIDENCE = 0.25
"""C4.5's confidence factor."""
_QUARTILE = 0.6744897501960817
"""The point of the normal distribution above which this share lies."""


def pruned(forest: PublishedForest) -> PublishedForest:
    """Return the forest with every subtree replaced whose estimated errors are no fewer than those of a leaf.

    Counts of nodes are made consistent first: noise below 0 is cut off, and where the rows of nodes were counted, the
    children of a node share its count in proportion to theirs.

    Parameters
    ----------
    forest : PublishedForest
        With counts in its leaves; a tree with labels alone stays as it is.

    Privacy
    -------
    A function of what is published: no privacy loss. Counts of a new leaf are the sums of those below it, noise and
    all.
    """
    return replace(forest, trees=tuple(_pruned_tree(tree) for tree in forest.trees))


def pessimistic_errors(counts: FloatArray) -> float:
    """Return the expected errors of a leaf, in rows: the upper end of a confidence interval (25 %).

    Parameters
    ----------
    counts : float array, shape (n_classes,)
        Rows of each class, at least 0.
    """
    rows = float(counts.sum())
    if rows <= 0:
        return 0.0
    wrong = rows - float(counts.max())
    if wrong >= 1:
        return _upper_limit(wrong, rows)
    # no error in N rows: (1 - p)^N = 25 %, and between none and one along a line
    none = rows * (1 - math.pow(_CONFIDENCE, 1 / rows))
    return none + wrong * (_upper_limit(min(1.0, rows), rows) - none)


def _upper_limit(wrong: float, rows: float) -> float:
    """Return the upper limit for at least one error, by the normal approximation with continuity correction."""
    if wrong + 0.5 >= rows:
        return wrong + 0.67 * (rows - wrong)
    seen, z = wrong + 0.5, _QUARTILE * _QUARTILE
    return rows * (seen + z / 2 + math.sqrt(z * (seen * (1 - seen / rows) + z / 4))) / (rows + z)


def _pruned_tree(tree: tuple[Node, ...]) -> tuple[Node, ...]:
    if any(node.is_leaf and (node.leaf is None or node.leaf.counts is None) for node in tree):
        return tree
    sums = _sums(tree)
    counts = _consistent(tree, sums)
    errors = [0.0] * len(tree)
    cut: set[int] = set()
    for number in reversed(range(len(tree))):
        as_leaf = pessimistic_errors(counts[number])
        below = sum(errors[child] for child in tree[number].children)
        if not tree[number].is_leaf and as_leaf <= below:
            cut.add(number)
        errors[number] = as_leaf if tree[number].is_leaf or number in cut else below
    return _without(tree, cut, sums)


def _sums(tree: tuple[Node, ...]) -> IntArray:
    """Return the noisy counts of the classes in each node, those of its leaves added up, shape (n_nodes, classes)."""
    sums: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(tree)
    for number in reversed(range(len(tree))):
        node = tree[number]
        if node.leaf is not None and node.leaf.counts is not None:
            sums[number] = np.array(node.leaf.counts, dtype=np.int64)
        else:
            sums[number] = np.sum([sums[child] for child in node.children], axis=0)
    return np.array(sums)


def _consistent(tree: tuple[Node, ...], sums: IntArray) -> FloatArray:
    """Return counts of at least 0 of which those of the children add up to their parent's, shape (n_nodes, classes)."""
    rows = np.array(
        [max(sums[at].sum(), 0) if node.rows is None else max(node.rows, 0) for at, node in enumerate(tree)]
    )
    total = rows.astype(np.float64)
    for number, node in enumerate(tree):
        if node.is_leaf:
            continue
        children = list(node.children)
        own = rows[children]
        shares = own / own.sum() if own.sum() > 0 else np.full(own.size, 1 / own.size)
        total[children] = total[number] * shares
    counts = np.maximum(sums, 0).astype(np.float64)
    for number in reversed(range(len(tree))):
        node = tree[number]
        if not node.is_leaf:
            counts[number] = counts[list(node.children)].sum(axis=0)
        elif counts[number].sum() > 0:
            counts[number] *= total[number] / counts[number].sum()
        else:
            counts[number] = total[number] / counts.shape[1]
    return counts


def _without(tree: tuple[Node, ...], cut: set[int], sums: IntArray) -> tuple[Node, ...]:
    """Return the tree with some nodes as leaves, numbered anew in the order they had."""
    remaining = [0]
    for number in remaining:
        remaining += () if number in cut else tree[number].children
    remaining.sort()
    place = {number: at for at, number in enumerate(remaining)}
    return tuple(
        Node(leaf=LeafContent(counts=tuple(sums[number].tolist())), rows=tree[number].rows)
        if number in cut
        else replace(tree[number], children=tuple(place[child] for child in tree[number].children))
        for number in remaining
    )


STOPS = ("depth", "noisy", "pure")
STOP_HELP = "leaves are at the depth; noisy: or below a noisy count of rows; pure: or with one class (no guarantee)"
PRUNINGS = ("none", "pessimistic")
RATES = ("full", "published")
TABLES = ("share", "published")
CHOICES = ("best", "exponential")
_MONOTONE = ("entropy", "max-class", "gini")

_PURE = (
    "The published algorithm makes a node a leaf when all its rows have one class. That test looks at the rows without "
    "noise: one row can change the shape of a tree with certainty."
)


def score_parameter(default: str, *names: str) -> str:
    """Declare the parameter `score` with these choices."""
    declared: str = parameter(
        default=default, range="one of these", help="what makes a split good", choices=names or tuple(SCORES)
    )
    return declared


def rate_parameter() -> str:
    """Declare the parameter `rate`."""
    declared: str = parameter(
        default="full",
        range="one of these",
        help="how sharply a choice is made for its share of epsilon; published: half as sharply, as papers do",
        choices=RATES,
    )
    return declared


def vote_parameter() -> str:
    """Declare the parameter `vote`."""
    declared: str = parameter(
        default="pooled",
        range="one of these",
        help="how receivers let the trees decide: counts pooled, majority of votes, sum of class probabilities",
        choices=VOTES,
    )
    return declared


def stop_parameter(default: str) -> str:
    """Declare the parameter `stop`."""
    declared: str = parameter(default=default, range="one of these", help=STOP_HELP, choices=STOPS)
    return declared


@dataclass(frozen=True, kw_only=True)
class StoppingTree(GrownTrees):
    """Trees of bounded depth with a stopping rule: by depth alone, by a noisy count, or by purity as published.

    Privacy
    -------
    `stop="pure"` is a published rule: a node is a leaf if all its rows have one class. It reads exact counts, so such a
    release has no guarantee and states so.
    """

    depth: int = parameter(default=3, range="[1, 20]", help="most splits between root and leaf")
    stop: str = stop_parameter("depth")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("depth", self.depth, 1, 20)
        check_choice("stop", self.stop, STOPS)

    def no_guarantee(self) -> str | None:
        """Return why the published stopping rule, which reads exact counts, promises nothing; None under others."""
        if self.stop != "pure":
            return None
        return f"{_PURE} The paper claims epsilon = {self.epsilon:g}; stop=depth or stop=noisy has a guarantee."


@dataclass(frozen=True, kw_only=True)
class ScoredTree(StoppingTree):
    """Trees that may score splits by entropy.

    The sensitivity of entropy grows with log2 of the rows, hence the public bound `max_rows`: a node with more rows is
    scored along a straight line instead, and the bound on the sensitivity holds for every table.
    """

    max_rows: int = parameter(
        default=LARGEST_TABLE,
        range="[1, 268435456]",
        help="for the score entropy: about the most rows, if that is public; more are scored along a line",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("max_rows", self.max_rows, 1, LARGEST_TABLE)


@dataclass(frozen=True, kw_only=True)
class PrunedTree(StoppingTree):
    """A C4.5 tree whose subtrees may be pruned by their published noisy counts: post-processing, at no privacy loss."""

    pruning: str = parameter(
        default="none",
        range="one of these",
        help="pessimistic: subtrees that noisy counts do not justify become leaves, at no privacy loss (C4.5)",
        choices=PRUNINGS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("pruning", self.pruning, PRUNINGS)

    def grow(self, plan: Plan, counter: Counter, rng: Randomness, progress: Progress) -> PublishedForest:
        """Return the noisy tree, pruned where the method prunes."""
        forest = super().grow(plan, counter, rng, progress)
        return pruned(forest) if self.pruning == "pessimistic" else forest


@dataclass(frozen=True, kw_only=True)
class CountingTree(StoppingTree):
    """A tree on binned numbers that chooses splits by a measure of noisy counts."""

    number_split: ClassVar[Split] = Split.MULTIWAY
    measure: ClassVar[Callable[[FloatArray], FloatArray]]
    """Measure of noisy class counts of the children of all splits."""

    bins: int = bins_parameter(8)

    def selection(self, trees: RequestedTrees) -> SplitSelection:
        """Return the measure of noisy counts."""
        return NoisyCounts(
            measure=type(self).measure,
            separate_totals=trees.paper.split == TOTALS,
            undivided=trees.is_undivided,
            exponential=getattr(self, "choice", "best") == "exponential",
        )


@dataclass(frozen=True, kw_only=True)
class NoisyID3(CountingTree):
    """ID3 on noisy counts alone: no decision reads an exact count."""

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"stop": "noisy"}}

    stop: str = stop_parameter("noisy")


@dataclass(frozen=True, kw_only=True)
class NoisyC45(CountingTree, PrunedTree):
    """C4.5 by the gain ratio of noisy counts; a tenth of each level pays for the noisy stopping rule, if chosen.

    Privacy
    -------
    With `tables="published"` the counts of every attribute get all of a level's budget. A row is in all of them, so
    the promise is that of their sum, which is above the epsilon given, and states so beside what the paper claims.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"tables": "published", "choice": "best", "min_rows": 2}
    }
    measure: ClassVar[Callable[[FloatArray], FloatArray]] = staticmethod(noisy_gain_ratio)

    tables: str = parameter(
        default="share",
        range="one of these",
        help="the counts of a level's attributes share its budget; published: each gets all of it, beyond epsilon",
        choices=TABLES,
    )
    choice: str = parameter(
        default="best",
        range="one of these",
        help="the split of the best noisy gain ratio, or one drawn by the exponential mechanism on it",
        choices=CHOICES,
    )
    min_rows: int = parameter(
        default=0,
        range="[0, 1000000]",
        help="a node is a leaf below so many rows, by the noisy counts that its parent was split by",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("tables", self.tables, TABLES)
        check_choice("choice", self.choice, CHOICES)
        check_integer("min_rows", self.min_rows, 0, 1_000_000)

    def published_claim(self) -> str | None:
        """Return that the paper gives all attributes what is there for one."""
        if self.tables != "published":
            return None
        return (
            f"The paper claims epsilon = {self.epsilon:g}: it gives the counts of every attribute the whole budget of "
            "a level. A row is in the counts of all attributes, and their losses add up."
        )


@dataclass(frozen=True, kw_only=True)
class FriedmanSchusterTree(ScoredTree):
    """A tree after Friedman & Schuster (KDD 2010): splits by the exponential mechanism on a monotone score.

    Monotone: one more row moves the scores of all candidates the same way, which halves the noise that a given epsilon
    needs. The published rate ignores this, so with it the splits cost half of what the paper charges for them.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"rate": "published", "score": "max-class"}}

    stop: str = stop_parameter("noisy")
    score: str = score_parameter("gini", *_MONOTONE)
    rate: str = rate_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("score", self.score, _MONOTONE)
        check_choice("rate", self.rate, RATES)
