# SPDX-License-Identifier: Apache-2.0
"""Columns of a receiver's table, in any data frame library, as codes of a public domain or as floats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.coded_columns import FloatArray, IntArray, recode_array
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid, NumberBins
from anonkit.errors import SourceError, did_you_mean


class Columns:
    """A table read column by column.

    Parameters
    ----------
    data : pandas, Arrow or Polars table, or mapping of names to arrays
        Anything with the Arrow PyCapsule interface will do.
    """

    def __init__(self, data: Any) -> None:
        by_name = isinstance(data, Mapping) or type(data).__module__.split(".")[0] == "pandas"
        if by_name and not (isinstance(data, Mapping) or hasattr(data, "columns")):
            raise SourceError("a single pandas column is not a table", "pass the whole data frame")
        table = None if by_name else _arrow(data)
        self._get: Any = data.__getitem__ if table is None else table.column
        self.names: list[str] = list(data.keys()) if table is None else list(table.schema.names)
        if len(set(self.names)) != len(self.names):
            raise SourceError("two columns of the table have one name", "rename one of them")
        self.n_rows = len(self._get(self.names[0])) if self.names else 0

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def head(self, names: Iterable[str], n_rows: int) -> Columns:
        """Return the first rows of some columns, nothing converted yet."""
        return Columns({name: self._get(name)[:n_rows] for name in names})

    def replaced(self, arrays: Mapping[str, pa.Array]) -> dict[str, Any]:
        """Return all columns by name, some of them replaced, nothing else converted yet."""
        return {name: arrays.get(name, self._get(name)) for name in self.names}

    def array(self, name: str) -> pa.Array:
        """Return a column as one Arrow array, NaN as null.

        Raises
        ------
        SourceError
            When there is no such column, or its cells are of mixed types.
        """
        if name not in self.names:
            raise SourceError(f"column {name!r} is not in the table", did_you_mean(name, self.names))
        raw = self._get(name)
        if isinstance(raw, pa.ChunkedArray):
            return _plain(name, raw.combine_chunks())
        if isinstance(raw, pa.Array):
            return _plain(name, raw)
        converted = _made(lambda: pa.array(raw, from_pandas=True))
        if converted is None:
            raise SourceError(f"column {name!r} holds cells of mixed types", "make them all texts or all numbers")
        return _plain(name, converted.combine_chunks() if isinstance(converted, pa.ChunkedArray) else converted)

    def codes(self, name: str, domain: Categories) -> IntArray:
        """Return the code of each cell, `UNKNOWN` for a cell outside the domain, shape (n,).

        Of the bins of a number, that of the nearest bound for a number beyond it.
        """
        if isinstance(domain, NumberBins):
            return domain.bins_of(self.numbers(name))
        return recode_array(self.array(name), domain.codes_of, UNKNOWN, False)

    def true_codes(self, name: str, domain: Categories | Grid) -> IntArray:
        """Return the code of each true value, `UNKNOWN` outside the domain, shape (n,)."""
        if isinstance(domain, Categories):
            return self.codes(name, domain)
        values = self.numbers(name)
        absent = np.isnan(values) & (not domain.has_missing)
        codes = domain.encode(np.where(absent, domain.lower, values)).astype(np.int64)
        codes[absent] = UNKNOWN
        return codes

    def numbers(self, name: str) -> FloatArray:
        """Return the cells as floats, NaN for missing, shape (n,).

        Raises
        ------
        SourceError
            When the cells are not numbers, or one of them is infinite.
        """
        array = self.array(name)
        if pa.types.is_null(array.type):
            return np.full(len(array), np.nan)
        if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)):
            raise SourceError(f"column {name!r} must hold numbers")
        numbers = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan)
        floats = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(floats).any():
            raise SourceError(f"column {name!r} holds infinite numbers", "make them missing, or the bound they passed")
        return floats


def _arrow(data: Any) -> pa.Table:
    table = data if isinstance(data, (pa.Table, pa.RecordBatch)) else _made(lambda: pa.table(data))
    if table is None:
        raise SourceError(
            f"a {type(data).__name__} is not a table with named columns", "pass a pandas, Arrow or Polars table"
        )
    return table


def _plain(name: str, array: pa.Array) -> pa.Array:
    """Return a column, or refuse one whose cells are no values: lists, structs, strings that are no UTF-8."""
    strange = pa.types.is_nested(array.type) or isinstance(array.type, pa.BaseExtensionType)
    if strange or _made(lambda: array.validate(full=True) is None) is None:
        raise SourceError(
            f"column {name!r} holds cells that are no values of a table", "make them all texts or all numbers"
        )
    return array


def _made(convert: Callable[[], Any]) -> Any:
    """Return the result of a conversion, or None: its errors may quote cells, and must lead to none of ours."""
    try:
        return convert()
    except Exception:  # of objects and libraries that raise what they like
        return None
