# SPDX-License-Identifier: Apache-2.0
"""Sensitive columns by their distinct values: strings folded, marks for a missing cell missing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from unicodedata import normalize

import numpy as np

from anonkit.domains.coded_columns import CodedColumn


def folded_text(text: str) -> str:
    """Return a text as it is compared: NFKC, case folding, trimmed."""
    return normalize("NFKC", normalize("NFKC", text).casefold()).strip()


def folded_column(column: CodedColumn, no_values: Collection[str] | None) -> CodedColumn:
    """Return a column with one code for all spellings of a text, and the missing code for marks.

    Parameters
    ----------
    column : CodedColumn
        One of numbers, dates or truth values is returned as it is.
    no_values : collection of str
        Folded strings that are no value; None: strings are not folded either.

    Returns
    -------
    CodedColumn
        Its values are folded strings, ascending; missing is last.
    """
    if no_values is None or column.ordered or not any(isinstance(value, str) for value in column.values):
        return column
    folded = [None if value is None else folded_text(str(value)) for value in column.values]
    counted = [None if text is None or text in no_values else text for text in folded]
    values = sorted({text for text in counted if text is not None})
    listed: list[object] = [*values, *([None] if None in counted else [])]
    code_of = {value: code for code, value in enumerate(listed)}
    codes = np.array([code_of[text] for text in counted], dtype=np.int32)
    return replace(column, codes=codes[column.codes], values=listed)
