# SPDX-License-Identifier: Apache-2.0
"""Approximate differential privacy as a promise: epsilon, and a small probability delta that it does not cover.

Pure differential privacy bounds the probability of every outcome. The approximate one bounds it up to delta, which
buys much less noise where many figures are released: Gaussian noise, thresholds on noisy counts and advanced
composition all need it. The price is in what delta may cover. It allows for a release that publishes one row in the
open with probability delta; with delta = 1/n a release that shows a random row of the table keeps the promise. So delta
has to be far below one in the number of rows, and every sentence here says what it leaves open.

Source: Dwork, Kenthapadi, McSherry, Mironov, Naor, "Our data, ourselves: privacy via distributed noise generation",
EUROCRYPT 2006; the figures as in Dwork and Roth, "The algorithmic foundations of differential privacy", 2014.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.errors import ParameterError
from anonkit.promises.cautious_figures import rounded_up_words, times_words
from anonkit.promises.guarantee import PrivacyLoss
from anonkit.promises.noise_promises import HOLDS_FOR_ALL, LARGE_LOSS, OWNER_BESIDES, POPULATION, CentralNoisePromise


@dataclass(frozen=True, kw_only=True)
class ApproximateDP(CentralNoisePromise):
    """Nothing in the release depends much on any one row, or person, except with probability delta."""

    kind: ClassVar[str] = "approximate-dp"

    delta: float
    """Probability that epsilon does not cover, realised, in (0, 1). Without it `CentralDP` is the promise."""

    def __post_init__(self) -> None:
        if not (0 < self.epsilon < math.inf and 0 < self.delta < 1):
            raise ParameterError(
                f"an approximate promise needs epsilon ({self.epsilon:g}) in (0, inf) and delta ({self.delta:g}) in "
                "(0, 1)"
            )

    def loss(self) -> PrivacyLoss:
        """Return the loss of one unit of privacy; releases of one dataset add up, in epsilon and in delta."""
        return self._loss_of_neighbours(self.delta)

    def _claim(self) -> str:
        times = times_words(self.epsilon)
        return (
            f"{self._change} changes the probability of any result by at most a factor of {times}, plus "
            f"{_above(self.delta)}. That rest is not bounded: with so small a probability the release may show a row "
            f"as it is. {HOLDS_FOR_ALL}"
        )

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        return (
            f"The release M is (epsilon, delta)-differentially private with epsilon = {self.epsilon:.12g} and delta = "
            f"{self.delta:.12g}: for all tables D, D' over the declared domains, D' being D with {self._neighbours}, "
            "and all sets S of outputs, Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        out = [
            f"The rest: with a probability of up to {_above(self.delta)} a row may be shown outright. Over n rows "
            "that is n times as likely to happen to somebody, so delta has to be far below 1/n."
        ]
        if self.epsilon > 5:
            out.append(LARGE_LOSS)
        if self.unit is None:
            out.append(
                "Rows are protected, not people: someone with several rows loses epsilon once a row, and a delta that "
                "grows "
                "faster than their number."
            )
        else:
            out.append(
                f"Groups: several values of {self.unit!r} together, such as a family, lose epsilon once each, and a "
                "delta that grows faster than their number."
            )
        return (
            *out,
            POPULATION,
            "Repetition: every further release of the same rows adds its own epsilon and its own delta.",
            OWNER_BESIDES,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return self._central_block(self.delta)

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> ApproximateDP:
        """Read the promise back from the guarantee block of a report."""
        return cls(delta=float(block["parameters"]["delta"]), **cls._central_fields(block))


def _above(probability: float) -> str:
    """Return a probability as text with two digits, never below what it is."""
    if probability >= 0.1:
        return f"{math.ceil(probability * 100) / 100:.2f}"
    return rounded_up_words(probability)
