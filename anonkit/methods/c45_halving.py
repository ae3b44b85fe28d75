# SPDX-License-Identifier: Apache-2.0
"""C4.5 on noisy counts, each level with half of the budget that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from anonkit.parameters import parameter
from anonkit.tree_families import StoppingTree
from anonkit.trees.allocation import halving
from anonkit.trees.attributes import Split, TreeSchema
from anonkit.trees.scores import noisy_gain_ratio
from anonkit.trees.selection import NoisyCounts, Selection


@dataclass(frozen=True, kw_only=True)
class C45Halving(StoppingTree):
    """Grow the tree that Shang et al. 2019 compare theirs with: half of the rest for each level.

    Otherwise as `c45-arithmetic`.

    Privacy
    -------
    As `c45-arithmetic`.
    """

    name: ClassVar[str] = "c45-halving"
    paper: ClassVar[str] = "the usual allocation, as compared with in Shang et al. 2019"
    summary: ClassVar[str] = "differentially private C4.5 tree: gain ratio of noisy counts, halving budgets"
    number_split: ClassVar[Split] = Split.MULTIWAY
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"stop": "pure"}}

    bins: int = parameter(default=8, range="[2, 1024]", help="equal bins of each number, over its public bounds")

    def weights(self, schema: TreeSchema) -> list[Fraction]:
        """Return halves of what is left."""
        return halving(self.levels)

    def count_shares(self, schema: TreeSchema) -> list[Fraction]:
        """Return a tenth for the count of rows that the noisy stop rule looks at, else nothing."""
        return [Fraction(1, 10)] * self.levels if self.stop == "noisy" else []

    def selection(self) -> Selection:
        """Return the gain ratio of noisy counts."""
        return NoisyCounts(measure=noisy_gain_ratio)
