# SPDX-License-Identifier: Apache-2.0
"""Means beside the bounds of a k-anonymous release: one a class, within its interval, and no finer than is stated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.bound_columns import BoundColumn, bound_columns
from anonkit.checks.sameness import none_of, same
from anonkit.checks.table_scans import combined
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

CHECK = "means_stated"
_RULES = {"digits": 2, "p_percent": 10, "dominance": 80, "near_end": 0.1}
_JUST_ABOVE = Decimal("1.1")
"""A distance just above a power of ten may have been rounded up to it, and then has a digit more."""

Shown = tuple[Any, Any, Any, Any, Any]
"""Of a class: the ends of its interval, the smallest and the largest mean, and whether each row has one, or none."""


def mean_checks(
    data: Path,
    schema: pa.Schema,
    promise: KAnonymity,
    params: Mapping[str, Any],
    report: Mapping[str, Any],
) -> Iterator[Check]:
    """Check the statements of a release on means; nothing where neither promise nor files speak of any.

    Which means were withheld nobody can count anew: a mean that was put in the place of a middle is seen by its digits
    alone.

    Parameters
    ----------
    data : path
        The file as it is.
    schema : pyarrow.Schema
        Its own.
    """
    columns = bound_columns(params)
    shown = [column for column in columns if column.mean is not None]
    stated, block = params.get("means"), report.get("means")
    if not promise.means and stated is None and block is None and not shown:
        return
    wrong = int(not promise.means) + (not same(stated, _RULES)) + len(columns) - len(shown)
    wrong += any(column.step is not None and not 0 < column.step < math.inf for column in shown)
    yield none_of(CHECK, int(wrong))
    if wrong:
        return
    ends = {column.name: (column.low, column.high) for column in columns}
    keys = [end for name in promise.quasi_identifiers for end in ends.get(name, (name,)) if end in schema.names]
    counts: dict[str, dict[str, int]] = {}
    for column in shown:
        classes = _classes(data, keys, column)
        yield none_of(f"means:{column.name}", sum(not _is_mean(each, column.step) for each in classes))
        counts[column.name] = {
            "classes": len(classes),
            "middle": sum(
                low is not None and high is not None and mean == (low + high) / 2 for low, high, mean, *_ in classes
            ),
            "missing": sum(mean is None for _, _, mean, *_ in classes),
        }
    yield none_of("means_counted", int(not same(block, {"columns": counts})))


def _classes(data: Path, keys: Sequence[str], column: BoundColumn) -> list[Shown]:
    """Return the cell of a column in every class."""
    with combined(data, list(dict.fromkeys((*keys, str(column.mean))))) as lines:
        low, high, mean = (lines.column(name) for name in (column.low, column.high, str(column.mean)))
        grouped = ", ".join(lines.column(name) for name in keys)
        query = (
            f"SELECT any_value({low}), any_value({high}), min({mean}), max({mean}), "
            f"count({mean}) IN (0, count(*)) FROM {lines.source} GROUP BY {grouped}"
        )
        return list(lines.connection.execute(query).fetchall())


def _is_mean(shown: Shown, step: float | None) -> bool:
    """Return True if a class shows one number that a mean of its interval can be, its middle, or nothing it may not."""
    low, high, smallest, largest, alike = shown
    if smallest is None:
        return bool(alike) and (low is None or high is None)
    if not alike or smallest != largest or not math.isfinite(smallest):
        return False
    if (low is not None and smallest < low) or (high is not None and smallest > high):
        return False
    if smallest in (low, high) or (low is not None and high is not None and smallest == (low + high) / 2):
        return True
    if step is not None:
        return bool(math.isclose(smallest / step, round(smallest / step), rel_tol=1e-9, abs_tol=1e-9))
    return Decimal(repr(smallest)) % _unit(Decimal(repr(smallest)), low, high) == 0


def _unit(mean: Decimal, low: float | None, high: float | None) -> Decimal:
    """Return of what a mean is a multiple: two digits of the interval, or of the distance from its only end."""
    ends = [Decimal(repr(end)) for end in (low, high) if end is not None]
    size = ends[1] - ends[0] if len(ends) > 1 else abs(mean - (ends[0] if ends else 0))
    unit = Decimal(1).scaleb(size.adjusted() - 1)
    return unit / 10 if len(ends) < 2 and size < _JUST_ABOVE * unit * 10 else unit
