"""Tables that are awkward in every way we know, for properties that must hold on all of them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

TEXTS = (
    *("", " ", "a", "A", " a", "a ", "NA", "null", "NaN", "01234", "-0", "é", "e\u0301", "日本", "😀", "a\x00b"),
    *('"', "'", ",", "\n", "1", "true"),
)
NAMES = (
    *("age", "Age", "AGE", "count", "c0", "n", "size", "a", "a.b", 'quo"ted', "quo'ted", "{x}", "select", " x"),
    *("zip", "é", "€ %s", "*", "anonkit_stream", "mask", "a=b"),
)
DAYS = (datetime.date(1, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31))
FLOATS = (0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e300)
SINGLES = (0.0, -0.0, 1.5, float("nan"), float("inf"))
DECIMALS = (Decimal("0.00"), Decimal("-1.50"), Decimal("123.45"))
SECONDS = (-86_400, 0, 1, 1_700_000_000)
CLOCK = (0, 1, 86_399)  # seconds


@dataclass(frozen=True)
class Kind:
    """A type as a table may bring it, the type anonkit holds it in, and cells of it."""

    given: pa.DataType
    canonical: pa.DataType
    cells: Sequence[Any]
    unit: int | None = None
    """For dates and times whose cells are counted in integers: how many make a second."""

    def array(self, cells: list[Any]) -> pa.Array:
        """Return a column of cells."""
        if self.unit is None:
            return pa.array(cells, self.given)
        whole = pa.int32() if self.given.bit_width == 32 else pa.int64()
        return pa.array([None if cell is None else cell * self.unit for cell in cells], whole).view(self.given)

    def held(self, column: pa.Array) -> pa.Array:
        """Return a column in the type anonkit holds it in."""
        if not pa.types.is_dictionary(column.type):
            return column.cast(self.canonical)
        if not pa.types.is_dictionary(self.canonical):
            return column.dictionary_decode().cast(self.canonical)
        texts = column.dictionary.cast(pa.string())
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), texts, ordered=self.canonical.ordered)


@dataclass(frozen=True)
class DictionaryKind(Kind):
    """A dictionary whose categories are in an order of their own, some of them in no cell."""

    ordered: bool = False

    def array(self, cells: list[Any]) -> pa.Array:
        """Return a column of cells."""
        categories = list(reversed(self.cells))
        indices = [None if cell is None else categories.index(cell) for cell in cells]
        values = pa.array(categories, self.given.value_type)
        return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int8()), values, ordered=self.ordered)


def _same(given: pa.DataType, *cells: Any, unit: int | None = None) -> Kind:
    return Kind(given, given, cells, unit)


def _categories(given: pa.DataType, canonical: pa.DataType, *cells: Any, ordered: bool = False) -> Kind:
    held = pa.dictionary(pa.int32(), canonical, ordered=ordered) if pa.types.is_string(canonical) else canonical
    return DictionaryKind(pa.dictionary(pa.int8(), given, ordered=ordered), held, cells, ordered=ordered)


KINDS = (
    _same(pa.bool_(), True, False),
    _same(pa.int8(), -128, 0, 127),
    _same(pa.uint8(), 0, 255),
    _same(pa.int16(), -1, 300),
    _same(pa.int32(), -(2**31), 2**31 - 1),
    _same(pa.int64(), -(2**63), 2**63 - 1, 2**53, 2**53 + 1),
    _same(pa.uint64(), 0, 2**64 - 1, 2**64 - 2),
    Kind(pa.float16(), pa.float32(), [0.0, 1.5]),
    _same(pa.float32(), *SINGLES),
    _same(pa.float64(), *FLOATS),
    _same(pa.string(), *TEXTS),
    Kind(pa.large_string(), pa.string(), TEXTS),
    Kind(pa.string_view(), pa.string(), TEXTS),
    Kind(pa.null(), pa.string(), [None]),
    _same(pa.date32(), *DAYS),
    Kind(pa.date64(), pa.date32(), DAYS),
    Kind(pa.timestamp("s"), pa.timestamp("ms"), SECONDS, 1),
    _same(pa.timestamp("ms"), *SECONDS, unit=1_000),
    _same(pa.timestamp("us"), *SECONDS, unit=1_000_000),
    _same(pa.timestamp("ns"), *SECONDS, unit=1_000_000_000),
    _same(pa.timestamp("us", "UTC"), *SECONDS, unit=1_000_000),
    _same(pa.timestamp("ns", "Europe/Vienna"), *SECONDS, unit=1_000_000_000),
    Kind(pa.time32("s"), pa.time32("ms"), CLOCK, 1),
    _same(pa.time64("us"), *CLOCK, unit=1_000_000),
    _same(pa.time64("ns"), *CLOCK, unit=1_000_000_000),
    _same(pa.duration("us"), *SECONDS, unit=1_000_000),
    _same(pa.duration("ns"), *SECONDS, unit=1_000_000_000),
    _same(pa.decimal128(7, 2), *DECIMALS),
    Kind(pa.decimal256(9, 2), pa.decimal128(9, 2), DECIMALS),
    _categories(pa.string(), pa.string(), "low", "mid", "high", "", "é"),
    _categories(pa.string(), pa.string(), "low", "mid", "high", ordered=True),
    _categories(pa.large_string(), pa.string(), "x", "y"),
    _categories(pa.int64(), pa.int64(), 3, 1, 2, ordered=True),
    _categories(pa.float64(), pa.float64(), 0.0, -0.0, 1.5),
    _categories(pa.bool_(), pa.bool_(), True, False),
    _categories(pa.date32(), pa.date32(), *DAYS[1:3]),
)


@dataclass(frozen=True)
class Awkward:
    """A table as it comes, and in the types anonkit must hold it in."""

    given: pa.Table
    held: pa.Table

    def __repr__(self) -> str:
        return f"{self.given.schema}\n{self.given.to_pydict()}"


@st.composite
def awkward_tables(draw: st.DrawFn, kinds: Sequence[Kind] = KINDS, max_rows: int = 12) -> Awkward:
    """Draw a table of a few columns, none to `max_rows` rows, in one chunk or two."""
    n_rows = draw(st.integers(0, max_rows))
    chosen = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=4))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=len(chosen), max_size=len(chosen), unique=True))
    columns = []
    for kind in chosen:
        pool = draw(st.lists(st.sampled_from(list(kind.cells)), min_size=1, max_size=3))
        cells = draw(st.lists(st.sampled_from([*pool, None]), min_size=n_rows, max_size=n_rows))
        columns.append(kind.array(cells))
    given = pa.Table.from_arrays(columns, names=names)
    cut = draw(st.integers(0, n_rows))
    held = [kind.held(column) for kind, column in zip(chosen, columns, strict=True)]
    return Awkward(pa.concat_tables([given.slice(0, cut), given.slice(cut)]), pa.Table.from_arrays(held, names=names))
