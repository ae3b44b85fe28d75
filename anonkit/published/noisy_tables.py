# SPDX-License-Identifier: Apache-2.0
"""Noisy tables of class x attribute: what they cost, how they are published, what they say together.

Every row is in each table once. Discrete Laplace noise is added to all cells; what is made of the noisy counts
afterwards (class sizes, shares, rows) costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.estimators.response_inversion import project_to_simplex
from anonkit.mechanisms.channel import FloatArray
from anonkit.mechanisms.discrete_laplace import RATE_BITS, Words, noisy_counts
from anonkit.randomness import Randomness

FORMAT = "anonkit-noisy-tables-1"

IntArray = NDArray[np.int64]


def table_weights(sizes: Sequence[int]) -> list[Fraction]:
    """Return how a budget is divided over tables of so many columns, by a public rule.

    In proportion to the cube root of the number of columns: the least noise in sum over all cells.
    """
    return [Fraction(size ** (1 / 3)) for size in sizes]


def noise_variance(rate: int) -> float:
    """Return the variance of discrete Laplace noise of a rate in units of 2**-52: 2 q / (1 - q)², q = exp(-rate)."""
    decay = math.exp(-rate / 2**RATE_BITS)
    return 2 * decay / math.expm1(-rate / 2**RATE_BITS) ** 2


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """Noisy counts of class x code of one attribute.

    Raises
    ------
    ParameterError
        The counts do not fit the domain.
    """

    name: str
    domain: Categories | Grid
    counts: IntArray
    """Shape (n_classes, domain size); single counts may be negative."""
    rate: int
    """Of the noise, in units of 2**-52."""

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or self.counts.shape[1] != self.domain.size:
            raise ParameterError(f"attribute {self.name!r}: the counts do not fit the domain")

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate)

    def to_params(self) -> dict[str, Any]:
        """Return the table, ready for JSON."""
        return {
            "name": self.name,
            "type": "number" if isinstance(self.domain, Grid) else "category",
            "domain": self.domain.to_params(),
            "rate": self.rate,
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the table from `to_params()`."""
        kind = Grid if params["type"] == "number" else Categories
        return cls(
            name=str(params["name"]),
            domain=kind.from_params(params["domain"]),
            counts=np.array(params["counts"], dtype=np.int64),
            rate=int(params["rate"]),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTables:
    """The noisy tables of a release.

    Raises
    ------
    ParameterError
        A table has another number of classes.
    """

    target: str
    classes: Categories
    class_counts: IntArray
    """Noisy rows per class, shape (n_classes,)."""
    class_rate: int
    tables: tuple[NoisyTable, ...]

    def __post_init__(self) -> None:
        rows = {len(table.counts) for table in self.tables} | {self.class_counts.size}
        if rows != {self.classes.size} or min([self.class_rate, *(table.rate for table in self.tables)]) < 1:
            raise ParameterError("the noisy tables do not fit the classes, or a rate is not positive")

    @classmethod
    def of_counts(
        cls,
        target: tuple[str, Categories, IntArray, int],
        attributes: Sequence[tuple[str, Categories | Grid, IntArray, int]],
        randomness: Randomness,
    ) -> Self:
        """Add noise to true counts.

        Parameters
        ----------
        target, attributes
            Name, domain, true counts, rate of the noise.
        randomness : Randomness

        Privacy
        -------
        Each table costs one row that comes or goes its rate, since the row changes one cell by one; the rates add up.
        """
        words = Words(randomness)
        name, classes, counts, rate = target
        return cls(
            target=name,
            classes=classes,
            class_counts=noisy_counts(counts, rate, words),
            class_rate=rate,
            tables=tuple(
                NoisyTable(name=at, domain=domain, counts=noisy_counts(true, own, words), rate=own)
                for at, domain, true, own in attributes
            ),
        )

    @cached_property
    def class_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Rows per class by all tables together, weighted by precision, and the variance the noise leaves.

        Both of shape (n_classes,); sizes may be negative.
        """
        sums = [self.class_counts, *(table.counts.sum(axis=1) for table in self.tables)]
        spread = [noise_variance(self.class_rate), *(table.variance * table.domain.size for table in self.tables)]
        weights = 1 / np.array(spread)
        sizes = np.asarray(weights @ np.stack(sums) / weights.sum())
        return sizes, np.full(sizes.shape, 1 / weights.sum())

    def counts_of(self, table: NoisyTable) -> FloatArray:
        """Return counts that are not negative and have the class sizes as sums, nearest to the noisy ones.

        Shape (n_classes, domain size). A class without rows has none.
        """
        sizes = np.maximum(self.class_sizes[0], 0)[:, np.newaxis]
        shares = np.divide(table.counts, sizes, out=np.zeros(table.counts.shape), where=sizes > 0)
        return np.asarray(sizes * project_to_simplex(shares))

    def to_params(self) -> dict[str, Any]:
        """Return the tables, ready for JSON."""
        return {
            "format": FORMAT,
            "target": {"name": self.target, "domain": self.classes.to_params()},
            "class_counts": self.class_counts.tolist(),
            "class_rate": self.class_rate,
            "attributes": [table.to_params() for table in self.tables],
        }

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the tables from `to_params()`.

        Raises
        ------
        ReleaseFormatError
            The format is another one, a key is missing, or the parts contradict each other.
        """
        if params.get("format") != FORMAT:
            raise ReleaseFormatError(f"the params are not of format {FORMAT}")
        try:
            return cls(
                target=str(params["target"]["name"]),
                classes=Categories.from_params(params["target"]["domain"]),
                class_counts=np.array(params["class_counts"], dtype=np.int64),
                class_rate=int(params["class_rate"]),
                tables=tuple(NoisyTable.from_params(one) for one in params["attributes"]),
            )
        except ParameterError as error:
            raise ReleaseFormatError(f"the params contradict themselves: {error.message}") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ReleaseFormatError("the noisy tables lack a key or have one of the wrong kind") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnTable:
    """Rows as codes."""

    labels: IntArray
    """Shape (n_rows,)."""
    codes: tuple[IntArray, ...]
    """Per attribute, shape (n_rows,)."""


def rows_by_class(tables: NoisyTables, words: Words) -> IntArray:
    """Return how many rows of each class the tables together stand for, shape (n_classes,)."""
    return _whole(np.maximum(tables.class_sizes[0], 0), words)


def rows_of(tables: NoisyTables, numbers: IntArray, randomness: Randomness) -> DrawnTable:
    """Return so many rows of each class, in which every table is met as nearly as whole rows allow.

    Attributes are independent within a class.

    Privacy
    -------
    Post-processing of noisy counts: no privacy loss.
    """
    words = Words(randomness)
    codes: list[list[IntArray]] = [[] for _ in tables.tables]
    for label, n_rows in enumerate(numbers):
        for at, table in enumerate(tables.tables):
            weights = tables.counts_of(table)[label]
            weights = weights if weights.sum() > 0 else np.ones(weights.shape)
            dealt = _whole(weights * (n_rows / weights.sum()), words, int(n_rows))
            codes[at].append(np.repeat(np.arange(dealt.size), dealt)[randomness.permutation(int(n_rows))])
    return DrawnTable(
        labels=np.repeat(np.arange(numbers.size), numbers),
        codes=tuple(np.concatenate(parts) for parts in codes),
    )


def _whole(weights: FloatArray, words: Words, total: int | None = None) -> IntArray:
    """Return whole numbers near weights with the same mean (systematic sampling), adding up to the total when given."""
    offset = float(words.fractions(1)[0]) / (1 << RATE_BITS)
    ends = np.floor(np.cumsum(weights) + offset).astype(np.int64)
    if total is not None and ends.size:
        ends = np.minimum(ends, total)
        ends[-1] = total
    return np.diff(ends, prepend=0)
