# SPDX-License-Identifier: Apache-2.0
"""Page wording for local differential privacy, also where only some columns have a bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from anonkit.report.promise_words.loss_words import LossWords, domains_question
from anonkit.report.promise_words.phrases import Json, Phrase, PromiseVerdict, passed_words, plain


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
        """Ask about the loss, or who may see rows that nothing bounds."""
        if _is_boundless(report["guarantee"]):
            yield plain("The recipients may see rows that no ε protects as a whole, and are bound by other means.")
            yield domains_question(report["guarantee"])
        else:
            yield from super().questions(report)

    def uncounted_risk(self, promise: Json) -> str:
        """Return what bounds re-identification, if anything."""
        if _is_boundless(promise):
            return (
                "no ε bounds what a whole row adds to an attacker's knowledge. Treat its risk as that of the source "
                "table."
            )
        return super().uncounted_risk(promise)


def _is_boundless(promise: Json) -> bool:
    return bool(promise["parameters"].get("epsilon") == "inf")
