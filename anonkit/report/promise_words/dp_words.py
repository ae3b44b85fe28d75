# SPDX-License-Identifier: Apache-2.0
"""Page wording for every promise that bounds a privacy loss, local or central.

Page wording for approximate differential privacy: the loss, and delta against the number of rows or people.

Page wording for local differential privacy, also where only some columns have a bound.

Page wording for central differential privacy with delta 0.

Page wording for true rows under k-anonymity and differential privacy: what was counted, and what follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from anonkit.promises.guarantee import REPLACE
from anonkit.report.promise_words.class_words import Json, Phrase, PromiseVerdict, capital, named, passed_words, plain
from anonkit.report.wording import bound, delta_words, most_words, number, one_in

_LARGEST_FACTOR = 1_000_000
"""A factor beyond it is given as this bound: no figure beyond it protects anybody."""
_MOST_SHOWN = 700
"""Above it e to the epsilon is no float."""


class LossWords:
    """Words shared by the promises of differential privacy: each has its kind and its name."""

    kind: ClassVar[str]
    name: ClassVar[str]
    """The promise as the field calls it."""
    needs_public_domains: ClassVar[bool] = True

    def headline(self, promise: Json) -> Phrase:
        """Name the promise."""
        return Phrase(self.name)

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return the loss, and what it means for the probability of an outcome where that is bounded."""
        parameters, unit = report["guarantee"]["parameters"], _short_unit(report)
        epsilon = parameters.get("epsilon", report["budget"]["epsilon"])
        delta = parameters.get("delta", report["budget"]["delta"])
        limit = "without a bound" if epsilon == "inf" else "at most"
        out = [(f"ε = {bound(epsilon)}", f"privacy loss, {limit}, per {unit}")]
        if delta:
            out.append((f"δ = {bound(delta)}", "probability left outside the bound, at most"))
        elif isinstance(epsilon, int | float) and epsilon < _MOST_SHOWN:
            factor = math.exp(epsilon)
            factor_words = number(math.ceil(factor)) if factor >= 100 else f"{math.ceil(factor * 100) / 100:g}"
            factor_words = "over a million" if factor > _LARGEST_FACTOR else factor_words
            out.append(
                (f"× {factor_words}", f"most that one {unit} changes the probability of any outcome (e to the ε)")
            )
        return [*out, (number(report["rows"].get("out")), "rows released")]

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that the bound follows from how the table was made, and on what condition."""
        read_off = passed_words(n_checks, "what can be read off it")
        if promise["parameters"].get("domains_from_data"):
            return PromiseVerdict(
                stressed="Holds only if the domains that were read from the table are public knowledge.",
                rest=f" Then it follows from how the table was made.{read_off}",
                is_good=False,
            )
        return PromiseVerdict(
            stressed="✓ Holds by construction:",
            rest=f" it follows from how the table was made and cannot be read off the table.{read_off}",
            is_good=True,
        )

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Name the unit of privacy and the neighbouring tables."""
        yield plain(f"{capital(str(promise['unit'] or 'one row'))} is protected.")
        yield plain(f"ε limits how much the release can depend on {_what_differs(promise['adjacency'])}.")

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the questions on the loss, the domains and the unit of privacy."""
        promise = report["guarantee"]
        yield plain(
            "The privacy loss ε is acceptable for these data and these people, together with earlier releases about "
            "them."
        )
        yield domains_question(promise)
        yield [
            Phrase("The unit of privacy ("),
            Phrase(str(promise["unit"]), is_name=True),
            Phrase(") is what needs protection: nobody has more in the table than it covers."),
        ]

    def uncounted_risk(self, promise: Json) -> str:
        """Return that the loss bounds re-identification as everything else."""
        return (
            "what the release adds to an attacker's knowledge is bounded by the ε above, whatever else the attacker "
            "knows, and by nothing else."
        )

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return nothing: a bound that holds by construction cannot be checked on the table."""
        return []


def domains_question(promise: Json) -> list[Phrase]:
    """Yield the question if the domains in use are public; loudly when they were read from the table."""
    names = promise["parameters"].get("domains_from_data")
    if not names:
        return plain("The categories and bounds in use are public knowledge, and were not read from the table.")
    return [
        Phrase("The domains of ", is_bad=True),
        *named(names, is_bad=True),
        Phrase(" were read from the table:", is_bad=True),
        Phrase(" they are public knowledge all the same. Else nothing here holds."),
    ]


