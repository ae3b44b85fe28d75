# SPDX-License-Identifier: Apache-2.0
"""Columns of a source that its release shows as they are: looked at, whatever role is declared for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from anonkit.drafting.identifying.clear_cells import ROWS_COMPARED, allowed_note, follows_from, follows_note, found_in, nearly_unique_note
from anonkit.drafting.identifying.verdicts import ColumnEvidence, IdentifierVerdict, evidence_of, is_nearly_unique
from anonkit.drafting.profiling import looked_at
from anonkit.errors import GuaranteeError, option
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.blocks import ReportColumn


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
