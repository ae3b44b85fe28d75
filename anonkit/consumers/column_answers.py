# SPDX-License-Identifier: Apache-2.0
"""Mean of a column of numbers and shares of categories, with intervals, as a receiver's model answers for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ParameterError, refusing_damage
from anonkit.published.column_means import ColumnCounts, counts_of_columns
from anonkit.published.quoted_names import which_column


class ColumnAnswers(ABC):
    """A model that answers for single columns of the table that was counted, from published counts alone."""

    def mean(self, column: str, level: float = 0.95) -> tuple[float, float, float]:
        """Return the mean of a column of numbers in the owner's table, and between what it lies.

        Numbers count as the owner counted them: beyond the bounds as the bound; missing ones are left out. A number is
        known by its cell alone, so the interval is at least as wide as where all are at one end of their cells.

        Parameters
        ----------
        column : str
        level : float
            Confidence of the interval, in (0, 1).

        Returns
        -------
        mean, low, high : float
            In the unit of the column.

        Raises
        ------
        ParameterError
            The column has no numbers or was not counted, the release has no noisy counts of columns, the model has
            conditions, or the level is no confidence.
        ReleaseFormatError
            The params are damaged.
        """
        counted = _counted(self._counted_params(column), column, level)
        if not isinstance(counted.domain, Grid):
            raise ParameterError(f"column {column!r} holds categories: it has no mean", "ask for its shares")
        found = counted.mean(level)
        return found.value, found.low, found.high

    def shares(self, column: str, level: float = 0.95) -> dict[str | None, tuple[float, float, float]]:
        """Return share, low end and high end of each category of a column, None for missing.

        Each interval is right with the confidence `level` by itself. Errors are those of `mean`.
        """
        counted = _counted(self._counted_params(column), column, level)
        if not isinstance(counted.domain, Categories):
            raise ParameterError(f"column {column!r} holds numbers: it has no shares", "ask for its mean")
        return counted.shares(level)

    @abstractmethod
    def _counted_params(self, column: str) -> Mapping[str, Any]:
        """Return the params of a release whose counts are of the column, or refuse it."""


def _counted(params: Mapping[str, Any], name: str, level: float) -> ColumnCounts:
    if not 0 < level < 1:
        raise ParameterError(f"level ({level}) must be in (0, 1)")
    with refusing_damage("the noisy counts lack a key or have one of the wrong kind", contradictions=True):
        found = dict(counts_of_columns(params))
        known = [str(one["name"]) for one in params["columns"]]
    if name in found:
        return found[name]
    if name in known:
        raise ParameterError(f"column {name!r} was not counted by itself", "the rows are all there is of it")
    raise ParameterError(f"{name!r} is not a column of the release", which_column(name, known))
