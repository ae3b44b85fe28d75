# SPDX-License-Identifier: Apache-2.0
"""Comparison of an exported release with the release: names and types of columns, and the rows in any order.

Two tables have the same rows when the keyed hashes of their rows have the same sum modulo 2¹²⁸ and they are as many: an
additive multiset hash (Clarke et al. 2003), under a key that is drawn for one comparison and never written, so that
nobody can make other rows that add up to the same. One batch is in memory at a time.

A cell is compared as the value it is in the type of the release: a number in whatever spelling reads as it, -0 as 0,
NaN as missing, a time in UTC and to the microsecond. Missing and an empty string are two things, except in a sheet,
which has no empty strings and no more than 15 digits. A cell that is no value of its column's type is like none of the
release.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.exports.export_files import ExportedForm, ExportedRows
from anonkit.checks.sameness import none_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_SUM = 1 << 128
_GUARDED = "(^|[;,|\t\r\n])'([\"']*[=+\\-@\t\r＝＋－＠])"
_SHEET_DAY_0, _SHEET_FIRST = date(1899, 12, 30), date(1900, 3, 1)
_SHEET_WHOLE = 10**15
_SHEET_LEAST, _SHEET_MOST = 2.3e-308, 1e308


def export_checks(form: ExportedForm, rows: ExportedRows) -> Iterator[Check]:
    """Compare an exported table with the rows of its release.

    Parameters
    ----------
    form : ExportedForm
        What was exported, as it is read back.
    rows : Rows
        The release.

    Raises
    ------
    EngineError
        A database failed.
    """
    try:
        found = list(form.columns())
        names = [_unguarded(name) if form.escapes_formulas else name for name, _ in found]
        yield Check(
            name="exported_columns",
            passed=names == list(rows.schema.names),
            observed=len(names),
            required=len(rows.schema),
        )
        if names != list(rows.schema.names):
            return
        kinds = [form.type_of(field.type) for field in rows.schema]
        yield none_of("exported_types", sum(kind != there for kind, (_, there) in zip(kinds, found, strict=True)))
        key = secrets.token_bytes(32)
        there, n_there = _sum_of(_words(form.batches(), rows.schema, form, original=False), key)
    except ReleaseFormatError:
        yield Check(name="exported_file", passed=False, observed="unreadable", required="readable")
        return
    here, _ = _sum_of(_words(rows.batches(), rows.schema, form, original=True), key)
    yield Check(name="exported_rows", passed=n_there == rows.n_rows, observed=n_there, required=rows.n_rows)
    yield Check(
        name="exported_cells",
        passed=there == here and n_there == rows.n_rows,
        observed="the same" if there == here else "others",
        required="the same",
    )


def _sum_of(words: Iterable[pa.Array], key: bytes) -> tuple[int, int]:
    """Return the sum of the hashes of rows, and how many there are."""
    total = n_rows = 0
    for batch in words:
        n_rows += len(batch)
        for row in batch.cast(pa.binary()).to_pylist():
            total += int.from_bytes(hashlib.blake2b(row, digest_size=16, key=key).digest(), "little")
    return total % _SUM, n_rows


def _words(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, form: ExportedForm, *, original: bool
) -> Iterator[pa.Array]:
    """Yield one string a row that identifies the row: the length and the text of every cell, or that it is missing."""
    for batch in batches:
        cells = [
            _cells(column, field.type, form, original=original)
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        encoded = [
            pc.coalesce(pc.binary_join_element_wise(pc.binary_length(texts).cast(pa.string()), texts, ":"), "-")
            for texts in cells
        ]
        yield pc.binary_join_element_wise(*encoded, ";")


def _cells(column: pa.Array, kind: pa.DataType, form: ExportedForm, *, original: bool) -> pa.Array:
    """Return each cell as a string: `=` before a value of its column's type, `?` before anything else."""
    if not original and form.typed_cells:
        column = _of_sheet(column, kind)
    elif not original and form.escapes_formulas and pa.types.is_string(kind):
        column = pc.replace_substring_regex(column, pattern=_GUARDED, replacement=r"\1\2")
    if form.empty_is_missing and pa.types.is_string(kind) and pa.types.is_string(column.type):
        column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
    if pa.types.is_string(kind) and pa.types.is_string(column.type):
        return pc.binary_join_element_wise("=", column, "")
    if pa.types.is_string(kind):
        return _strange(column)
    if pa.types.is_boolean(kind) and pa.types.is_integer(column.type):
        column = column.cast(pa.string())  # else any number but 0 would be true
    try:
        values = _read_as(column, kind)
    except pa.ArrowInvalid:
        return _one_by_one(column, kind, form)
    return _values(values, form)


