# SPDX-License-Identifier: Apache-2.0
"""DT-Diff: DiffGen with the cuts of all numeric attributes among each step's candidates, so that a step is one draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.methods.diffgen import DiffGen
from anonkit.parameters import check_choice, parameter

WEIGHTS = ("shared", "even")


@dataclass(frozen=True, kw_only=True)
class DTDiff(DiffGen):
    """Generalize a table after Zhu et al. 2013 (DT-Diff) and release it.

    As DiffGen, but a step chooses among all groups of categories and all cuts of all intervals at once. The cuts of an
    interval share the weight of one group.

    Privacy
    -------
    As `diffgen`, the published rate included.
    """

    name: ClassVar[str] = "dt-diff"
    paper: ClassVar[str] = "Zhu et al.: Differentially private data publishing for decision trees, TrustCom 2013"
    summary: ClassVar[str] = "differentially private generalization: one joint choice a step, noisy cell counts"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"rate": "published", "score": "max-class", "weights": "shared", "as_": "cells"}
    }

    weights: str = parameter(
        default="shared",
        range="one of these",
        help="the cuts of an interval share the weight of one group of categories, or weigh as much each",
        choices=WEIGHTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("weights", self.weights, WEIGHTS)

    @property
    def weighted(self) -> bool:
        """True when the cuts of an interval share one weight."""
        return self.weights == "shared"
