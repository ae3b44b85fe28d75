# SPDX-License-Identifier: Apache-2.0
"""Type inference for the cells of text files: the declared type, or else the narrowest that fits all cells.

Cells of a column with declared categories, and the names of units, stay strings: each cell is read on its own
(`anonkit.domains.cell_keys`). Numbers with bounds stay strings where one of their cells is no number, so that such
cells can be counted. Under differential privacy nothing is guessed. A guess never loses anything: a text column becomes
integers or dates only when every cell reads back as the same text, and numbers only when no cell looks like a code
(01234, or more digits than a number keeps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.engines.reading.canonical import canonical_array
from anonkit.engines.reading.decimal_commas import Parse, is_number, reading_commas, with_points
from anonkit.engines.reading.many_digits import as_decimals, has_many_digits
from anonkit.engines.reading.untyped import NotOfType
from anonkit.policy.column_declarations import Column, ColumnType, Outside

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
        """Type some strings. See `anonkit.engines.reading.untyped.UntypedCells.fit`."""
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
