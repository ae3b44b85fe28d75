# SPDX-License-Identifier: Apache-2.0
"""The written form of columns for which none is declared: found in their cells, or left to the owner.

A form is found where every cell has it and nothing else reads a cell: it is taken where all filled cells are of it, and
no other form that all cells are of reads one of them otherwise. So `1,234` alone is left as it is: it is two numbers.
Numbers that are all days such as 20200131 are days: of numbers of eight digits one in 1,400 is one. Never under a
promise of noise, where no cell may decide.

Dates, times and coordinates are lines of a drafted policy to uncomment, since day and month may be each other.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import NumberForm, cell_numbers, cell_texts
from anonkit.domains.coded_columns import FloatArray
from anonkit.domains.dates_and_times import CalendarKind, CalendarReader, settled_type
from anonkit.drafting.identifying.street_addresses import vocabulary, words_of
from anonkit.drafting.profiling import ColumnProfile, ValueKind, profiles_of
from anonkit.errors import EngineError
from anonkit.policy.calendar_columns import Calendar
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source

_CURRENCIES = (
    *("$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₴", "₪", "zł", "kr", "Kč", "Ft"),
    *("USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "BRL"),
)
_MARKS = tuple(
    (decimal, thousands)
    for decimal, thousands in product((".", ","), (None, ",", ".", " ", "'"))
    if decimal != thousands
)
_DAYS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
)
_SHORT_DAYS = (
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d-%b-%y", "%d %b %y"),
    *("%y.%m.%d", "%y/%m/%d", "%y-%m-%d"),
)
_CLOCKS = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_JOINED = "%Y%m%d"
_CENTURIES = (1900, 2099)  # years that such a number is read as
_OPEN_YEARS = (2030, 2068)  # years of two digits from 30 to 68: a birthday of 1945, or a contract until 2045
_ISO_DAY = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
_OFFSET = r"(?i)[0-9]\s*(?:z|[+-][0-9]{2}:?[0-9]{2})\s*$"
_TOO_FINE = r"[.,][0-9]{7}"
_CODE = r"^[^0-9]*0[0-9]|(?:[0-9][^0-9]*){16}"
"""A leading zero, or more digits than a number keeps: codes, which no reading as a number may change."""
_HEAD_ROWS = 1000
_DATE_WORDS = vocabulary(
    "date dates day datetime dob birthdate birthday born datum geburtstag geburtsdatum fecha jour naissance giorno"
)


@dataclass(frozen=True, kw_only=True)
class _Form:
    """One written form of numbers, days or moments."""

    number: NumberForm | None = None
    kind: CalendarKind | None = None
    format: str | None = None
    offset: bool = False
    """True for moments of ISO 8601 with an offset from UTC; beside one without, a cell means another moment."""

    def read(self, texts: pa.StringArray) -> FloatArray:
        """Return the value of each string by this form, shape (n,): a number, or microseconds since 1970; else NaN.

        A form with a sign reads strings that have it, and no others.
        """
        if self.number is not None:
            signs = [self.number.currency or "", "%" if self.number.percent else ""]
            plain = self.number.plain(texts)
            fits = pc.invert(pc.match_substring_regex(texts, _CODE))
            for sign in filter(None, signs):
                fits = pc.and_(fits, pc.match_substring(texts, sign))
            return cell_numbers(pc.if_else(fits, plain, pa.scalar(None, pa.string())))
        places, read = self._reader.places(texts)
        if self.format is None:  # each of both would read the cells of the other: a day is a moment
            is_day = _matches(texts, _ISO_DAY)
            moment = ~is_day & (_matches(texts, _OFFSET) == self.offset) & ~_matches(texts, _TOO_FINE)
            read = read & (is_day if self.kind is CalendarKind.DATE else moment)
        elif "%y" in self.format or self.format == _JOINED:
            years = places.astype("datetime64[us]").astype("datetime64[Y]").astype(np.int64) + 1970
            low, high = _CENTURIES if self.format == _JOINED else _OPEN_YEARS
            within = (years >= low) & (years <= high)
            read = read & (within if self.format == _JOINED else ~within)
        return np.where(read, places.astype(np.float64), np.nan)

    def looks_right(self, text: str) -> bool:
        """Return True if one text may be of the form, without reading it."""
        return self.number is not None or self._reader.looks_right(text)

    @cached_property
    def _reader(self) -> CalendarReader:
        return self.calendar("").reader

    def calendar(self, where: str) -> Calendar:
        """Return the declaration of a form of days or moments."""
        return Calendar(kind=self.kind or CalendarKind.DATE, format=self.format, where=where)

    def declared(self, column: Column) -> Column:
        """Return a column as it is declared with this form."""
        if self.number is not None:
            return replace(column, number_form=self.number)
        calendar = self.calendar(f"column {column.name!r}")
        return replace(column, type=ColumnType(str(calendar.kind)), calendar=calendar)

    def __str__(self) -> str:
        if self.number is not None:
            return f"{self.number}"
        return f'type = "{self.kind}"' + ("" if self.format is None else f', format = "{self.format}"')


_TIMES = (
    _Form(kind=CalendarKind.DATE),
    *(_Form(kind=CalendarKind.DATE, format=day) for day in (*_DAYS, *_SHORT_DAYS, _JOINED)),
    *(_Form(kind=CalendarKind.DATETIME, offset=offset) for offset in (False, True)),
    *(_Form(kind=CalendarKind.DATETIME, format=day + clock) for day in (*_DAYS, *_SHORT_DAYS) for clock in _CLOCKS),
)
_JOINED_FORM = next(form for form in _TIMES if form.format == _JOINED)


@dataclass(frozen=True, kw_only=True)
class FoundForms:
    """Columns whose written form was found, and those in which two forms read a cell otherwise."""

    columns: Mapping[str, Column] = field(default_factory=dict)
    """As they are declared then."""
    forms: Mapping[str, str] = field(default_factory=dict)
    """The lines of a policy that declare the form of each."""
    undecided: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Columns that two forms read otherwise, and the lines that declare one or the other."""

    def declared(self, policy: Policy) -> Policy:
        """Return the policy with the forms that were found."""
        return replace(policy, columns={**policy.columns, **self.columns}) if self.columns else policy

    def lines(self, name: str) -> list[str]:
        """Return the lines of a policy that declare the form of a column; none where none was found."""
        return re.findall(r'\b\w+ = (?:"[^"]*"|\w+)', self.forms.get(name, ""))

    def notes(self) -> list[str]:
        """Return notes on the forms that were found, and the columns whose form must be declared; no cell."""
        return [
            *(
                f"Column {name!r} is read as {_kind_of(column)}, as all its cells are written: {self.forms[name]}."
                for name, column in self.columns.items()
            ),
            *(
                f"Column {name!r} stays text: all its cells can be read by {one}, and by {other}, and not as the same. "
                "Declare in the policy which of both it is."
                for name, (one, other) in self.undecided.items()
            ),
        ]


