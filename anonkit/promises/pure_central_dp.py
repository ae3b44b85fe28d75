# SPDX-License-Identifier: Apache-2.0
"""Central differential privacy as a promise: the protection that a release by a trusted owner gives, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.promises.cautious_figures import times_words
from anonkit.promises.guarantee import PrivacyLoss
from anonkit.promises.noise_promises import HOLDS_FOR_ALL, LARGE_LOSS, OWNER_BESIDES, POPULATION, CentralNoisePromise


@dataclass(frozen=True, kw_only=True)
class CentralDP(CentralNoisePromise):
    """Nothing in the release depends much on any one row, or person: pure epsilon, delta 0."""

    kind: ClassVar[str] = "central-dp"

    published_claim: str | None = None
    """Claim of the method's paper, where it differs from what holds."""

    def loss(self) -> PrivacyLoss:
        """Return the loss of one unit of privacy; releases of one dataset add up."""
        return self._loss_of_neighbours()

    def _claim(self) -> str:
        times = times_words(self.epsilon)
        text = f"{self._change} changes the probability of any result by at most a factor of {times}. {HOLDS_FOR_ALL}"
        return text if self.published_claim is None else f"{text} {self.published_claim}"

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        return (
            f"The release M is epsilon-differentially private with epsilon = {self.epsilon:.12g} and delta = 0: for "
            f"all tables D, D' over the declared domains, D' being D with {self._neighbours}, and all sets S of "
            "outputs, Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S]."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        out = []
        if self.epsilon > 5:
            out.append(LARGE_LOSS)
        if self.unit is None:
            out.append(
                "Rows are protected, not people: someone with several rows loses the stated privacy once for each."
            )
        else:
            out.append(f"Groups: several values of {self.unit!r} together, such as a family, lose it once each.")
        return (
            *out,
            POPULATION,
            "Repetition: every further release of the same rows adds its own loss.",
            OWNER_BESIDES,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return self._central_block(0, published_claim=self.published_claim)

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> CentralDP:
        """Read the promise back from the guarantee block of a report."""
        return cls(published_claim=block["parameters"]["published_claim"], **cls._central_fields(block))
