# SPDX-License-Identifier: Apache-2.0
"""Draws of a simulation: each is a function of the seed, of what it is of, and of the number of its row alone."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Stream(IntEnum):
    """The streams of random words: each has words of its own. A number stays what it is for good."""

    CUSTOMER = 0
    CUSTOMER_MONTH = 1
    PATIENT = 2
    VISIT = 3
    RESPONDENT = 4
    RIDER = 5
    TRIP = 6
    DECLARED_ROW = 7


def uniforms(seed: int, stream: Stream, width: int, start: int, stop: int) -> FloatArray:
    """Return `width` uniform numbers in [0, 1) for each row from `start` to `stop`, shape (stop - start, width)."""
    generator = np.random.PCG64([seed, int(stream)])  # its raw words never change, numpy's distributions may
    generator.advance(start * width)
    words = generator.random_raw((stop - start) * width) >> np.uint64(11)
    return words.astype(np.float64).reshape(-1, width) * 2.0**-53


def normals(uniforms: FloatArray) -> FloatArray:
    """Turn pairs of uniform numbers into pairs of standard normal ones (Box and Muller 1958), same shape."""
    half = uniforms.shape[1] // 2
    radius: FloatArray = np.sqrt(-2 * np.log1p(-uniforms[:, :half]))
    angle: FloatArray = 2 * np.pi * uniforms[:, half:]
    return np.hstack([radius * np.cos(angle), radius * np.sin(angle)])


def numbered(letter: str, numbers: IntArray, width: int = 7) -> pa.Array:
    """Return identifiers: a letter and each number, with zeros before it up to `width` digits."""
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width=width, padding="0")
    return pc.binary_join_element_wise(letter, digits, "")
