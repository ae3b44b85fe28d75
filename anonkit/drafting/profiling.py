# SPDX-License-Identifier: Apache-2.0
"""Profiles of columns: kind, number of distinct values, likeness to an identifier. Never a cell value.

Undeclared columns: those that look like identifiers are treated as identifiers, and every output states so.

A column for which a role, a domain or a hierarchy is declared is never judged by its cells.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.coded_columns import CodedColumn, is_ordered
from anonkit.drafting.identifying.street_addresses import HeaderKind, header_kind, names_number
from anonkit.drafting.identifying.verdicts import (
    NOTHING_COMMON,
    IdentifierVerdict,
    evidence_of,
    is_nearly_unique,
    judged,
    judged_by_cells,
)
from anonkit.engines.reading.number_columns import CountNumbers
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Progress, Source, is_too_large, no_progress
from anonkit.randomness import Randomness
from anonkit.report.blocks import ReportColumn

MISSING_MARKERS = (
    *("?", "-", "--", ".", "*", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "Null", "null", "None", "none"),
    *("Missing", "missing", "Unknown", "unknown"),
)
"""Strings that commonly mean missing: the only cell strings a profile may hold."""

MARKS_AMONG_NUMBERS = (*MISSING_MARKERS, "N", "n", "n.a.", "#N/A", "x", "X")
"""Strings that commonly mean missing where every other cell of a column is a number; elsewhere some are categories.
The only cell texts a profile may hold."""

WRITTEN_TIMES = {
    "%d.%m.%Y": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}$",
    "%d/%m/%Y": r"^[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}$",
    "%d-%m-%Y": r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}$",
    "datetime": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]*)?$",
    "time": r"^[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?$",
}
"""Ways to write dates, moments and times: a format whose day and month may also be the other way round, or the
type that reads them."""

_MOSTLY = 0.75  # of the filled cells, at least, are written in one of these ways
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_TRIED = 1_000  # cells of a batch by which it is seen whether its texts repeat
_LOOKED_AT = 100_000  # rows of a large table that its columns are judged by


class ValueKind(Enum):
    """The kind of a column's values."""

    TEXT = "categories or texts"
    WHOLE = "whole numbers"
    FRACTIONAL = "numbers"
    TIME = "dates or times"


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """The number of values of a column, and their forms; none of the values."""

    name: str
    kind: ValueKind
    filled: int
    """Rows in which the column has a value."""
    distinct: int
    """Distinct values, missing apart."""
    verdict: IdentifierVerdict | None = None
    """Why the column looks like an identifier, by its name and its cells; None when it does not."""
    by_cells: IdentifierVerdict | None = None
    """Why its cells have the form of identifiers or number the rows, whatever its name; None when they do not."""
    nearly_unique: bool = False
    """True for a measured quantity that nearly identifies rows."""
    markers: tuple[str, ...] = ()
    """The strings of `MARKS_AMONG_NUMBERS` in a text column whose other cells are all numbers."""
    type_name: str = ""
    """Type of the cells, by the file."""
    written: str | None = None
    """The form of `WRITTEN_TIMES` that most cells of a text column have."""
    mostly_numbers: bool = False
    """Nearly all cells of a text column are numbers, and not all others commonly mean missing."""

    @classmethod
    def of_codes(cls, column: CodedColumn) -> ColumnProfile:
        """Return the profile of a column that an engine has coded."""
        values = [value for value in column.values if value is not None]
        missing = 0 if column.missing is None else int(np.count_nonzero(column.codes == column.missing))
        kind = ValueKind.TEXT
        if column.ordered and values:
            kind = {int: ValueKind.WHOLE, float: ValueKind.FRACTIONAL}.get(type(values[0]), ValueKind.TIME)
        evidence = evidence_of(column)
        return cls(
            name=column.name,
            kind=kind,
            filled=len(column.codes) - missing,
            distinct=len(values),
            verdict=judged(evidence),
            by_cells=judged_by_cells(evidence),
            nearly_unique=is_nearly_unique(evidence),
        )

    @property
    def repeats(self) -> bool:
        """True when some value occurs in several rows."""
        return self.distinct < self.filled

    @property
    def is_named_identifier(self) -> bool:
        """True when the name is that of an identifier, such as `customerId`, `First name` or `e-mail_2`."""
        return header_kind(self.name) is not HeaderKind.OTHER

    @property
    def identifier_reason(self) -> str | None:
        """Why the column looks like an identifier, or None when it does not."""
        return None if self.verdict is None else self.verdict.reason

    @property
    def may_be_unit(self) -> bool:
        """True when it looks like the number of a person who has several rows."""
        return self.repeats and names_number(self.name) and self.verdict is not None


