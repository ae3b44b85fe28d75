# SPDX-License-Identifier: Apache-2.0
"""JSON Lines files: one object per line, in file order; JSON strings stay strings, even if they look like numbers.

Columns with a declared domain, and units, come as the strings of the file, numbers with all their digits.

JSON objects whose numbers keep their spelling: 9007199254740993 is not rounded because another row holds 4.5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from anonkit.domains.cell_values import cell_texts, exact_decimal
from anonkit.engines.reading.column_encoding import canonical_array, canonical_type
from anonkit.engines.reading.declared_tables import listed_texts, without_listed
from anonkit.engines.reading.delimited import TextFile
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.number_columns import as_decimals, has_many_digits
from anonkit.engines.reading.text_cells import TextCells, Untyped, UntypedCells
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

_BLANKS = " \t\r\n"
_CONSTANTS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}


class _Literal(str):
    """A number as it is spelled."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    parse_float=_Literal, parse_int=_Literal, parse_constant=_CONSTANTS.__getitem__, strict=False
)

Object = Mapping[str, Any]


def objects_of(block: bytes) -> list[Object]:
    """Parse objects that follow each other; of a key that occurs twice in one the last value counts.

    Raises
    ------
    ValueError
        The text is not a sequence of JSON objects, or not UTF-8; the error holds cells of it and must not be shown.
    """
    return list(_objects(block.decode("utf-8-sig")))


def _objects(text: str) -> Iterator[Object]:
    at = _after_blanks(text, 0)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(value, dict):
            raise ValueError("not an object")
        yield value
        at = _after_blanks(text, at)


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def literal_column(objects: Sequence[Object], name: str) -> pa.StringArray:
    """Return the values of a key as strings: numbers as exact decimals, lists and objects as JSON."""
    return pa.array([_literal(record.get(name)) for record in objects], pa.string())


