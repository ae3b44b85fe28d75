# SPDX-License-Identifier: Apache-2.0
"""Greedy_Hamdist: the feature selection RFKA was compared with (Zhang, Mohammed, Dave, Al Hasan 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from anonkit.k_anonymity.held_out_labels import all_labels_parameter
from anonkit.k_anonymity.preparing import Preparation, Prepared
from anonkit.k_anonymity.recoding_method import RecodingMethod, SearchResult
from anonkit.methods.rfka import RFKA
from anonkit.parameters import parameter
from anonkit.policy.declaration import TargetUse
from anonkit.protocols import Progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class GreedyHamdist(RecodingMethod):
    """Keep single values of columns in the order of how many pairs of different classes they separate.

    The comparator of paper 001: binary features, Hamming-distance class separability, one greedy visit.

    Privacy
    -------
    The same promise as `rfka`; only what is kept differs.
    """

    name: ClassVar[str] = "greedy-hamdist"
    paper: ClassVar[str] = "Zhang, Mohammed, Dave, Al Hasan: Feature selection under anonymity constraint, TDP 2017"
    summary: ClassVar[str] = "the comparator of the published rfka: greedy selection of values by Hamming distance"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED
    search_steps: ClassVar[tuple[str, ...]] = ("growing the forest", "choosing the detail")

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": {"bins": 5, "max_suppression": 0.0, "all_labels": True}}
    )

    bins: int = parameter(default=5, range="[2, inf)", help="cut numeric columns into this many equal-width bins first")
    max_suppression: float = parameter(default=0.0, range="[0, 1]", help="largest share of rows that may be left out")
    all_labels: bool = all_labels_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._as_rfka()

    def _as_rfka(self) -> RFKA:
        """Return `rfka` with the choices of this paper; all parameters here are parameters there too."""
        return RFKA(**asdict(self), features="one-hot", importance="hamdist", search="greedy", ladder="none")

    @property
    def preparation(self) -> Preparation:
        """Numbers are cut into bins of about equal width."""
        return self._as_rfka().preparation

    def find_recoding(self, prepared: Prepared, *, rng: Randomness, progress: Progress) -> SearchResult:
        """Select values by Hamming distance."""
        return self._as_rfka().find_recoding(prepared, rng=rng, progress=progress)