def looked_at(source: Source, engine: Engine) -> Source:
    """Return the rows that columns are judged by: all of them, or a sample of a large table.

    The sample is keyed by row number and a key that everybody knows: the same rows in every run and on every engine,
    so that the verdict on a column does not change between `anonkit init` and a release, nor between two releases.
    """
    return (
        engine.sample(source, _LOOKED_AT, Randomness.seeded(0).child("columns"))
        if _is_sampled(source, engine)
        else source
    )


def _is_sampled(source: Source, engine: Engine) -> bool:
    return is_too_large(source, engine) and source.n_rows > _LOOKED_AT


def profile_columns(engine: Engine, source: Source, progress: Progress = no_progress) -> list[ColumnProfile]:
    """Return the profile of every column, in table order.

    One pass over the cells, then one count of distinct values a column, which the engine can spill to disk. Whether a
    column looks like an identifier is judged by `looked_at` rows.
    """
    tallies = {name: _Tally() for name in source.schema.names}
    for batch in source.batches():
        for name, tally in tallies.items():
            tally.add(batch.column(name))
    rows = looked_at(source, engine)
    numbers = CountNumbers(names=[field.name for field in source.schema if _is_text(field.type)])
    mixed = numbers.mixed(engine.add_up(source, numbers, numbers.names, numbers.size)) if numbers.names else {}
    profiles = []
    for at, (name, tally) in enumerate(tallies.items()):
        progress("counting", at / len(tallies))
        distinct = engine.class_sizes(source, [name], 1).classes - (tally.filled < tally.rows)
        (column,) = engine.encode(rows, [name])
        given = source.schema.field(name).type
        kind, judged_rows = _kind(given), replace(ColumnProfile.of_codes(column), type_name=str(given))
        profiles.append(tally.profile(kind, distinct, judged_rows, mixed=name in mixed))
    return profiles


def _repeated(values: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """Return the texts of some cells and the rows of each; the cells themselves, and None, where few repeat.

    Patterns are looked for in each text once: that takes most of the time of a profile.
    """
    few = values.slice(0, _TRIED)
    if len(few.unique()) > len(few) // 2:
        return values, None
    counted = pc.value_counts(values)
    return counted.field("values"), counted.field("counts")


def _rows_of(mask: pa.Array, rows: pa.Array | None) -> int:
    """Return in how many rows something holds; a missing cell is none."""
    if rows is None:
        return int(pc.sum(mask).as_py() or 0)
    return int(pc.sum(rows.filter(mask)).as_py() or 0)


@dataclass(kw_only=True)
class _Tally:
    """The counts of a pass over a column."""

    rows: int = 0
    filled: int = 0
    numbers: int = 0
    """Text cells that are numbers."""
    marked: int = 0
    """Text cells that commonly mean missing."""
    markers: set[str] = field(default_factory=set)
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRITTEN_TIMES, 0))
    """Text cells that are dates, moments or times, by the way they are written."""

    def add(self, cells: pa.Array) -> None:
        values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
        self.rows += len(values)
        self.filled += len(values) - values.null_count
        if pa.types.is_string(values.type):
            texts, rows = _repeated(values)
            marks = pc.is_in(texts, value_set=pa.array(MARKS_AMONG_NUMBERS))
            self.numbers += _rows_of(pc.match_substring_regex(texts, _NUMBER), rows)
            self.marked += _rows_of(marks, rows)
            self.markers.update(texts.filter(marks).unique().to_pylist())
            trimmed = pc.utf8_trim_whitespace(texts)
            for way, pattern in WRITTEN_TIMES.items():
                self.written[way] += _rows_of(pc.match_substring_regex(trimmed, pattern), rows)

    def profile(self, kind: ValueKind, distinct: int, judged_rows: ColumnProfile, *, mixed: bool) -> ColumnProfile:
        among_numbers = self.marked > 0 and 0 < self.numbers == self.filled - self.marked
        return replace(
            judged_rows,
            kind=ValueKind.FRACTIONAL if among_numbers else kind,
            filled=self.filled,
            distinct=distinct,
            markers=tuple(sorted(self.markers)) if among_numbers else (),
            written=next((way for way, n in self.written.items() if n and n >= _MOSTLY * self.filled), None),
            mostly_numbers=mixed and not among_numbers,
        )


def _is_text(given: pa.DataType) -> bool:
    return bool(pa.types.is_string(given) or pa.types.is_dictionary(given))


