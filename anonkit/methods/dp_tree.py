# SPDX-License-Identifier: Apache-2.0
"""dp-tree: dp-forest with exactly one tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.stacked_trees import StackedMethod


@dataclass(frozen=True, kw_only=True)
class DPTree(StackedMethod):
    """Learn one shallow tree with histograms of every attribute by class, and release the table it describes.

    The same as `dp-forest` with one tree, which is what that chooses by itself.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0, for one row that comes or goes. With a delta,
    where histograms may have less noise by it: (epsilon, delta).
    """

    name: ClassVar[str] = "dp-tree"
    paper: ClassVar[str] = "none: a shallow private tree with naive Bayes evidence and weights; see docs/methods"
    summary: ClassVar[str] = "differentially private model and table from one tree with evidence"