def _read_as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return cells as values of a type; a string is a time of day as it is one of the first day of 1970."""
    if pa.types.is_time(kind) and not pa.types.is_time(column.type):
        column = pc.binary_join_element_wise("1970-01-01 ", column.cast(pa.string()), "").cast(pa.timestamp("us"))
    if pa.types.is_decimal(kind) and pa.types.is_floating(column.type):
        column = column.cast(pa.string())  # else a number would be rounded to the released one
    return column.cast(kind)


def _values(values: pa.Array, form: ExportedForm) -> pa.Array:
    """Return values as strings: floats without the sign of zero, to the digits that the form keeps, NaN as missing."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), pc.add(values, 0.0).cast(values.type))
        if form.digits is not None:
            texts = [None if value is None else f"={value:.{form.digits}g}" for value in values.to_pylist()]
            return pa.array(texts, pa.string())
    return pc.binary_join_element_wise("=", values.cast(pa.string()), "")


def _one_by_one(column: pa.Array, kind: pa.DataType, form: ExportedForm) -> pa.Array:
    """Return cells of which some are no value of a type, each by itself."""
    texts = column.cast(pa.string())
    pieces = []
    for at in range(len(texts)):
        cell = texts.slice(at, 1)
        try:
            pieces.append(_values(_read_as(cell, kind), form))
        except pa.ArrowInvalid:
            pieces.append(_strange(cell))
    return pa.concat_arrays(pieces)


def _strange(column: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise("?", column.cast(pa.string()), "")


def _each(texts: pa.Array, changed: Any) -> pa.Array:
    """Return strings with each present one changed."""
    return pa.array([None if text is None else changed(text) for text in texts.to_pylist()], pa.string())


def _unguarded(text: str) -> str:
    return re.sub(_GUARDED, r"\1\2", text)


def _of_sheet(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the strings of a sheet's cells, by the types that the release's values have there."""
    if not (pa.types.is_string(kind) or pa.types.is_boolean(kind)):
        column = _each(column, lambda cell: cell if cell[0] in "sn" else "s no value of a number or a text")
    if pa.types.is_string(kind):
        return _each(column, lambda cell: cell[1:] if cell[0] == "s" else f"\x00{cell}")
    if pa.types.is_boolean(kind):
        return _each(column, lambda cell: {"b1": "true", "b0": "false"}.get(cell, "no truth value"))
    if pa.types.is_date(kind):
        return _each(column, _day)
    if pa.types.is_integer(kind):
        return _each(column, _whole)
    if pa.types.is_floating(kind):
        return _each(column, _number)
    return _each(column, lambda cell: cell[1:] if cell[0] == "s" else "no text")


def _day(cell: str) -> str:
    """Return the day of a cell; a string is one only where a sheet has no date for it."""
    if cell[0] == "s":
        return cell[1:] if cell[1:] < _SHEET_FIRST.isoformat() else "no date"
    try:
        return (_SHEET_DAY_0 + timedelta(days=int(cell[1:]))).isoformat()
    except (ValueError, OverflowError):
        return "no date"


def _number(cell: str) -> str:
    """Return the number of a cell; a string is one only beyond the numbers of a sheet."""
    try:
        size = abs(float(cell[1:]))
    except ValueError:
        return "no number"
    beyond = size != 0 and not _SHEET_LEAST <= size < _SHEET_MOST
    return cell[1:] if beyond == (cell[0] == "s") else "no number"


def _whole(cell: str) -> str:
    """Return the integer of a cell; a string is one only where a sheet has not as many digits."""
    try:
        number = int(cell[1:]) if cell[0] == "s" else float(cell[1:])
    except ValueError:
        return "no number"
    if cell[0] == "s":
        return str(number) if abs(number) >= _SHEET_WHOLE else "no number"
    return str(int(number)) if float(number).is_integer() else "no number"
