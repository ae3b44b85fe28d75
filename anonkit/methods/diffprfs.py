# SPDX-License-Identifier: Apache-2.0
"""DiffPRFs: a bootstrap forest that cuts numeric attributes by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.dp_trees.plan import ROWS
from anonkit.dp_trees.release.tree_families import (
    RATES,
    ScoredTree,
    rate_parameter,
    score_parameter,
    vote_parameter,
)
from anonkit.dp_trees.split_selection import SCORES
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.published.tree_model import VOTES, Split

ROW_CHOICES = tuple(ROWS)
BRANCHES = {"values": Split.MULTIWAY, "two": Split.ONE_VS_REST}


@dataclass(frozen=True, kw_only=True)
class DiffPRFs(ScoredTree):
    """Grow a forest after Mu et al. 2016 (DiffPRFs) and release the table it describes.

    Every tree takes each row a Poisson(1) number of times and chooses splits among the square root of the attributes:
    first a cut for each number, then the attribute. Half of a level's budget counts the node's rows.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0: a tree gets ln(1 + epsilon / trees), since
    copies of a row add up. With the published division of the budget the report states the larger epsilon that holds.
    """

    name: ClassVar[str] = "diffprfs"
    paper: ClassVar[str] = "Mu et al.: DiffPRFs, Journal on Communications 37(9), 2016"
    summary: ClassVar[str] = "differentially private forest: bootstrap, numbers cut by the exponential mechanism"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 1.0, "trees": 3, "depth": 2})
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "rows": "published-bootstrap",
            "stop": "pure",
            "rate": "published",
            "vote": "sum",
            "branches": "two",
            "bins": 1024,
        }
    }

    trees: int = parameter(default=25, range="[1, 1000]", help="trees of the forest")
    depth: int = parameter(default=5, range="[1, 20]", help="most splits between root and leaf")
    stop: str = parameter(
        default="noisy",
        range="one of these",
        help="a node is a leaf at the depth; noisy: or below one deviation of its noisy count; pure: as published",
        choices=("depth", "noisy", "pure"),
    )
    rows: str = parameter(default="bootstrap", range="one of these", help="which rows a tree sees", choices=ROW_CHOICES)
    score: str = score_parameter("information-gain", "information-gain", "max-class", "gini", "entropy")
    rate: str = rate_parameter()
    vote: str = vote_parameter()
    branches: str = parameter(
        default="values",
        range="one of these",
        help="how a node is split by a category: a branch for each value; two: one value against the rest, and again",
        choices=tuple(BRANCHES),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("trees", self.trees, 1, 1000)
        check_choice("rows", self.rows, ROW_CHOICES)
        check_choice("score", self.score, tuple(SCORES))
        check_choice("rate", self.rate, RATES)
        check_choice("vote", self.vote, VOTES)
        check_choice("branches", self.branches, tuple(BRANCHES))

    @property
    def category_split(self) -> Split:
        """Split of a category."""
        return BRANCHES[self.branches]

    def published_claim(self) -> str | None:
        """Return that the paper counts a row that is copied as one."""
        if self.rows != "published-bootstrap":
            return super().published_claim()
        return (
            f"The paper claims epsilon = {self.epsilon:g}: it gives every tree epsilon / {self.trees} as if a row were "
            "in it once. A bootstrap takes rows several times, and the copies add up."
        )