def _kind_of(column: Column) -> str:
    if column.number_form is None:
        return "dates" if column.type is ColumnType.DATE else "moments"
    return "numbers in per cent" if column.number_form.percent else "numbers"


def read_by_forms(source: Source, policy: Policy, engine: Engine) -> tuple[FoundForms, Source]:
    """Return the forms that were found, and the table read by them; see `found_forms`."""
    found = found_forms(source, policy, engine)
    return found, with_found(source, found, engine)


def found_forms(source: Source, policy: Policy, engine: Engine) -> FoundForms:
    """Find the forms of the columns of a table of which no type, categories or form are declared.

    Text columns, and columns of numbers that are days such as 20200131, of whatever type: a missing cell makes
    integers floats in some sources. What is taken for an identifier as it is written stays as it is.

    Privacy
    -------
    A function of all cells of a column: for promises in which cells may decide.
    """
    heads = _heads(source, [each.name for each in source.schema if _is_free(each.type, policy.column(each.name))])
    whole = {each.name for each in source.schema if _is_number(each.type)}
    fitting = {name: _fitting(head, whole=name in whole) for name, head in heads.items()}
    tried = {name: forms for name, forms in fitting.items() if forms}
    if not tried:
        return FoundForms()
    count = CountForms(tried=tried)
    columns, lines, undecided = {}, {}, {}
    for name, forms, clash in count.decided(engine.add_up(source, count, list(tried), count.size)):
        if clash is not None:
            undecided[name] = (str(clash[0]), str(clash[1]))
        elif forms is not None and _may_be_read(source, policy, name, forms, engine):
            columns[name], lines[name] = forms.declared(policy.column(name)), str(forms)
    return FoundForms(columns=columns, forms=lines, undecided=undecided)


def with_found(source: Source, found: FoundForms, engine: Engine) -> Source:
    """Return a table with the columns read whose form was found."""
    if not found.columns:
        return source
    kinds = {name: _type_of(column) for name, column in found.columns.items()}
    schema = pa.schema([each.with_type(kinds.get(each.name, each.type)) for each in source.schema])
    return engine.map_batches(source, ReadFound(columns=found.columns, schema=schema), schema, same_rows=True)


