# SPDX-License-Identifier: Apache-2.0
"""DiffP-C4.5: DiffP-ID3 with numeric attributes, each cut by an exponential-mechanism draw of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.dp_trees.release.tree_families import FriedmanSchusterTree, PrunedTree


@dataclass(frozen=True, kw_only=True)
class DiffPC45(FriedmanSchusterTree, PrunedTree):
    """Grow a tree after Friedman & Schuster 2010 (DiffP-C4.5) and release the table it describes.

    With c numbers every draw gets epsilon / ((2 + c) depth + 2): on each level a count of rows, a cut for each number
    and the attribute, in a leaf a count of rows and the class counts. The tree is not pruned.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The published rate spends less than it claims:
    the scores only move one way when a row comes.
    """

    name: ClassVar[str] = "diffp-c45"
    paper: ClassVar[str] = "Friedman & Schuster: Data mining with differential privacy, KDD 2010"
    summary: ClassVar[str] = "differentially private C4.5 tree: cuts, then attributes, by the exponential mechanism"
