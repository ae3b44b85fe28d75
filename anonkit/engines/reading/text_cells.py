# SPDX-License-Identifier: Apache-2.0
"""Type inference for the cells of text files: the declared type, or else the narrowest that fits all cells.

Cells of a column with declared categories, and the names of units, stay strings: each cell is read on its own
(`anonkit.domains.cell_values`). Numbers with bounds stay strings where one of their cells is no number, so that such
cells can be counted. Under differential privacy nothing is guessed. A guess never loses anything: a text column becomes
integers or dates only when every cell reads back as the same text, and numbers only when no cell looks like a code
(01234, or more digits than a number keeps).

Numbers with a decimal comma, in text files whose policy declares so: `1,5` is one and a half, `1.5` no number.

Each cell is read by itself. A point is never taken for a separator of thousands: `1.500` could be either, and a table
in which both occur is better refused, or read as strings, than wrong by a factor of a thousand.

Tables whose column types must be inferred from cells: in one pass if they are small or their first rows suffice.

A table that fits in memory is read once and typed at the end. A larger one is typed as its first part suggests;
when a later cell does not fit, the rest is read for the types alone, and the table once more with what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.engines.reading.column_encoding import canonical_array
from anonkit.engines.reading.number_columns import as_decimals, has_many_digits
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column, ColumnType, Outside

_FIGURES = r"^\s*[+-]?[0-9.,]+([eE][+-]?[0-9]+)?\s*$"
_BETWEEN = "\ue000"  # replaces the comma while the two change places; no text of figures has it

Parse = Callable[[pa.Array], pa.Array | None]
"""Returns typed cells, or None when some cell does not fit."""


def with_points(texts: pa.Array) -> pa.Array:
    """Return cells made of figures with point and comma in each other's place, all others as they are.

    What reads as a number then was written with a comma; what was written with a point reads as none.
    """
    figures = pc.fill_null(pc.match_substring_regex(texts, _FIGURES), False)
    changed = pc.replace_substring(texts, ",", _BETWEEN)
    changed = pc.replace_substring(pc.replace_substring(changed, ".", ","), _BETWEEN, ".")
    return pc.if_else(figures, changed, texts)


def reading_commas(parse: Parse) -> Parse:
    """Return a parser of numbers that takes commas for what parts them from their fraction."""

    def parse_commas(texts: pa.Array) -> pa.Array | None:
        return parse(with_points(texts))

    return parse_commas


def is_number(column: Column) -> bool:
    """Return True if a column is declared to hold numbers, which no list of categories spells."""
    declared = column.bounds is not None or column.ladder is not None or column.type in _NUMBERS
    return declared and column.domain_values is None


_NUMBERS = (ColumnType.INTEGER, ColumnType.NUMBER)


Kinds = dict[str, pa.DataType | None]
"""The type of every column so far; None while all its cells were missing."""


class NotOfType(Exception):  # noqa: N818 - it never leaves the engine
    """A cell does not fit the type its column must have; knows the cell's position, not the cell."""

    def __init__(self, position: int, wanted: str) -> None:
        super().__init__(wanted)
        self.position = position
        self.wanted = wanted


