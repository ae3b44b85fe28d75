# SPDX-License-Identifier: Apache-2.0
"""Cells of a table as codes of the declared public domains: each cell independently, none refused.

A cell is the category with its exact string, else the category with its exact decimal; a number beyond its bounds
counts as the nearest bound. What is neither is missing. Every row has codes, so that neither a refusal nor the codes of
other rows disclose one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.domains.array_types import Codes, FloatArray
from anonkit.domains.attribute_domains import UNKNOWN, Categories, Grid
from anonkit.domains.cell_keys import category_codes, cell_numbers
from anonkit.domains.number_bins import NumberBins
from anonkit.errors import PolicyError


def codes_of_cells(
    batch: pa.RecordBatch, name: str, domain: Categories | Grid, kind: type[np.integer[Any]] = np.int64
) -> Codes:
    """Return the codes of a column, shape (n,).

    Parameters
    ----------
    batch : RecordBatch
    name : str
        Name of the column.
    domain : Categories or Grid
        Its public domain. A cell that it does not have is missing; where it has no missing, such a cell counts as the
        first category, or as the lower bound.
    kind : type
        Integer type of the codes; it must hold all of them.

    Privacy
    -------
    The code of a cell is a function of the cell and the domain.
    """
    array = batch.column(name)
    if isinstance(domain, Grid):
        numbers = clamped(cell_numbers(array), domain.lower, domain.upper)
        if not domain.has_missing:
            numbers = np.where(np.isnan(numbers), domain.lower, numbers)
        return domain.encode(numbers).astype(kind, copy=False)
    if isinstance(domain, NumberBins):
        codes = domain.bins_of(cell_numbers(array))
        return np.where(codes == UNKNOWN, 0, codes).astype(kind, copy=False)
    absent = len(domain.values) if domain.has_missing else 0
    return category_codes(array, domain.values, texts_alone=domain.texts_alone, absent=absent, kind=kind)


def labels_of_cells(batch: pa.RecordBatch, name: str, classes: Categories) -> Codes:
    """Return the classes of rows, shape (n,); UNKNOWN for rows without one.

    A missing label is a class where the domain has missing. Else the row has no class, as a row with a label outside
    the declared classes has none. A number beyond its bounds is in the nearest bin; what is no number is missing.
    """
    if isinstance(classes, NumberBins):
        return classes.bins_of(cell_numbers(batch.column(name)))
    absent = len(classes.values) if classes.has_missing else UNKNOWN
    return category_codes(batch.column(name), classes.values, texts_alone=classes.texts_alone, absent=absent)


def numbers_of_cells(batch: pa.RecordBatch, name: str, bounds: tuple[float, float] | None) -> FloatArray:
    """Return the cells of a column as floats within the bounds, NaN for missing and for strings, shape (n,)."""
    numbers = cell_numbers(batch.column(name))
    return numbers if bounds is None else clamped(numbers, *bounds)


def clamped(numbers: FloatArray, low: float, high: float) -> FloatArray:
    """Return numbers with those beyond a bound at the bound; NaN stays."""
    return np.clip(numbers, low, high)


def refuse_kinds(schema: pa.Schema, numbers: Iterable[str]) -> None:
    """Refuse bounds on columns whose own type holds no numbers: truth values, dates and times.

    The type is that of a file or a data frame, and looks at no cell: the columns of a text file are strings here.

    Raises
    ------
    PolicyError
        A column is of such a type.
    """
    for name in numbers:
        kind = schema.field(name).type
        if pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            raise PolicyError(f"column {name!r} has bounds but its cells are not numbers", "declare categories instead")
