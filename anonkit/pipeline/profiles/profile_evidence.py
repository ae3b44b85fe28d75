# SPDX-License-Identifier: Apache-2.0
"""Evidence of a release for any profile: its protection and risk in words, and what its columns look like.

A profile is the requirements of a rule or standard, each with what the files of a release show of it.

The detector of identifiers judges the released cells, as it judges those of a source. It recognises forms; that it
recognises none is evidence and no proof.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.bound_columns import bound_columns
from anonkit.bundle.json_documents import parse_json, read_capped
from anonkit.bundle.release_place import DESCRIPTOR
from anonkit.bundle.stored_release import Release
from anonkit.documents import ReportPart
from anonkit.drafting.identifying.street_addresses import IdentifierKind, is_postal, names_birth, words_of
from anonkit.drafting.identifying.topic_words import is_place, is_time
from anonkit.drafting.identifying.verdicts import evidence_of_cells, is_nearly_unique, judged_by_cells
from anonkit.errors import in_python, option

NO_VERDICT = "It is evidence for a person who decides, and no verdict of law."


class EvidenceState(StrEnum):
    """The evidence of a release's files on a requirement."""

    EVIDENCE = "evidence"
    """They speak for it."""
    OPEN = "open"
    """They cannot show it: a person has to."""
    AGAINST = "against"
    """They speak against it."""


@dataclass(frozen=True, kw_only=True)
class Item(ReportPart):
    """One requirement."""

    requirement: str
    state: EvidenceState
    evidence: str
    """One or two sentences; names of columns and figures of the report, no cell."""

    @classmethod
    def shown(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak for."""
        return cls(requirement=requirement, state=EvidenceState.EVIDENCE, evidence=evidence)

    @classmethod
    def open(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that a person has to show."""
        return cls(requirement=requirement, state=EvidenceState.OPEN, evidence=evidence)

    @classmethod
    def against(cls, requirement: str, evidence: str) -> Item:
        """Return a requirement that the files speak against."""
        return cls(requirement=requirement, state=EvidenceState.AGAINST, evidence=evidence)


@dataclass(frozen=True, kw_only=True)
class Profile(ReportPart, keys=("name", "title", "source", "note", "counts", "items=spoken_items")):
    """A checklist with evidence."""

    name: str
    title: str
    source: str
    """The text that the requirements are from."""
    items: Sequence[Item]
    note: ClassVar[str] = NO_VERDICT

    def count(self, state: EvidenceState) -> int:
        """Return the number of requirements in a state."""
        return sum(item.state is state for item in self.items)

    @property
    def spoken_items(self) -> tuple[Item, ...]:
        """The requirements, options named as callers from Python write them."""
        return tuple(replace(item, evidence=in_python(item.evidence)) for item in self.items)

    @property
    def counts(self) -> dict[str, int]:
        """Number of requirements in each state."""
        return {state.value: self.count(state) for state in EvidenceState}

    def in_words(self, spoken: Callable[[str], str]) -> Profile:
        """Return the profile with options named as its reader writes them."""
        return replace(self, items=tuple(replace(item, evidence=spoken(item.evidence)) for item in self.items))


def listed(names: Iterable[str], *, most: int = 6) -> str:
    """Return names as a list in a sentence, cut where they are many."""
    names = [repr(name) for name in names]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def figure(report: Mapping[str, Any], *keys: str) -> Any:
    """Return an entry of a nested report; None where one of the keys is not there."""
    value: Any = report
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def is_differentially_private(report: Mapping[str, Any]) -> bool:
    """Return True if an ε is promised."""
    return figure(report, "budget", "epsilon") is not None


def columns_left_out(report: Mapping[str, Any]) -> str:
    """Return the identifiers of the source that were left out, as the end of a sentence."""
    names = [
        column["name"]
        for column in report["columns"]
        if column.get("role") in ("identifier", "unit") and column.get("action") == "dropped"
    ]
    return f"; {listed(names)} of the source {'were' if len(names) > 1 else 'was'} left out" if names else ""


def promise_words(report: Mapping[str, Any]) -> str:
    """Return the promise in one sentence, with its figure and its unit."""
    epsilon, unit = figure(report, "budget", "epsilon"), report["guarantee"]["unit"]
    if epsilon is not None:
        delta = figure(report, "budget", "delta")
        more = f", delta {delta:g}" if delta else ""
        return f"Differential privacy with epsilon {epsilon:.4g}{more}, for {unit}."
    k = figure(report, "guarantee", "parameters", "k")
    return f"k-anonymity with k = {k}, for {unit}." if k is not None else "Nothing is promised by a parameter."


def risk_words(report: Mapping[str, Any]) -> str:
    """Return the risk of re-identification in figures: of classes, or what ε bounds."""
    epsilon = figure(report, "budget", "epsilon")
    largest = figure(report, "disclosure_risk", "prosecutor", "max")
    if largest:
        mean = figure(report, "disclosure_risk", "prosecutor", "mean") or largest
        words = f"1 in {1 / largest:.0f} at most, on average 1 in {1 / mean:.0f}"
        return f"By its quasi-identifiers a row is found with {words}."
    if epsilon is not None:
        return (
            f"No output is more than {math.exp(min(epsilon, 700)):.3g} times as likely with the data of one person as "
            "without them, or with others in their place."
        )
    return "The report has no figure of it."


def population_words(report: Mapping[str, Any]) -> str:
    """Return the risk in the population, where the report has it."""
    basis = figure(report, "disclosure_risk", "population", "basis")
    if basis in (None, "none"):
        either = f"{option('population')} or {option('sampling_fraction')}"
        return f"The report has no risk in the population: {either} adds it."
    return f"The report has the risk in the population too, by its {basis}."


def recipients_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return for whom the table is meant, as declared."""
    recipients = report.get("recipients") or []
    if recipients:
        return Item.shown(requirement, f"Declared: {', '.join(recipients)}.")
    return Item.open(
        requirement, f"Nobody is declared: `recipients` of `[publication]` in the policy, or {option('recipients')}."
    )


def columns_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return the number of columns of the source that are released."""
    released = [column["name"] for column in report["columns"] if column.get("action") != "dropped"]
    return Item.shown(
        requirement,
        f"{len(released)} of {len(report['columns'])} columns of the source are released. The owner says whether "
        "each is needed.",
    )


def ledger_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return True if the release is booked with the earlier ones of its dataset."""
    if figure(report, "ledger", "booked"):
        number = figure(report, "ledger", "release_of_dataset")
        return Item.shown(requirement, f"Booked in the owner's ledger as release {number} of the dataset.")
    return Item.open(requirement, "No ledger has this release: other releases of the same people are not added up.")


def clear_item(report: Mapping[str, Any], requirement: str) -> Item:
    """Return the inference about sensitive values, where classes are promised."""
    values = figure(report, "disclosure_risk", "by_value") or {}
    most = {name: max((one["highest_confidence"] for one in rows), default=0.0) for name, rows in values.items()}
    if is_differentially_private(report):
        return Item.shown(requirement, f"{risk_words(report)} That bounds what is inferred of one person's values.")
    if not most:
        return Item.open(
            requirement, f"No sensitive column is declared: {option('sensitive')} names what must not be learned."
        )
    words = ", ".join(f"{name!r} {share:.0%}" for name, share in sorted(most.items())[:6])
    return Item.shown(requirement, f"Largest confidence in one value within a group, column by column: {words}.")


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
