# SPDX-License-Identifier: Apache-2.0
"""Measured sensitive columns, and the width within which their numbers count as one value.

Ten different salaries within a few per cent tell what each of ten people earns: to count them as ten values would be
diversity in name. Numbers that are no measures, such as codes of diagnoses, are different where they differ at all.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from anonkit.domains.array_types import FloatArray, IntArray
from anonkit.policy.column_declarations import Column
from anonkit.promises.no_values import CODE_WORDS, FEW_CODES, TOLERANCE

_MIDDLE = (0.05, 0.95)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+\d*|\d+")


def is_measured(column: Column, kind: pa.DataType, n_values: int) -> bool:
    """Tell a measured column from one of codes.

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
