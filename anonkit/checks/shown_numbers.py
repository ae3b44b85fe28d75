# SPDX-License-Identifier: Apache-2.0
"""Numbers that a k-anonymous release shows in place of labels: ends of intervals, and means.

*Ends*, one to one with labels: the numbers of a label are worked out again from its words. Then labels are read from
the numbers of every row and checked like those of any release, and the classes are counted on the numbers unchanged.

*Means beside ends*: one mean a class, within its interval, and no finer than is stated.

*Means of groups of rows*, as centroids: every combination that rows show is one of them, and every one is shown. Nobody
can count anew from the files which rows were a group, nor whether a mean is that of its group. How many rows show each
combination is counted with the classes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.bound_columns import KEY, BoundColumn, Pair, bound_columns
from anonkit.bundle.bound_columns import labelled_files as labelled_rows
from anonkit.bundle.data_files import read_schema
from anonkit.checks.disclosure import measure
from anonkit.checks.file_integrity import is_recoded
from anonkit.checks.recoded_labels import labels_of
from anonkit.checks.sameness import named, none_of, same
from anonkit.checks.table_scans import combined
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

STATED, SHOWN = "centroids_stated", "centroids"
CHECK = "means_stated"
_RULES = {"digits": 2, "p_percent": 10, "dominance": 80}
"""Digits of a mean, and the p-% rule and the dominance rule of statistics offices, in per cent: by convention."""
_RULES_NEAR_ENDS = {**_RULES, "near_end": 0.1}
"""The same, and the share of an interval next to its ends in which no mean is shown: by convention."""
_JUST_ABOVE = Decimal("1.1")
"""A distance just above a power of ten may have been rounded up to it, and then has a digit more."""

Shown = tuple[Any, Any, Any, Any, Any]
"""Of a class: the ends of its interval, the smallest and the largest mean, and whether each row has one, or none."""


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


# --- means beside bounds ---------------------------------------------------------------------------------------------


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
    wrong = int(not promise.means) + (not same(stated, _RULES_NEAR_ENDS)) + len(columns) - len(shown)
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


_WHOLE = re.compile(r"u?int(8|16|32)|int64")
_FLOAT = re.compile(r"halffloat|float|double")
_NUMBERED = re.compile(r" \([0-9]+\)$")
_BETWEEN = re.compile(r"\[([^,]+), ([^,]+)\)")
_UNTOLD = (None, "*", "missing")


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A release as labels, whatever its file shows."""

    data: Path
    """Its rows with labels."""
    schema: pa.Schema
    checks: tuple[Check, ...]
    readable: bool = True
    """False when a row has bounds of no label: there are no labels that could be checked."""


@contextmanager
def read_as_labels(data: Path, schema: pa.Schema, params: Mapping[str, Any]) -> Iterator[Labelled]:
    """Yield a release as labels; as it is where it shows labels.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    schema : pyarrow.Schema
        Its own.

    Raises
    ------
    ReleaseFormatError, LookupError, ValueError, TypeError, AttributeError
        The params are damaged, or a column is not there.
    """
    if KEY not in params or not is_recoded(params):
        yield Labelled(data=data, schema=schema, checks=())
        return
    columns = bound_columns(params)
    types = {name: str(column["type"]) for name, column in named(params["columns"])}
    made = labels_of(params["recoding"])
    declared = {name: column.get("domain", {}).get("bounds") for name, column in named(params["columns"])}
    checks = []
    for column in columns:
        bounds = None if column.mean is None else declared.get(column.name)
        wrong = wrong_bounds(column, types, schema, bounds) + left_out(column, types, made, bounds)
        checks.append(none_of(f"bounds:{column.name}", wrong))
    ends = [end for column in columns for end in column.names]
    checks.append(none_of("bound_names", len(ends) - len(set(ends)) + len(set(ends) & set(types))))
    if not all(check.passed for check in checks):
        yield Labelled(data=data, schema=schema, checks=tuple(checks), readable=False)
        return
    with labelled_rows(data, columns) as (path, strange):
        checks += [none_of(f"cells:{name}", count) for name, count in strange.items()]
        yield Labelled(data=path, schema=read_schema(path), checks=tuple(checks), readable=not any(strange.values()))


