# SPDX-License-Identifier: Apache-2.0
"""Page wording for approximate differential privacy: the loss, and delta against the number of rows or people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from anonkit.report.promise_words.loss_words import LossWords
from anonkit.report.promise_words.phrases import Json, Phrase, plain
from anonkit.report.wording import bound, delta_words, most_words


class ApproximateDPWords(LossWords):
    """Words for epsilon with a delta. Nobody should sign without having compared delta with how many are protected."""

    kind: ClassVar[str] = "approximate-dp"
    name: ClassVar[str] = "Approximate differential privacy"

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Ask about delta first: at one in the number of those protected the promise allows for showing one."""
        if told := delta_words(report):
            wrong, follows = told
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