class UntypedCells(Protocol):
    """The typing of the cells of one untyped column. The type of a column only ever widens."""

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Return the narrowest type from `kind` on that these cells fit, and the typed cells.

        Cells without a type, because all were missing, come as missing strings.

        Raises
        ------
        NotOfType
            A cell fits no type this column may have.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Untyped:
    """A table in a file, whose columns have no types yet."""

    names: Sequence[str]
    """The columns known beforehand, in order."""
    open: Callable[[], Iterator[pa.RecordBatch]]
    """Reads the file from the start; a batch may lack columns (their cells are missing) or bring new ones."""
    cells_of: Callable[[str], UntypedCells]
    """Typing of the cells of a column."""
    kinds: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Canonical types of the columns that brought one; no cell changes it."""
    knows_missing: bool = False
    """True when what the policy lists as missing comes as missing."""


def schema_of(kinds: Kinds) -> pa.Schema:
    """Return the schema of typed batches; columns without any value are string columns."""
    return pa.schema([(name, kind or pa.string()) for name, kind in kinds.items()])


def type_table(batches: list[pa.RecordBatch], table: Untyped, kinds: Kinds) -> pa.Table:
    """Type batches in memory, widening `kinds` as needed; the list is emptied."""
    _meet(batches, kinds)
    untyped = {name: [_column(batch, name) for batch in batches] for name in kinds}
    batches.clear()
    columns = []
    for name in kinds:
        kinds[name], chunks = _type_column(name, untyped.pop(name), table.cells_of(name), kinds[name])
        columns.append(pa.chunked_array(chunks, kinds[name] or pa.string()))
    return pa.Table.from_arrays(columns, schema=schema_of(kinds))


def _type_column(
    name: str, chunks: Sequence[pa.Array], cells: UntypedCells, kind: pa.DataType | None
) -> tuple[pa.DataType | None, list[pa.Array]]:
    while True:
        typed = []
        row = 0
        for chunk in chunks:
            kind, array = fit_column(name, cells, chunk, kind, row)
            typed.append(array)
            row += len(chunk)
        if all(array.type == (kind or pa.string()) for array in typed):
            return kind, typed


def typed_batches(
    batches: Iterator[pa.RecordBatch], table: Untyped, kinds: Kinds, first_row: int
) -> Iterator[pa.RecordBatch]:
    """Yield typed batches as long as the cells fit; read on to the end when one does not, widening `kinds`."""
    settled = dict(kinds)
    schema = schema_of(settled)
    row = first_row
    for batch in batches:
        _meet([batch], kinds)
        arrays = []
        for name in kinds:
            kinds[name], array = fit_column(name, table.cells_of(name), _column(batch, name), kinds[name], row)
            arrays.append(array)
        row += batch.num_rows
        if kinds == settled:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _meet(batches: Sequence[pa.RecordBatch], kinds: Kinds) -> None:
    for batch in batches:
        for name in batch.schema.names:
            kinds.setdefault(name, None)


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    at = batch.schema.get_field_index(name)
    return batch.column(at) if at >= 0 else pa.nulls(batch.num_rows)


def fit_column(
    name: str, cells: UntypedCells, array: pa.Array, kind: pa.DataType | None, row: int
) -> tuple[pa.DataType | None, pa.Array]:
    """Type the cells of a column from row number `row` on; see `Cells.fit`.

    Raises
    ------
    SourceError
        A cell fits no type the column may have.
    """
    if array.null_count == len(array):
        return kind, pa.nulls(len(array), kind or pa.string())
    try:
        return cells.fit(array, kind)
    except NotOfType as misfit:
        position, wider = misfit.position, misfit.wanted
    raise SourceError(
        f"column {name!r}: the cell in row {row + position + 1} is not of type {wider}",
        'correct it, list its text in missing_values, or declare type = "string"',
    )


_LEADING_ZERO = r"^-?0[0-9]"
_MANY_DIGITS = r"^-?[0-9]{16,}$"
_EXACT_DIGITS = 15  # every decimal number of so many digits survives a double
_FIRST_DAY = -719162  # 0001-01-01, the first day Python knows, in days from 1970-01-01
_TRUTH = {"true": "true", "1": "true", "false": "false", "0": "false"}


@dataclass(frozen=True)
class TextCells:
    """The types a text column may have, narrowest first, each with its parser."""

    wanted: str
    """Name of the declared type, for messages."""
    parsers: Sequence[tuple[pa.DataType, Parse]]
    comma: bool = False
    """True when numbers have a decimal comma."""

    @property
    def is_declared(self) -> bool:
        """True when it is declared that the cells are numbers: none of them is a code then."""
        return self.wanted != ColumnType.STRING

    @classmethod
    def of(cls, column: Column, *, cell_by_cell: bool, comma: bool = False) -> TextCells:
        """Return the types that the declaration of a column allows, or strings where no column may have a type.

        Parameters
        ----------
        comma : bool
            True when numbers have a decimal comma. Where no column may have a type, those of declared numbers are
            returned with a point, for whoever reads the cells one by one.
        """
        cells = cls._of(column, cell_by_cell=cell_by_cell)
        if not comma or column.number_form is not None:
            return cells
        if len(cells.parsers) == 1 and cells.parsers[0][0] == pa.string():
            return cls(cells.wanted, ((pa.string(), with_points),)) if is_number(column) else cells
        parsers = [
            (kind, reading_commas(parse) if pa.types.is_floating(kind) or _is_last_resort(kind, column) else parse)
            for kind, parse in cells.parsers
        ]
        return cls(cells.wanted, parsers, comma)

    @classmethod
    def _of(cls, column: Column, *, cell_by_cell: bool) -> TextCells:
        if column.domain_values is not None and column.type is ColumnType.BOOLEAN:
            return cls(ColumnType.STRING, ((pa.string(), _truth_values),))
        if cell_by_cell or column.number_form is not None or (column.is_read_by_cell and column.bounds is None):
            return cls(ColumnType.STRING, (_DECLARED[ColumnType.STRING],))
        if column.bounds is not None and column.outside is not Outside.REFUSE:
            integers = () if column.type is ColumnType.NUMBER else (_DECLARED[ColumnType.INTEGER],)
            return cls(ColumnType.NUMBER, (*integers, _DECLARED[ColumnType.NUMBER], _DECLARED[ColumnType.STRING]))
        if column.type is not None:
            return cls(column.type, (_DECLARED[column.type],))
        if column.bounds is not None or column.ladder is not None:
            return cls(ColumnType.NUMBER, (_DECLARED[ColumnType.INTEGER], _DECLARED[ColumnType.NUMBER]))
        return cls(ColumnType.STRING, _GUESSES)

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Type some strings. See `anonkit.engines.reading.text_cells.UntypedCells.fit`."""
        scale = kind.scale if kind is not None and pa.types.is_decimal(kind) else None
        narrowest = kind if scale is None else pa.float64()
        start = next((at for at, (known, _) in enumerate(self.parsers) if known == narrowest), 0)
        for known, parse in self.parsers[start:]:
            typed = parse(array) if scale is None or known != pa.float64() else None
            if typed is None and known == pa.float64():
                typed = self._decimals(array, scale)
            if typed is not None:
                return typed.type, typed
        raise NotOfType(_first_misfit(array, self.parsers[-1][1]), self.wanted)

    def _decimals(self, texts: pa.Array, scale: int | None) -> pa.Array | None:
        """Return numbers that have more digits than a double keeps, or occur beside some; None for other cells.

        Parameters
        ----------
        scale : int, optional
            Digits after the point of those that they occur beside.
        """
        texts = pc.utf8_trim_whitespace(with_points(texts) if self.comma else texts)
        values = _cast(texts, pa.float64())
        if values is None or not (_are_finite(values) if self.is_declared else _are_meant(values, texts)):
            return None
        return None if scale is None and not has_many_digits(texts) else as_decimals(texts, scale or 0)


