# SPDX-License-Identifier: Apache-2.0
"""What columns are like: kind, number of values, whether they look like identifiers. Never the values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.cells import is_ordered
from anonkit.mechanisms.coding import CodedColumn
from anonkit.protocols import Engine, Progress, Source, no_progress

MISSING_MARKERS = (
    *("?", "-", "--", ".", "*", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "Null", "null", "None", "none"),
    *("Missing", "missing", "Unknown", "unknown"),
)
"""Texts that commonly mean missing: the only cell texts a profile may hold."""

_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_MOSTLY = 0.9


def vocabulary(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_NUMBER_WORDS = vocabulary(
    "id ids uid uuid guid ssn nin sin nif cpf bsn nhs mrn passport iban account card license licence plate vin imei "
    "imsi msisdn phone telephone tel mobile cell fax email mail username login userid customerid clientid patientid "
    "personid memberid employeeid studentid subjectid 身份证 身份证号 手机 手机号 电话 邮箱"
)
_NAME_WORDS = vocabulary(
    "name names surname firstname forename lastname fullname nickname address street url ip mac vorname nachname nom "
    "prénom prenom nombre apellido apellidos nome cognome 姓名 名字 氏名"
)
_NUMBERING_WORDS = vocabulary("no nr num number code key index idx ref reference serial record row case hash")
_QUALIFYING_WORDS = _NUMBERING_WORDS | vocabulary("first last middle given family full")
_GROUP_WORDS = vocabulary(
    "country state city region county district product item brand model company store shop department school hospital "
    "ward course category type class group job zip postal area icd"
)


def words_of(name: str) -> list[str]:
    """Return the words of a column name in lower case, whether it is written with_lines, with-dashes or inCamelCase."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W\d_]+", spaced.lower()) if word]


class ValueKind(Enum):
    """What the values of a column are."""

    TEXT = "categories or texts"
    WHOLE = "whole numbers"
    FRACTIONAL = "numbers"
    TIME = "dates or times"


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """How many values a column has; none of the values."""

    name: str
    kind: ValueKind
    filled: int
    """Rows in which the column has a value."""
    distinct: int
    """Distinct values, missing apart."""
    serial: bool = False
    """Whole numbers without a gap, or all with the same number of digits, six at least."""
    markers: tuple[str, ...] = ()
    """Which of `MISSING_MARKERS` stand in a text column whose other cells are all numbers."""
    mostly_numbers: bool = False
    """Nine in ten cells of a text column are numbers, and not all others commonly mean missing."""

    @classmethod
    def of_codes(cls, column: CodedColumn) -> ColumnProfile:
        """Return the profile of a column that an engine has coded."""
        values = [value for value in column.values if value is not None]
        missing = 0 if column.missing is None else int(np.count_nonzero(column.codes == column.missing))
        kind = ValueKind.TEXT
        serial = False
        if column.ordered and values:
            first, last = values[0], values[-1]
            kind = {int: ValueKind.WHOLE, float: ValueKind.FRACTIONAL}.get(type(first), ValueKind.TIME)
            serial = isinstance(first, int) and isinstance(last, int) and _is_serial(first, last, len(values))
        return cls(name=column.name, kind=kind, filled=len(column.codes) - missing, distinct=len(values), serial=serial)

    @property
    def repeats(self) -> bool:
        """True when some value stands in several rows."""
        return self.distinct < self.filled

    @property
    def is_coarse(self) -> bool:
        """True when the values tell groups apart, not people: few of them, each in many rows on average."""
        return 0 < self.distinct <= 100 and self.filled >= 20 * self.distinct

    @property
    def is_named_identifier(self) -> bool:
        """True when the name is that of an identifier, such as `customerId`, `First name` or `e-mail_2`."""
        return self._ends_in(_NUMBER_WORDS | _NAME_WORDS)

    @property
    def identifier_reason(self) -> str | None:
        """Why the column looks like an identifier, or None when it does not."""
        if self.is_named_identifier and not self.is_coarse:
            return "its name says so"
        if self.filled < 10:
            return None
        share = self.distinct / self.filled
        if share >= 0.5 and self._is_numbering and self.kind in (ValueKind.TEXT, ValueKind.WHOLE):
            return "its name is that of a numbering, and it has many values"
        if share >= 0.9 and (self.kind is ValueKind.TEXT or self.serial):
            return "nearly every row has a value of its own"
        return None

    @property
    def may_be_unit(self) -> bool:
        """True when it looks like the number of a person who has several rows."""
        numbered = self._ends_in(_NUMBER_WORDS) or self._is_numbering
        return self.repeats and numbered and self.identifier_reason is not None

    @property
    def _is_numbering(self) -> bool:
        words = words_of(self.name)
        return not _NUMBERING_WORDS.isdisjoint(words[-1:]) and _GROUP_WORDS.isdisjoint(words)

    def _ends_in(self, words: frozenset[str]) -> bool:
        found = words_of(self.name)
        while found and found[-1] in _QUALIFYING_WORDS:
            found.pop()
        return bool(found) and found[-1] in words and _GROUP_WORDS.isdisjoint(found)


