# SPDX-License-Identifier: Apache-2.0
"""Strings of declared categories as dictionary indices, and of declared numbers as numbers: read once, used often.

For tables in memory whose cells differential privacy reads one by one, beside the strings themselves. No cell means
anything else: a string that is none of the categories is in the dictionary too, and a column that holds anything but
plain numbers stays as it is.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.domain_codes import plain_floats
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import CategoryCells, NumberCells, declared_cells

_MOST_CATEGORIES = 1 << 12


def coded(table: pa.Table, policy: Policy) -> pa.Table:
    """Return the table with its declared columns read: for a policy whose cells are read one by one.

    A dictionary begins with the declared categories, whether a row holds them or not. Units stay as they are.
    """
    for at, column in enumerate(table.schema):
        cells = declared_cells(policy.column(column.name), policy) if pa.types.is_string(column.type) else None
        chunks: list[pa.Array] | None = None
        if isinstance(cells, NumberCells):
            chunks = _numbers(table.column(at))
        elif isinstance(cells, CategoryCells) and len(cells.values) <= _MOST_CATEGORIES:
            chunks = [_categories(chunk, pa.array(cells.values, pa.string())) for chunk in table.column(at).chunks]
        if chunks:
            table = table.set_column(at, column.name, pa.chunked_array(chunks))
    return table


def _numbers(texts: pa.ChunkedArray) -> list[pa.Array] | None:
    """Return the numbers of a column in which every string is a plain one; None for another."""
    chunks = []
    for chunk in texts.chunks:
        floats = plain_floats(chunk)
        if floats is None:
            return None
        chunks.append(floats)
    return chunks


def _categories(texts: pa.StringArray, categories: pa.StringArray) -> pa.DictionaryArray:
    places = pc.index_in(texts, value_set=categories)
    if places.null_count > texts.null_count:
        others = pc.dictionary_encode(pc.if_else(places.is_valid(), None, texts))
        places = pc.coalesce(places, pc.add(others.indices, pa.scalar(len(categories), pa.int32())))
        categories = pa.concat_arrays([categories, others.dictionary])
    return pa.DictionaryArray.from_arrays(places, categories)
