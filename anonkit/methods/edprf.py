# SPDX-License-Identifier: Apache-2.0
"""eDPRF: rows dealt to trees at random, permute-and-flip at every node, unspent budget moved to the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.budget_rules.tree_rule import OVER_LEVELS
from anonkit.dp_trees.plan import LEAVES
from anonkit.dp_trees.release.declared_schema import bins_parameter
from anonkit.dp_trees.release.tree_families import RATES, rate_parameter, vote_parameter
from anonkit.dp_trees.release.tree_releases import GrownTrees
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.published.tree_model import VOTES, Split

STOPS = ("depth", "pure")


@dataclass(frozen=True, kw_only=True)
class EDPRF(GrownTrees):
    """Grow a forest after Wang et al. 2025 (eDPRF) and release the table it describes.

    Each row is in one tree, drawn by itself with a secret key, so every tree spends the whole epsilon. Level k of T
    gets epsilon / (s_T (T - k + 1)); a leaf gets all that its path has not spent.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The published rate of permute-and-flip,
    exp(epsilon q / (2 D)), is half of what these scores need, which a row that comes moves one way: with
    `rate="published"` and labels the loss is half of the epsilon given, and the report states that half. The published
    stop rule looks at the data without noise: with `stop="pure"` nothing is promised.
    """

    name: ClassVar[str] = "edprf"
    paper: ClassVar[str] = "Wang et al.: eDPRF, Journal of Software 36(7), 2025"
    summary: ClassVar[str] = "differentially private forest: disjoint trees, permute-and-flip, aligned budget"
    number_split: ClassVar[Split] = Split.MULTIWAY
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"leaf": "label", "stop": "pure", "bins": 8, "rate": "published"}
    }

    trees: int = parameter(default=5, range="[1, 1000]", help="trees; each row is in one of them")
    depth: int = parameter(default=4, range="[1, 20]", help="levels of a tree, the leaves' included")
    leaf: str = parameter(
        default="counts",
        range="one of these",
        help="a leaf publishes noisy class counts, or its label alone",
        choices=tuple(LEAVES),
    )
    stop: str = parameter(
        default="depth",
        range="one of these",
        help="leaves are at the last level; pure: also, as published, where all rows have one class (no guarantee)",
        choices=STOPS,
    )
    bins: int = bins_parameter(4)
    allocation: str = parameter(
        default="harmonic",
        range="one of these",
        help="how levels share epsilon: harmonic as published; linear (1, 2, ... from the root), uniform: to compare",
        choices=tuple(OVER_LEVELS),
    )
    rate: str = rate_parameter()
    vote: str = vote_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("trees", self.trees, 1, 1000)
        check_integer("depth", self.depth, 1, 20)
        check_choice("leaf", self.leaf, tuple(LEAVES))
        check_choice("stop", self.stop, STOPS)
        check_choice("allocation", self.allocation, tuple(OVER_LEVELS))
        check_choice("rate", self.rate, RATES)
        check_choice("vote", self.vote, VOTES)

    def no_guarantee(self) -> str | None:
        """Return that the published stop rule has no noise."""
        if self.stop != "pure":
            return None
        return (
            "The published algorithm makes a node a leaf when all its rows have one class. That test looks at the "
            f"rows without noise: one row can change the shape of a tree with certainty. The claim of the paper, "
            f"epsilon = {self.epsilon:g}, holds without it (stop=depth)."
        )
