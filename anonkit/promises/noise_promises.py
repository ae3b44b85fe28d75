# SPDX-License-Identifier: Apache-2.0
"""The common part of promises by noise: their conditions, and the unit and limits of the central ones.

They hold by construction, on the assumption that what was declared is public. So each states its conditions
first, and none has anything that could be counted on the released table.

Figures in the sentences of a promise and of a budget: exact as requested, or rounded to the cautious side.

Local differential privacy as a promise: the protection of rows randomized one by one, and its limits.

Central differential privacy as a promise: the protection that a release by a trusted owner gives, and its limits.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import ClassVar, Self

from anonkit.documents import Loss, ReportPart, as_part
from anonkit.promises.guarantee import (
    ADD_OR_REMOVE,
    LOOKED_AT,
    REPLACE,
    Guarantee,
    GuaranteeBlock,
    Neighbours,
    PrivacyLoss,
    conditional_words,
)

_LARGEST_LOG = 700.0
"""Beyond its exponential there is no double."""


def times_words(epsilon: float) -> str:
    """Return e to the power of epsilon as text, never below what it is."""
    if epsilon > _LARGEST_LOG:
        return f"{_two_digits_up(Decimal(epsilon).exp()):.1e}"
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100) / 100:,.2f}" if factor < 1e6 else rounded_up_words(factor)


def rounded_up_words(value: float) -> str:
    """Return a positive number with two digits and a power of ten, never below what it is."""
    return f"{float(_two_digits_up(Decimal(value * (1 - 1e-12)))):.1e}"


def _two_digits_up(value: Decimal) -> Decimal:
    digit = Decimal(10) ** (value.adjusted() - 1)
    return (value / digit).to_integral_value(ROUND_CEILING) * digit


def exact_words(value: float) -> str:
    """Return a required number without a power of ten: a rounded one could promise more."""
    text = f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_percent(share: float) -> str:
    """Return a share as the percentage that it is."""
    text = f"{Decimal(repr(share)) * 100:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


_DIGITS = 6
"""Significant digits of a loss in words."""


def loss_words(loss: float) -> str:
    """Return a loss that is spent or needed, or a delta, with six digits, never below what it is."""
    return _rounded(loss, ROUND_CEILING)


def allowance_words(loss: float) -> str:
    """Return a loss that is allowed or left with six digits, never above what it is."""
    return _rounded(loss, ROUND_FLOOR)


def _rounded(loss: float, direction: str) -> str:
    if math.isinf(loss):
        return "without bound"
    exact = Decimal(repr(loss))
    if not exact:
        return "0"
    digit = Decimal(10) ** (exact.adjusted() - _DIGITS + 1)
    return f"{float((exact / digit).to_integral_value(direction) * digit):.{_DIGITS}g}"


POPULATION = "General patterns: what the table shows about people in general can be inferred about each person too."
OWNER_BESIDES = "What the owner does with the table besides: only the files of the release are covered."
COVERS_ALL_FILES = "This holds for all files of the release together, whatever else an attacker knows."
LARGE_LOSS = "A large privacy loss: what the release shows can depend on single rows visibly."


def after_a_look(promise: Guarantee) -> Guarantee:
    """Return a promise that says that its choices followed from the table; one of classes is about it anyway."""
    if promise.loss() is None:
        return promise
    rests_on = (*promise.to_dict()["assumptions"], LOOKED_AT)
    return replace(promise, assumptions=rests_on)  # type: ignore[type-var]


@dataclass(frozen=True, kw_only=True)
class NoisePromise(GuaranteeBlock, Guarantee):
    """A promise about how a release was drawn, whatever the table: no cell of it is read in the light of others."""

    cell_by_cell: ClassVar[bool] = True

    assumptions: tuple[str, ...] = ()
    conditional: tuple[str, ...] = ()
    """Columns whose domain was read from the table: the promise holds only if it is public all the same."""
    identifiers_from_data: tuple[str, ...] = ()
    """Columns that were left out because their cells look like identifiers: as above."""

    @property
    def unit_words(self) -> str:
        """The unit of protection, in words."""
        return "one row"

    @property
    def counted_classes(self) -> None:
        """Noise cannot be counted on a table: what was drawn is accounted for in the params instead."""
        return None

    def statement(self) -> str:
        """Return the promise in plain words."""
        return conditional_words(self.conditional, self.identifiers_from_data) + self._claim()

    @abstractmethod
    def _claim(self) -> str:
        """Return the claim, which follows the conditions of the promise."""


CONDITIONS = ("domains_from_data=conditional", "identifiers_from_data", "adjacency", "assumptions")
"""Keys of every promise of noise, after its own."""
CENTRAL = ("epsilon", "delta", "unit_column=unit", "rows_per_unit")
"""Keys of every promise about the release as a whole, before its own."""


@dataclass(frozen=True, kw_only=True)
class CentralNoisePromise(NoisePromise, keys=(*CENTRAL, *CONDITIONS)):
    """A promise of an owner who sees the whole table: about neighbouring tables, and the release as a whole."""

    redraw_costs: ClassVar[bool] = False
    shows_rows: ClassVar[bool] = False

    epsilon: float
    """Privacy loss of the unit of privacy, realised, in (0, inf)."""
    adjacency: str = ADD_OR_REMOVE
    """Neighbour relation of tables: `ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Name of the column whose values are the people protected; None when single rows are."""
    rows_per_unit: int = 1
    """Most rows of one unit that were used; the others were left out before anything was counted."""

    def _loss_of_neighbours(self, delta: float = 0.0) -> PrivacyLoss:
        """Return the loss with whom it is about; a cap on the rows of a person was enforced where there is a unit."""
        return PrivacyLoss(
            epsilon=self.epsilon,
            delta=delta,
            neighbours=Neighbours(adjacency=self.adjacency, unit=self.unit),
            cap=None if self.unit is None else self.rows_per_unit,
        )

    @property
    def _change(self) -> str:
        whose = "one row" if self.unit is None else f"all rows of one value of {self.unit!r}"
        return f"{'Replacing' if self.adjacency == REPLACE else 'Adding or removing'} {whose}"

    @property
    def _neighbours(self) -> str:
        return Neighbours(adjacency=self.adjacency, unit=self.unit).changed

    @property
    def unit_words(self) -> str:
        """The unit of protection, in words."""
        return "one row" if self.unit is None else f"one value of column {self.unit!r}"


@dataclass(frozen=True, kw_only=True)
class AnswerLosses(ReportPart):
    """The losses of answers, and the columns that were answered."""

    losses: tuple[Loss, ...]
    answers: tuple[str, ...]

    @classmethod
    def of(cls, attributes: Mapping[str, float]) -> Self:
        """Return the losses of some columns."""
        return cls(losses=tuple(attributes.values()), answers=tuple(attributes))

    @property
    def value(self) -> dict[str, float]:
        """Loss of each column."""
        return dict(zip(self.answers, self.losses, strict=True))


@dataclass(frozen=True, kw_only=True)
class LocalDP(
    NoisePromise,
    keys=(
        "epsilon",
        "one_answer_per_row=one_answer",
        "randomized",
        "clear",
        "unbounded",
        "transformed",
        "hidden_with_each_answer=hidden_with",
        "**attributes",
        *CONDITIONS,
    ),
):
    """Every row was randomized by itself: what is shown is nearly as likely under any other true row."""

    kind: ClassVar[str] = "local-dp"
    redraw_costs: ClassVar[bool] = True
    shows_rows: ClassVar[bool] = True
    adjacency: ClassVar[str] = REPLACE

    epsilon: Loss
    """Privacy loss of a whole row, realised, in [0, inf]."""
    attributes: Mapping[str, float] = field(metadata=as_part(AnswerLosses))
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
    def randomized(self) -> tuple[str, ...]:
        """Columns whose answers have a bound."""
        return tuple(self._bounded)

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


@dataclass(frozen=True, kw_only=True)
class CentralDP(CentralNoisePromise, keys=(*CENTRAL, "published_claim", *CONDITIONS)):
    """Nothing in the release depends much on any one row, or person: pure epsilon, delta 0."""

    kind: ClassVar[str] = "central-dp"
    delta: ClassVar[int] = 0

    published_claim: str | None = None
    """Claim of the method's paper, where it differs from what holds."""

    def loss(self) -> PrivacyLoss:
        """Return the loss of one unit of privacy; releases of one dataset add up."""
        return self._loss_of_neighbours()

    def _claim(self) -> str:
        times = times_words(self.epsilon)
        text = (
            f"{self._change} changes the probability of any result by at most a factor of {times}. {COVERS_ALL_FILES}"
        )
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