def _what_differs(adjacency: str | None) -> str:
    """Return the fact of the protected that the release may depend on only so much."""
    if adjacency == REPLACE:
        return f"its values ({adjacency})"
    return f"whether it is in the table ({adjacency})"


def _short_unit(report: Json) -> str:
    return str(report["guarantee"]["unit"] or "record").removeprefix("one ")


class ApproximateDPWords(LossWords):
    """Words for epsilon with a delta. Nobody should sign without having compared delta with how many are protected."""

    kind: ClassVar[str] = "approximate-dp"
    name: ClassVar[str] = "Approximate differential privacy"

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the question on delta first: at one in the number of those protected the promise allows showing one."""
        if warning := delta_words(report):
            wrong, follows = warning
            yield [Phrase(wrong, is_bad=True), Phrase(follows)]
        else:
            yield plain(most_words(report))
        yield from super().questions(report)

    def uncounted_risk(self, promise: Json) -> str:
        """Return that the loss bounds re-identification, but for delta."""
        delta = bound(promise["parameters"]["delta"])
        return (
            "what the release adds to an attacker's knowledge is bounded by the ε above, whatever else the attacker "
            f"knows, except with a probability of δ = {delta}."
        )


class LocalDPWords(LossWords):
    """Words for randomized rows. Without a bound for a whole row they replace every bound by this fact."""

    kind: ClassVar[str] = "local-dp"
    name: ClassVar[str] = "Local differential privacy"

    def headline(self, promise: Json) -> Phrase:
        """Name the promise; no bound for a whole row is none for a person."""
        if _is_boundless(promise):
            return Phrase(f"{self.name}, but no bound for a whole row", is_bad=True)
        return super().headline(promise)

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that the bound follows from how the table was made, or that there is none."""
        if _is_boundless(promise):
            rest = passed_words(n_checks, "what can be read off the table")
            return PromiseVerdict(stressed="Nothing is claimed for a whole row.", rest=rest, is_good=False)
        return super().verdict(promise, n_checks)

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Name the unit of privacy and the neighbouring tables."""
        if _is_boundless(promise):
            yield plain("No whole row is protected: at most single columns, each taken alone.")
            return
        yield from super().whose(promise)

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the questions on the loss, or on who may see rows that nothing bounds."""
        if _is_boundless(report["guarantee"]):
            yield plain("The recipients may see rows that no ε protects as a whole, and are bound by other means.")
            yield domains_question(report["guarantee"])
        else:
            yield from super().questions(report)

    def uncounted_risk(self, promise: Json) -> str:
        """Return the bound on re-identification, if there is one."""
        if _is_boundless(promise):
            return (
                "no ε bounds what a whole row adds to an attacker's knowledge. Treat its risk as that of the source "
                "table."
            )
        return super().uncounted_risk(promise)


def _is_boundless(promise: Json) -> bool:
    return bool(promise["parameters"].get("epsilon") == "inf")


class CentralDPWords(LossWords):
    """Words for pure epsilon under a trusted owner: those of every bound say all of it."""

    kind: ClassVar[str] = "central-dp"
    name: ClassVar[str] = "Central differential privacy"


class AnonymousDPWords(ApproximateDPWords):
    """Words for both at once: classes that can be counted, and a loss that cannot."""

    kind: ClassVar[str] = "k-anonymous-dp"
    name: ClassVar[str] = "k-anonymity and differential privacy"

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return k, the smallest class found, and the loss."""
        parameters, risk = report["guarantee"]["parameters"], report["disclosure_risk"]
        out = [(f"k = {number(parameters['k'])}", "alike rows at least, in all columns")]
        if risk:
            out.append((number(risk["k_anonymity"]["k"]), "rows in the smallest class found"))
            out.append((one_in(risk["prosecutor"]["max"]), "highest risk of re-identification"))
        return [*out, *super().figures(report)]

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that classes were counted, and what follows from how rows were drawn."""
        loss = super().verdict(promise, n_checks)
        if not loss.is_good:
            return loss
        rest = f" the loss follows from how rows were drawn; {n_checks} of {n_checks} checks passed."
        return PromiseVerdict(stressed="✓ Classes are counted on the released table;", rest=rest, is_good=True)

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield the questions on the loss, and on rows being true ones."""
        yield from super().questions(report)
        yield plain("The receiver needs true rows with coarser values, and that is acceptable.")

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return the checks that can be made and were not."""
        return [name for name in ("k_anonymity", "alike_rows", "epsilon", "delta") if name not in names]
