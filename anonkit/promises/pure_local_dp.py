# SPDX-License-Identifier: Apache-2.0
"""Local differential privacy as a promise: the protection of rows randomized one by one, and its limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from anonkit.promises.cautious_figures import exact_words, times_words
from anonkit.promises.guarantee import PrivacyLoss, loss_json
from anonkit.promises.neighbouring_tables import REPLACE, Neighbours
from anonkit.promises.noise_promises import POPULATION, NoisePromise


@dataclass(frozen=True, kw_only=True)
class LocalDP(NoisePromise):
    """Every row was randomized by itself: what is shown is nearly as likely under any other true row."""

    kind: ClassVar[str] = "local-dp"
    redraw_costs: ClassVar[bool] = True
    shows_rows: ClassVar[bool] = True

    epsilon: float
    """Privacy loss of a whole row, realised, in [0, inf]."""
    attributes: Mapping[str, float]
    """Privacy loss of each answer, the target's too when it is randomized alone, realised."""
    one_answer: bool = False
    """True when a row answers one attribute only: the loss of a row is then the largest, else the sum."""
    clear: tuple[str, ...] = ()
    """Columns published unchanged."""
    unbounded: tuple[str, ...] = ()
    """Columns answered at random in which some answer is certain under one true value and impossible under another."""
    transformed: tuple[str, ...] = ()
    """Numbers published by a transformation for which no bound holds."""
    hidden_with: str | None = None
    """The target, when every answer hides it together with the attribute."""

    def loss(self) -> PrivacyLoss:
        """Return the loss of a whole row that is replaced, infinite where some column has no bound."""
        return PrivacyLoss(epsilon=self.epsilon, neighbours=Neighbours(adjacency=REPLACE))

    @property
    def _bounded(self) -> dict[str, float]:
        return {name: loss for name, loss in self.attributes.items() if not math.isinf(loss)}

    def _claim(self) -> str:
        if not math.isinf(self.epsilon):
            times = times_words(self.epsilon)
            which = "one attribute of it" if self.one_answer else "every attribute of it"
            return (
                f"Each row was randomized by itself, {which} answered at random: whatever a released row shows, it is "
                f"at most {times} times as likely under one true row as under any other. This holds against anybody, "
                "whatever else they know."
            )
        if not self._bounded:
            return "No bound holds for any released column: see what is not protected."
        worst = math.ceil(max(self._bounded.values()) * 1e5) / 1e5
        return (
            "A whole row is not protected by any bound. Taken alone, each of the columns "
            f"{', '.join(self._bounded)} was randomized: what it shows is at most e to the "
            f"{exact_words(worst)} times as likely under one true value as under any other. {self._unprotected_words()}"
        )

    def _unprotected_words(self) -> str:
        parts = []
        if self.clear:
            parts.append(f"Published unchanged: {', '.join(self.clear)}.")
        if self.unbounded:
            parts.append(f"Some answers rule true values out for certain: {', '.join(self.unbounded)}.")
        if self.transformed:
            parts.append(f"Multiplied and shifted at random, for which no bound holds: {', '.join(self.transformed)}.")
        return " ".join(parts)

    def formal(self) -> str:
        """Return the promise in the field's terms."""
        if math.isinf(self.epsilon):
            return (
                "No finite epsilon bounds the randomizer of a whole row. Taken alone, the answer of each column that "
                "has a finite loss is epsilon-locally differentially private with that loss: for all values x, x' of "
                "its domain and all answers y, Pr[M(x) = y] <= exp(epsilon) Pr[M(x') = y]."
                if self._bounded
                else "No finite epsilon bounds the randomizer of a row, or of any column."
            )
        rule = "the largest" if self.one_answer else "the sum"
        joint = f" Each answer is drawn for attribute and {self.hidden_with!r} together." if self.hidden_with else ""
        return (
            "The randomizer M of one row is epsilon-locally differentially private with epsilon = "
            f"{self.epsilon:.12g}: for all "
            "rows x, x' of the declared domains and all outputs y, Pr[M(x) = y] <= exp(epsilon) Pr[M(x') = y]. It is "
            f"{rule} of the losses of its answers.{joint}"
        )

    def not_protected(self) -> tuple[str, ...]:
        """Return the disclosures that the promise leaves possible."""
        out = []
        if self.clear:
            out.append(f"{', '.join(self.clear)}: published as they are, in the rows they belong to.")
        if self.unbounded:
            out.append(
                f"{', '.join(self.unbounded)}: some answers are never given under some true values, so that anyone "
                "who sees one rules those out for certain; a category without blind answers betrays its owners."
            )
        if self.transformed:
            out.append(
                f"{', '.join(self.transformed)}: no formal bound; zeros, signs and outliers can be learned from what "
                "is shown."
            )
        if self.epsilon > 5:
            out.append("A large privacy loss: several columns of one row together can point to its true values.")
        return (
            *out,
            POPULATION,
            "Rows are protected, not people: someone with several rows loses the stated privacy once for each.",
            "Repetition: every further release of the same rows with fresh noise adds its own loss.",
            "The number of rows is published.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee block of the report."""
        return self._block(
            {
                "epsilon": loss_json(self.epsilon),
                "one_answer_per_row": self.one_answer,
                "randomized": list(self._bounded),
                "clear": list(self.clear),
                "unbounded": list(self.unbounded),
                "transformed": list(self.transformed),
                "hidden_with_each_answer": self.hidden_with,
                "losses": [loss_json(loss) for loss in self.attributes.values()],
                "answers": list(self.attributes),
            }
        )

    @classmethod
    def from_dict(cls, block: Mapping[str, Any]) -> LocalDP:
        """Read the promise back from the guarantee block of a report."""
        parameters = block["parameters"]
        return cls(
            epsilon=float(parameters["epsilon"]),
            attributes=dict(zip(parameters["answers"], (float(loss) for loss in parameters["losses"]), strict=True)),
            one_answer=bool(parameters["one_answer_per_row"]),
            clear=tuple(parameters["clear"]),
            unbounded=tuple(parameters.get("unbounded", ())),
            transformed=tuple(parameters["transformed"]),
            hidden_with=parameters["hidden_with_each_answer"],
            **cls._rests_on(block),
        )


SHUFFLE_ASSUMPTION = (
    "The attacker sees the file of the release alone: neither an answer on its way into it nor the order of the rows, "
    "and every person has one row."
)
"""Condition of the central promise of a shuffled file, beside the local promise that needs none of it."""
SHUFFLE_BOUND = "privacy blanket (Balle, Bell, Gascón, Nissim, CRYPTO 2019), computed numerically"


FEWEST_SHUFFLED = 100
"""Rows below which nothing is claimed for the shuffled file: there are too few to hide among."""


def shuffle_obstacle(names: Sequence[str], unit: str | None) -> str:
    """Return the reason why the secret shuffle of the rows hides nobody.

    Parameters
    ----------
    names : sequence of str
        Released columns that are no answers with a finite epsilon.
    unit : str, optional
        The unit column.
    """
    if names:
        return (
            f"{', '.join(names)}: not every released column is an answer with a finite epsilon, so that a row can be "
            "known again by it"
        )
    return "no column is released" if unit is None else f"a person may have several rows (column {unit!r})"
