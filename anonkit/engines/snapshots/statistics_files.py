# SPDX-License-Identifier: Apache-2.0
"""Files of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), copied in chunks with their own types.

The meaning of a cell follows from the file's description of its column and from the policy, never by other cells:

* What the file declares missing is missing, and so is a blank string, which these formats cannot distinguish from none.
* A code with a value label becomes its label, a code without one its number as a text. A column stays one of codes
  where SPSS calls it a scale or the policy declares it a number: by its type, bounds or ladder. A label that is
  for several codes is followed by its code, so that they stay apart.
* Columns in a format of dates or times are dates, moments and times of day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.engines.reading.parquet_tables import FileTable, check_names
from anonkit.engines.snapshots.addresses import SourceAddress
from anonkit.engines.snapshots.private_copies import typed_copy
from anonkit.errors import AnonkitError, MissingDependencyError, SourceError, spoken
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import UTF8, encoding_named

_Value = TypeVar("_Value")
_Cells = Sequence[Any]

_READERS = {
    "sav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}
_CHUNK = 1 << 17  # rows read at a time
_DAY = 86_400
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # years 1 to 9999, in days from 1970-01-01
_SPSS, _OTHERS = -141_428, -3_653  # day 0 of SPSS (1582-10-14), and of SAS and Stata (1960-01-01)
_SPSS_FINE = 10
"""Microseconds: a number of seconds since 1582 has an error of one or two of them."""
_SPSS_DATES = re.compile(r"(A|E|J|S)?DATE[0-9.]*|(MO|Q|WK)YR[0-9.]*")
_SPSS_MOMENTS = re.compile(r"(DATETIME|YMDHMS)[0-9.]*")
_SPSS_TIMES = re.compile(r"TIME[0-9.]*")
_SAS_MOMENTS = re.compile(r"(DATETIME|DATEAMPM|(E8601|B8601|IS8601)(DT|DN|DZ|LZ)|MDYAMPM)[0-9.]*")
_SAS_TIMES = re.compile(r"(TIME|TIMEAMPM|TOD|HHMM|(E8601|B8601|IS8601)(TM|TZ))[0-9.]*")
_SAS_DATES = re.compile(
    r"(DATE|DAY|DDMMYY|MMDDYY|YYMMDD|(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]|JULIAN|MONYY|WEEKDATE|WEEKDATX|WORDDATE|WORDDATX|"
    r"YYMMDDN|YYMON|(E8601|B8601|IS8601)DA)[0-9.]*"
)
_STATA_DATES, _STATA_MOMENTS = re.compile(r"%-?t?d.*", re.IGNORECASE), re.compile(r"%-?tc.*", re.IGNORECASE)


def live_table(address: SourceAddress, policy: Policy) -> StatisticsFile:
    """Return the table in a file of a statistics package.

    Raises
    ------
    MissingDependencyError
        pyreadstat is not installed.
    SourceError
        There is no such file.
    """
    address.refuse(
        "query", "sheet", "header_row", "header", "names", "delimiter", "skip_rows", of="a file of a statistics package"
    )
    try:
        import pyreadstat  # noqa: F401
    except ImportError:
        raise MissingDependencyError.of_extra("pyreadstat", "stats") from None
    if not address.file_path.is_file():
        raise SourceError(f"{address.shown} does not exist")
    return StatisticsFile(address, policy)


@dataclass(frozen=True)
class StatisticsFile:
    """A file of SPSS, Stata or SAS."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy the rows. See `anonkit.engines.snapshots.dispatch.LiveTable`."""
        described = self._guarded(partial(self._read, metadataonly=True))[1]
        names = list(described.column_names)
        check_names(names)
        columns = [_column(self.policy.column(name), name, described, self.address.named_format) for name in names]
        schema = pa.schema([(column.name, column.kind) for column in columns])
        return typed_copy(folder, schema, self._batches(columns), self.address.place)

    def _batches(self, columns: Sequence[_StatisticsColumn]) -> Iterator[pa.RecordBatch]:
        row = 0
        while True:
            batch = self._guarded(partial(self._chunk, columns, row))
            yield batch
            row += batch.num_rows
            if batch.num_rows < _CHUNK:
                return

    def _chunk(self, columns: Sequence[_StatisticsColumn], first_row: int) -> pa.RecordBatch:
        cells = self._read(row_offset=first_row, row_limit=_CHUNK)[0]
        arrays = [column.convert(cells[column.name]) for column in columns]
        return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    def _read(self, **how: Any) -> Any:
        """Return the cells of some rows, None where missing, and the description of the file."""
        import pyreadstat

        kind, encoding = self.address.named_format or "", encoding_named(self.policy.encoding)
        named = {} if encoding == UTF8 or kind == "por" else {"encoding": encoding}
        read = getattr(pyreadstat, _READERS[kind])
        path = str(self.address.file_path)
        return read(path, output_format="dict", disable_datetime_conversion=True, **named, **how)

    def _guarded(self, action: Callable[[], _Value]) -> _Value:
        """Return the result of an action of the library; its errors, which may quote cells, are replaced."""
        import pyreadstat

        shown = self.address.shown
        try:
            return action()
        except AnonkitError:
            raise
        except UnicodeError:
            failure = self._not_decoded()
        except pyreadstat.ReadstatError as error:
            failure = (
                self._not_decoded()
                if "encoding" in str(error)
                else SourceError(f"{shown} cannot be read to its end as {self.address.named_format}", "is it damaged?")
            )
        except (pyreadstat.PyreadstatError, OSError, ValueError, LookupError, TypeError, ArithmeticError):
            failure = SourceError(f"{shown} cannot be read to its end as {self.address.named_format}", "is it damaged?")
        raise failure

    def _not_decoded(self) -> SourceError:
        hint = f'{spoken(python="", typed="--encoding cp1252, or ")}encoding = "cp1252" in the policy, or another'
        return SourceError(f"the texts of {self.address.shown} are in another encoding than it says", hint)


