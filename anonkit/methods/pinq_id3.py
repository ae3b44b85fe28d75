# SPDX-License-Identifier: Apache-2.0
"""PINQ-based ID3: counts by value and class with noise, on disjoint parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.parameters import parameter
from anonkit.tree_families import STOP_HELP, STOPS, StoppingTree
from anonkit.trees.attributes import Split
from anonkit.trees.scores import noisy_information_gain
from anonkit.trees.selection import NoisyCounts, Selection


@dataclass(frozen=True, kw_only=True)
class PINQID3(StoppingTree):
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
    number_split: ClassVar[Split] = Split.MULTIWAY
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {"stop": "noisy"}}

    stop: str = parameter(default="noisy", range="one of these", help=STOP_HELP, choices=STOPS)
    bins: int = parameter(default=8, range="[2, 1024]", help="equal bins of each number, over its public bounds")

    def selection(self) -> Selection:
        """Return the gain of noisy counts."""
        return NoisyCounts(measure=noisy_information_gain)
