# SPDX-License-Identifier: Apache-2.0
"""Columns as integer codes: what every method computes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
UNLABELLED = -1
"""Code of a row whose target is missing: it is released and counted, but guides nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedColumn:
    """One column as codes into the list of its distinct values.

    Codes of an ordered (numeric) column ascend with the value. Missing, if it occurs, is the last code.
    """

    name: str
    codes: NDArray[np.int32]
    """Shape (n_rows,), each in [0, size)."""
    values: Sequence[object]
    """The distinct values in code order, length `size`; floats or ints when `ordered`, else strings; None for missing."""
    ordered: bool
    """True for numeric columns."""

    @property
    def size(self) -> int:
        """Number of distinct values, missing included."""
        return len(self.values)

    @property
    def missing(self) -> int | None:
        """The code of missing, or None when nothing is missing."""
        return self.size - 1 if self.size and self.values[-1] is None else None


def densify(codes: IntArray) -> tuple[IntArray, int]:
    """Renumber codes as 0..m-1 in ascending order of the old code, dropping the unused; return them and m.

    Linear time when the codes are not much larger than their number, a sort otherwise.
    """
    if codes.size == 0:
        return codes.astype(np.int64), 0
    top = int(codes.max()) + 1
    if top <= 8 * codes.size + 1024:
        used = np.zeros(top, dtype=bool)
        used[codes] = True
        number = np.cumsum(used) - 1
        return number[codes], int(number[-1]) + 1
    unique, inverse = np.unique(codes, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), len(unique)
