# SPDX-License-Identifier: Apache-2.0
"""Keys by which rows of two tables belong together: strings that are equal exactly when the keys are.

A key is compared as the text that its cell has: `007` and `7` are two people. Cells that are numbers by the type of
their own file (Parquet, a data frame, a database) are spelled in their one form (`cell_texts`), so 7 and 7.0 are one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anonkit.domains.cell_keys import cell_texts


def join_keys(columns: Sequence[pa.Array]) -> pa.StringArray:
    """Return the key of every row, shape (n,); missing where any of its columns is.

    The strings are written in hexadecimal, each after an `x`: whatever reads units by a rule of its own (blanks, other
    spellings of numbers, letters of other scripts) keeps all of them apart, and no two lists of strings have one key.
    """
    parts = [_hexadecimal(cell_texts(column)) for column in columns]
    return pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def _hexadecimal(texts: pa.StringArray) -> pa.StringArray:
    """Return strings as the digits of their UTF-8 bytes, once a distinct string."""
    distinct = pc.dictionary_encode(texts)
    spelled = [None if text is None else f"x{text.encode().hex()}" for text in distinct.dictionary.to_pylist()]
    return pa.array(spelled, pa.string()).take(distinct.indices)
