# SPDX-License-Identifier: Apache-2.0
"""Centroids of a release whose rows show means of groups: every combination is one of them, and every one is shown.

Nobody can count anew from the files which rows were a group, nor whether a mean is that of its group. How many rows
show each combination is counted with the classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from anonkit.checks.sameness import named, none_of, same
from anonkit.checks.table_scans import combined
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

STATED, SHOWN = "centroids_stated", "centroids"
_RULES = {"digits": 2, "p_percent": 10, "dominance": 80}


def centroid_checks(data: Path, promise: KAnonymity, params: Mapping[str, Any]) -> Iterator[Check]:
    """Check the statements of a release on means of groups; nothing where neither promise nor params speak of any.

    Parameters
    ----------
    data : path
        The Parquet file or folder; its distinct combinations are compared, its rows never listed.

    Raises
    ------
    LookupError, ValueError, TypeError, AttributeError
        The recoding is none.
    """
    recoding = params["recoding"]
    columns = dict(named(recoding.get("columns", ())))
    means = [name for name, column in columns.items() if column["kind"] == "means"]
    centroids = recoding.get("centroids")
    if not promise.averaged and centroids is None and not means:
        return
    if centroids is None and not means:
        yield none_of(STATED, 0)  # every number showed one value, and left
        return
    wrong = _wrong_statements(promise, params, columns, means, centroids)
    yield none_of(STATED, wrong)
    if wrong:
        return
    names = list(columns)
    listed = set(zip(*(centroids["columns"][name] for name in names), strict=True))
    shown = shown_combinations(data, names, means)
    strange = shown - listed if centroids["rows"] == "nearest" else shown ^ listed
    yield none_of(SHOWN, len(strange))


def _wrong_statements(
    promise: KAnonymity,
    params: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    means: Sequence[str],
    centroids: Mapping[str, Any] | None,
) -> int:
    """Count what is contradicted: by the promise, by the columns, or by the rounding of means."""
    if centroids is None or not means or params["recoding"]["kind"] != "global":
        return 1
    cells, lost = centroids["columns"], centroids.get("missing", {})
    wrong = int(not promise.averaged) + (not same(centroids["rules"], _RULES))
    wrong += centroids["rows"] != ("nearest" if "earlier_method" in params else "grouped")  # rows of a batch
    wrong += set(cells) != set(columns) or len({len(own) for own in cells.values()}) != 1
    wrong += set(centroids["scale"]) != set(means) or bool(params["recoding"].get("merged", False))
    if wrong:
        return int(wrong)
    for name in means:
        unit = columns[name]["unit"]
        middle, scale = centroids["scale"][name]
        if not (0 < unit < math.inf and math.isfinite(middle) and 0 <= scale < math.inf):
            return 1
        wrong += sum(mean is not None and not _is_multiple(mean, unit) for mean in cells[name])
    wrong += sum(
        cell is not None and not isinstance(cell, str) for name in columns if name not in means for cell in cells[name]
    )
    wrong += sum(name not in means or not _are_places(own, cells[name]) for name, own in lost.items())
    if wrong:
        return int(wrong)
    if centroids["rows"] == "grouped":  # of a batch it is that of the earlier release
        shown = ([mean for mean in cells[name] if mean is not None] for name in means)
        wrong += sum(not _is_scale(centroids["scale"][name], own) for name, own in zip(means, shown, strict=True))
    return int(wrong) + _out_of_order(columns, means, cells, lost)


def _out_of_order(
    columns: Mapping[str, Any], means: Sequence[str], cells: Mapping[str, Any], lost: Mapping[str, Any]
) -> int:
    """Count the centroids that do not come after the one before: categories first, then means, missing last."""
    places = [set(lost.get(name, ())) for name in means]
    ordered = [*(name for name in columns if name not in means), *means]
    empty = [0 if name in means else "" for name in ordered]
    lines = (
        [
            *((cell is None, cell or nothing) for cell, nothing in zip(line, empty, strict=True)),
            *(at in own for own in places),
        ]
        for at, line in enumerate(zip(*(cells[name] for name in ordered), strict=True))
    )
    return sum(first >= second for first, second in pairwise(lines))


def _are_places(places: Sequence[Any], cells: Sequence[Any]) -> bool:
    """Return True if places ascend, and each is that of a centroid without a mean."""
    if any(type(at) is not int or not 0 <= at < len(cells) or cells[at] is not None for at in places):
        return False
    return all(first < second for first, second in pairwise(places))


def _is_scale(stated: Sequence[float], means: Sequence[float]) -> bool:
    """Return True if these are the mean and the standard deviation of some means, to six digits."""
    middle, scale = stated
    largest = max(map(abs, means), default=0.0)
    if largest == 0.0:
        return middle == scale == 0.0
    small = [mean / largest for mean in means]
    own = math.fsum(small) / len(small)
    spread = math.sqrt(math.fsum((mean - own) ** 2 for mean in small) / len(small))
    return _near(middle / largest, own) and _near(scale / largest, spread) and (scale > 0) == (min(small) < max(small))


def _near(stated: float, own: float) -> bool:
    return math.isclose(stated, own, rel_tol=1e-5, abs_tol=1e-12)


def _is_multiple(mean: Any, unit: float) -> bool:
    if isinstance(mean, bool) or not isinstance(mean, int | float) or not math.isfinite(mean):
        return False
    return math.isclose(mean / unit, round(mean / unit), rel_tol=1e-9, abs_tol=1e-9)


def shown_combinations(data: Path, names: Sequence[str], means: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the combinations that rows show, cells of columns without means as strings."""
    with combined(data, names) as lines:
        listed = ", ".join(map(lines.column, names))
        rows = lines.connection.execute(f"SELECT DISTINCT {listed} FROM {lines.source}").fetchall()
    is_mean = [name in means for name in names]
    return {tuple(cell if mean else _text(cell) for cell, mean in zip(row, is_mean, strict=True)) for row in rows}


def _text(cell: Any) -> str | None:
    """Return a cell as centroids spell it: numbers as their shortest decimals, truth values in words."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float | Decimal):
        exact = Decimal(repr(cell)) if isinstance(cell, float) else Decimal(cell)
        return format(exact.quantize(Decimal(1)) if exact == exact.to_integral_value() else exact.normalize(), "f")
    if isinstance(cell, datetime):
        moment = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
        return _short(str(moment)) + ("" if cell.tzinfo is None else "Z")
    return _short(str(cell)) if isinstance(cell, time) else str(cell)


def _short(text: str) -> str:
    """Return a moment or time of day without zeros at the end of its fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text
