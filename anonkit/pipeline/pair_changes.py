# SPDX-License-Identifier: Apache-2.0
"""Changes of every two columns between a source and rows drawn from a model: their dependence before and after.

For the owner's page. Each row of such a release is nobody's, so that both tables are compared as tables: values
that occur (the commonest `MOST_VALUES`, all others as one), numbers in the ranges of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.pipeline.column_changes import (
    filled_numbers,
    is_number,
    is_text,
    parsed_numbers,
    plain_cells,
    round_edges,
    whole_column,
)
from anonkit.policy.column_declarations import Role

MOST_VALUES = 20
"""Values of a column at most; the rarer ones are one more."""
MOST_COLUMNS = 40
"""Columns that are compared: 780 pairs. Of a wider table the first."""
HOW = (
    f"every two columns, the commonest {MOST_VALUES} values of each and all others as one, numbers in ranges, one for "
    "each released number where these are few; total variation distance, in [0, 1]"
)
_DRAWN = "synthesized"
_Codes = NDArray[np.int64]
_FloatArray = NDArray[np.float64]


class _Coded(NamedTuple):
    cells: tuple[_Codes, _Codes]
    """Of the source and of the release."""
    values: int


def pair_changes(source: pa.Table, released: pa.Table, columns: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Compare the joint distribution of every two columns, and how far each is from that of independent columns.

    Parameters
    ----------
    source : Table
        Cells as the policy declares them.
    released : Table
        Drawn rows of the same columns.
    columns : sequence of mapping
        The `columns` block of the report.

    Returns
    -------
    dict or None
        `columns`; `pairs`, one entry each: `columns` (places in the list), `distance` of the two tables, and
        `dependence`: the distance of the columns' joint distribution from the product of their own, `before` and
        `after`; `mean_distance`, `by_chance` (what two tables of these sizes that were drawn from one distribution
        would differ by on average), `mean_dependence` and `how`. None unless two columns at least are drawn from a
        model, and there are rows.

    Privacy
    -------
    Computed from the source: the owner's.
    """
    names = [
        column["name"]
        for column in columns
        if column["action"] == _DRAWN
        and column["role"] not in (Role.IDENTIFIER, Role.UNIT)
        and {column["name"]} <= {*source.column_names} & {*released.column_names}
    ][:MOST_COLUMNS]
    if len(names) < 2 or not source.num_rows or not released.num_rows:
        return None
    coded = [_codes(whole_column(source, name), whole_column(released, name)) for name in names]
    found: list[dict[str, Any]] = []
    chance: list[float] = []
    for one, other in combinations(range(len(names)), 2):
        before, after = (_joint(coded[one], coded[other], side) for side in (0, 1))
        chance.append(_by_chance(before, source.num_rows, released.num_rows))
        found.append(
            {
                "columns": [one, other],
                "distance": _rounded(_distance(before, after)),
                "dependence": {"before": _rounded(_dependence(before)), "after": _rounded(_dependence(after))},
            }
        )
    return {
        "columns": names,
        "pairs": found,
        "mean_distance": _rounded(_mean(pair["distance"] for pair in found)),
        "by_chance": _rounded(_mean(chance)),
        "mean_dependence": {
            side: _rounded(_mean(pair["dependence"][side] for pair in found)) for side in ("before", "after")
        },
        "how": HOW,
    }


def _codes(before: pa.Array, after: pa.Array) -> _Coded:
    """Return the cells of a column in both tables as codes of one list of values."""
    if is_text(before) and is_number(after):
        before = parsed_numbers(before)
    if is_number(before) and is_number(after):
        edges = _edges(filled_numbers(before), np.unique(filled_numbers(after)))
        first, second = (_ranges(side, edges) for side in (before, after))
        return _Coded((first, second), edges.size + 2)
    texts = [pc.cast(plain_cells(side), pa.string()) for side in (before, after)]
    counted = sorted(
        pc.value_counts(texts[0].drop_null()).to_pylist(), key=lambda entry: (-entry["counts"], entry["values"])
    )
    shown = pa.array([entry["values"] for entry in counted[:MOST_VALUES]], pa.string())
    first, second = (_places(side, shown) for side in texts)
    return _Coded((first, second), len(shown) + 2)


def _edges(numbers: _FloatArray, shown: _FloatArray) -> _FloatArray:
    """Return the cuts between the numbers of a column: halfway between released ones, each of which means a range.

    Where more are released than values are compared, round numbers do.
    """
    if 0 < shown.size <= MOST_VALUES:
        return np.asarray((shown[1:] + shown[:-1]) / 2)
    return round_edges(numbers, whole=not numbers.size or bool((numbers == np.round(numbers)).all()))


def _ranges(side: pa.Array, edges: _FloatArray) -> _Codes:
    """Return the range of each number; a cell without one has the last code."""
    there = side.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(side.type):
        there &= np.isfinite(side.fill_null(math.nan).to_numpy(zero_copy_only=False))
    codes = np.full(len(side), edges.size + 1, dtype=np.int64)
    codes[there] = np.searchsorted(edges, filled_numbers(side), side="right")
    return codes


def _places(side: pa.Array, shown: pa.Array) -> _Codes:
    """Return the index of each string among those shown; then the others, and last the missing cells."""
    places = (
        pc.fill_null(pc.index_in(side, value_set=shown), len(shown)).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    places[side.is_null().to_numpy(zero_copy_only=False)] = len(shown) + 1
    return np.asarray(places, dtype=np.int64)


def _joint(one: _Coded, other: _Coded, side: int) -> _FloatArray:
    shape = one.values, other.values
    counts = np.bincount(
        np.ravel_multi_index((one.cells[side], other.cells[side]), shape), minlength=shape[0] * shape[1]
    )
    return np.asarray(counts.reshape(shape) / one.cells[side].size, dtype=np.float64)


def _distance(one: _FloatArray, other: _FloatArray) -> float:
    return float(np.abs(one - other).sum() / 2)


def _dependence(joint: _FloatArray) -> float:
    return _distance(joint, np.outer(joint.sum(axis=1), joint.sum(axis=0)))


def _by_chance(shares: _FloatArray, first: int, second: int) -> float:
    """Return the mean distance of two samples of one distribution: each cell's by the normal approximation."""
    return float(np.sqrt(shares * (1 - shares) * (1 / first + 1 / second)).sum() / math.sqrt(2 * math.pi))


def _mean(values: Any) -> float:
    return float(np.mean(list(values)))


def _rounded(value: float) -> float:
    return round(value, 4)
