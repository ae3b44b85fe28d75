# SPDX-License-Identifier: Apache-2.0
"""Columns that a release shows as they are: identifiers among their cells, and contacts among their values.

Columns of the source are looked at, whatever role is declared for them (`look_at_clear`).

A published value is checked by itself, unlike in `identifying.verdicts`, which judges a column: one remark with a
telephone number among twenty plain ones is published like them once k rows share it. Values that reach a person are
addresses, numbers and written sentences (`words_on_published`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from anonkit.drafting.identifying import check_digits
from anonkit.drafting.identifying.verdicts import (
    ROWS_COMPARED,
    ColumnEvidence,
    IdentifierVerdict,
    allowed_note,
    evidence_of,
    follows_from,
    follows_note,
    found_in,
    is_nearly_unique,
    nearly_unique_note,
)
from anonkit.drafting.profiling import looked_at
from anonkit.errors import GuaranteeError, option
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.blocks import ReportColumn

_EMAIL = re.compile(r"[\w.+'%-]@[\w-]+(\.[\w-]+)*\.\w{2,}")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_PHONE = re.compile(r"(?<![\w.,:/-])(?:\+\d|0\d+[ ()/-])[\d ()/-]{4,}\d(?![\w.,:]\d)")
"""With a sign or a blank in it: digits alone may be any code."""
_PHONE_DIGITS = range(8, 16)
_CALENDAR = re.compile(r"\d{2,4}[-/]\d{2}[-/]\d{2,4}")
_WORDS, _LETTERS = 12, 100
_LOOKED_AT = 2_000
"""Letters of a value that are looked at."""


def has_contact(value: str) -> bool:
    """Return True if a text has an e-mail address, a telephone number as people write it, or a bank account in it."""
    text = value[:_LOOKED_AT]
    if _EMAIL.search(text) or any(check_digits.iban(found[0].replace(" ", "")) for found in _IBAN.finditer(text)):
        return True
    return any(
        sum(map(str.isdigit, found[0])) in _PHONE_DIGITS and not _CALENDAR.search(found[0])
        for found in _PHONE.finditer(text)
    )


def is_written_text(value: str) -> bool:
    """Return True if a value is a sentence or more: twelve words, or a hundred letters with blanks between them."""
    return len(value.split()) >= _WORDS or (len(value) >= _LETTERS and " " in value.strip())


def words_on_published(name: str, values: Iterable[str]) -> str | None:
    """Return the owner's note on values that a column publishes word by word; None where there is none.

    Parameters
    ----------
    name : str
        The column.
    values : iterable of str
        Different values that its labels list.

    Privacy
    -------
    A function of published labels. No value is quoted.
    """
    listed = list(values)
    contacts, texts = sum(map(has_contact, listed)), sum(map(is_written_text, listed))
    found = [
        f"{number:,} {what}"
        for number, what in (
            (contacts, "with an e-mail address, a telephone number or a bank account"),
            (texts, "that are free text"),
        )
        if number
    ]
    if not found:
        return None
    return (
        f"Column {name!r} publishes values word by word, among them {' and '.join(found)}. Give it categories in the "
        f'policy, or leave it out with role = "identifier".'
    )


@dataclass(frozen=True, kw_only=True)
class ClearColumns:
    """The findings on the columns that a release shows unchanged."""

    found: Mapping[str, IdentifierVerdict] = field(default_factory=dict)
    """Those whose cells look like identifiers or number the rows."""
    nearly_unique: Sequence[str] = ()
    """Measures that nearly identify rows."""
    follow: Mapping[str, str] = field(default_factory=dict)
    """Those that are functions of a quasi-identifier: its name, by theirs."""

    def refuse(self, policy: Policy) -> None:
        """Refuse to release cells that look like identifiers, unless the owner declares so.

        Raises
        ------
        GuaranteeError
            A column has such cells.
        """
        for name, verdict in self.found.items():
            if not policy.column(name).release_as_is:
                raise GuaranteeError(
                    f"column {name!r} would be released as it is, and {verdict.reason}",
                    f"{option('identifiers', [name], typed='identifier')} leaves it out; if it may be handed out, "
                    f"{option('release_as_is', [name])}",
                )

    def notes(self) -> list[str]:
        """Return notes on findings that are no reason to refuse; no value."""
        return [
            *(allowed_note(name, verdict) for name, verdict in self.found.items()),
            *map(nearly_unique_note, self.nearly_unique),
            *(follows_note(name, known) for name, known in self.follow.items()),
        ]

    def marked(self, entries: Iterable[ReportColumn], policy: Policy) -> list[ReportColumn]:
        """Return the `columns` block of a report with what is released on the owner's word."""
        return [self._marked(entry) if self._is_allowed(entry, policy) else entry for entry in entries]

    @staticmethod
    def _is_allowed(entry: ReportColumn, policy: Policy) -> bool:
        return entry["action"] == "kept" and policy.column(entry["name"]).release_as_is

    def _marked(self, entry: ReportColumn) -> ReportColumn:
        verdict = self.found.get(entry["name"])
        word = "released as it is on the owner's word" + ("" if verdict is None else f", although {verdict.reason}")
        return {**entry, "released_as_is": True, "reason": f"{entry.get('reason', entry['role'])}; {word}"}


def look_at_clear(source: Source, names: Sequence[str], known: Sequence[str], engine: Engine) -> ClearColumns:
    """Look at the columns of a table that its release shows as they are.

    Parameters
    ----------
    source : Source
        With the cells as they are released.
    names : sequence of str
        These columns. No other column is looked at but those of `known`.
    known : sequence of str
        Quasi-identifiers, of which they may be functions; none under a promise that lets no cell decide.
    """
    if not names:
        return ClearColumns()
    rows = looked_at(source, engine)
    a_row = max(source.n_rows, 1) / max(rows.n_rows, 1)
    found, nearly = {}, []
    for name in names:
        evidence = _evidence(rows, name, engine)
        verdict = found_in(evidence, rows_a_row=a_row)
        if verdict is not None:
            found[name] = verdict
        elif is_nearly_unique(evidence):
            nearly.append(name)
    compared = [name for name in names if name not in found and not pa.types.is_temporal(rows.schema.field(name).type)]
    return ClearColumns(
        found=found, nearly_unique=tuple(nearly), follow=_following(rows, compared, known, engine) if known else {}
    )


def _evidence(rows: Source, name: str, engine: Engine) -> ColumnEvidence:
    """Return the evidence of the cells of a column; dates and times, which need not fit into Python's, are counted."""
    if pa.types.is_temporal(rows.schema.field(name).type):
        counted = engine.class_sizes(rows, [name], 1)
        return ColumnEvidence(
            name=name, filled=counted.rows, distinct=counted.classes, texts=(), numbers=None, quantity=True
        )
    (column,) = engine.encode(rows, [name])
    return evidence_of(column)


def _following(rows: Source, names: Sequence[str], known: Sequence[str], engine: Engine) -> dict[str, str]:
    if not names:
        return {}
    if rows.n_rows > ROWS_COMPARED:
        rows = engine.sample(rows, ROWS_COMPARED, Randomness.seeded(0).child("clear columns"))
    coded = {column.name: column for column in engine.encode(rows, [*names, *known])}
    pairs = ((name, of) for name in names for of in known if follows_from(coded[name], coded[of]))
    follow: dict[str, str] = {}
    for name, of in pairs:
        follow.setdefault(name, of)
    return follow
