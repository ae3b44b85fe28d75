# SPDX-License-Identifier: Apache-2.0
"""DiffP-ID3: one choice of the attribute by the exponential mechanism at every node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.parameters import check_choice, parameter
from anonkit.tree_families import RATES, STOP_HELP, STOPS, StoppingTree, rate_parameter, score_parameter, slack_of
from anonkit.trees.attributes import Split
from anonkit.trees.scores import SCORES
from anonkit.trees.selection import JointSelection, Selection

OFFERED = ("entropy", "max-class", "gini")


@dataclass(frozen=True, kw_only=True)
class DiffPID3(StoppingTree):
    """Grow a tree after Friedman & Schuster 2010 (DiffP-ID3) and release the table it describes.

    Half of a level's budget counts the node's rows, the other half chooses the attribute by the exponential mechanism:
    one draw, whatever the number of attributes.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The published rate spends less than it claims:
    the scores only move one way when a row comes.
    """

    name: ClassVar[str] = "diffp-id3"
    paper: ClassVar[str] = "Friedman & Schuster: Data mining with differential privacy, KDD 2010, algorithm 2"
    summary: ClassVar[str] = "differentially private ID3 tree: attributes chosen by the exponential mechanism"
    number_split: ClassVar[Split] = Split.MULTIWAY
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"rate": "published", "score": "max-class"}}

    stop: str = parameter(default="noisy", range="one of these", help=STOP_HELP, choices=STOPS)
    score: str = score_parameter("gini", *OFFERED)
    rate: str = rate_parameter()
    bins: int = parameter(default=8, range="[2, 1024]", help="equal bins of each number, over its public bounds")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("score", self.score, OFFERED)
        check_choice("rate", self.rate, RATES)

    def selection(self) -> Selection:
        """Return the exponential mechanism on attributes."""
        score = SCORES[self.score]
        return JointSelection(score=score, mechanism="exponential", slack=slack_of(score, self.rate))

    def published_claim(self) -> str | None:
        """Return that the paper claims more than it spends."""
        if self.rate != "published":
            return None
        return f"The paper claims epsilon = {self.epsilon:g} for this; its choices of splits lose half of their shares."
