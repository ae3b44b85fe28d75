# SPDX-License-Identifier: Apache-2.0
"""Published noisy tables of columns and of pairs of columns, split by the classes of a target or not.

All cells have noise of one law: discrete Laplace, or discrete Gaussian where a delta was spent. Every row is in one
cell of each table, so all tables speak of the same rows.

Published noisy table of three columns with the target: class by cell, in few public cells of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Categories, DeclaredColumn, DeclaredTarget, Grid, shown_classes
from anonkit.errors import ParameterError
from anonkit.published.noisy_tables import LAPLACE, noise_variance
from anonkit.published.tree_attributes import Attribute, Split


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
