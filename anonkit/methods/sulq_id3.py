# SPDX-License-Identifier: Apache-2.0
"""SuLQ-ID3: ID3 in which every count behind an attribute's gain is a noisy counting query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from anonkit.domains.coded_columns import FloatArray
from anonkit.dp_trees.release.tree_families import NoisyID3
from anonkit.dp_trees.split_selection import sulq_information


@dataclass(frozen=True, kw_only=True)
class SuLQID3(NoisyID3):
    """Grow the SuLQ-based ID3 tree and release the table it describes.

    Half of a level's budget counts the node's rows; the other half is divided over the attributes, and again over the
    counts of their values and of their values by class.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The algorithm has no look without noise.
    """

    name: ClassVar[str] = "sulq-id3"
    paper: ClassVar[str] = "Blum et al., PODS 2005; as in Friedman & Schuster, KDD 2010, algorithm 1"
    summary: ClassVar[str] = "differentially private ID3 tree: gain of noisy counts queried one by one (SuLQ)"
    measure: ClassVar[Callable[[FloatArray], FloatArray]] = staticmethod(sulq_information)
