# SPDX-License-Identifier: Apache-2.0
"""Page wording for true rows under k-anonymity and differential privacy: what was counted, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from anonkit.report.promise_words.approximate_dp_words import ApproximateDPWords
from anonkit.report.promise_words.phrases import Json, Phrase, PromiseVerdict, plain
from anonkit.report.wording import number, one_in


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
        """Ask about the loss, and that rows are true ones."""
        yield from super().questions(report)
        yield plain("The receiver needs true rows with coarser values, and that is acceptable.")

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return the checks that can be made and were not."""
        return [name for name in ("k_anonymity", "alike_rows", "epsilon", "delta") if name not in names]