def _kind(given: pa.DataType) -> ValueKind:
    if not is_ordered(given):
        return ValueKind.TEXT
    if pa.types.is_integer(given):
        return ValueKind.WHOLE
    return ValueKind.TIME if pa.types.is_temporal(given) else ValueKind.FRACTIONAL


@dataclass(frozen=True, kw_only=True)
class Undeclared:
    """The findings on the undeclared columns of a table."""

    taken: Mapping[str, ColumnProfile] = field(default_factory=dict)
    """Columns that are taken for identifiers."""
    nearly_unique: Sequence[str] = ()
    """Measured quantities that nearly identify rows; they keep their role."""
    profiles: Mapping[str, ColumnProfile] = field(default_factory=dict)
    """Every profiled column, in the given order."""

    def declared(self, policy: Policy) -> Policy:
        """Return the policy with the role of an identifier for the columns that look like one."""
        return policy.with_roles(identifiers=self.taken)

    def with_rare(self, names: Iterable[str]) -> Undeclared:
        """Return it with the columns from which no domain could be read, since no value is common enough."""
        rare = {
            name: ColumnProfile(name=name, kind=ValueKind.TEXT, filled=0, distinct=0, verdict=NOTHING_COMMON)
            for name in names
            if name not in self.taken
        }
        return replace(self, taken={**self.taken, **rare})

    def notes(self, policy: Policy) -> list[str]:
        """Return notes on columns taken for identifiers: the rule, and the remedy if one is none; no values.

        Under differential privacy there is no note that no condition of the claim names: how unique a column is.

        Parameters
        ----------
        policy : Policy
            With the role of every column.
        """
        return [
            *(self._taken_note(profile, policy.unit) for profile in self.taken.values()),
            *(
                f"Column {name!r} has nearly as many values as rows. If it is an identifier, declare it: "
                f"{_declared_as(name, Role.IDENTIFIER)}."
                for name in self.nearly_unique
                if policy.column(name).role is Role.QUASI_IDENTIFIER and not policy.is_conditional
            ),
        ]

    @staticmethod
    def _taken_note(profile: ColumnProfile, unit: str | None) -> str:
        name, verdict = profile.name, profile.verdict
        reason = "it looks like one" if verdict is None else verdict.reason
        note = (
            f"Column {name!r} looks like an identifier and was left out: {reason}. To keep it, give it a role in the "
            f"policy; the safe one is {_declared_as(name, Role.QUASI_IDENTIFIER)}."
        )
        if unit is None and profile.may_be_unit:
            note += (
                f" Its values repeat: if each is a person with several rows, {_declared_as(name, Role.UNIT)} protects "
                "people, not rows."
            )
        return note

    def marked(self, entries: Iterable[ReportColumn]) -> list[ReportColumn]:
        """Return the `columns` block of a report with the rule by which a column was taken for an identifier."""
        return [self._marked(entry) for entry in entries]

    def _marked(self, entry: ReportColumn) -> ReportColumn:
        profile = self.taken.get(entry["name"])
        if profile is None or profile.verdict is None:
            return entry
        verdict: IdentifierVerdict = profile.verdict
        return {
            **entry,
            "reason": f"looks like an identifier: {verdict.reason}",
            "taken_for": str(Role.IDENTIFIER),
            "rule": verdict.rule,
        }


def judge_undeclared(source: Source, names: Sequence[str], engine: Engine) -> Undeclared:
    """Judge the columns of a table that nobody declared, by their names and cells.

    Parameters
    ----------
    names : sequence of str
        The columns, at least one.

    Privacy
    -------
    What is left out depends on cells. A promise of differential privacy must name that as a condition.
    """
    profiles = profiles_of(source, names, engine)
    return Undeclared(
        taken={profile.name: profile for profile in profiles if profile.verdict is not None},
        nearly_unique=tuple(profile.name for profile in profiles if profile.verdict is None and profile.nearly_unique),
        profiles={profile.name: profile for profile in profiles},
    )


def profiles_of(source: Source, names: Sequence[str], engine: Engine) -> list[ColumnProfile]:
    """Profile columns, declared or not; one at a time, in the given order.

    Privacy
    -------
    As for `judge_undeclared`: what is found depends on cells.
    """
    rows = looked_at(source, engine)
    return [ColumnProfile.of_codes(column) for name in names for column in engine.encode(rows, [name])]


def _declared_as(name: str, role: Role) -> str:
    """Return the line of a policy that gives a column a role."""
    key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    return f'{key} = {{ role = "{role.value}" }}'