def _literal(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Literal):
        return exact_decimal(value) or str(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()  # halves of surrogate pairs are no characters


def without(objects: Sequence[Object], names: Sequence[str]) -> bytes:
    """Return objects as JSON Lines without some keys, numbers as they were spelled."""
    left_out = set(names)
    return _lines({key: value for key, value in record.items() if key not in left_out} for record in objects)


def without_texts(objects: Sequence[Object], missing: Sequence[str]) -> bytes:
    """Return objects as JSON Lines, some strings missing under the keys that have other values than strings as well."""
    listed = set(missing)
    mixed = {key for record in objects for key, value in record.items() if not (value is None or _is_text(value))}
    return _lines(
        {key: None if key in mixed and _is_text(value) and value in listed else value for key, value in record.items()}
        for record in objects
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, _Literal)


def _lines(objects: Iterable[Object]) -> bytes:
    lines = (",".join(f"{json.dumps(key)}:{_spelled(value)}" for key, value in record.items()) for record in objects)
    return "".join(f"{{{line}}}\n" for line in lines).encode()


def _spelled(value: object) -> str:
    return str(value) if isinstance(value, _Literal) else json.dumps(value)


_BLOCK = 8 << 20  # bytes parsed at a time
_LONGEST = 64 << 20  # bytes of the longest line
_ROW = re.compile(r" in row (\d+)$")
_NO_VALUE = re.compile(rb"null(?<!:null)(?<!: null)")  # begins with letters, which are found several times as fast
_NULL_ROW = re.compile(rb"(?:^(?:\xef\xbb\xbf)?|[\n}])[ \t\r]*null\b")
_MANY_DIGITS = re.compile(rb"[1-9](?:\.?[0-9]){17}")  # more than a double keeps, from the first that is not 0 on
_CHANGE = re.compile(r"Column\(/([^/]*)\) changed from (\w+) to (\w+) in row \d+$")
_HINT = "one object a line, each key once, no lists or objects inside"
_WORDS = 'if the string means missing, list it in the policy: missing_values = ["", "TEXT"]'


def open_json_lines(file: TextFile, policy: Policy) -> Untyped:
    """Open a JSON Lines file: the columns are the keys of all its objects, in order of first sight.

    Where no cell may decide about others (`Policy.cell_by_cell`) they are the declared columns: a key that occurs in
    one object only adds no column, and a file without objects is a table without rows.

    Raises
    ------
    SourceError
        The file is empty, not UTF-8, or damaged at its start.
    """
    head, whole = file.head(_BLOCK)
    if whole and not head.strip() and not policy.cell_by_cell:
        raise SourceError(f"{file} is empty", "a table needs at least one line")
    spelled = {name for name, column in policy.columns.items() if policy.cell_by_cell or column.is_read_by_cell}

    def cells_of(name: str) -> UntypedCells:
        if name in spelled:
            return TextCells.of(policy.column(name), cell_by_cell=policy.cell_by_cell)
        return _JsonCells(name, listed_texts(policy))

    declared = [name for name, column in policy.columns.items() if not column.is_made]
    names = declared if policy.cell_by_cell else []
    return Untyped(names=names, open=lambda: _read(file, policy, spelled), cells_of=cells_of)


@dataclass(frozen=True)
class _JsonCells:
    """Cells that brought their types: integers widen to numbers, both to exact decimals, nothing else mixes."""

    name: str
    listed: tuple[str, ...]
    """Strings that are missing: a part of the file that holds no others in a column gives no evidence of its type."""

    def fit(self, array: pa.Array, kind: pa.DataType | None) -> tuple[pa.DataType | None, pa.Array]:
        """Type some cells. See `anonkit.engines.reading.text_cells.UntypedCells.fit`."""
        given = canonical_type(self.name, array.type)
        if self.listed and pa.types.is_string(given) and kind != given:
            hidden = without_listed(array, self.listed)
            if hidden.null_count == len(hidden):
                return kind, pa.nulls(len(hidden), kind or pa.string())
        if pa.types.is_decimal(given) or (kind is not None and pa.types.is_decimal(kind)):
            if all(_is_number(each) for each in (given, kind or given)):
                return self._exact(array, given, kind)
        elif kind is None or (pa.types.is_integer(kind) and pa.types.is_floating(given)):
            kind = given
        if kind != given and not (pa.types.is_floating(kind) and pa.types.is_integer(given)):
            raise SourceError(f"column {self.name!r} mixes types: {_type_name(kind)} and {_type_name(given)}", _HINT)
        return kind, canonical_array(self.name, array, kind)

    def _exact(self, array: pa.Array, given: pa.DataType, kind: pa.DataType | None) -> tuple[pa.DataType, pa.Array]:
        """Return numbers as exact decimals, of at least the scale that the column has.

        Raises
        ------
        SourceError
            They have more digits than a decimal.
        """
        scale = kind.scale if kind is not None and pa.types.is_decimal(kind) else 0
        exact = _decimals(self.name, cell_texts(canonical_array(self.name, array, given)), scale)
        return exact.type, exact


def _decimals(name: str, texts: pa.StringArray, scale: int) -> pa.Array:
    exact = as_decimals(texts, scale)
    if exact is None:
        raise SourceError(
            f"column {name!r} has numbers of more than 38 digits together", "write them as strings, or round them"
        )
    return exact


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _type_name(kind: pa.DataType) -> str:
    return "string" if pa.types.is_string(kind) else "boolean" if pa.types.is_boolean(kind) else "number"


@dataclass(kw_only=True)
class _Reader:
    """The state of one pass over a file."""

    file: TextFile
    policy: Policy
    spelled: Set[str]
    """Columns whose cells come as they are spelled."""
    row: int = 0
    """Rows read before the block at hand."""
    texts: set[str] = field(default_factory=set)
    """Columns whose strings look like dates: the parser would turn them into timestamps."""

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """Strings that the policy lists as missing."""
        return listed_texts(self.policy)

    def table(self, block: bytes) -> pa.Table:
        """Parse some lines; strings that are listed as missing are null where they would change what others mean."""
        if _NO_VALUE.search(block) and _NULL_ROW.search(block):
            # the fast parser takes null for an object without keys, and crashes where it comes first
            self._objects(block)
        if not self.spelled:
            table = self._typed(block)
        else:
            try:
                table = self._as_spelled(self._typed(block), block)
            except SourceError:  # types that mix may do so where cells come as they are spelled
                table = self._by_object(block)
        self.row += table.num_rows
        for name in (name for name in table.column_names if self.listed and name in self.spelled):
            texts = table.column(name).combine_chunks()
            table = table.set_column(table.column_names.index(name), name, without_listed(texts, self.listed))
        return table

    def _typed(self, block: bytes) -> pa.Table:
        """Parse typed cells; where a listed string is among numbers, without the listed strings."""
        try:
            return self._parsed(block)
        except SourceError as error:
            if not self.listed or not error.message.startswith("row ") or " changes from " not in error.message:
                raise
        return self._parsed(without_texts(self._objects(block), self.listed))

    def _parsed(self, block: bytes) -> pa.Table:
        table = shielded(lambda: self._parse(block), self._explain)
        dates = {column.name for column in table.schema if pa.types.is_timestamp(column.type)}
        if dates:
            self.texts |= dates
            table = shielded(lambda: self._parse(block), self._explain).select(table.column_names)
        many = not self.policy.cell_by_cell and _MANY_DIGITS.search(block)
        return self._exact(table, block) if many else table

    def _exact(self, table: pa.Table, block: bytes) -> pa.Table:
        """Return a table with the numbers of many digits as exact decimals: the parser has rounded them."""
        rounded = [f.name for f in table.schema if pa.types.is_floating(f.type) and f.name not in self.spelled]
        objects = self._objects(block) if rounded else []
        for name in rounded:
            texts = literal_column(objects, name)
            if has_many_digits(texts):
                table = table.set_column(table.column_names.index(name), name, _decimals(name, texts, 0))
        return table

    def _as_spelled(self, table: pa.Table, block: bytes) -> pa.Table:
        """Return a parsed table with the columns whose spelling counts as strings."""
        objects: list[Object] | None = None
        for at, name in enumerate(table.column_names):
            if name not in self.spelled:
                continue
            cells = table.column(name)
            texts = self._texts(cells, name)
            if texts is None:  # the parser has lost the spelling
                objects = self._objects(block) if objects is None else objects
                texts = literal_column(objects, name)
            table = table.set_column(at, name, texts)
        return self._declared(table)

    def _texts(self, cells: pa.ChunkedArray, name: str) -> pa.ChunkedArray | None:
        """Return cells as they are spelled; None where the parser's type does not preserve it."""
        kind = cells.type
        if pa.types.is_string(kind) or pa.types.is_null(kind) or pa.types.is_boolean(kind):
            return cells.cast(pa.string())
        if pa.types.is_integer(kind):
            return cells.cast(pa.string())
        if pa.types.is_floating(kind) and not self.listed and self.policy.column(name).bounds is not None:
            return pc.if_else(pc.is_nan(cells), None, cells).cast(pa.string())  # the same double when it is read
        return None

    def _by_object(self, block: bytes) -> pa.Table:
        """Parse lines that the fast parser refuses, the columns whose spelling counts cell by cell."""
        objects = self._objects(block)
        names = list(dict.fromkeys(key for record in objects for key in record))
        literal_columns = {name: literal_column(objects, name) for name in names if name in self.spelled}
        others = [name for name in names if name not in self.spelled]
        if others and not self.policy.cell_by_cell:
            typed = self._typed(without(objects, list(literal_columns)))
            literal_columns.update({name: typed.column(name) for name in others})
        table = pa.table({name: literal_columns[name] for name in names if name in literal_columns})
        return self._declared(table, len(objects))

    def _declared(self, table: pa.Table, n_rows: int | None = None) -> pa.Table:
        """Return the declared columns where they are the table's, else all."""
        if not self.policy.cell_by_cell:
            return table
        absent = pa.nulls(table.num_rows if n_rows is None else n_rows, pa.string())
        have = set(table.column_names)
        return pa.table({name: table.column(name) if name in have else absent for name in self.policy.columns})

    def _objects(self, block: bytes) -> list[Object]:
        return shielded(lambda: objects_of(block), lambda _: self._not_objects())

    def _not_objects(self) -> SourceError:
        return SourceError(f"{self.file}: a line from row {self.row + 1} on is not an object", _HINT)

    def _parse(self, block: bytes) -> pa.Table:
        return pajson.read_json(
            pa.BufferReader(block),
            read_options=pajson.ReadOptions(block_size=len(block) + 1),
            parse_options=pajson.ParseOptions(explicit_schema=pa.schema([(name, pa.string()) for name in self.texts])),
        )

    def _explain(self, error: Exception) -> SourceError:
        message = str(error)
        row = _ROW.search(message)
        where = f"row {self.row + int(row[1]) + 1} of {self.file}" if row else str(self.file)
        change = _CHANGE.search(message)
        if change and change[1]:
            hint = _WORDS if {change[2], change[3]} == {"number", "string"} else _HINT
            return SourceError(f"{where}: column {change[1]!r} changes from {change[2]} to {change[3]}", hint)
        return SourceError(f"{where} is not an object of plain values", _HINT)


def _read(file: TextFile, policy: Policy, spelled: Set[str]) -> Iterator[pa.RecordBatch]:
    reader = _Reader(file=file, policy=policy, spelled=spelled)
    for block in shielded_iterator(_blocks(file), file.broken):
        yield from reader.table(block).to_batches()


def _blocks(file: TextFile) -> Iterator[bytes]:
    """Yield the bytes of the file in parts that end where a line ends."""
    rest = b""
    with file.open() as stream:
        while part := stream.read(_BLOCK):
            cut = part.rfind(b"\n") + 1
            block, rest = (rest + part[:cut], part[cut:]) if cut else (b"", rest + part)
            if len(rest) > _LONGEST:
                raise SourceError(f"{file} has a line longer than {_LONGEST >> 20} MiB", _HINT)
            if block.strip():
                yield block
    if rest.strip():
        yield rest
