# SPDX-License-Identifier: Apache-2.0
"""Protection and risk of a report, in the words that several profiles have.

A profile: the requirements of a rule or standard, each with what the files of a release show of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar

from anonkit.documents import ReportPart
from anonkit.errors import in_python, option

NO_VERDICT = "It is evidence for a person who decides, and no verdict of law."


class EvidenceState(StrEnum):
    """The evidence of a release's files on a requirement."""

    EVIDENCE = "evidence"
    """They speak for it."""
    OPEN = "open"
    """They cannot show it: a person has to."""
    AGAINST = "against"
    """They speak against it."""


@dataclass(frozen=True, kw_only=True)
class Item(ReportPart):
    """One requirement."""

    requirement: str
    state: EvidenceState
    evidence: str
    """One or two sentences; names of columns and figures of the report, no cell."""

    @classmethod
    def shown(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak for."""
        return cls(requirement=requirement, state=EvidenceState.EVIDENCE, evidence=evidence)

    @classmethod
    def open(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that a person has to show."""
        return cls(requirement=requirement, state=EvidenceState.OPEN, evidence=evidence)

    @classmethod
    def against(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak against."""
        return cls(requirement=requirement, state=EvidenceState.AGAINST, evidence=evidence)


@dataclass(frozen=True, kw_only=True)
class Profile(ReportPart, keys=("name", "title", "source", "note", "counts", "items=spoken_items")):
    """A checklist with evidence."""

    name: str
    title: str
    source: str
    """The text that the requirements are from."""
    items: Sequence[Item]
    note: ClassVar[str] = NO_VERDICT

    def count(self, state: EvidenceState) -> int:
        """Return the number of requirements in a state."""
        return sum(item.state is state for item in self.items)

    @property
    def spoken_items(self) -> tuple[Item, ...]:
        """The requirements, options named as callers from Python write them."""
        return tuple(replace(item, evidence=in_python(item.evidence)) for item in self.items)

    @property
    def counts(self) -> dict[str, int]:
        """Number of requirements in each state."""
        return {state.value: self.count(state) for state in EvidenceState}

    def in_words(self, spoken: Callable[[str], str]) -> Profile:
        """Return the profile with options named as its reader writes them."""
        return replace(self, items=tuple(replace(item, evidence=spoken(item.evidence)) for item in self.items))


def listed(names: Iterable[str], *, most: int = 6) -> str:
    """Return names as a list in a sentence, cut where they are many."""
    names = [repr(name) for name in names]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def figure(report: Mapping[str, Any], *keys: str) -> Any:
    """Return an entry of a nested report; None where one of the keys is not there."""
    value: Any = report
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_differentially_private(report: Mapping[str, Any]) -> bool:
    """Return True if an ε is promised."""
    return figure(report, "budget", "epsilon") is not None


def columns_left_out(report: Mapping[str, Any]) -> str:
    """Return the identifiers of the source that were left out, as the end of a sentence."""
    names = [
        column["name"]
        for column in report["columns"]
        if column.get("role") in ("identifier", "unit") and column.get("action") == "dropped"
    ]
    return f"; {listed(names)} of the source {'were' if len(names) > 1 else 'was'} left out" if names else ""


def promise_words(report: Mapping[str, Any]) -> str:
    """Return the promise in one sentence, with its figure and its unit."""
    epsilon, unit = figure(report, "budget", "epsilon"), report["guarantee"]["unit"]
    if epsilon is not None:
        delta = figure(report, "budget", "delta")
        more = f", delta {delta:g}" if delta else ""
        return f"Differential privacy with epsilon {epsilon:.4g}{more}, for {unit}."
    k = figure(report, "guarantee", "parameters", "k")
    return f"k-anonymity with k = {k}, for {unit}." if k is not None else "Nothing is promised by a parameter."


def risk_words(report: Mapping[str, Any]) -> str:
    """Return the risk of re-identification in figures: of classes, or what ε bounds."""
    epsilon = figure(report, "budget", "epsilon")
    largest = figure(report, "disclosure_risk", "prosecutor", "max")
    if largest:
        mean = figure(report, "disclosure_risk", "prosecutor", "mean") or largest
        words = f"1 in {1 / largest:.0f} at most, on average 1 in {1 / mean:.0f}"
        return f"By its quasi-identifiers a row is found with {words}."
    if epsilon is not None:
        return (
            f"No output is more than {math.exp(min(epsilon, 700)):.3g} times as likely with the data of one person as "
            "without them, or with others in their place."
        )
    return "The report has no figure of it."


def population_words(report: Mapping[str, Any]) -> str:
    """Return the risk in the population, where the report has it."""
    basis = figure(report, "disclosure_risk", "population", "basis")
    if basis in (None, "none"):
        either = f"{option('population')} or {option('sampling_fraction')}"
        return f"The report has no risk in the population: {either} adds it."
    return f"The report has the risk in the population too, by its {basis}."


def recipients_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return for whom the table is meant, as declared."""
    recipients = report.get("recipients") or []
    if recipients:
        return Item.shown(requirement, f"Declared: {', '.join(recipients)}.")
    return Item.open(
        requirement, f"Nobody is declared: `recipients` of `[publication]` in the policy, or {option('recipients')}."
    )


def columns_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return the number of columns of the source that are released."""
    released = [column["name"] for column in report["columns"] if column.get("action") != "dropped"]
    return Item.shown(
        requirement,
        f"{len(released)} of {len(report['columns'])} columns of the source are released. The owner says whether "
        "each is needed.",
    )


def ledger_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return True if the release is booked with the earlier ones of its dataset."""
    if figure(report, "ledger", "booked"):
        number = figure(report, "ledger", "release_of_dataset")
        return Item.shown(requirement, f"Booked in the owner's ledger as release {number} of the dataset.")
    return Item.open(requirement, "No ledger has this release: other releases of the same people are not added up.")


def clear_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return the inference about sensitive values, where classes are promised."""
    values = figure(report, "disclosure_risk", "by_value") or {}
    most = {name: max((one["highest_confidence"] for one in rows), default=0.0) for name, rows in values.items()}
    if is_differentially_private(report):
        return Item.shown(requirement, f"{risk_words(report)} That bounds what is inferred of one person's values.")
    if not most:
        return Item.open(
            requirement, f"No sensitive column is declared: {option('sensitive')} names what must not be learned."
        )
    words = ", ".join(f"{name!r} {share:.0%}" for name, share in sorted(most.items())[:6])
    return Item.shown(requirement, f"Largest confidence in one value within a group, column by column: {words}.")
