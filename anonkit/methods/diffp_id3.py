# SPDX-License-Identifier: Apache-2.0
"""DiffP-ID3: the split attribute of every node is one draw of the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.declared_schema import bins_parameter
from anonkit.dp_trees.release.tree_families import FriedmanSchusterTree
from anonkit.published.tree_model import Split


@dataclass(frozen=True, kw_only=True)
class DiffPID3(FriedmanSchusterTree):
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

    bins: int = bins_parameter(8)
