# SPDX-License-Identifier: Apache-2.0
"""C4.5 on noisy counts; each level takes half of the remaining budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.tree_families import NoisyC45


@dataclass(frozen=True, kw_only=True)
class C45Halving(NoisyC45):
    """Grow the tree that Shang et al. 2019 compare theirs with: half of the rest for each level.

    Otherwise as `c45-arithmetic`.

    Privacy
    -------
    As `c45-arithmetic`.
    """

    name: ClassVar[str] = "c45-halving"
    paper: ClassVar[str] = "the usual allocation, as compared with in Shang et al. 2019"
    summary: ClassVar[str] = "differentially private C4.5 tree: gain ratio of noisy counts, halving budgets"
