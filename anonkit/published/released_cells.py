# SPDX-License-Identifier: Apache-2.0
"""Codes of public domains as the cells of a released column, as owner and receiver write them alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray
from anonkit.domains.attribute_domains import Categories, Grid


def cells_of_codes(codes: NDArray[np.int64], domain: Categories | Grid) -> pa.Array:
    """Return codes as cells: the representative numbers of bins, whole ones as such, or dictionary-encoded strings."""
    if isinstance(domain, Grid):
        return array_of_numbers(domain.decode(codes), domain)
    return labelled(codes, domain)


def type_of_categories(domain: Categories) -> pa.DataType:
    """Return the type in which the categories of a domain are written."""
    return pa.bool_() if domain.are_truth_values else pa.dictionary(pa.int32(), pa.string())


def type_of_numbers(grid: Grid) -> pa.DataType:
    """Return the type in which the representative numbers of cells of a grid are written: whole ones as such."""
    return pa.int64() if grid.are_integers else pa.float64()


def array_of_numbers(numbers: FloatArray, grid: Grid) -> pa.Array:
    """Return the representative numbers of cells of a grid, NaN for missing: `int64` where all of them are whole."""
    absent = np.isnan(numbers)
    if grid.are_integers:
        numbers = np.where(absent, 0, numbers).astype(np.int64)
    return pa.array(numbers, type_of_numbers(grid), mask=absent)


def labelled(codes: NDArray[np.int64], domain: Categories) -> pa.Array:
    """Return codes as the categories of a domain, dictionary-encoded; truth values as booleans."""
    absent = codes >= len(domain.values)
    if domain.are_truth_values:
        return pa.array(codes == 1, pa.bool_(), mask=absent)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))
