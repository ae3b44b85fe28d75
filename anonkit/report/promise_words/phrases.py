# SPDX-License-Identifier: Apache-2.0
"""The interface of a promise's wording, and the phrases that several promises share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Phrase:
    """A piece of a sentence. The template escapes it: the words never write markup, since names come from the table."""

    text: str
    is_name: bool = False
    """True for the name of a column, which is set apart from the direction of the text around it."""
    is_bad: bool = False
    """True for what the reader must not overlook."""


@dataclass(frozen=True, kw_only=True)
class PromiseVerdict:
    """The verdict on the promise in one line: the stressed part, and the rest of the line."""

    stressed: str
    rest: str
    is_good: bool


class PromiseWords(Protocol):
    """The words of one kind of promise."""

    kind: ClassVar[str]
    needs_public_domains: ClassVar[bool]
    """True when the promise holds only while the domains in use are public knowledge, so that somebody vouches."""

    def headline(self, promise: Json) -> Phrase:
        """Name the promise; bad when it protects no row as a whole."""
        ...

    def figures(self, report: Json) -> list[tuple[str, str]]:
        """Return the few figures beside the claim: (figure, what it is)."""
        ...

    def verdict(self, promise: Json, n_checks: int) -> PromiseVerdict:
        """Return the reason why the promise holds, when no check failed."""
        ...

    def whose(self, promise: Json) -> Iterator[list[Phrase]]:
        """Yield the protected unit, a sentence each: what a row is, and which tables are compared."""
        ...

    def questions(self, report: Json) -> Iterator[list[Phrase]]:
        """Yield what no program can answer and the reviewer has to."""
        ...

    def uncounted_risk(self, promise: Json) -> str:
        """Return what is known of re-identification where class sizes mean nothing."""
        ...

    def unchecked(self, promise: Json, names: set[str]) -> list[str]:
        """Return the names of the checks that the promise needs and that are not among those made."""
        ...


def plain(text: str) -> list[Phrase]:
    """Return a sentence without names."""
    return [Phrase(text)]


def named(columns: Sequence[str], *, is_bad: bool = False) -> Iterator[Phrase]:
    """Yield the names of columns with commas between them."""
    for at, name in enumerate(columns):
        if at:
            yield Phrase(", ", is_bad=is_bad)
        yield Phrase(str(name), is_name=True, is_bad=is_bad)


def listed_with_and(columns: Sequence[str], *, is_bad: bool = False) -> Iterator[Phrase]:
    """Yield the names of columns with commas between them, and `and` before the last."""
    yield from named(columns[:-1], is_bad=is_bad)
    if columns[1:]:
        yield Phrase(" and ", is_bad=is_bad)
    yield from named(columns[-1:], is_bad=is_bad)


def capital(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def passed_words(n_checks: int, what: str) -> str:
    """Return the number of checks that passed, and their subject; an empty string when there were none."""
    return f" {n_checks} of {n_checks} checks of {what} passed." if n_checks else ""
