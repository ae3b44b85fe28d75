# SPDX-License-Identifier: Apache-2.0
"""Cells of a table as codes of the public domains that the policy declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.cells import category_value
from anonkit.errors import PolicyError
from anonkit.mechanisms.channel import Codes, FloatArray
from anonkit.mechanisms.domains import UNKNOWN, Categories, Grid
from anonkit.protocols import Source


def codes_of_cells(
    batch: pa.RecordBatch, name: str, domain: Categories | Grid, kind: type[np.integer[Any]] = np.int64
) -> Codes:
    """Return the codes of a column, or refuse cells that the declared domain does not have, shape (n,).

    Parameters
    ----------
    batch : RecordBatch
    name : str
        Name of the column.
    domain : Categories or Grid
        Its public domain.
    kind : type
        Integer type of the codes; it must hold all of them.

    Raises
    ------
    PolicyError
        A cell is outside the categories, or missing where that is not declared.
    """
    array = batch.column(name)
    if isinstance(domain, Grid):
        numbers = numbers_of_cells(batch, name)
        if not domain.has_missing:
            refuse_missing(name, array, numbers)
        return domain.encode(numbers).astype(kind, copy=False)
    if not domain.has_missing:
        refuse_missing(name, array)
    codes = _of_texts(array, domain) if pa.types.is_string(array.type) else _of_values(array, domain)
    if codes is None:
        raise PolicyError(
            f"column {name!r} has cells outside its declared categories", "correct the policy or the table"
        )
    return codes.astype(kind, copy=False)


def _of_texts(array: pa.Array, domain: Categories) -> Codes | None:
    """Return the codes of texts, missing as the code after the last category; None when one is no category."""
    found = pc.index_in(array, value_set=pa.array(domain.values, pa.string()))
    if found.null_count > array.null_count:
        return None
    places = found if found.null_count == 0 else pc.fill_null(found, len(domain.values))
    return np.asarray(places.to_numpy(zero_copy_only=False))


def _of_values(array: pa.Array, domain: Categories) -> Codes | None:
    """Return the codes of cells of any type by their texts, as `_of_texts`."""
    encoded = array if isinstance(array, pa.DictionaryArray) else pc.dictionary_encode(array)
    codes_of = domain.codes_of
    local = [codes_of.get(category_value(value, False), UNKNOWN) for value in encoded.dictionary.to_pylist()]
    indices = encoded.indices if encoded.indices.null_count == 0 else pc.fill_null(encoded.indices, len(local))
    codes = np.array([*local, codes_of.get(None, UNKNOWN)])[indices.to_numpy(zero_copy_only=False)]
    # a dictionary may list values that no cell holds
    return None if UNKNOWN in local and (codes == UNKNOWN).any() else codes


def numbers_of_cells(batch: pa.RecordBatch, name: str) -> FloatArray:
    """Return the cells of a column as floats, NaN for missing, shape (n,)."""
    floats = batch.column(name).cast(pa.float64(), safe=False)  # whole numbers beyond 2**53 lose their last digits
    floats = floats if floats.null_count == 0 else pc.fill_null(floats, np.nan)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def refuse_missing(name: str, cells: pa.Array, numbers: FloatArray | None = None) -> None:
    """Refuse a column in which something is missing that its domain does not have.

    Parameters
    ----------
    name : str
    cells : Array
        The cells; null is missing.
    numbers : array of float, optional
        The cells as floats, when they are numbers: NaN is missing too.

    Raises
    ------
    PolicyError
        Something is missing.
    """
    if cells.null_count or (numbers is not None and np.isnan(numbers).any()):
        raise PolicyError(
            f"column {name!r} has missing values, which its declared domain does not have",
            'missing = "category" in the policy: absence is then randomized too',
        )


def refuse_texts(source: Source, numbers: Iterable[str]) -> None:
    """Refuse columns that have bounds and hold no numbers, before any cell of them is read as one.

    A table without rows has nothing that could be read: a text file does not tell its types then, and a refusal would
    tell it from a table of one row.

    Raises
    ------
    PolicyError
        A column is of another type.
    """
    if source.n_rows == 0:
        return
    for name in numbers:
        kind = source.schema.field(name).type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (number or pa.types.is_null(kind)):
            raise PolicyError(f"column {name!r} has bounds but its cells are not numbers", "declare categories instead")
