# SPDX-License-Identifier: Apache-2.0
"""C4.5 on noisy counts, with level budgets in arithmetic progression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.tree_families import NoisyC45
from anonkit.parameters import check_choice, parameter

ORDERS = ("ascending", "descending")


@dataclass(frozen=True, kw_only=True)
class C45Arithmetic(NoisyC45):
    """Grow a C4.5 tree after Shang et al. 2019 and release the table it describes.

    Per level, the counts of every attribute value by class get noise, and the split is the one with the best gain ratio
    of these. Budgets of the levels are 1, 2, ..., h parts, or h, ..., 1.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The published stop rule looks at the data
    without noise: with `stop="pure"` nothing is promised.
    """

    name: ClassVar[str] = "c45-arithmetic"
    paper: ClassVar[str] = "Shang et al.: arithmetic budget allocation for decision trees on MapReduce, 2019"
    summary: ClassVar[str] = "differentially private C4.5 tree: gain ratio of noisy counts, arithmetic budgets"

    order: str = parameter(
        default="ascending", range="one of these", help="budgets of the levels, from the root down", choices=ORDERS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("order", self.order, ORDERS)