def _is_last_resort(kind: pa.DataType, column: Column) -> bool:
    """Return True if strings are kept of a column of numbers, because some are none."""
    return bool(pa.types.is_string(kind)) and is_number(column)


def _first_misfit(texts: pa.Array, parse: Parse) -> int:
    """Return the position of the first string that does not parse, by bisection."""
    good, bad = 0, len(texts)  # texts[:good] parses, texts[:bad] does not
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if parse(texts[:middle]) is not None else (good, middle)
    return bad - 1


def _keep(texts: pa.Array) -> pa.Array:
    return texts


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _integers(texts: pa.Array) -> pa.Array | None:
    values = _cast(texts, pa.int64())
    return values if values is not None and _reads_back(values, texts) else None  # 007, -0, 0x1F are strings


def _numbers(texts: pa.Array) -> pa.Array | None:
    values = _cast(texts, pa.float64())
    if values is None or not _are_meant(values, texts) or has_many_digits(texts):
        return None
    return _canonical_numbers(values)


def _are_finite(values: pa.Array) -> bool:
    return _all(pc.is_finite(values))


def _are_meant(values: pa.Array, texts: pa.Array) -> bool:
    """Return True if strings that Arrow reads as numbers are meant as numbers: no nan, no inf and no code."""
    if not _are_finite(values):
        return False
    zeros = texts.filter(pc.or_(pc.starts_with(texts, "0"), pc.starts_with(texts, "-0")))
    if _any(pc.match_substring_regex(zeros, _LEADING_ZERO)):
        return False
    long = texts.filter(pc.greater(pc.binary_length(texts), _EXACT_DIGITS))
    return not _any(pc.match_substring_regex(long, _MANY_DIGITS))


