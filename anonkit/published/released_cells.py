# SPDX-License-Identifier: Apache-2.0
"""Codes of public domains as the cells of a released column, as owner and receiver write them alike.

Numbers within their cells: rows know the cell of a number, and show one of its places, all equally likely.

The middle of each cell alone would show most of the values that are in a cell never, and one of them too often. Owner
and receiver draw places alike, with words of their own; nothing of a table is in them, at no privacy loss.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, Grid

PLACES_IN_A_CELL = 16
"""Numbers are shown at the middles of so many equal parts of a cell; of multiples of a step at most at each of them."""


class Words(Protocol):
    """Random words, secret or not."""

    def below(self, bounds: IntArray) -> IntArray:
        """Return, for each bound, a uniform integer in [0, bound)."""
        ...


def shown_domain(domain: Categories | Grid) -> Categories | Grid:
    """Return the domain in which the cells of a column are shown: of numbers the places in them."""
    return domain.finer(PLACES_IN_A_CELL) if isinstance(domain, Grid) else domain


def places_of_cells(cells: IntArray, domain: Categories | Grid, shown: Categories | Grid, words: Words) -> IntArray:
    """Return a uniform place in the cell of each row, missing as such, shape (n_rows,).

    Parameters
    ----------
    cells : int64 array, shape (n_rows,)
        Codes of the domain.
    domain : Categories or Grid
        In which the column was counted.
    shown : Categories or Grid
        `shown_domain` of it; or the domain itself, whose cells stay as they are.
    words : Words
    """
    if shown == domain or not isinstance(domain, Grid) or not isinstance(shown, Grid):
        return cells
    starts = _starts(domain, shown)
    known = np.minimum(cells, domain.cells - 1)
    within = words.below(np.diff(np.append(starts, shown.cells))[known])
    return np.asarray(np.where(cells < domain.cells, starts[known] + within, shown.cells), dtype=np.int64)


def cells_of_places(domain: Categories | Grid, shown: Categories | Grid) -> IntArray:
    """Return the code of the domain for each code of what is shown, missing included, shape (shown.size,)."""
    if not isinstance(domain, Grid) or not isinstance(shown, Grid):
        return np.arange(domain.size)
    cells = np.repeat(np.arange(domain.cells), np.diff(np.append(_starts(domain, shown), shown.cells)))
    return np.append(cells, np.full(int(domain.has_missing), domain.cells))


def _starts(domain: Grid, shown: Grid) -> IntArray:
    """Return the first place of each cell, shape (cells,)."""
    if domain.values is None:
        return np.arange(domain.cells, dtype=np.int64) * (shown.cells // domain.cells)
    return shown.encode(domain.edges()[:-1]).astype(np.int64)  # a cell begins where one of the finer cells does


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
