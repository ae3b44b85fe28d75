# SPDX-License-Identifier: Apache-2.0
"""Weights of a sample in a k-anonymous release: one mean a class, or multiples of a public step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.checks.people import Counts
from anonkit.checks.sameness import differing, named, none_of, same, same_figure
from anonkit.checks.table_scans import Lines, combined
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

CHECK = "weights"
_DIGITS = 3
_ROUNDING = 1e-9


def weights_of_classes(
    data: Path, names: Sequence[str], weight: str
) -> tuple[Counts, NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of every class, and the smallest and the largest weight in it; NaN where one is missing.

    Parameters
    ----------
    names : sequence of str
        Released quasi-identifiers.
    """
    both = [*names, *([] if weight in names else [weight])]
    with combined(data, both) as lines:
        found = lines.connection.execute(_query(lines, names, weight)).fetchnumpy()
    rows = np.asarray(found["n"], np.int64)
    low, high = (np.ma.filled(np.ma.asarray(found[end], np.float64), np.nan) for end in ("low", "high"))
    return rows, low, high


def _query(lines: Lines, names: Sequence[str], weight: str) -> str:
    keys = "".join(f"{lines.column(name)} AS q{at}, " for at, name in enumerate(names))
    own = lines.column(weight)
    whole = f"count({own}) = count(*)"
    return (
        f"SELECT n, low, high FROM (SELECT {keys}{lines.rows()} AS n, "
        f"CASE WHEN {whole} THEN min({own}::DOUBLE) END AS low, CASE WHEN {whole} THEN max({own}::DOUBLE) END AS high "
        f"FROM {lines.source}{' GROUP BY ALL' if names else ''}) WHERE n > 0"
    )


def weight_checks(
    data: Path, schema: pa.Schema, promise: KAnonymity, params: Mapping[str, Any], report: Mapping[str, Any]
) -> Iterator[Check]:
    """Check what a release states of the weights of a sample; nothing where neither promise nor files speak of any.

    Promise, params and roles name one column; its cells are as stated, in every class; and the sum that
    the report states is theirs.

    Parameters
    ----------
    data : path
        The data with labels; `schema` is its own.
    """
    roles = {name: entry["role"] for name, entry in named(params["columns"])}
    of_role = [name for name, role in roles.items() if role == "weight"]
    stated, block = params.get("weight"), report.get("weights")
    if promise.weight is None and stated is None and block is None and not of_role:
        return
    if promise.weight is None or not isinstance(stated, Mapping):
        yield none_of(CHECK, 1)
        return
    column, shows = promise.weight
    wrong = differing({key: stated[key] for key in ("column", "shows")}, {"column": column, "shows": shows})
    wrong += of_role != ([column] if shows == "mean" else [])
    wrong += shows == "rounded" and roles.get(column) != "quasi_identifier"
    wrong += set(stated) != {"column", "shows", "digits" if shows == "mean" else "step"}
    if column not in schema.names or wrong:  # one rounded weight for all rows is no column of the release
        wrong += shows == "mean" or block is not None
        yield none_of(CHECK, int(wrong))
        return
    kind = schema.field(column).type
    wrong += not (pa.types.is_floating(kind) or pa.types.is_integer(kind))
    names = [name for name in promise.quasi_identifiers if name in schema.names]
    rows, low, high = weights_of_classes(data, names, column)
    wrong += int(np.count_nonzero(~(np.isfinite(low) & (low == high) & (low > 0))))
    if shows == "mean":
        wrong += not same(stated["digits"], _DIGITS)
        wrong += sum(float(f"{each:.{_DIGITS}g}") != each for each in high[np.isfinite(high)].tolist())
    else:
        wrong += _off_grid(high[np.isfinite(high)], stated["step"])
    yield none_of(CHECK, int(wrong))
    total = math.fsum((rows * low).tolist())
    yield none_of("weights_sum", int(not same_figure(block, {"column": column, "sum": total})))


def _off_grid(weights: NDArray[np.float64], step: object) -> int:
    """Count the weights that are no multiple of a step."""
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < math.inf:
        return 1
    counts = weights / step
    return int(np.count_nonzero(~((counts > 1 / 2) & (np.abs(counts - np.rint(counts)) <= _ROUNDING * counts))))
