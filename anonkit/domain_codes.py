# SPDX-License-Identifier: Apache-2.0
"""Cells of a table as codes of the public domains that the policy declares."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.cells import recode_array
from anonkit.errors import PolicyError
from anonkit.mechanisms.channel import FloatArray
from anonkit.mechanisms.domains import UNKNOWN, Categories, Grid


def codes_of_cells(batch: pa.RecordBatch, name: str, domain: Categories | Grid) -> NDArray[np.int64]:
    """Return the codes of a column, or refuse cells that the declared domain does not have, shape (n,).

    Raises
    ------
    PolicyError
        A cell is outside the categories, or missing where that is not declared.
    """
    if isinstance(domain, Grid):
        numbers = numbers_of_cells(batch, name)
        if not domain.has_missing:
            refuse_missing(name, np.isnan(numbers))
        return domain.encode(numbers).astype(np.int64)
    array = batch.column(name)
    if not domain.has_missing:
        refuse_missing(name, array.is_null().to_numpy(zero_copy_only=False))
    codes = recode_array(array, domain.codes_of, UNKNOWN, False)
    if (codes == UNKNOWN).any():
        raise PolicyError(
            f"column {name!r} has cells outside its declared categories", "correct the policy or the table"
        )
    return codes


def numbers_of_cells(batch: pa.RecordBatch, name: str) -> FloatArray:
    """Return the cells of a column as floats, NaN for missing, shape (n,)."""
    floats = pc.fill_null(batch.column(name).cast(pa.float64()), np.nan)
    return np.asarray(floats.to_numpy(zero_copy_only=False), dtype=np.float64)


def refuse_missing(name: str, missing: NDArray[np.bool_]) -> None:
    """Refuse a column in which something is missing that its domain does not have.

    Raises
    ------
    PolicyError
        Something is missing.
    """
    if missing.any():
        raise PolicyError(
            f"column {name!r} has missing values, which its declared domain does not have",
            'missing = "category" in the policy: absence is then randomized too',
        )


def refuse_texts(schema: pa.Schema, numbers: Iterable[str]) -> None:
    """Refuse columns that have bounds and hold no numbers, before any cell of them is read as one.

    Raises
    ------
    PolicyError
        A column is of another type.
    """
    for name in numbers:
        kind = schema.field(name).type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (number or pa.types.is_null(kind)):
            raise PolicyError(f"column {name!r} has bounds but its cells are not numbers", "declare categories instead")
