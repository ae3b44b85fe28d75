# SPDX-License-Identifier: Apache-2.0
"""Rows of a published mixture, drawn by a task of the engine with secret words."""

from __future__ import annotations

from dataclasses import dataclass

from anonkit.domains.coded_columns import IntArray
from anonkit.mechanisms.discrete_laplace import UniformStream
from anonkit.published.product_mixtures import ProductMixtures, codes_of_rows
from anonkit.randomness import Randomness


@dataclass(frozen=True, eq=False)
class MixtureRows:
    """Draws rows of components; see `anonkit.dp_trees.release.synthetic_rows`.

    Cells are the components of all classes, class by class.
    """

    mixtures: ProductMixtures

    def __call__(self, numbers: IntArray, randomness: Randomness) -> list[IntArray]:
        """Return the codes of each released column, the target first where there is one."""
        return codes_of_rows(self.mixtures, numbers, UniformStream(randomness))
