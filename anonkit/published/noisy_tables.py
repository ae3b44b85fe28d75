# SPDX-License-Identifier: Apache-2.0
"""Published noisy tables: histograms by class and marginals, with the law and variance of their noise.

Every row is counted in each table once, so all tables speak of the same rows. All cells of a release have noise of one
law: discrete Laplace, or discrete Gaussian where a delta was spent (a format of its own, so that no reader takes the
one for the other). What is computed from the noisy counts afterwards (class sizes, shares, rows) costs no privacy.

Marginals are of one, two or three columns, split by the classes of a target or not; a triple counts class by cell, in
few public cells of each column.

Missing is one more value of every column, and noise alone would make some in columns where nothing is missing. So it
is counted as none where its noisy count is not above a few standard deviations of its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import FloatArray, IntArray
from anonkit.domains.number_bins import Categories, DeclaredColumn, DeclaredTarget, Grid, shown_classes
from anonkit.errors import ParameterError
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.tree_model import Attribute, Split

MISSING_ABOVE = 3.0
"""Standard deviations of its noise that the count of missing must be above: by convention.

Complete columns of drawn rows had shown up to 6 % missing without it; noise alone exceeds it in 7 of 1,000 columns.
"""
KEY = "missing_above"
"""Key of the params with their number; releases of earlier versions, which count all of it, lack it."""


def is_faint(tables: Sequence[tuple[IntArray, float]], above: float) -> bool:
    """Return True if missing is counted as none.

    Parameters
    ----------
    tables : sequence of (int array, float)
        For each table that counts the rows in which the column is missing, its counts of them (of any shape: in each
        class, or region and class; empty where none were counted), and the variance of the noise of one.
    above : float
        Standard deviations of the noise of the mean of their sums, weighted by precision, that it must be above; 0:
        they count as they are.
    """
    if not above:
        return False
    totals = [(float(counts.sum()), variance * counts.size) for counts, variance in tables if counts.size]
    precision = sum(1 / noise for _, noise in totals)
    return sum(rows / noise for rows, noise in totals) <= above * math.sqrt(precision)


FORMATS = ("anonkit-noisy-tables-1", "anonkit-noisy-tables-2")
"""Of tables with discrete Laplace noise and with discrete Gaussian noise."""

LAPLACE, GAUSSIAN = "discrete-laplace", "discrete-gaussian"
_WIDE = 8.0
"""From this standard deviation on the variance of the discrete law is that of the continuous one, to 1e-500."""


def format_of(law: str, formats: tuple[str, str]) -> str:
    """Return under which of two formats params are published, by the law of their noise."""
    return formats[0] if law == LAPLACE else formats[1]


def law_of(stated: str, formats: tuple[str, str]) -> str:
    """Return the law of the noise of params that are of one of two formats."""
    return LAPLACE if stated == formats[0] else GAUSSIAN


def noise_variance(rate: int, law: str = LAPLACE) -> float:
    """Return the variance of noise of a rate in units of 2**-52.

    Parameters
    ----------
    rate : int
    law : {"discrete-laplace", "discrete-gaussian"}
        P(y) proportional to exp(-rate |y|): 2 q / (1 - q)², q = exp(-rate); or to exp(-rate y²): 1 / (2 rate), but for
        narrow laws, whose squares are added up.
    """
    loss = rate / (1 << RATE_BITS)
    if law == GAUSSIAN:
        if loss * 2 * _WIDE**2 < 1:
            return 1 / (2 * loss)
        steps = np.arange(1, 16 * int(_WIDE))
        masses = np.exp(-loss * steps.astype(np.float64) ** 2)
        return float(2 * (masses * steps**2).sum() / (1 + 2 * masses.sum()))
    decay = math.exp(-loss)
    return 2 * decay / math.expm1(-loss) ** 2


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable(ParamsPart, keys=("name", "type=domain.type", "domain", "rate", "counts")):
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
    law: str = LAPLACE
    """Of the noise: discrete Laplace or discrete Gaussian."""

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or self.counts.shape[1] != self.domain.size:
            raise ParameterError(f"attribute {self.name!r}: the counts do not fit the domain")

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate, self.law)


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTables(
    ParamsPart,
    keys=("format", "target=stated_target", "class_counts", "class_rate", "missing_above", "attributes=tables"),
    made_by="of_format",
    damage="the noisy tables lack a key or have one of the wrong kind",
):
    """The noisy tables of a release.

    Raises
    ------
    ParameterError
        A table has another number of classes.
    """

    formats: ClassVar[tuple[str, str]] = FORMATS
    target: str
    classes: Categories
    class_counts: IntArray
    """Noisy rows per class, shape (n_classes,)."""
    class_rate: int
    tables: tuple[NoisyTable, ...]
    law: str = LAPLACE
    """Of the noise of all tables."""
    missing_above: float = field(default=0.0, metadata=left_out())
    """Standard deviations of its noise that the count of missing must be above to count; 0: it counts as it is."""

    def __post_init__(self) -> None:
        if {self.law} | {table.law for table in self.tables} not in ({LAPLACE}, {GAUSSIAN}):
            raise ParameterError("the noisy tables have noise of different laws, or of an unknown one")
        rows = {len(table.counts) for table in self.tables} | {self.class_counts.size}
        if rows != {self.classes.size} or min([self.class_rate, *(table.rate for table in self.tables)]) < 1:
            raise ParameterError("the noisy tables do not fit the classes, or a rate is not positive")

    @cached_property
    def class_sizes(self) -> tuple[FloatArray, FloatArray]:
        """Rows per class by all tables together, weighted by precision, and the variance the noise leaves.

        Both of shape (n_classes,); sizes may be negative.
        """
        sums = [self.class_counts, *(table.counts.sum(axis=1) for table in self.tables)]
        spread = [
            noise_variance(self.class_rate, self.law),
            *(table.variance * table.domain.size for table in self.tables),
        ]
        weights = 1 / np.array(spread)
        sizes = np.asarray(weights @ np.stack(sums) / weights.sum())
        return sizes, np.full(sizes.shape, 1 / weights.sum())

    @property
    def format(self) -> str:
        """Name and version of the params, by the law of the noise."""
        return format_of(self.law, FORMATS)

    @property
    def stated_target(self) -> DeclaredTarget:
        """The target and its classes, as the params have them."""
        return DeclaredTarget(name=self.target, domain=self.classes)

    @classmethod
    def of_format(
        cls,
        *,
        format: str,  # noqa: A002 - the key of the params
        target: DeclaredTarget,
        class_counts: IntArray,
        class_rate: int,
        attributes: tuple[NoisyTable, ...],
        missing_above: float = 0.0,
    ) -> Self:
        """Return the tables that the params state; their format says the law of the noise."""
        law = law_of(format, FORMATS)
        return cls(
            target=target.name,
            classes=target.domain,
            class_counts=class_counts,
            class_rate=class_rate,
            tables=tuple(replace(table, law=law) for table in attributes),
            law=law,
            missing_above=missing_above,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TripleTable(ParamsPart, keys=("groups", "rate", "counts")):
    """Noisy counts of class by cell of three columns."""

    names: tuple[str, ...]
    groups: tuple[IntArray, ...]
    """For each of the three columns the group of each value, shape (values,)."""
    counts: IntArray
    """Shape (classes, cells): groups of the first by groups of the second by groups of the third."""
    rate: int
    """Of the noise, in units of 2**-52."""
    law: str = LAPLACE
    """Of the noise."""

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate, self.law)


def groups_of_values(values: int, *, has_missing: bool, most: int) -> IntArray:
    """Return the group of each value of a column: neighbours together, in at most so many groups of about one size.

    Parameters
    ----------
    values : int
        Values of the column, without missing.
    has_missing : bool
        Whether missing is one more: it is in the last group.
    most : int
    """
    number = min(values, most)
    groups = np.arange(values) * number // values
    return np.append(groups, number - 1) if has_missing else groups


def cells_of(groups: Sequence[IntArray], codes: Sequence[IntArray]) -> IntArray:
    """Return the cell of each row in the table of some columns.

    Parameters
    ----------
    groups : sequence of int array, shape (values,)
    codes : sequence of int array, shape (n_rows,)
    """
    cells = np.zeros(len(codes[0]), dtype=np.int64)
    for group, own in zip(groups, codes, strict=True):
        cells = cells * (int(group.max()) + 1) + group[own]
    return cells


@dataclass(frozen=True, kw_only=True)
class MarginalSchema(ParamsPart, keys=("target=stated_target", "attributes=stated_attributes"), made_by="of_columns"):
    """The columns of a table that is published for any purpose, all public; one of them may be a target."""

    attributes: tuple[Attribute, ...]
    target: str | None
    """Name of the target; None where there is none."""
    classes: Categories | None
    """Its classes; None where there is none."""

    def __post_init__(self) -> None:
        if (self.target is None) != (self.classes is None):
            raise ParameterError("a target has classes, and nothing else has")

    @property
    def n_classes(self) -> int:
        """Classes of the target, missing included; 1 without a target."""
        return 1 if self.classes is None else self.classes.size

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of each column, missing included; the target first."""
        own = {} if self.target is None else {self.target: self.n_classes}
        return own | {attribute.name: attribute.codes for attribute in self.attributes}

    @property
    def domains(self) -> dict[str, Categories | Grid]:
        """Public domain of each released column; the target first."""
        own = {} if self.target is None or self.classes is None else {self.target: shown_classes(self.classes)}
        return own | {attribute.name: attribute.domain for attribute in self.attributes}

    @property
    def most_codes(self) -> int:
        """The largest number of codes of an attribute."""
        return max((attribute.codes for attribute in self.attributes), default=1)

    def column_names(self, *, anchored: bool) -> tuple[str, ...]:
        """Return the columns that have tables: a target that splits them is not among them, another is the last."""
        names = tuple(attribute.name for attribute in self.attributes)
        return names if anchored or self.target is None else (*names, self.target)

    @property
    def stated_target(self) -> DeclaredTarget | None:
        """The target and its classes, as the params have them."""
        if self.target is None or self.classes is None:
            return None
        return DeclaredTarget(name=self.target, domain=self.classes)

    @property
    def stated_attributes(self) -> tuple[DeclaredColumn, ...]:
        """The other columns, as the params have them."""
        return tuple(DeclaredColumn(name=each.name, domain=each.domain) for each in self.attributes)

    @classmethod
    def of_columns(cls, *, target: DeclaredTarget | None, attributes: tuple[DeclaredColumn, ...]) -> Self:
        """Return the schema of these columns."""
        return cls(
            target=None if target is None else target.name,
            classes=None if target is None else target.domain,
            attributes=tuple(Attribute(name=own.name, domain=own.domain, split=Split.MULTIWAY) for own in attributes),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OneWayTable(ParamsPart, keys=("name", "rate", "groups", "counts")):
    """Noisy counts of class by value of one column, and the groups in which its pairs count the values.

    Raises
    ------
    ParameterError
        The groups are not numbered from 0 on.
    """

    name: str
    counts: IntArray
    """Shape (classes, values); single counts may be negative."""
    rate: int
    """Of the noise, in units of 2**-52."""
    groups: IntArray
    """Group of each value, shape (values,)."""
    law: str = LAPLACE
    """Of the noise."""

    def __post_init__(self) -> None:
        present = np.unique(self.groups)
        if self.groups.shape != self.counts.shape[1:] or not np.array_equal(present, np.arange(present.size)):
            raise ParameterError(f"column {self.name!r}: the groups do not fit the counts")

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate, self.law)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairTable(ParamsPart, keys=("names", "in_tree", "rate", "counts")):
    """Noisy counts of class by group by group of two columns."""

    names: tuple[str, str]
    counts: IntArray
    """Shape (classes, groups of the first, groups of the second); single counts may be negative."""
    rate: int
    """Of the noise, in units of 2**-52."""
    in_tree: bool
    """True for a pair of the tree, False for one that was chosen later."""
    law: str = LAPLACE
    """Of the noise."""

    @property
    def variance(self) -> float:
        """Variance of the noise of one cell."""
        return noise_variance(self.rate, self.law)