def _is_free(kind: pa.DataType, column: Column) -> bool:
    """Return True if a form may be found: nothing that is declared says how a cell is read, but numbers by bounds."""
    declared = column.type, column.number_form, column.domain_values, column.ladder, column.place
    if any(value is not None for value in declared) or column.role in (Role.UNIT, Role.IDENTIFIER):
        return False
    return bool(pa.types.is_string(kind) or (_is_number(kind) and column.bounds is None))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _type_of(column: Column) -> pa.DataType:
    return pa.float64() if column.calendar is None else settled_type(column.calendar.kind)


def _heads(source: Source, names: Sequence[str]) -> dict[str, pa.StringArray]:
    """Return some filled cells of each column, as strings; columns without any are left out."""
    out: dict[str, pa.StringArray] = {}
    if not names:
        return out
    for batch in source.batches(names):
        for name in names:
            if name not in out and len(filled := batch.column(name).drop_null().slice(0, _HEAD_ROWS)):
                out[name] = _texts(filled).unique()
        if len(out) == len(names):
            break
    return out


def _texts(array: pa.Array) -> pa.StringArray:
    return array if pa.types.is_string(array.type) else cell_texts(array)


def _fitting(head: pa.StringArray, *, whole: bool) -> tuple[_Form, ...]:
    """Return the forms that read all of some cells: no other one can read all cells of the column.

    Parameters
    ----------
    whole : bool
        True for a column of numbers, of which whole ones may be days.
    """
    if not _matches(head, "[0-9]").all():
        return ()
    if whole:
        return () if np.isnan(_JOINED_FORM.read(head)).any() else (_JOINED_FORM,)
    percent = bool(_matches(head, "%").all())
    signs: list[str | None] = [sign for sign in _CURRENCIES if _matches(head, re.escape(sign)).all()] or [None]
    numbers = [
        _Form(number=NumberForm(decimal=decimal, thousands=thousands, percent=percent, currency=sign))
        for sign in signs
        for decimal, thousands in _MARKS
    ]
    first = head[0].as_py()
    likely = [form for form in (*numbers, *_TIMES) if form.looks_right(first)]
    return tuple(form for form in likely if not np.isnan(form.read(head)).any())


