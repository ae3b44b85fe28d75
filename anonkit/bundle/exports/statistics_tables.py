# SPDX-License-Identifier: Apache-2.0
"""Files of SPSS (.sav) and Stata (.dta): strings of few values are codes with value labels.

The label of a code is a text of the release. A column of more strings than `MOST_LABELS`, or of longer ones than a
label may be, is one of strings. Truth values are 0 and 1 with labels. Neither form knows an empty string: it is
missing.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.exports.export_files import ExportFile
from anonkit.errors import EngineError, MissingDependencyError, ParameterError, ReleaseFormatError

if TYPE_CHECKING:
    from pathlib import Path

    from anonkit.bundle.exports.export_files import ExportedRows

_Read = TypeVar("_Read")

MOST_LABELS = 1_000
"""Most strings of a column that are codes with labels; nobody reads a longer list in a program of statistics."""
LARGEST_WHOLE = 1 << 53
"""Integers beyond are not exact as the floating-point numbers that both forms have."""
LARGEST_NUMBER = 8.9e307
"""Numbers beyond mean missing values in Stata, and bounds of ranges in SPSS; infinite ones are among them."""
_MOST_DIGITS = 15
"""Decimals of so many digits are exact as numbers; longer ones are strings."""
_LONG = 2_147_483_620
"""Largest integer of Stata's type `long`."""
_CHUNK_ROWS, _CHUNK_BYTES = 1 << 17, 1 << 26
_DAY = 86_400
_TRUTH = {"false": 0, "true": 1}
_ELSEWHERE = "rename it in the source and release anew, or export to CSV or Arrow"
_CSV_INSTEAD = "export to CSV or Arrow instead"


@dataclass(frozen=True, kw_only=True)
class FileRules:
    """Rules of a statistics program for the columns in its files."""

    called: str
    name: re.Pattern[str]
    name_rule: str
    """The pattern's rule, in words."""
    reserved: re.Pattern[str]
    longest_name: int
    name_size: Callable[[str], int]
    unit: str
    """Unit of the sizes of names."""
    is_case_sensitive: bool
    most_columns: int
    longest_label: int
    """Of a value, in bytes of UTF-8."""
    longest_text: int
    """In bytes of UTF-8."""
    keeps_blanks: bool
    """False: blanks at the end of a string are lost."""
    first_day: date
    day_0: date
    formats: Mapping[str, str]
    """Display formats of days, moments and times, by "date", "moment" and "time"; a time without one is a string."""
    per_day: int
    """Units of a date in a day."""
    per_second: int
    """Units of a moment in a second."""


SPSS = FileRules(
    called="SPSS",
    name=re.compile(r"[^\W\d_][\w.$#@]*(?<!\.)"),
    name_rule="a letter, then letters, digits and . _ $ # @, and no dot at the end",
    reserved=re.compile("ALL|AND|BY|EQ|GE|GT|LE|LT|NE|NOT|OR|TO|WITH", re.IGNORECASE),
    longest_name=64,
    name_size=lambda name: len(name.encode()),
    unit="bytes",
    is_case_sensitive=False,
    most_columns=32_767,
    longest_label=120,
    longest_text=32_767,
    keeps_blanks=False,
    first_day=date(1582, 10, 15),
    day_0=date(1582, 10, 14),
    formats={"date": "DATE11", "moment": "DATETIME23.3", "time": "TIME15.6"},
    per_day=_DAY,
    per_second=1,
)
STATA = FileRules(
    called="Stata",
    name=re.compile(r"[^\W\d]\w*"),
    name_rule="a letter or _, then letters, digits and _",
    reserved=re.compile(
        "_all|_b|byte|_coef|_cons|double|float|if|in|int|long|_n|_N|_pi|_pred|_rc|_skip|str[0-9]+|strL|using|with"
    ),
    longest_name=32,
    name_size=len,
    unit="letters",
    is_case_sensitive=True,
    most_columns=32_767,
    longest_label=32_000,
    longest_text=2_000_000_000,
    keeps_blanks=True,
    first_day=date(100, 1, 1),
    day_0=date(1960, 1, 1),
    formats={"date": "%td", "moment": "%tc"},
    per_day=1,
    per_second=1_000,
)


