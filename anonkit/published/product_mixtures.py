# SPDX-License-Identifier: Apache-2.0
"""The published mixture of products, in integers: rows are drawn from exactly what the file holds.

For each class of the anchor, or for all rows where there is none: its rows, the weights of its components, and in each
component the shares of the values of each column. Within a component columns are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from anonkit.documents import ParamsPart
from anonkit.domains.array_types import BoolArray, FloatArray, IntArray
from anonkit.errors import ParameterError
from anonkit.published.faint_missing import KEY
from anonkit.published.marginal_tables import MarginalSchema
from anonkit.published.noisy_tables import LAPLACE, format_of, reading_by_law
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
class ProductMixtures:
    """The mixtures of all classes.

    Raises
    ------
    ParameterError
        The parts contradict each other.
    """

    schema: MarginalSchema
    anchored: bool
    """True when there is a mixture for each class of the target; else a target is the last column."""
    classes: tuple[ClassMixture, ...]
    law: str = LAPLACE
    """Of the noise of the tables that it was fitted to."""
    missing_above: float = 0.0
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

    def to_params(self) -> dict[str, Any]:
        """Return the mixtures, ready for JSON; the columns are those of the schema."""
        return {
            "format": format_of(self.law, FORMATS),
            "anchored": self.anchored,
            **({KEY: self.missing_above} if self.missing_above else {}),
            "mixtures": [own.to_params() for own in self.classes],
        }

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Rebuild the mixtures from the params of a release.

        Raises
        ------
        ReleaseFormatError
            The format is another one, a key is missing, or the parts contradict each other.
        """
        with reading_by_law(params, FORMATS, "the mixture lacks a key or has one of the wrong kind") as law:
            return cls(
                schema=MarginalSchema.from_params(params),
                anchored=bool(params["anchored"]),
                classes=tuple(ClassMixture.from_params(own) for own in params["mixtures"]),
                law=law,
                missing_above=float(params.get(KEY, 0.0)),
            )
