# SPDX-License-Identifier: Apache-2.0
"""The published mixture of products, in integers: rows are drawn from exactly what the file holds.

For each class of the anchor, or for all rows where there is none: its rows, the weights of its components, and in each
component the shares of the values of each column. Within a component columns are independent.

Rows drawn from a published mixture: every share is met as nearly as whole rows allow, and columns stay independent.

Systematic rounding gives every value of a component its share of the rows up to one, with the exact mean; the values of
a component are shuffled for each column by itself. Laid out in the order of their codes instead, two columns that have
nothing in common but a parent would ascend together. Owner and receiver draw by the same rule, each with words of their
own: secret ones where a release is made, any where more rows of a published mixture are wanted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import BoolArray, FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.noisy_tables import LAPLACE, MarginalSchema, format_of, law_of
from anonkit.published.quoted_names import which_column

FORMATS = ("anonkit-marginals-1", "anonkit-marginals-2")
"""Of mixtures beside tables with discrete Laplace noise and with discrete Gaussian noise."""
WEIGHT_UNITS = 1 << 20
"""Sum of the weights of the components of a class."""
SHARE_UNITS = 1 << 16
"""Sum of the shares of the values of a column in a component."""
MOST_COLUMNS = 3
"""Most columns of a requested marginal."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassMixture(ParamsPart):
    """The mixture of one class."""

    rows: int
    """Rows of the class, as the noisy tables together say."""
    weights: IntArray
    """Shape (components,), in units: `WEIGHT_UNITS` in all."""
    shares: IntArray
    """Shape (components, all values), in units: `SHARE_UNITS` for each column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductMixtures(
    ParamsPart,
    keys=("**schema", "format", "anchored", "missing_above", "mixtures=classes"),
    made_by="of_format",
    damage="the mixture lacks a key or has one of the wrong kind",
):
    """The mixtures of all classes.

    Raises
    ------
    ParameterError
        The parts contradict each other.
    """

    formats: ClassVar[tuple[str, str]] = FORMATS
    schema: MarginalSchema
    anchored: bool
    """True when there is a mixture for each class of the target; else a target is the last column."""
    classes: tuple[ClassMixture, ...]
    law: str = LAPLACE
    """Of the noise of the tables that it was fitted to."""
    missing_above: float = field(default=0.0, metadata=left_out())
    """Standard deviations of its noise that the count of missing in the table of a column is above, where any is shown;
    0: whatever it is."""

    def __post_init__(self) -> None:
        wrong = len(self.classes) != (self.schema.n_classes if self.anchored else 1)
        wrong = wrong or any(own.shares.shape != (own.weights.size, self.offsets[-1]) for own in self.classes)
        for own in () if wrong else self.classes:
            units = np.add.reduceat(own.shares, self.offsets[:-1], axis=1)
            adds_up = int(own.weights.sum()) == WEIGHT_UNITS and bool(np.all(units == SHARE_UNITS))
            wrong = wrong or own.rows < 0 or not adds_up
            wrong = wrong or min(int(own.weights.min()), int(own.shares.min())) < 0
        if wrong:
            raise ParameterError("the mixture does not fit the columns, or its units do not add up")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of a component, in order."""
        return self.schema.column_names(anchored=self.anchored)

    @cached_property
    def offsets(self) -> IntArray:
        """Offset of each column among the values of all columns, shape (n_columns + 1,)."""
        return np.concatenate([[0], np.cumsum([self.schema.sizes[name] for name in self.names])]).astype(np.int64)

    @property
    def format(self) -> str:
        """Name and version of the params, by the law of the noise."""
        return format_of(self.law, FORMATS)

    @property
    def class_rows(self) -> IntArray:
        """Rows of each class, shape (classes,)."""
        return np.array([own.rows for own in self.classes], dtype=np.int64)

    def shares_of(self, name: str) -> list[FloatArray]:
        """Return for each class the shares of the values of a column, shape (components, values)."""
        if self.anchored and name == self.schema.target:
            known = np.eye(len(self.classes))
            return [np.repeat(known[[at]], own.weights.size, axis=0) for at, own in enumerate(self.classes)]
        at = self.names.index(name)
        values = slice(int(self.offsets[at]), int(self.offsets[at + 1]))
        return [own.shares[:, values] / SHARE_UNITS for own in self.classes]

    def rows_expected(self, names: Sequence[str], allowed: Mapping[str, BoolArray] | None = None) -> FloatArray:
        """Return the rows that the mixture expects for each combination of the values of one to three columns.

        Parameters
        ----------
        names : sequence of str
            Different columns; an anchor may be among them.
        allowed : mapping of str to bool array, optional
            Only rows with one of these values of these columns count, shape (values,) each.

        Returns
        -------
        float array, shape (values, ...)
        """
        if not 1 <= len(names) <= MOST_COLUMNS or len(set(names)) != len(names):
            raise ParameterError(f"a marginal is of one to {MOST_COLUMNS} different columns")
        known = {} if allowed is None else allowed
        unknown = [name for name in (*names, *known) if name not in self.schema.sizes]
        if unknown:
            raise ParameterError(
                f"{unknown[0]!r} is not a column of the release", which_column(unknown[0], self.schema.sizes)
            )
        parts = [self.shares_of(name) for name in names]
        parts = [
            [own * known[name] if name in known else own for own in shares]
            for name, shares in zip(names, parts, strict=True)
        ]
        letters = "abc"[: len(names)]
        path = ",".join(["k", *(f"k{letter}" for letter in letters)]) + "->" + letters
        out = np.zeros([self.schema.sizes[name] for name in names])
        rows = self.component_rows({name: values for name, values in known.items() if name not in names})
        for own, *shares in zip(rows, *parts, strict=True):
            out += np.einsum(path, own, *shares, optimize=True)
        return out

    def component_rows(self, allowed: Mapping[str, BoolArray]) -> list[FloatArray]:
        """Return for each class the rows expected of each component, of those with allowed values, (components,)."""
        out = [own.rows * own.weights / WEIGHT_UNITS for own in self.classes]
        for name, values in allowed.items():
            out = [rows * (shares @ values) for rows, shares in zip(out, self.shares_of(name), strict=True)]
        return out

    def component_weights(self, allowed: Mapping[str, BoolArray]) -> list[int]:
        """Return the same in whole units, exactly, class by class: of any size, as numbers of Python."""
        out = [own.rows * int(weight) for own in self.classes for weight in own.weights]
        for name, values in allowed.items():
            if self.anchored and name == self.schema.target:
                of_class = np.repeat(values.astype(np.int64), [own.weights.size for own in self.classes])
                units = of_class.tolist()
            else:
                at = self.names.index(name)
                between = slice(int(self.offsets[at]), int(self.offsets[at + 1]))
                units = [int(one) for own in self.classes for one in own.shares[:, between] @ values.astype(np.int64)]
            out = [weight * unit for weight, unit in zip(out, units, strict=True)]
        return out

    @classmethod
    def of_format(
        cls,
        *,
        format: str,  # noqa: A002 - the key of the params
        schema: MarginalSchema,
        anchored: bool,
        mixtures: tuple[ClassMixture, ...],
        missing_above: float = 0.0,
    ) -> Self:
        """Return the mixtures that the params state; their format says the law of the noise."""
        law = law_of(format, FORMATS)
        return cls(schema=schema, anchored=anchored, classes=mixtures, law=law, missing_above=missing_above)


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
    """Return the number of rows of each component, class by class; in a class as many as it has rows."""
    return np.concatenate(
        [systematic(own.weights[np.newaxis], WEIGHT_UNITS, np.array([own.rows]), words)[0] for own in mixtures.classes]
    )


def dealt(weights: Sequence[int], rows: int, words: UniformWords) -> IntArray:
    """Return the division of so many rows in proportion to integer weights of any size, up to one, with that mean.

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
    columns: dict[str | None, IntArray] = {}
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
        columns[name] = codes[order]
    if mixtures.anchored:
        of_class = np.repeat(np.arange(len(mixtures.classes)), [own.weights.size for own in mixtures.classes])
        columns[mixtures.schema.target] = np.repeat(of_class[present], sizes)
    return [columns[name] for name in mixtures.schema.domains]


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