@dataclass(frozen=True, kw_only=True)
class _StatisticsColumn:
    """A column as the file describes it."""

    name: str
    kind: pa.DataType
    convert: Callable[[_Cells], pa.Array]
    """Makes cells of a chunk, None where missing, into an array of the kind."""


def _column(declared: Column, name: str, described: Any, kind: str | None) -> _StatisticsColumn:
    """Return the reading of a column, by its description and by what the policy declares."""
    labels: Mapping[Any, str] = described.variable_value_labels.get(name, {})
    stored = described.readstat_variable_types.get(name, "double")
    given = (described.original_variable_types.get(name) or "").upper()
    is_number = declared.bounds is not None or declared.ladder is not None or declared.type in _NUMBERS
    scale = described.variable_measure.get(name) == "scale"
    if labels and not is_number and not scale:
        return _StatisticsColumn(name=name, kind=pa.string(), convert=partial(_labelled, _distinct(labels)))
    if stored == "string":
        return _StatisticsColumn(name=name, kind=pa.string(), convert=_texts)
    to_days, unit = (_SPSS, 1.0) if kind in ("sav", "por") else (_OTHERS, 1e3 if kind == "dta" else 1.0)
    match _time_of(given, kind):
        case "date":
            days = _DAY if kind in ("sav", "por") else 1
            return _StatisticsColumn(name=name, kind=pa.date32(), convert=partial(_dates, to_days, days))
        case "moment":
            fine = _SPSS_FINE if kind in ("sav", "por") else 1
            return _StatisticsColumn(name=name, kind=pa.timestamp("us"), convert=partial(_moments, to_days, unit, fine))
        case "time":
            return _StatisticsColumn(name=name, kind=pa.time64("us"), convert=_times)
    if stored.startswith("int"):
        return _StatisticsColumn(name=name, kind=pa.int64(), convert=_integers)
    if declared.role is Role.UNIT:  # every number of these formats may be a float, whatever the other rows hold
        return _StatisticsColumn(name=name, kind=pa.string(), convert=partial(_labelled, {}))
    return _StatisticsColumn(name=name, kind=pa.float64(), convert=partial(pa.array, type=pa.float64()))


_NUMBERS = (ColumnType.INTEGER, ColumnType.NUMBER)


def _time_of(given: str, kind: str | None) -> str | None:
    """Return the kind of time in a column's format: a date, a moment, a time of day, or nothing."""
    if kind in ("sav", "por"):
        forms = {"date": _SPSS_DATES, "moment": _SPSS_MOMENTS, "time": _SPSS_TIMES}
    elif kind == "dta":
        forms = {"date": _STATA_DATES, "moment": _STATA_MOMENTS}
    else:
        forms = {"moment": _SAS_MOMENTS, "time": _SAS_TIMES, "date": _SAS_DATES}
    return next((name for name, form in forms.items() if form.fullmatch(given)), None)


def _distinct(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return the label of every code; one of several codes is followed by the code."""
    given = list(labels.values())
    return {code: label if given.count(label) == 1 else f"{label} ({_spelled(code)})" for code, label in labels.items()}


def _spelled(code: Any) -> str | None:
    """Return a cell as a text; a blank one is missing."""
    if code is None or (isinstance(code, float) and code != code):
        return None
    if isinstance(code, str):
        return code if code.strip() else None
    return str(int(code)) if float(code).is_integer() else repr(float(code))


def _labelled(labels: Mapping[Any, str], cells: _Cells) -> pa.Array:
    return pa.array([labels.get(cell) or _spelled(cell) for cell in cells], pa.string())


def _texts(cells: _Cells) -> pa.Array:
    return pa.array([_spelled(cell) for cell in cells], pa.string())


def _floats(cells: _Cells) -> NDArray[np.float64]:
    return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)


def _integers(cells: _Cells) -> pa.Array:
    values = _floats(cells)
    missing = ~np.isfinite(values)
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def _dates(to_days: int, per_day: int, cells: _Cells) -> pa.Array:
    """Return days; a number that is no day of the years 1 to 9999 is missing."""
    return _in_range(np.floor(_floats(cells) / per_day) + to_days, 1).cast(pa.int32()).cast(pa.date32())


def _moments(to_days: int, per_second: float, fine: int, cells: _Cells) -> pa.Array:
    """Return moments, to so many microseconds as the numbers of the format keep apart."""
    seconds = _floats(cells) / per_second + float(to_days) * _DAY
    return _in_range(np.round(seconds * (1e6 / fine)) * fine, _DAY * 1_000_000).cast(pa.timestamp("us"))


def _in_range(values: NDArray[np.float64], per_day: int) -> pa.Array:
    with np.errstate(invalid="ignore"):
        missing = ~((values >= _FIRST_DAY * per_day) & (values < (_LAST_DAY + 1) * per_day))
    return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)


def _times(cells: _Cells) -> pa.Array:
    """Return times of day; a duration beyond a day is missing."""
    seconds = _floats(cells)
    with np.errstate(invalid="ignore"):
        missing = ~((seconds >= 0) & (seconds < _DAY))
    micros = np.round(np.where(missing, 0, seconds) * 1e6).astype(np.int64)
    return pa.array(np.minimum(micros, _DAY * 1_000_000 - 1), mask=missing).cast(pa.time64("us"))
