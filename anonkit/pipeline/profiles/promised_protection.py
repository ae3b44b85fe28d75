# SPDX-License-Identifier: Apache-2.0
"""Protection and risk of a report, in the words that several profiles have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from anonkit.errors import option
from anonkit.pipeline.profiles.profile import Item, figure, listed


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
    """Return what is learned of sensitive values, where classes are promised."""
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