def _matches(cells: pa.StringArray, pattern: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    return found


def _may_be_read(source: Source, policy: Policy, name: str, form: _Form, engine: Engine) -> bool:
    """Return True if a column may be read by a form that fits it: not one that is an identifier as it is written.

    Integers that all differ, or follow each other, are days where the name of the column suggests it, else keys.
    """
    if policy.column(name).bounds is not None:
        return form.number is not None
    if policy.declares(name):
        return True
    names_day = not _DATE_WORDS.isdisjoint(words_of(name))
    harmless = {"unique_text", "unique_numbers", "row_numbers"} if names_day else {"unique_text"}
    (profile,) = profiles_of(source, [name], engine)
    rule = None if profile.verdict is None else profile.verdict.rule
    return rule is None or (rule in harmless and (names_day or form != _JOINED_FORM))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadFound:
    """Reads the columns whose form was found: a function of each cell."""

    columns: Mapping[str, Column]
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with these columns read.

        Raises
        ------
        EngineError
            A cell is of another form: it was not there when the form was found.
        """
        arrays = [self._read(each, batch.column(each.name)) for each in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _read(self, to: pa.Field, array: pa.Array) -> pa.Array:
        column = self.columns.get(to.name)
        if column is None:
            return array
        if column.calendar is not None:
            places, read = column.calendar.reader.places(array)
            days = pa.types.is_date32(to.type)
            whole = (places // 86_400_000_000).astype(np.int32) if days else places
            out = pa.array(whole, mask=~read).cast(to.type)
        else:
            plain = (column.number_form or NumberForm()).plain(array)
            out = pc.if_else(plain.is_valid(), pa.array(cell_numbers(plain)), None)
        if out.null_count > array.null_count:
            raise EngineError(f"column {to.name!r} has changed while the table was read")
        return out


@dataclass(frozen=True, kw_only=True)
class CountForms:
    """Counts the filled cells, the plain numbers, the cells of each form, and those that two forms read otherwise."""

    tried: Mapping[str, tuple[_Form, ...]]

    @property
    def size(self) -> int:
        """Number of counts."""
        return sum(2 + len(forms) + len(_pairs(forms)) for forms in self.tried.values())

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        return np.concatenate([_counts(batch.column(name), forms) for name, forms in self.tried.items()])

    def decided(self, counts: NDArray[np.int64]) -> list[tuple[str, _Form | None, tuple[_Form, _Form] | None]]:
        """Return, of the summed counts, the form that all cells of a column settle, or two that clash, by column."""
        out: list[tuple[str, _Form | None, tuple[_Form, _Form] | None]] = []
        at = 0
        for name, forms in self.tried.items():
            pairs = _pairs(forms)
            (filled, plain), reads, clashes = np.split(
                counts[at : at + 2 + len(forms) + len(pairs)], (2, 2 + len(forms))
            )
            at += 2 + len(forms) + len(pairs)
            fits = [form for form, n in zip(forms, reads, strict=True) if n == filled]
            if plain == filled:
                out.append((name, _JOINED_FORM if _JOINED_FORM in fits else None, None))
                continue
            clash = next(
                (pair for pair, n in zip(pairs, clashes, strict=True) if n and pair[0] in fits and pair[1] in fits),
                None,
            )
            out.append((name, fits[0] if fits else None, clash))
        return out


def _pairs(forms: Sequence[_Form]) -> list[tuple[_Form, _Form]]:
    return list(combinations(forms, 2))


def _counts(cells: pa.Array, forms: Sequence[_Form]) -> NDArray[np.int64]:
    coded = pc.dictionary_encode(cells.drop_null())
    texts = _texts(coded.dictionary)
    weights = np.bincount(coded.indices.to_numpy(), minlength=len(texts)).astype(np.int64)
    readings = [form.read(texts) for form in forms]
    return np.array(
        [
            weights.sum(),
            weights[~np.isnan(cell_numbers(texts))].sum(),
            *(weights[~np.isnan(values)].sum() for values in readings),
            *(weights[~np.isnan(a) & ~np.isnan(b) & (a != b)].sum() for a, b in combinations(readings, 2)),
        ],
        np.int64,
    )


_LATITUDE, _LONGITUDE = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
_LINE = 110


def calendar_lines(profile: ColumnProfile, *, is_declared: bool = False) -> list[str]:
    """Return the lines that make a column one of dates, moments or times; none where it does not look like one.

    Parameters
    ----------
    is_declared : bool
        True where its type is in the draft already.
    """
    if profile.kind is ValueKind.TIME:
        typed = "datetime" if profile.type_name.startswith("timestamp") else "date"
        kind = "time" if profile.type_name.startswith("time") and typed == "date" else typed
        return [*([] if is_declared else [f'# type = "{kind}"']), *_levels(kind)]
    if profile.kind is not ValueKind.TEXT or profile.written is None:
        return []
    if not profile.written.startswith("%"):
        return [f'# type = "{profile.written}"', *_levels(profile.written)]
    form = profile.written
    other = form.replace("%d", "%?").replace("%m", "%d").replace("%?", "%m")
    return [
        '# type = "date"',
        f'# format = "{form}"   # or "{other}": declare which of them is the day',
        *_levels("date"),
    ]


def _levels(kind: str) -> list[str]:
    if kind == "time":
        return ['# levels = ["hour", "part"]   # finest first; without it, these']
    finest = "hour" if kind == "datetime" else "day"
    return [
        f'# levels = ["month", "quarter", "year", "decade"]   # finest first; without it, from the {finest} on',
        '# bounds = ["FIRST DAY", "LAST DAY"]   # inclusive, from public knowledge, written YYYY-MM-DD',
    ]


def place_sections(profiles: Sequence[ColumnProfile]) -> list[list[str]]:
    """Return the lines that make two columns of coordinates one place; none where no two are named so."""
    found = []
    for words in (_LATITUDE, _LONGITUDE):
        named = [
            profile.name
            for profile in profiles
            if profile.kind is ValueKind.FRACTIONAL and not words.isdisjoint(words_of(profile.name))
        ]
        found.append(named)
    latitudes, longitudes = found
    if len(latitudes) != 1 or len(longitudes) != 1:
        return []
    latitude, longitude = (json.dumps(names[0], ensure_ascii=False) for names in (latitudes, longitudes))
    sections = ", ".join(f"[columns.{_key(names[0])}]" for names in found)
    note = (
        f"Coordinates? As one place they are released as a cell of a grid, and leave no file themselves: delete "
        f"{sections} and uncomment this. Differential privacy needs the box (south, west, north, east), from public "
        "knowledge."
    )
    return [
        [
            *textwrap.wrap(note, _LINE, initial_indent="# ", subsequent_indent="# "),
            "# [places]",
            f"# place = {{ latitude = {latitude}, longitude = {longitude}, resolutions = [8, 7, 6, 5, 4] }}"
            "   # box = [SOUTH, WEST, NORTH, EAST]",
        ]
    ]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
