# SPDX-License-Identifier: Apache-2.0
"""Measured sensitive columns, and the width within which their numbers count as one value.

Ten different salaries within a few per cent disclose what each of ten people earns: to count them as ten values would
be diversity in name. Numbers that are no measures, such as codes of diagnoses, are different where they differ at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import SupportsFloat

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.policy.column_declarations import Column
from anonkit.promises.no_values import CODE_WORDS, FEW_CODES, MISSING_CODES, TOLERANCE

_MIDDLE = (0.05, 0.95)
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+\d*|\d+")


def is_measured(column: Column, kind: pa.DataType, n_values: int) -> bool:
    """Return True if a column is measured, not one of codes.

    Parameters
    ----------
    column : Column
        A tolerance that it declares decides, and so do categories.
    kind : DataType
        As it was read.
    n_values : int
        Different numbers in it.
    """
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return False
    if column.tolerance is not None or column.domain_values is not None:
        return bool(column.tolerance)
    if not pa.types.is_integer(kind):
        return True
    words = {word.lower() for word in _WORDS.findall(column.name)}
    return n_values > FEW_CODES and words.isdisjoint(CODE_WORDS)


def has_missing_codes(values: Sequence[object]) -> bool:
    """Return True if a common code for a missing value is far from all other values.

    A code above 0 is apart where it lies further above the largest of the others than these reach, one below 0 where
    none of the others is; among strings that are no numbers every code is.
    """
    codes = {float(code) for code in MISSING_CODES}
    numbers = [_number_of(value) for value in values]
    found = [number for number in numbers if number in codes]
    others = [number for number in numbers if number is not None and number not in codes]
    if not found or not others:
        return bool(found) and None in numbers
    low, high = min(others), max(others)
    return None in numbers or any(low >= 0 if code < 0 else code - high > high - low for code in found)


def _number_of(value: object) -> float | None:
    """Return a number, or a string that spells an integer, as a number."""
    if isinstance(value, str):
        return float(value) if _WHOLE.fullmatch(value) else None
    return float(value) if isinstance(value, SupportsFloat) and not isinstance(value, bool) else None


def rounded_width(numbers: FloatArray, rows: IntArray, tolerance: float | None) -> float:
    """Return the width within which numbers are one value, rounded to two digits.

    Parameters
    ----------
    numbers, rows : array, shape (n_values,)
        The different numbers, ascending, and the rows of each.
    tolerance : float, optional
        Share of the middle 90 % of all numbers; None: `TOLERANCE`.
    """
    if not numbers.size:
        return 0.0
    below = np.cumsum(rows) / rows.sum()
    low, high = (float(numbers[np.searchsorted(below, share - 1e-12)]) for share in _MIDDLE)
    return float(f"{(TOLERANCE if tolerance is None else tolerance) * (high - low):.1e}")
