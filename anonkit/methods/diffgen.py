# SPDX-License-Identifier: Apache-2.0
"""DiffGen: a fully generalized table, specialized top-down by the exponential mechanism and counted with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.budget_rules.tree_rule import JOINT
from anonkit.dp_trees.questions import Counter
from anonkit.dp_trees.release.tree_families import RATES, rate_parameter
from anonkit.dp_trees.release.tree_releases import TreeMethod
from anonkit.dp_trees.taxonomy_specialization import SCORES, SpecializationPlan, specialize
from anonkit.parameters import check_choice, check_integer, parameter
from anonkit.protocols import Progress
from anonkit.published.tree_model import PublishedForest, TreeSchema
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class DiffGen(TreeMethod[SpecializationPlan]):
    """Generalize a table after Mohammed et al. 2011 (DiffGen) and release it.

    Each step makes one value finer in all cells: a group of categories is divided into the groups below it in the
    policy's tree (without one, into single categories), an interval is cut in two where a draw of its own decides. Half
    of epsilon is divided over all draws, the other half counts the classes of each cell.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The published rate spends less than it claims
    for the score max-class: a row that comes moves the scores of all candidates one way.
    """

    name: ClassVar[str] = "diffgen"
    paper: ClassVar[str] = "Mohammed et al.: Differentially private data release for data mining, KDD 2011"
    summary: ClassVar[str] = "differentially private generalization: top-down specialization, noisy cell counts"
    example: ClassVar[Mapping[str, Any]] = MappingProxyType({"epsilon": 1.0, "steps": 3})
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"rate": "published", "score": "max-class", "as_": "cells"}
    }
    taxonomies: ClassVar[bool] = True

    steps: int = parameter(default=6, range="[1, 100]", help="values that are made finer, one after another")
    score: str = parameter(
        default="max-class", range="one of these", help="what makes a step good", choices=tuple(SCORES)
    )

    rate: str = rate_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("steps", self.steps, 1, 100)
        check_choice("score", self.score, tuple(SCORES))
        check_choice("rate", self.rate, RATES)

    @property
    def weighted(self) -> bool:
        """True when the cuts of an interval share one weight."""
        return False

    def plan_of(self, schema: TreeSchema) -> SpecializationPlan:
        """Return the steps with their budget."""
        trees = self.requested(schema)
        return SpecializationPlan(
            schema=schema,
            epsilon=self.epsilon,
            steps=trees.steps,
            score=SCORES[trees.score],
            joint=trees.paper.split == JOINT,
            weighted=self.weighted,
            slack=trees.slack,
            rows_per_unit=self.rows_per_unit,
            adjacency=self.neighbours,
        )

    def grow(self, plan: SpecializationPlan, counter: Counter, rng: Randomness, progress: Progress) -> PublishedForest:
        """Return the specialized table as one noisy tree."""
        return specialize(plan, counter, rng)
