# SPDX-License-Identifier: Apache-2.0
"""Greedy_Hamdist: the feature selection RFKA was compared with (Zhang, Mohammed, Dave, Al Hasan 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.methods.rfka import RFKA
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import Draft, Engine, Progress, Source, no_progress
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class GreedyHamdist(AnonymityModel):
    """Keep single values of columns in the order of how many pairs of different classes they tell apart.

    The comparator of paper 001: binary features, Hamming-distance class separability, one greedy visit.

    Privacy
    -------
    The same promise as `rfka`; only what is kept differs.
    """

    name: ClassVar[str] = "greedy-hamdist"
    paper: ClassVar[str] = "Zhang, Mohammed, Dave, Al Hasan: Feature selection under anonymity constraint, TDP 2017"
    summary: ClassVar[str] = "the comparator of the published rfka: greedy selection of values by Hamming distance"
    target_use: ClassVar[TargetUse] = TargetUse.REQUIRED

    bins: int = parameter(default=5, range="[2, inf)", help="cut numeric columns into this many equal-width bins first")
    max_suppression: float = parameter(default=0.0, range="[0, 1]", help="largest share of rows that may be left out")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._as_rfka()

    def _as_rfka(self) -> RFKA:
        return RFKA(
            k=self.k,
            l=self.l,
            entropy_l=self.entropy_l,
            recursive=self.recursive,
            t=self.t,
            alpha=self.alpha,
            features="one-hot",
            importance="hamdist",
            search="greedy",
            ladder="none",
            bins=self.bins,
            max_suppression=self.max_suppression,
        )

    def guarantee(self, policy: Policy) -> KAnonymity:
        """State the promise: k-anonymity and the diversity asked for."""
        return self._as_rfka().guarantee(policy)

    def release(
        self, source: Source, policy: Policy, *, engine: Engine, rng: Randomness, progress: Progress = no_progress
    ) -> Draft:
        """Select features by Hamming distance and draft the release."""
        return self._as_rfka().release(source, policy, engine=engine, rng=rng, progress=progress)
