# SPDX-License-Identifier: Apache-2.0
"""PINQ-ID3: ID3 on noisy counts by value and class, over disjoint partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from anonkit.domains.coded_columns import FloatArray
from anonkit.dp_trees.release.tree_families import NoisyID3
from anonkit.dp_trees.split_selection import noisy_information_gain


@dataclass(frozen=True, kw_only=True)
class PINQID3(NoisyID3):
    """Grow the ID3 tree on PINQ's Partition and release the table it describes.

    As `sulq-id3`, but the rows are divided by value and class first: the parts are disjoint, so one noisy count each is
    paid once, and totals are added up from them.

    Privacy
    -------
    Central differential privacy with at most the epsilon given, delta 0. The algorithm has no look without noise.
    """

    name: ClassVar[str] = "pinq-id3"
    paper: ClassVar[str] = "Blum et al., PODS 2005; as in Friedman & Schuster, KDD 2010"
    summary: ClassVar[str] = "differentially private ID3 tree: gain of noisy counts of disjoint parts (PINQ)"
    measure: ClassVar[Callable[[FloatArray], FloatArray]] = staticmethod(noisy_information_gain)