def _declared_integers(texts: pa.Array) -> pa.Array | None:
    if _has_letters(texts) and any(_any(pc.match_substring(texts, letter)) for letter in "xX"):  # hexadecimal
        return None
    return _cast(texts, pa.int64())


def _has_letters(texts: pa.Array) -> bool:
    """Return True if there may be a byte after the digits in the strings, at the speed of a memory scan."""
    data = texts.buffers()[2]
    return data is not None and bool(np.frombuffer(data, dtype=np.uint8).max(initial=0) > ord("9"))


def _declared_numbers(texts: pa.Array) -> pa.Array | None:
    values = _cast(texts, pa.float64())
    lost = values is None or _any(pc.is_inf(values)) or has_many_digits(texts)
    return None if lost else _canonical_numbers(values)


def _canonical_numbers(values: pa.Array) -> pa.Array:
    return canonical_array("", values, pa.float64())


def _dates(texts: pa.Array) -> pa.Array | None:
    values = _cast(texts, pa.date32())
    if values is None or not _reads_back(values, texts):
        return None
    return values if _all(pc.greater_equal(values.cast(pa.int32()), _FIRST_DAY)) else None


def _booleans(texts: pa.Array) -> pa.Array | None:
    return _cast(texts, pa.bool_())


def _truth_values(texts: pa.Array) -> pa.Array:
    """Spell truth values as `true` and `false`, a cell at a time; all other strings stay."""
    distinct = pc.dictionary_encode(texts)
    spelled = [_TRUTH.get(text.strip().lower(), text) for text in distinct.dictionary.to_pylist()]
    return pa.array(spelled, pa.string()).take(distinct.indices)


def _reads_back(values: pa.Array, texts: pa.Array) -> bool:
    return _all(pc.equal(values.cast(pa.string()), texts))


def _all(flags: pa.Array) -> bool:
    return pc.all(flags).as_py() is not False


def _any(flags: pa.Array) -> bool:
    return pc.any(flags).as_py() is True


def _within_blanks(parse: Parse) -> Parse:
    """Let a parser ignore blanks around a value; a cell of blanks alone is no value."""

    def parse_trimmed(texts: pa.Array) -> pa.Array | None:
        if parse(pc.utf8_trim_whitespace(texts.drop_null()[:1])) is None:
            return None  # the first string decides most columns
        values = parse(texts)
        return parse(pc.utf8_trim_whitespace(texts)) if values is None else values

    return parse_trimmed


_GUESSES: Sequence[tuple[pa.DataType, Parse]] = (
    (pa.int64(), _within_blanks(_integers)),
    (pa.float64(), _within_blanks(_numbers)),
    (pa.date32(), _within_blanks(_dates)),
    (pa.string(), _keep),
)
_DECLARED: Mapping[ColumnType, tuple[pa.DataType, Parse]] = {
    ColumnType.STRING: (pa.string(), _keep),
    ColumnType.TEXT: (pa.string(), _keep),
    ColumnType.CATEGORY: (pa.string(), _keep),
    ColumnType.INTEGER: (pa.int64(), _within_blanks(_declared_integers)),
    ColumnType.NUMBER: (pa.float64(), _within_blanks(_declared_numbers)),
    ColumnType.BOOLEAN: (pa.bool_(), _within_blanks(_booleans)),
    ColumnType.DATE: (pa.date32(), _within_blanks(_dates)),
}