def class_check(data: Path, labels: Labelled, params: Mapping[str, Any], names: Sequence[str]) -> Check:
    """Check that the file has the classes of its labels: the result has the smallest of both.

    Parameters
    ----------
    data : path
        The unchanged file.
    names : sequence of str
        The quasi-identifiers.
    """
    ends = {column.name: (column.low, column.high) for column in bound_columns(params)}
    shown = [name for name in names if name in labels.schema.names]
    plain = measure(data, [end for name in shown for end in ends.get(name, (name,))])
    counted = measure(labels.data, shown)
    return Check(
        name="bound_classes", passed=plain.class_sizes == counted.class_sizes, observed=plain.k, required=counted.k
    )


def wrong_bounds(
    column: BoundColumn, types: Mapping[str, str], schema: pa.Schema, bounds: Sequence[float] | None = None
) -> int:
    """Count what the bounds of a column contradict: its labels, each other, and the types of both columns.

    Parameters
    ----------
    bounds : pair of float, optional
        Declared bounds, in place of open ends.
    """
    kind = types.get(column.name, "")
    if not (_WHOLE.fullmatch(kind) or _FLOAT.fullmatch(kind)):
        return len(column.labels) + 1
    whole = _WHOLE.fullmatch(kind) is not None
    wrong = sum(pair != _closed(bounds_of(label, whole=whole), label, bounds, whole) for label, pair in column.labels)
    wrong += sum(low is not None and high is not None and low > high for _, (low, high) in column.labels)
    wrong += len(column.labels) - len({label for label, _ in column.labels})
    wrong += len(column.labels) - len({pair for _, pair in column.labels})
    expected = pa.int64() if whole else pa.float64()
    kinds = {field.name: field.type for field in schema}
    wrong += column.mean is not None and kinds.get(column.mean) != pa.float64()
    return wrong + sum(int(kinds.get(end) != expected) for end in (column.low, column.high))


def left_out(
    column: BoundColumn,
    types: Mapping[str, str],
    made: Mapping[str, Collection[str | None]],
    bounds: Sequence[float] | None = None,
) -> int:
    """Count the labels of the recoding that have no pair though one is free for them, and pairs of no such label.

    Rows need not show a label: those of the next batch may. Of two labels that would have one pair the other has it.
    """
    listed, pairs = {label for label, _ in column.labels}, {pair for _, pair in column.labels}
    whole = _WHOLE.fullmatch(types.get(column.name, "")) is not None
    missing = {
        _closed(bounds_of(label, whole=whole), label, bounds, whole)
        for label in made.get(column.name, ())
        if label not in listed
    }
    free = [pair for pair in missing - pairs if pair is not None and _is_interval(pair)]
    return len(free) + len(listed - set(made.get(column.name, ())))


def _closed(pair: Pair | None, label: str | None, bounds: Sequence[float] | None, whole: bool) -> Pair | None:
    """Return a pair with the declared bounds for its open ends; that of missing cells alone has none."""
    if pair is None or bounds is None or label is None or _NUMBERED.sub("", label) == _UNTOLD[-1]:
        return pair
    low, high = (math.ceil(bounds[0]), math.floor(bounds[1])) if whole else (bounds[0], bounds[1])
    return low if pair[0] is None else pair[0], high if pair[1] is None else pair[1]


def _is_interval(pair: Pair) -> bool:
    low, high = pair
    return all(math.isfinite(end) for end in pair if end is not None) and (low is None or high is None or low <= high)


def bounds_of(label: str | None, *, whole: bool) -> Pair | None:
    """Return the lowest and the highest value of a label; None where it is no label of numbers.

    Parameters
    ----------
    label : str or None
        An interval, several of them, `*`, a number, or missing.
    whole : bool
        Whether the column holds integers, of which both ends are in the interval.
    """
    plain = label if label is None else _NUMBERED.sub("", label)
    if plain in _UNTOLD:
        return None, None
    assert plain is not None  # noqa: S101 - it is one of those
    intervals = [text for text in plain.split("|") if text != "missing"]
    try:
        found = [_ends(text, whole) for text in intervals]
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return (found[0][0], found[-1][1]) if found else None


def _ends(text: str, whole: bool) -> Pair:
    between = _BETWEEN.fullmatch(text)
    if between is None and text[:2] not in ("< ", ">="):
        return _number(text, whole), _number(text, whole)
    if between is not None:
        low, high = between.groups()
        return _number(low, whole), _before(high, whole)
    return (None, _before(text[2:], whole)) if text[0] == "<" else (_number(text[3:], whole), None)


def _number(text: str, whole: bool) -> float:
    return math.ceil(Decimal(text)) if whole else float(text)


def _before(text: str, whole: bool) -> float:
    """Return the end of an interval: of integers the last in it, else the first after it."""
    return math.ceil(Decimal(text)) - 1 if whole else float(text)