class StatisticsTable(ExportFile):
    """A release as a file of SPSS or Stata; the library that writes it holds the whole table in memory."""

    empty_is_missing: ClassVar[bool] = True
    rules: ClassVar[FileRules]

    def refuse_unheld(self, names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> None:
        """Refuse more columns than the form has, and names and strings that it cannot hold.

        Raises
        ------
        ParameterError
        MissingDependencyError
            pyreadstat is not installed.
        """
        _library()
        rules = self.rules
        if len(names) > rules.most_columns:
            raise ParameterError(
                f"the release has {len(names)} columns, a file of {rules.called} holds {rules.most_columns}",
                _CSV_INSTEAD,
            )
        first: dict[str, str] = {}
        for name in names:
            fault = _fault_of_name(rules, name)
            other = first.setdefault(name if rules.is_case_sensitive else name.lower(), name)
            if fault is None and other != name:
                fault = f"is to {rules.called} the same name as {other!r}: it does not tell capitals"
            if fault is not None:
                raise ParameterError(f"column {name!r} {fault}", _ELSEWHERE)
        for name, found in texts.items():
            self._refuse_texts(name, pa.array(found, pa.string()))

    def write_table(self, rows: ExportedRows, path: Path) -> None:
        """Write the rows.

        Raises
        ------
        ParameterError
            The form cannot hold a name or a cell.
        EngineError
            The library cannot write the file.
        MissingDependencyError
            pyreadstat is not installed.
        """
        import pandas as pd

        library = _library()
        self.refuse_unheld(rows.schema.names, {})
        table = pa.Table.from_batches(rows.batches(), rows.schema)
        columns = {name: self._stored(name, table[name], rows) for name in table.column_names}
        frame = pd.DataFrame({name: column.cells for name, column in columns.items()})
        labels = {name: column.labels for name, column in columns.items() if column.labels}
        formats = {name: column.format for name, column in columns.items() if column.format}
        try:
            self._write(library, frame, path, labels, formats)
        except (library.PyreadstatError, library.ReadstatError):
            raise EngineError(f"{str(self.path)!r} cannot be written as a file of {self.rules.called}") from None

    @abstractmethod
    def _write(
        self, library: Any, frame: Any, path: Path, labels: Mapping[str, Any], formats: Mapping[str, str]
    ) -> None:
        """Write a frame by the library's function for the form."""

    @abstractmethod
    def _read(self, library: Any, **how: Any) -> Any:
        """Return the frame and its meta data by the library's function for the form."""

    def _stored(self, name: str, cells: pa.ChunkedArray, rows: ExportedRows) -> _Stored:
        """Return a column as the file holds it."""
        kind, rules = cells.type, self.rules
        if pa.types.is_boolean(kind):
            return self._labelled(pc.if_else(cells, "true", "false"), _TRUTH)
        if self.type_of(kind) == "text":
            return self._texts(name, cells.cast(pa.string()), rows)
        if pa.types.is_date(kind):
            days = cells.cast(pa.int32()).cast(pa.int64())
            self._refuse_early(name, days)
            since = pc.multiply(pc.add(days, _days_between(rules.day_0)), rules.per_day)
            return _Stored(cells=_floats(since), format=rules.formats["date"])
        if pa.types.is_timestamp(kind):
            ticks = cells.cast(pa.int64())
            millis = pc.divide(ticks, 1_000)
            if pc.any(pc.not_equal(pc.multiply(millis, 1_000), ticks)).as_py():
                raise ParameterError(
                    f"column {name!r} has moments finer than a millisecond, which {rules.called} cannot hold",
                    _CSV_INSTEAD,
                )
            self._refuse_early(name, pc.floor(pc.divide(_exact(millis), 1_000.0 * _DAY)))
            since = pc.add(millis, _days_between(rules.day_0) * _DAY * 1_000)
            return _Stored(cells=_floats(since) * (rules.per_second / 1_000), format=rules.formats["moment"])
        if pa.types.is_time(kind):
            return _Stored(cells=_floats(cells.cast(pa.int64())) / 1e6, format=rules.formats["time"])
        if pa.types.is_integer(kind):
            return self._whole(name, cells)
        if pa.types.is_decimal(kind):
            cells = cells.cast(pa.string())  # Arrow's own conversion is off by a last digit
        values = _floats(cells)
        if np.nanmax(np.abs(values), initial=0.0) > LARGEST_NUMBER:
            raise ParameterError(
                f"column {name!r} has numbers beyond {LARGEST_NUMBER:g}, which {rules.called} cannot hold", _CSV_INSTEAD
            )
        return _Stored(cells=values)

    def _whole(self, name: str, cells: pa.ChunkedArray) -> _Stored:
        found = pc.min_max(cells).as_py()
        largest = max(abs(found["min"] or 0), abs(found["max"] or 0))
        if largest > LARGEST_WHOLE:
            raise ParameterError(
                f"column {name!r} has whole numbers beyond {LARGEST_WHOLE:,}, which {self.rules.called} cannot hold",
                _CSV_INSTEAD,
            )
        return _Stored(cells=_floats(cells) if largest > _LONG else _longs(cells))

    def _texts(self, name: str, texts: pa.ChunkedArray, rows: ExportedRows) -> _Stored:
        """Return strings as codes with labels, or unchanged where they are many or long; an empty string is missing."""
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        self._refuse_texts(name, texts)
        there = pc.unique(texts.drop_null()).to_pylist()
        fits = all(len(text.encode()) <= self.rules.longest_label and text == text.rstrip(" ") for text in there)
        if not fits or not 0 < len(there) <= MOST_LABELS:
            return _Stored(cells=np.array(texts.fill_null("").to_pylist(), dtype=object))
        known = [text for text in rows.categories.get(name, ()) if text in set(there)]
        ordered = [*known, *sorted(set(there) - set(known))]
        return self._labelled(texts, {text: code for code, text in enumerate(ordered, 1)})

    def _labelled(self, texts: pa.ChunkedArray, codes: Mapping[str, int]) -> _Stored:
        places = pc.index_in(texts, pa.array(list(codes), pa.string()))
        numbers = pa.array(list(codes.values()), pa.int64()).take(places.combine_chunks())
        return _Stored(cells=_longs(numbers), labels={code: text for text, code in codes.items()})

    def _refuse_texts(self, name: str, texts: pa.Array | pa.ChunkedArray) -> None:
        """Refuse strings that no cell can hold; no message quotes one."""
        rules = self.rules
        fault = None
        if pc.any(pc.match_substring(texts, "\0")).as_py():
            fault = "U+0000 in a text"
        elif pc.any(pc.greater(pc.binary_length(texts), rules.longest_text)).as_py():
            fault = f"texts of more than {rules.longest_text} bytes"
        elif not rules.keeps_blanks and pc.any(pc.ends_with(texts, " ")).as_py():
            fault = "texts that end in blanks"
        if fault is not None:
            raise ParameterError(f"column {name!r} has {fault}, which {rules.called} cannot hold", _CSV_INSTEAD)

    def _refuse_early(self, name: str, days: pa.ChunkedArray) -> None:
        """Refuse days, counted from 1970 on, before the calendar of the form begins."""
        rules = self.rules
        if pc.any(pc.less(days, -_days_between(rules.first_day))).as_py():
            raise ParameterError(
                f"column {name!r} has dates before {rules.first_day}, where the calendar of {rules.called} begins",
                _CSV_INSTEAD,
            )

    def type_of(self, kind: pa.DataType) -> str:
        """Return "text", "number", "date", "moment" or "time"."""
        if pa.types.is_string(kind) or pa.types.is_boolean(kind):
            return "text"
        if pa.types.is_decimal(kind):
            return "number" if kind.precision <= _MOST_DIGITS else "text"
        if pa.types.is_date(kind):
            return "date"
        if pa.types.is_timestamp(kind):
            return "moment"
        if pa.types.is_time(kind):
            return "time" if "time" in self.rules.formats else "text"
        return "number"

    def columns(self) -> Sequence[tuple[str, str]]:
        """Return names and types as `type_of` calls them."""
        described = self._described_file()
        return [(name, self._type_there(name, described)) for name in described.column_names]

    def _type_there(self, name: str, described: Any) -> str:
        if described.variable_value_labels.get(name) or described.readstat_variable_types[name] == "string":
            return "text"
        shown = {form: word for word, form in self.rules.formats.items()}
        return shown.get(described.original_variable_types[name], "number")

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows: labels for codes, and native numbers and dates."""
        described = self._described_file()
        width = sum(described.variable_storage_width.values()) or 1
        size, first = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // width)), 0
        while True:
            batch = self._guarded(lambda first=first: self._chunk(described, first, size))  # type: ignore[misc]
            yield batch
            first += batch.num_rows
            if batch.num_rows < size:
                return

    def _chunk(self, described: Any, first: int, size: int) -> pa.RecordBatch:
        cells = self._read(_library(), row_offset=first, row_limit=size)[0]
        columns = [self._read_back(cells[name], name, described) for name in described.column_names]
        return pa.RecordBatch.from_arrays(columns, names=list(described.column_names))

    def _read_back(self, cells: Sequence[Any], name: str, described: Any) -> pa.Array:
        """Return cells as they are compared.

        Raises
        ------
        ValueError
            A code has no label, or a label of two codes.
        """
        labels = described.variable_value_labels.get(name)
        if labels:
            if len(set(labels.values())) < len(labels) or not {cell for cell in cells if cell is not None} <= set(
                labels
            ):
                raise ValueError
            return pa.array([None if cell is None else labels[cell] for cell in cells], pa.string())
        there = self._type_there(name, described)
        if there == "text":
            return pa.array([cell or None for cell in cells], pa.string())
        numbers, rules = pa.array(cells, pa.float64()), self.rules
        match there:
            case "date":
                days = pc.subtract(pc.divide(numbers, float(rules.per_day)), float(_days_between(rules.day_0)))
                return days.cast(pa.int32()).cast(pa.date32())
            case "moment":
                millis = pc.round(pc.multiply(numbers, 1_000.0 / rules.per_second))
                since = pc.subtract(millis.cast(pa.int64()), _days_between(rules.day_0) * _DAY * 1_000)
                return pc.multiply(since, 1_000).cast(pa.timestamp("us"))
            case "time":
                return pc.round(pc.multiply(numbers, 1e6)).cast(pa.int64()).cast(pa.time64("us"))
        return numbers

    def _described_file(self) -> Any:
        return self._guarded(lambda: self._read(_library(), metadataonly=True)[1])

    def _guarded(self, action: Callable[[], _Read]) -> _Read:
        """Return the result of an action of the library; its errors, which may quote cells, are replaced."""
        with self.refusing_unreadable():
            return action()

    @contextmanager
    def refusing_unreadable(self) -> Iterator[None]:
        """Refuse a file that the library cannot read; see `ExportFile.refusing_unreadable`."""
        library = _library()
        with super().refusing_unreadable():
            try:
                yield
            except (library.PyreadstatError, library.ReadstatError, LookupError, TypeError, ArithmeticError):
                raise ReleaseFormatError(f"{str(self.path)!r} cannot be read as {self.target.form}") from None


class SpssTable(StatisticsTable):
    """A release as a file of SPSS."""

    rules: ClassVar[FileRules] = SPSS

    def _write(
        self, library: Any, frame: Any, path: Path, labels: Mapping[str, Any], formats: Mapping[str, str]
    ) -> None:
        measures = {name: "nominal" if name in labels else "scale" for name in frame.columns}
        library.write_sav(
            frame, str(path), variable_value_labels=labels, variable_format=formats, variable_measure=measures
        )

    def _read(self, library: Any, **how: Any) -> Any:
        return library.read_sav(str(self.readable), output_format="dict", disable_datetime_conversion=True, **how)


class StataTable(StatisticsTable):
    """A release as a file of Stata 14 or later."""

    rules: ClassVar[FileRules] = STATA

    def _write(
        self, library: Any, frame: Any, path: Path, labels: Mapping[str, Any], formats: Mapping[str, str]
    ) -> None:
        library.write_dta(frame, str(path), variable_value_labels=labels, variable_format=formats)

    def _read(self, library: Any, **how: Any) -> Any:
        return library.read_dta(str(self.readable), output_format="dict", disable_datetime_conversion=True, **how)


@dataclass(frozen=True, kw_only=True)
class _Stored:
    """A column as a file holds it."""

    cells: Any
    """Array of numbers or of strings."""
    labels: Mapping[int, str] | None = None
    """String of every code."""
    format: str | None = None


def _library() -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingDependencyError.of_extra("pyreadstat, which files of SPSS and Stata need,", "stats") from None
    return pyreadstat


def _fault_of_name(rules: FileRules, name: str) -> str | None:
    """Return the fault of a name by itself; None where it has none."""
    size = rules.name_size(name)
    if size > rules.longest_name:
        return f"has a name of {size} {rules.unit}, {rules.called} holds {rules.longest_name}"
    if rules.reserved.fullmatch(name):
        return f"has a name that {rules.called} keeps to itself"
    if not rules.name.fullmatch(name):
        return f"has no name of {rules.called}: {rules.name_rule}"
    return None


def _days_between(day: date) -> int:
    """Return the days from one until 1970."""
    return (date(1970, 1, 1) - day).days


def _exact(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    return cells.cast(pa.float64(), safe=False)


def _floats(cells: pa.ChunkedArray) -> Any:
    """Return numbers as floating-point numbers, those that are missing as NaN."""
    return _exact(cells).fill_null(float("nan")).to_numpy()


def _longs(cells: pa.Array | pa.ChunkedArray) -> Any:
    """Return integers of 32 bits, which may be missing."""
    import pandas as pd

    missing = (
        cells.is_null().to_numpy(zero_copy_only=False) if isinstance(cells, pa.Array) else cells.is_null().to_numpy()
    )
    filled = cells.fill_null(0).cast(pa.int32())
    values = filled.to_numpy(zero_copy_only=False) if isinstance(cells, pa.Array) else filled.to_numpy()
    return pd.arrays.IntegerArray(np.array(values, dtype=np.int32), np.array(missing, dtype=bool))
