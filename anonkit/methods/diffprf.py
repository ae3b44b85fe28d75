# SPDX-License-Identifier: Apache-2.0
"""DiffPRF: a bootstrap forest of ID3 trees on pre-binned numeric attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.dp_trees.release.declared_schema import bins_parameter
from anonkit.methods.diffprfs import DiffPRFs
from anonkit.published.tree_model import Split


@dataclass(frozen=True, kw_only=True)
class DiffPRF(DiffPRFs):
    """Grow a forest after Patil & Singh 2014 (DiffPRF) and release the table it describes.

    As DiffPRFs, but numbers are in equal bins and have a branch for each, so that one choice of the attribute is all
    that a node draws.

    Privacy
    -------
    As DiffPRFs.
    """

    name: ClassVar[str] = "diffprf"
    paper: ClassVar[str] = "Patil & Singh: Differential private random forest, ICACCI 2014"
    summary: ClassVar[str] = "differentially private forest: bootstrap, ID3 trees on binned numbers"
    number_split: ClassVar[Split] = Split.MULTIWAY
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"rows": "published-bootstrap", "stop": "pure", "rate": "published", "vote": "sum"}
    }

    bins: int = bins_parameter(8)