def likely_identifiers(columns: Iterable[CodedColumn]) -> list[str]:
    """Return the names of the columns that look like identifiers: by name, or because nearly every row is alone.

    Parameters
    ----------
    columns : iterable of CodedColumn
        As `Engine.encode` returns them.

    Privacy
    -------
    The answer depends on names and on numbers of distinct values. It is for the owner, who decides.
    """
    return [column.name for column in columns if ColumnProfile.of_codes(column).identifier_reason is not None]


def profile_columns(engine: Engine, source: Source, progress: Progress = no_progress) -> list[ColumnProfile]:
    """Return the profile of every column, in table order.

    One pass over the cells, then one count of distinct values a column, which the engine can spill to disk: unlike
    `Engine.encode`, it works on tables whose distinct values do not fit into memory.
    """
    tallies = {name: _Tally() for name in source.schema.names}
    for batch in source.batches():
        for name, tally in tallies.items():
            tally.add(batch.column(name))
    profiles = []
    for at, (name, tally) in enumerate(tallies.items()):
        progress("counting", at / len(tallies))
        distinct = engine.class_sizes(source, [name], 1).classes - (tally.filled < tally.rows)
        profiles.append(tally.profile(name, _kind(source.schema.field(name).type), distinct))
    return profiles


@dataclass(kw_only=True)
class _Tally:
    """What a pass over a column finds."""

    rows: int = 0
    filled: int = 0
    numbers: int = 0
    """Text cells that are numbers."""
    marked: int = 0
    """Text cells that commonly mean missing."""
    markers: set[str] = field(default_factory=set)
    extremes: list[int] = field(default_factory=list, repr=False)
    """Least and greatest whole number; never shown."""

    def add(self, cells: pa.Array) -> None:
        values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
        self.rows += len(values)
        self.filled += len(values) - values.null_count
        if pa.types.is_string(values.type):
            marks = values.filter(pc.is_in(values, value_set=pa.array(MISSING_MARKERS)))
            self.numbers += pc.sum(pc.match_substring_regex(values, _NUMBER)).as_py() or 0
            self.marked += len(marks)
            self.markers.update(marks.unique().to_pylist())
        elif pa.types.is_integer(values.type) and values.null_count < len(values):
            found = [*self.extremes, *pc.min_max(values).as_py().values()]
            self.extremes = [min(found), max(found)]

    def profile(self, name: str, kind: ValueKind, distinct: int) -> ColumnProfile:
        among_numbers = self.marked > 0 and 0 < self.numbers == self.filled - self.marked
        return ColumnProfile(
            name=name,
            kind=ValueKind.FRACTIONAL if among_numbers else kind,
            filled=self.filled,
            distinct=distinct,
            serial=bool(self.extremes) and _is_serial(self.extremes[0], self.extremes[1], distinct),
            markers=tuple(sorted(self.markers)) if among_numbers else (),
            mostly_numbers=not among_numbers and _MOSTLY * self.filled <= self.numbers < self.filled,
        )


def _kind(given: pa.DataType) -> ValueKind:
    if not is_ordered(given):
        return ValueKind.TEXT
    if pa.types.is_integer(given):
        return ValueKind.WHOLE
    return ValueKind.TIME if pa.types.is_temporal(given) else ValueKind.FRACTIONAL


def _is_serial(low: int, high: int, distinct: int) -> bool:
    return high - low + 1 == distinct or (low > 0 and len(str(low)) == len(str(high)) >= 6)
