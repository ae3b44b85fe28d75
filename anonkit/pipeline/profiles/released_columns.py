# SPDX-License-Identifier: Apache-2.0
"""The columns of a release as a profile looks at them: what their names and cells look like.

The detector of identifiers judges the released cells, as it judges those of a source. It recognises forms; that it
recognises none is evidence and no proof.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.bound_columns import bound_columns
from anonkit.bundle.json_documents import parse_json, read_capped
from anonkit.bundle.release_place import DESCRIPTOR
from anonkit.bundle.stored_release import Release
from anonkit.drafting.identifying.clear_cells import evidence_of_cells
from anonkit.drafting.identifying.street_addresses import IdentifierKind, is_postal, names_birth, words_of
from anonkit.drafting.identifying.topic_words import is_place, is_time
from anonkit.drafting.identifying.verdicts import is_nearly_unique, judged_by_cells

_AGES = frozenset(["age", "ages", "alter", "leeftijd", "edad", "âge", "idade", "eta", "età", "wiek"])
_DAY = re.compile(r"\s*(\d{4})[-/.](\d{1,2})(?:[-/.]\d{1,2})?(?:[T ].*)?\s*")
_OTHER_DAYS = (
    re.compile(r"\s*\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?:[T ].*)?\s*"),
    re.compile(
        r"(?i)\s*(?:\d{1,2}[-/. ]+)?(?:jan|feb|fév|fev|mar|mär|mrt|apr|avr|abr|may|mai|mei|mag|jun|jui|giu|jul|lug|aug|"
        r"aoû|ago|sep|set|oct|okt|ott|out|nov|dec|dez|déc|dic|gen|ene)[^\W\d]*\.?[-/ ,]+(?:\d{1,2}[-/ ,]+)?"
        r"(?:\d{4}|\d{2})\s*"
    ),
    re.compile(r"\s*(?:1[6-9]|20|21)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\s*"),
)
"""Days and months as they are spelled elsewhere: 31.01.2020, 31-Jan-20, January 2020, 20200131."""
_YEAR = re.compile(r"\s*[12]\d{3}(?:\.0)?\s*")
_SPACED = 2_000
"""Different cells of a column that are looked at, evenly spaced in their order where there are more."""
_MOSTLY = 0.5
_OLDEST = 90
"""Ages of 90 and more may be one category under Safe Harbor, and no more than one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedColumn:
    """One column of the released table."""

    name: str
    cells: Sequence[Any]
    """Different cells, missing left out: all, or evenly spaced ones."""
    labels: Sequence[Mapping[str, Any]]
    """Form of its labels in the descriptor: `low`, `high`, or `values`."""
    kind: IdentifierKind | None
    """The identifier that the cells look like, if any."""
    nearly_unique: bool
    """True where nearly every row has a value of its own."""
    binary: bool
    """True where cells are bytes, such as pictures."""
    temporal: bool
    """True where cells are dates or times by their type."""
    end: str | None = None
    """Of the columns that show an interval as numbers: "low", "high" or "mean"."""
    intervals: Sequence[tuple[Any, Any]] = ()
    """The different intervals that its rows show in two columns; an end is None where it is open."""

    @property
    def is_place(self) -> bool:
        """True where the name or the cells are those of places or postal codes."""
        return self.is_postal or is_place(self.name, [str(cell) for cell in self.cells[:200]])

    @property
    def is_postal(self) -> bool:
        """True where the name is that of postal codes."""
        return is_postal(self.name)

    @property
    def longest_postal_code(self) -> int:
        """Letters and digits of the longest code that a cell shows whole; 0 where none does."""
        codes = [str(value) for value in self.shown_values]
        return max((len(re.sub(r"\W", "", code)) for code in codes if re.search(r"\d", code)), default=0)

    @property
    def shown_values(self) -> list[Any]:
        """The values that cells show: of a label its single values, of anything else the cell."""
        read = {str(label.get("label")): label for label in self.labels}
        values: list[Any] = []
        for cell in self.cells:
            label = read.get(str(cell))
            if label is None:
                values.append(cell)
            elif len(label.get("values", ())) == 1:
                values += label["values"]
        return values

    @property
    def shows_days_or_months(self) -> bool:
        """True where dates finer than years are shown: by type, by their spelling, or by bounds within one year."""
        if self.temporal and self.cells:
            return any((cell.month, cell.day) != (1, 1) for cell in self.cells if hasattr(cell, "month"))
        texts = [str(cell) for cell in self.cells]
        if texts and sum(_is_day(text) for text in texts) > _MOSTLY * len(texts):
            return True
        return any(_is_within_a_year(label.get("low"), label.get("high")) for label in self.labels)

    @property
    def may_be_time(self) -> bool:
        """True where the name is that of dates or births, and cells are shown that are neither labels nor years."""
        if not (is_time(self.name) or names_birth(self.name)):
            return False
        read = {str(label.get("label")) for label in self.labels}
        return any(str(cell) not in read and not _YEAR.fullmatch(str(cell)) for cell in self.cells)

    @property
    def is_age(self) -> bool:
        """True where the name is that of ages."""
        return not _AGES.isdisjoint(words_of(self.name))

    @property
    def _old(self) -> list[float]:
        return [cell for cell in self.cells if _is_number(cell) and cell >= _OLDEST]

    @property
    def averages_old_ages(self) -> bool:
        """True where one mean above 90 is shown: of several people, and the age of none."""
        return self.end == "mean" and len(self._old) == 1 and self._old[0] > _OLDEST

    @property
    def divides_old_ages(self) -> bool:
        """True where ages above 90 are distinguished: by a cell, by a bound of a label, or by two means.

        Of an interval in two columns the lower end says it: an upper end that no other exceeds is that of the oldest.
        """
        if self.end == "mean":
            return len(self._old) > 1 and max(self._old) > _OLDEST
        if self.end is not None:
            top = max((math.inf if high is None else high for _, high in self.intervals), default=math.inf)
            return any(
                low is not None and (low > _OLDEST or (low == _OLDEST and high is not None and high < top))
                for low, high in self.intervals
            )
        shown = {str(cell) for cell in self.cells}
        bounds = [(label.get("low"), label.get("high")) for label in self.labels if str(label.get("label")) in shown]
        return any(_is_number(value) and value > _OLDEST for value in self.shown_values) or any(
            low > _OLDEST or (low == _OLDEST and high is not None)
            for low, high in bounds
            if isinstance(low, int | float)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedColumns:
    """The released table, column by column."""

    columns: Sequence[ReleasedColumn]

    @classmethod
    def of(cls, release: Release) -> ReleasedColumns:
        """Look at a stored release; the data are read."""
        place = release.place
        file = None if place is None else place.file(DESCRIPTOR)
        descriptor = {} if file is None else parse_json(read_capped(file), repr(str(file)))
        fields = {
            field.get("name"): field
            for resource in descriptor.get("resources", ())
            for field in (resource.get("schema") or {}).get("fields", ())
        }
        table = release.to_arrow()
        columns = [_looked_at(name, table.column(name), fields.get(name, {})) for name in table.column_names]
        ends = _ends(release, table)
        return cls(columns=[replace(column, **ends.get(column.name, {})) for column in columns])

    @cached_property
    def names(self) -> list[str]:
        """Names of all released columns."""
        return [column.name for column in self.columns]

    def looking_like(self, *kinds: IdentifierKind) -> list[str]:
        """Return the columns whose cells look like one of these kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    def where(self, what: str) -> list[str]:
        """Return the columns of which a property holds."""
        return [column.name for column in self.columns if getattr(column, what)]


def _ends(release: Release, table: pa.Table) -> dict[str, dict[str, Any]]:
    """Return of each column that shows an end or the mean of intervals which it is, and the intervals shown."""
    found: dict[str, dict[str, Any]] = {}
    for column in bound_columns(release.params):
        shown = table.group_by([column.low, column.high]).aggregate([])
        pairs = list(zip(*(shown.column(name).to_pylist() for name in (column.low, column.high)), strict=True))
        for name, end in zip(column.names, ("low", "high", "mean"), strict=False):
            found[name] = {"end": end, "intervals": pairs}
    return found


def _looked_at(name: str, column: pa.ChunkedArray, field: Mapping[str, Any]) -> ReleasedColumn:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    plain = column.cast(kind)
    counts = pc.value_counts(plain.drop_null()) if len(plain) > plain.null_count else None
    values = [] if counts is None else counts.field("values").to_pylist()
    nested = pa.types.is_nested(kind)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    temporal = pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind)
    evidence = None
    if values and not (nested or binary or temporal):
        evidence = evidence_of_cells(plain, name)
    verdict = None if evidence is None else judged_by_cells(evidence)
    return ReleasedColumn(
        name=name,
        cells=_spaced(values),
        labels=field.get("anonkit:labels", ()),
        kind=None if verdict is None else verdict.kind,
        nearly_unique=evidence is not None and is_nearly_unique(evidence),
        binary=binary,
        temporal=temporal,
    )


def _spaced(values: Sequence[Any]) -> Sequence[Any]:
    if len(values) <= _SPACED:
        return values
    step = len(values) / _SPACED
    return [values[int(at * step)] for at in range(_SPACED)]


def _is_day(text: str) -> bool:
    found = _DAY.fullmatch(text)
    if found is not None:
        return 1 <= int(found[2]) <= 12 and 1600 <= int(found[1]) <= 2200
    return any(form.fullmatch(text) for form in _OTHER_DAYS)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within_a_year(low: object, high: object) -> bool:
    """Return True if two bounds are dates less than a year apart."""
    ends = [_DAY.fullmatch(str(end)) for end in (low, high) if isinstance(end, str)]
    if len(ends) != 2 or None in ends:
        return False
    years, months = ([int(end[part]) for end in ends if end is not None] for part in (1, 2))
    return years[1] * 12 + months[1] - years[0] * 12 - months[0] < 12
