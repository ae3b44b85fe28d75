# SPDX-License-Identifier: Apache-2.0
"""Numbers in columns of strings: written forms, many digits, a few odd cells, and points between thousands.

Columns whose written form is declared are read by it in every source: one batch function for all engines. Decimal
numbers of more digits than a double keeps are read as exact decimals: seventeen significant digits survive a double and
back, and a column with a cell of more is one of decimals of 38 digits.

One word among thousands of ages makes them categories. The owner gets a note, with a count and never the word itself.
It is counted where columns are typed by all their cells: under differential privacy each cell is read by itself, and no
other cell changes what it means.

A point may separate thousands: `1.234` beside `900`. Such columns are read as decimals, with a note. Of a text file the
cells of its first part decide; in columns of strings every cell is counted. A column whose form is declared holds no
such doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import NumberForm, cell_numbers
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import POINT

_DIGITS_OF_DOUBLE = 17
_DIGITS = 38  # of a decimal of Parquet
_SHORTEST = (
    _DIGITS_OF_DOUBLE + 1
)  # characters of a number with a point, at most, that a double keeps whatever its digits are


def has_many_digits(texts: pa.StringArray) -> bool:
    """Return True if one of some plain numbers has more significant digits than a double keeps."""
    long = texts.filter(pc.greater(pc.binary_length(texts), _SHORTEST))
    if not len(long):
        return False
    figures = pc.replace_substring_regex(long, r"[eE].*$|[^0-9eE]", "")
    longest = pc.max(pc.binary_length(pc.utf8_trim(figures, "0"))).as_py()
    return longest is not None and longest > _DIGITS_OF_DOUBLE


def as_decimals(texts: pa.StringArray, scale: int = 0) -> pa.Array | None:
    """Return numbers as exact decimals; None where they have more than 38 digits together, or one is no number.

    Parameters
    ----------
    scale : int
        Digits behind the point that they have at least.
    """
    plain = _written_out(pc.utf8_trim_whitespace(texts))
    if plain is None:
        return None
    fractions = pc.utf8_rtrim(pc.replace_substring_regex(plain, r"^[^.]*\.?", ""), "0")
    scale = max(scale, pc.max(pc.binary_length(fractions)).as_py() or 0)
    if scale > _DIGITS:
        return None
    try:
        return plain.cast(pa.decimal128(_DIGITS, scale))
    except pa.ArrowInvalid:
        return None


def _written_out(texts: pa.StringArray) -> pa.StringArray | None:
    """Return numbers without exponents; None where one of them would have more digits than a decimal."""
    if not pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
        return texts
    coded = pc.dictionary_encode(texts)
    try:
        values = [Decimal(text) for text in coded.dictionary.to_pylist()]
    except InvalidOperation:
        return None
    if any(abs(value.adjusted()) > _DIGITS for value in values):
        return None
    return pa.array([f"{value:f}" for value in values], pa.string()).take(coded.indices)


def reading_forms(schema: pa.Schema, policy: Policy) -> ReadForms | None:
    """Return the reader of the text columns of a table whose form is declared; None where none is.

    Where no cell may be read by others (`Policy.cell_by_cell`) they stay strings, of plain decimals.
    """
    forms = {
        field.name: form
        for field in schema
        if (form := policy.column(field.name).number_form) is not None
        and (pa.types.is_string(field.type) or pa.types.is_dictionary(field.type))
    }
    if not forms:
        return None
    kind = pa.string() if policy.cell_by_cell else pa.float64()
    lenient = frozenset(name for name in forms if policy.cell_by_cell or policy.column(name).bounds is not None)
    fields = [field.with_type(kind) if field.name in forms else field for field in schema]
    shown = (Role.SENSITIVE, Role.INSENSITIVE, Role.TARGET)
    exact = frozenset(name for name in forms if not policy.cell_by_cell and policy.column(name).role in shown)
    return ReadForms(forms=forms, lenient=lenient, exact=exact, schema=pa.schema(fields))


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadForms:
    """Reads the numbers of text columns by their form: a function of each cell alone."""

    forms: dict[str, NumberForm]
    lenient: frozenset[str]
    """Columns in which a cell of another form is missing; in others it refuses the table."""
    exact: frozenset[str]
    """Columns whose numbers are released as they are: none of their digits may be lost."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with these columns read."""
        arrays = [self._column(field, batch.column(field.name), row) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _column(self, field: pa.Field, array: pa.Array, row: int) -> pa.Array:
        form = self.forms.get(field.name)
        if form is None:
            return array
        texts = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
        plain = form.plain(texts)
        if field.name not in self.lenient and plain.null_count > texts.null_count:
            odd = pc.and_(pc.is_valid(texts), pc.is_null(plain)).to_numpy(zero_copy_only=False)
            raise SourceError(
                f"column {field.name!r}: the cell in row {row + int(np.argmax(odd)) + 1} is no number written with "
                f"{form}",
                "correct it, list its text in missing_values, or correct the form in the policy",
            )
        if pa.types.is_string(field.type):
            return plain
        if field.name in self.exact and has_many_digits(plain.drop_null()):
            raise SourceError(
                f"column {field.name!r} is released as it is, and one of its numbers has more than 17 digits, of which "
                "the last would be lost",
                f'round them, or leave the form out of the policy and declare type = "{ColumnType.TEXT}"',
            )
        return pc.if_else(plain.is_valid(), pa.array(cell_numbers(plain)), None)


NEARLY_ALL = 0.75
"""Share of the filled cells of a text column that are numbers, at least, for the others to be pointed out."""

MANY = 8
"""Different numbers that such a column holds, at least: fewer beside a word are meant (1, 2, 3, `4 or more`)."""

_BUCKETS = 256  # of numbers, by a fixed hash: the number used estimates the number of numbers
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 by the golden ratio, Fibonacci hashing (Knuth, volume 3, section 6.4)
_NUMBER = r"^\s*[+-]?(0|[1-9][0-9]{0,14})(\.[0-9]*)?([eE][+-]?[0-9]+)?\s*$"
_CURRENCY = r"(?:\p{Sc}|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|BRL|kr|zł|Kč|Ft)"
_WRITTEN = (
    rf"^\s*[+−-]?\s*{_CURRENCY}?\s*[+−-]?(?:[0-9]+|[0-9]{{1,3}}(?:[.,'’ \x{{a0}}\x{{2009}}\x{{202f}}][0-9]{{3}})+)"
    rf"(?:[.,][0-9]+)?\s*(?:%|{_CURRENCY})?\s*$"
)
"""A number with a decimal comma, groups of thousands, a per cent sign or a currency; RE2 has `\\p{Sc}`."""
_HEAD = 4  # counts of a column before those of its buckets
_FIGURES = _HEAD + _BUCKETS
_LOOKED_AT = 4096  # cells that show whether strings repeat


def text_columns(schema: pa.Schema, policy: Policy) -> list[str]:
    """Return the string columns not declared as strings, numbers or categories; units are names."""
    return [
        field.name
        for field in schema
        if pa.types.is_string(field.type)
        and (column := policy.column(field.name)).role is not Role.UNIT
        and column.type is None
        and not column.is_read_by_cell
    ]


@dataclass(frozen=True, kw_only=True)
class CountNumbers:
    """Counts cells of text columns: filled, no numbers, numbers as codes are spelled, in other forms, each bucket's."""

    names: Sequence[str]

    @property
    def size(self) -> int:
        """Number of counts."""
        return _FIGURES * len(self.names)

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        return np.concatenate([_counts(batch.column(name)) for name in self.names] or [np.zeros(0, np.int64)])

    def mixed(self, counts: NDArray[np.int64]) -> dict[str, dict[str, int]]:
        """Return, of the summed counts, those of the columns in which nearly all cells are numbers, by name.

        A column with a code in it (01234, or more than 15 digits) is one of codes, whatever its other cells are.
        """
        out = {}
        for name, (filled, others, codes, _, *used) in self._by_column(counts):
            many = sum(n > 0 for n in used) >= MANY
            if others and not codes and many and filled - others >= NEARLY_ALL * filled:
                out[name] = {"cells": filled, "no_numbers": others}
        return out

    def in_another_form(self, counts: NDArray[np.int64]) -> dict[str, dict[str, int]]:
        """Return, of the summed counts, of the other columns those in which nearly all cells are numbers."""
        mixed = self.mixed(counts)
        return {
            name: {"cells": filled, "numbers": written}
            for name, (filled, others, codes, written, *_) in self._by_column(counts)
            if written and not codes and name not in mixed and filled - others + written >= NEARLY_ALL * filled
        }

    def _by_column(self, counts: NDArray[np.int64]) -> Iterator[tuple[str, list[int]]]:
        return zip(self.names, counts.reshape(-1, _FIGURES).tolist(), strict=True)


def _counts(texts: pa.Array) -> NDArray[np.int64]:
    """Return the counts of one column."""
    entries, of_text = _weighted(texts)
    plain = pc.match_substring_regex(entries, _NUMBER).to_numpy(zero_copy_only=False)
    no_number = np.isnan(cell_numbers(entries.filter(pa.array(~plain))))
    odd = of_text[~plain]
    written = pc.match_substring_regex(entries.filter(pa.array(~plain)), _WRITTEN).to_numpy(zero_copy_only=False)
    bits = (cell_numbers(entries.filter(pa.array(plain))) + 0.0).view(np.uint64)
    buckets = ((bits * _ODD) >> np.uint64(56)).astype(np.int64)
    used = np.zeros(_BUCKETS, dtype=np.int64)
    np.add.at(used, buckets, of_text[plain])
    head = [of_text.sum(), odd[no_number].sum(), odd[~no_number].sum(), odd[no_number & written].sum()]
    return np.concatenate([np.array(head), used])


def _weighted(texts: pa.Array) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """Return the filled cells and how often each counts: every string once where strings repeat, else every cell."""
    coded = texts
    if not isinstance(texts, pa.DictionaryArray):
        repeats = len(pc.unique(texts.slice(0, _LOOKED_AT))) <= min(len(texts), _LOOKED_AT) / 2
        coded = pc.dictionary_encode(texts) if repeats else None
    elif len(texts.dictionary) > len(texts):  # it is that of more cells than these
        texts, coded = texts.dictionary_decode(), None
    if coded is None:
        texts = texts.drop_null()
        return texts, np.ones(len(texts), dtype=np.int64)
    of_text = np.bincount(coded.indices.drop_null().to_numpy(), minlength=len(coded.dictionary))
    filled = coded.dictionary.is_valid()
    return coded.dictionary.filter(filled), of_text[filled.to_numpy(zero_copy_only=False)]


def mixed_notes(mixed: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Describe which columns are read as categories because of a few cells, and the remedy; no cell is quoted.

    Privacy
    -------
    Counts of the source: for the owner, in no file of a release.
    """
    return [
        f"{counts['no_numbers']} of {counts['cells']} cells ({_percent(counts['no_numbers'] / counts['cells'])}) of "
        f"column {name!r} {'is' if counts['no_numbers'] == 1 else 'are'} no {_numbers(counts['no_numbers'])}, so it is "
        "read as categories. Do such cells mean missing? Then list their text in the policy, missing_values = "
        '["", "TEXT"]. Do they belong to the column? Then declare its type = "text", and this note is gone.'
        for name, counts in mixed.items()
    ]


def _numbers(count: int) -> str:
    return "number" if count == 1 else "numbers"


def _percent(share: float) -> str:
    """Return a share to two digits, never as 0 %."""
    return f"{100 * share:.2g} %" if share >= 1e-6 else "less than 0.0001 %"


_GROUPED, _WHOLE = r"^\s*[+-]?[1-9][0-9]{0,2}\.[0-9]{3}\s*$", r"^\s*[+-]?[0-9]{1,3}\s*$"
_COUNTS = 3  # of each column: grouped, whole, neither


def _may_have_groups(column: Column) -> bool:
    """Return True if points of a column may separate thousands: numbers may occur, and their form is not declared.

    A column declared as text, dates or values of a list has no numbers.
    """
    numbers = column.type in (None, ColumnType.NUMBER, ColumnType.INTEGER)
    declared = column.number_form is not None or column.domain_values is not None or column.calendar is not None
    return numbers and not declared and column.role not in (Role.UNIT, Role.IDENTIFIER)


def text_columns_of_groups(schema: pa.Schema, policy: Policy) -> list[str]:
    """Return the text columns in which points may separate thousands."""
    return [f.name for f in schema if pa.types.is_string(f.type) and _may_have_groups(policy.column(f.name))]


def columns_of_groups(names: Sequence[str], columns: Sequence[pa.Array], policy: Policy) -> tuple[str, ...]:
    """Return the columns of strings that hold integers beside ones with three figures after a point.

    Parameters
    ----------
    columns : sequence of pyarrow.StringArray
        Their cells, or some of them.
    """
    if policy.decimal != POINT:
        return ()
    candidates = [each for each in zip(names, columns, strict=True) if _may_have_groups(policy.column(each[0]))]
    count = CountGroups(names=[name for name, _ in candidates])
    return count.found(np.concatenate([np.zeros(0, np.int64), *(_group_counts(cells) for _, cells in candidates)]))


@dataclass(frozen=True, kw_only=True)
class CountGroups:
    """Counts the cells of text columns that are a group, a point and three figures; integers; and neither."""

    names: Sequence[str]

    @property
    def size(self) -> int:
        """Number of counts."""
        return _COUNTS * len(self.names)

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the counts of each column, shape (size,)."""
        return np.concatenate([np.zeros(0, np.int64), *(_group_counts(batch.column(name)) for name in self.names)])

    def found(self, counts: NDArray[np.int64]) -> tuple[str, ...]:
        """Return, of the summed counts, the columns that hold both, and nothing else."""
        rows = zip(self.names, counts.reshape(-1, _COUNTS).tolist(), strict=True)
        return tuple(name for name, (grouped, whole, others) in rows if grouped and whole and not others)


def _group_counts(cells: pa.Array) -> NDArray[np.int64]:
    """Return the counts of one column; where the first cell decides, its count alone.

    A reader hands on numbers where it knows that they are wanted: their written form follows from the file's head.
    """
    if isinstance(cells, pa.DictionaryArray):
        cells = pc.unique(cells).dictionary_decode()
    if not pa.types.is_string(cells.type):
        return np.array([0, 0, len(cells)], np.int64)
    filled = cells.drop_null()
    first = filled.slice(0, 1)
    is_decided = len(first) and not (_are(first, _GROUPED).any() or _are(first, _WHOLE).any())
    filled = first if is_decided else filled
    grouped, whole = int(_are(filled, _GROUPED).sum()), int(_are(filled, _WHOLE).sum())
    return np.array([grouped, whole, len(filled) - grouped - whole], np.int64)


def _are(cells: pa.StringArray, pattern: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.match_substring_regex(cells, pattern).to_numpy(zero_copy_only=False)
    return found
