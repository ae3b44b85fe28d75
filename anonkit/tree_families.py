# SPDX-License-Identifier: Apache-2.0
"""What several published trees have in common: one tree of some depth, how it stops, and the scores they offer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from anonkit.parameters import check_choice, check_number, parameter
from anonkit.tree_release import TreeMethod
from anonkit.trees.allocation import uniform
from anonkit.trees.attributes import TreeSchema
from anonkit.trees.leaves import NoisyClassCounts
from anonkit.trees.plan import Choices, Threshold
from anonkit.trees.rows import Disjoint, Rows
from anonkit.trees.scores import LARGEST_TABLE, SCORES, Score
from anonkit.trees.selection import Selection

STOPS = ("depth", "noisy", "pure")
STOP_HELP = "leaves are at the depth; noisy: or below a noisy count of rows; pure: or with one class (no guarantee)"
RATES = ("full", "published")

_PURE = (
    "The published algorithm makes a node a leaf when all its rows have one class. That test looks at the rows without "
    "noise: one row can change the shape of a tree with certainty."
)


def friedman_schuster(epsilon: float, schema: TreeSchema) -> float:
    """Return t |C| sqrt(2) / epsilon: below it the noise of a count outweighs the counts a split would need.

    Friedman & Schuster 2010, algorithm 1; t is the largest domain, |C| the number of classes.
    """
    return math.sqrt(2) / epsilon * schema.most_codes * schema.n_classes


def one_deviation(epsilon: float, schema: TreeSchema) -> float:
    """Return sqrt(2) / epsilon: one standard deviation of the noise of the count."""
    return math.sqrt(2) / epsilon


@dataclass(frozen=True, kw_only=True)
class StoppingTree(TreeMethod):
    """Trees of a depth that stop by a rule; the published rule has no noise, and then nothing is promised."""

    threshold: ClassVar[Threshold] = staticmethod(friedman_schuster)

    depth: int = parameter(default=3, range="[1, 20]", help="most splits between root and leaf")
    stop: str = parameter(default="depth", range="one of these", help=STOP_HELP, choices=STOPS)
    max_rows: int = parameter(
        default=LARGEST_TABLE,
        range="[1, 268435456]",
        help="public bound on the rows of the table: entropies are noised for so many",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("depth", self.depth, 1, 20)
        check_choice("stop", self.stop, STOPS)
        check_number("max_rows", self.max_rows, 1, LARGEST_TABLE)

    @property
    def levels(self) -> int:
        """Levels of a tree, the leaves' included."""
        return self.depth + 1

    def drawn_rows(self) -> Rows:
        """Return which rows each tree sees: one tree sees all."""
        return Disjoint(trees=1)

    def weights(self, schema: TreeSchema) -> list[Fraction]:
        """Return how a path's budget is divided over the levels."""
        return uniform(self.levels)

    def count_shares(self, schema: TreeSchema) -> list[Fraction]:
        """Return the share of each level that a noisy count of rows gets; nothing when empty."""
        return [Fraction(1, 2)] * self.levels

    def selection(self) -> Selection:
        """Return how splits are chosen.

        Raises
        ------
        NotImplementedError
            Methods say it.
        """
        raise NotImplementedError

    @property
    def square_root(self) -> bool:
        """True when a node chooses among the square root of the attributes."""
        return False

    def choices(self, schema: TreeSchema) -> Choices:
        """Return the method's choices."""
        return Choices(
            rows=self.drawn_rows(),
            levels=self.levels,
            weights=tuple(self.weights(schema)),
            selection=self.selection(),
            leaf=NoisyClassCounts(),
            count_shares=tuple(self.count_shares(schema)),
            threshold=type(self).threshold if self.stop == "noisy" else None,
            square_root=self.square_root,
            noiseless_purity=self.stop == "pure",
            max_rows=self.max_rows,
        )

    def no_guarantee(self) -> str | None:
        """Return that the published stop rule has no noise."""
        if self.stop != "pure":
            return None
        return f"{_PURE} The paper claims epsilon = {self.epsilon:g}; --stop depth or --stop noisy has a guarantee."


def slack_of(score: Score, rate: str) -> int:
    """Return what divides the rate of a private choice.

    The papers choose with exp(epsilon q / (2 D)); the 2 is needed only for scores that a row can move both ways.
    """
    return 2 if rate == "published" and score.name != "information-gain" else 1


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
        help="how sharply splits are chosen for their share of epsilon; published: half as sharply, as papers do",
        choices=RATES,
    )
    return declared
