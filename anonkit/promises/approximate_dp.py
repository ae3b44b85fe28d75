# SPDX-License-Identifier: Apache-2.0
"""Approximate differential privacy as a promise: epsilon, and a small probability delta that it does not cover.

Pure differential privacy bounds the probability of every outcome. The approximate one bounds it up to delta, which
buys much less noise where many figures are released: Gaussian noise, thresholds on noisy counts and advanced
composition all need it. The price is in what delta may cover. It allows for a release that publishes one row in the
open with probability delta; with delta = 1/n a release that shows a random row of the table keeps the promise. So delta
has to be far below one in the number of rows, and every sentence here says what it leaves open.

Source: Dwork, Kenthapadi, McSherry, Mironov, Naor, "Our data, ourselves: privacy via distributed noise generation",
EUROCRYPT 2006; the figures as in Dwork and Roth, "The algorithmic foundations of differential privacy", 2014.

Classes of k and approximate differential privacy at once: true rows, drawn by coins, shown where k are alike.

Two promises that are usually made apart hold for one table. Classes can be counted on it, so that the promise returns
them as `counted_classes`. That no class, and no choice of how rows are shown, depends much on any one row cannot be
counted: it follows from how the rows were drawn, and is what the ledger books. Unlike under the other central promises
a released row *is* somebody's row, generalized, so that it makes sense to look for people in it.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy: or, k-anonymization meets differential
privacy", ASIACCS 2012; Bild, Kuhn, Prasser, "SafePub: a truthful data anonymization algorithm with strong privacy
guarantees", PoPETs 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from anonkit.errors import ParameterError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import PrivacyLoss
from anonkit.promises.noise_promises import (
    CENTRAL,
    CONDITIONS,
    COVERS_ALL_FILES,
    LARGE_LOSS,
    OWNER_BESIDES,
    POPULATION,
    CentralNoisePromise,
    rounded_up_words,
    times_words,
)


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
            f"as it is. {COVERS_ALL_FILES}"
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


def _above(probability: float) -> str:
    """Return a probability as text with two digits, never below what it is."""
    if probability >= 0.1:
        return f"{math.ceil(probability * 100) / 100:.2f}"
    return rounded_up_words(probability)


@dataclass(frozen=True, kw_only=True)
class AnonymousDP(ApproximateDP, keys=(*CENTRAL, "k", "quasi_identifiers", *CONDITIONS)):
    """Every released row is alike k others or more, and nothing in the release depends much on any one row."""

    kind: ClassVar[str] = "k-anonymous-dp"
    shows_rows: ClassVar[bool] = True

    k: int
    """Fewest released rows that are alike in all columns."""
    quasi_identifiers: tuple[str, ...]
    """Every column that may be shown but the target, sorted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < 2:
            raise ParameterError(f"k ({self.k}) must be 2 or more")

    @property
    def counted_classes(self) -> KAnonymity:  # type: ignore[override]
        """The promise that a recount checks on the table: classes of k."""
        return KAnonymity(k=self.k, quasi_identifiers=self.quasi_identifiers, may_be_empty=True)

    def _claim(self) -> str:
        return (
            f"Every released row is true, with coarser values, and at least {self.k} released rows are alike in all "
            f"columns, "
            f"the target among them. {super()._claim()}"
        )

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        return (
            f"{super().formal()} Every non-empty equivalence class of the released table under all of its columns "
            f"holds at least k = {self.k} rows, each of them a row of the source under one full-domain generalization."
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        return (
            *super().not_protected(),
            "Truth: the rows that are shown are true. Anyone who knows from elsewhere that a person is among them "
            "learns what the matching rows say; epsilon limits only what the release shows about whether they are.",
        )
