# SPDX-License-Identifier: Apache-2.0
"""Rows drawn from a published mixture: every share is met as nearly as whole rows allow, and columns stay independent.

Systematic rounding gives every value of a component its share of the rows up to one, with the exact mean; the values of
a component are shuffled for each column by itself. Laid out in the order of their codes instead, two columns that have
nothing in common but a parent would ascend together. Owner and receiver draw by the same rule, each with words of their
own: secret ones where a release is made, any where more rows of a published mixture are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.published.product_mixtures import SHARE_UNITS, WEIGHT_UNITS, ProductMixtures

_ORDER_BITS = 40
"""Bits of a word that order the rows of a component; the bits above say which component it is."""
_OFFSET_BITS = 62
"""Bits of the offset of a deal whose weights are larger than a word."""


class UniformWords(Protocol):
    """Random words, secret or not."""

    def take(self, n: int) -> NDArray[np.uint64]:
        """Return so many uniform 64-bit words."""
        ...

    def below(self, bounds: IntArray) -> IntArray:
        """Return, for each bound, a uniform integer in [0, bound)."""
        ...


def rows_of_components(mixtures: ProductMixtures, words: UniformWords) -> IntArray:
    """Return how many rows are drawn of each component, class by class; in a class as many as it has rows."""
    return np.concatenate(
        [systematic(own.weights[np.newaxis], WEIGHT_UNITS, np.array([own.rows]), words)[0] for own in mixtures.classes]
    )


def dealt(weights: Sequence[int], rows: int, words: UniformWords) -> IntArray:
    """Return how so many rows are dealt in proportion to whole weights of any size, up to one, with that mean.

    Parameters
    ----------
    weights : sequence of int
        At least 0, and not all 0.
    rows : int
    words : UniformWords

    Returns
    -------
    int64 array, shape (len(weights),)
    """
    # one offset for all, as `systematic`; integers of Python, for products of shares pass any word
    offset = int(words.below(np.array([1 << _OFFSET_BITS]))[0])
    total, ends, before = sum(weights), [0], 0
    for weight in weights:
        before += weight
        ends.append(((before * rows << _OFFSET_BITS) + offset * total) // (total << _OFFSET_BITS))
    return np.asarray(np.diff(np.array(ends, dtype=np.int64)), dtype=np.int64)


def codes_of_rows(
    mixtures: ProductMixtures, numbers: IntArray, words: UniformWords, allowed: Mapping[str, BoolArray] | None = None
) -> list[IntArray]:
    """Draw rows of components.

    Parameters
    ----------
    mixtures : ProductMixtures
    numbers : int64 array, shape (components of all classes,)
        Rows of each component; 0 where a component has none of the allowed values of a column.
    words : UniformWords
    allowed : mapping of str to bool array, optional
        Which values a column may have, shape (values,); all of them where it is not named. A target that splits the
        tables is determined by `numbers` alone.

    Returns
    -------
    list of int64 array
        Codes of each column of the schema, the target first where there is one, shape (n_rows,) each.
    """
    present = np.flatnonzero(numbers)
    sizes = numbers[present]
    shares = np.concatenate([own.shares for own in mixtures.classes])[present]
    cells = np.repeat(np.arange(present.size, dtype=np.uint64), sizes) << np.uint64(_ORDER_BITS)
    drawn: dict[str | None, IntArray] = {}
    offsets = mixtures.offsets
    for at, name in enumerate(mixtures.names):
        own: IntArray = shares[:, offsets[at] : offsets[at + 1]]
        units: int | IntArray = SHARE_UNITS
        if allowed is not None and name in allowed:
            own = own * allowed[name]
            units = np.asarray(own.sum(axis=1))
        counts = systematic(own, units, sizes, words)
        values = np.broadcast_to(np.arange(counts.shape[1]), counts.shape)
        codes = np.repeat(values.reshape(-1), counts.reshape(-1))
        order = np.argsort(cells | (words.take(codes.size) >> np.uint64(64 - _ORDER_BITS)), kind="stable")
        drawn[name] = codes[order]
    if mixtures.anchored:
        of_class = np.repeat(np.arange(len(mixtures.classes)), [own.weights.size for own in mixtures.classes])
        drawn[mixtures.schema.target] = np.repeat(of_class[present], sizes)
    return [drawn[name] for name in mixtures.schema.domains]


def systematic(weights: IntArray, units: int | IntArray, totals: IntArray, words: UniformWords) -> IntArray:
    """Return integers in proportion to weights, up to one, with that mean: one random offset a row.

    Parameters
    ----------
    weights : int64 array, shape (n, m)
    units : int, or int64 array, shape (n,)
        What the weights of each row add up to, up to 2**24.
    totals : int64 array, shape (n,)
        What each row shall add up to, below 2**36.
    words : UniformWords

    Returns
    -------
    int64 array, shape (n, m)
    """
    whole = np.broadcast_to(np.asarray(units, dtype=np.int64), (len(weights),))
    offsets = words.below(whole)
    ends = (np.cumsum(weights, axis=1) * totals[:, np.newaxis] + offsets[:, np.newaxis]) // whole[:, np.newaxis]
    return np.asarray(np.diff(ends, axis=1, prepend=0), dtype=np.int64)
