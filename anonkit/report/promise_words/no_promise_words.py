# SPDX-License-Identifier: Apache-2.0
"""Page wording for a release without a promise: its absence, in place of every promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from anonkit.report.promise_words.phrases import Json, Phrase, PromiseVerdict, passed_words, plain


class NoPromiseWords:
    """Words for a release without a promise."""

    kind: ClassVar[str] = "none"
    needs_public_domains: ClassVar[bool] = False

    def headline(self, promise: Json) -> Phrase:
        """Return that there is no promise."""
        return Phrase("No formal guarantee", is_bad=True)

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return no figure: any figure there would look like a bound."""
        return []

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return that nothing is claimed."""
        rest = passed_words(n_checks, "the table's form")
        return PromiseVerdict(stressed="Nothing is claimed.", rest=rest, is_good=False)

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Yield that nobody is protected."""
        yield plain("Nobody is protected: nothing is claimed.")

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Ask who may see such data."""
        yield plain("The recipients may see data without a formal guarantee, and are bound by other means.")

    def uncounted_risk(self, promise: Json) -> str:
        """Return that the risk may be as large as it can be."""
        return "nothing is promised about re-identification. Treat the risk as that of the source table."

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return nothing: there is nothing to check."""
        return []
