# SPDX-License-Identifier: Apache-2.0
"""Page wording for every promise that bounds a privacy loss, local or central."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from anonkit.promises.neighbouring_tables import REPLACE
from anonkit.report.promise_words.phrases import Json, Phrase, PromiseVerdict, capital, named, passed_words, plain
from anonkit.report.wording import bound, number

_MOST_TOLD = 1_000_000
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
            factor_words = "over a million" if factor > _MOST_TOLD else factor_words
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
        """Ask about the loss, the domains and the unit of privacy."""
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
    """Ask whether the domains in use are public; loudly when they were read from the table."""
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
