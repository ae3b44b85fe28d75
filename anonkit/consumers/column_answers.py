# SPDX-License-Identifier: Apache-2.0
"""Mean of a column of numbers and shares of categories, with intervals, as a receiver's model answers for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ParameterError, refusing_damage
from anonkit.published.column_means import ColumnCounts, counts_of_columns
from anonkit.published.quoted_names import which_column


def mean_of_column(params: Mapping[str, Any], name: str, level: float) -> tuple[float, float, float]:
    """Return mean, low end and high end of the numbers of a column.

    Parameters
    ----------
    params : mapping
        Of the release.
    name : str
        A column of numbers.
    level : float
        Confidence of the interval, in (0, 1).

    Raises
    ------
    ParameterError
        The release holds no counts of such a column, or the level is no confidence.
    ReleaseFormatError
        The params are damaged.
    """
    counted = _counted(params, name, level)
    if not isinstance(counted.domain, Grid):
        raise ParameterError(f"column {name!r} holds categories: it has no mean", "ask for its shares")
    found = counted.mean(level)
    return found.value, found.low, found.high


def shares_of_column(
    params: Mapping[str, Any], name: str, level: float
) -> dict[str | None, tuple[float, float, float]]:
    """Return share, low end and high end of each category of a column, None for missing; parameters as above."""
    counted = _counted(params, name, level)
    if not isinstance(counted.domain, Categories):
        raise ParameterError(f"column {name!r} holds numbers: it has no shares", "ask for its mean")
    return counted.shares(level)


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
