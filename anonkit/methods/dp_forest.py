# SPDX-License-Identifier: Apache-2.0
"""dp-forest: shallow trees, class histograms of every attribute, and learned weights, under one epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.stacked_trees import StackedMethod
from anonkit.parameters import check_integer, parameter


@dataclass(frozen=True, kw_only=True)
class DPForest(StackedMethod):
    """Learn a model and a table under central differential privacy: the default for a trusted owner.

    A public rule divides epsilon between splits of a shallow tree, the class counts of its leaves, noisy histograms of
    every attribute by class (of few rows, of some drawn by lot), and, once there are rows enough, weights that say how
    much of each is new. Rows drawn from the noisy counts are released; the model is in the params.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0, for one row that comes or goes. With a delta,
    where histograms may have less noise by it: (epsilon, delta).
    """

    name: ClassVar[str] = "dp-forest"
    paper: ClassVar[str] = "none: shallow private trees with naive Bayes evidence and weights; see docs/methods"
    summary: ClassVar[str] = "differentially private model and table: the default for a trusted owner"

    trees: int = parameter(
        default=0, range="[0, 1000]", help="trees, each on its own rows; 0: by the public rule (one)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("trees", self.trees, 0, 1000)

    @property
    def n_trees(self) -> int:
        """One, unless the owner declares more."""
        return self.trees or 1
