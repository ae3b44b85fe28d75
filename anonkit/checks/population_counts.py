# SPDX-License-Identifier: Apache-2.0
"""Number of people of a population in each released class: from its file, the published recoding, and the data.

Nothing of the file is published but counts, and classes of the release that it lacks are counted and never named.

Labels of a population's people in a release: the published recoding, computed independently.

By the recoding of `params.json` alone, and by code of its own: the rows that a method has made are not used.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.checks.people import Counts
from anonkit.checks.population_risk import BY_CONSTRUCTION, WHOLE_POPULATION, estimates_of
from anonkit.checks.recoded_labels import AxisParts, shown_by_box, within
from anonkit.checks.sameness import named, same, same_figure
from anonkit.checks.scanned_files import exact_table
from anonkit.checks.table_scans import combined, opened
from anonkit.errors import UncheckedError
from anonkit.promises.guarantee import Check

Codes = NDArray[np.int64]
_DAY = 86_400 * 10**9
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NOWHERE = -1


def needed_columns(recoding: Mapping[str, Any]) -> list[str]:
    """Return the columns whose cells say what a person would show.

    Raises
    ------
    UncheckedError
        Small groups were merged: which of them is not published, so that nobody can say what somebody else would show.
    LookupError, TypeError
        The recoding is none.
    """
    if "centroids" in recoding:
        raise UncheckedError(
            "rows show the mean of their group, and no file tells which group a person of a population would be in",
            "leave the population file out",
        )
    if recoding.get("merged"):
        raise UncheckedError(
            "small groups of this batch show coarser labels, and no file tells which people of a population would",
            "leave the population file out",
        )
    return [name for name, _ in named(recoding["axes" if recoding["kind"] == "local" else "columns"])]


def labels_of_people(cells: pa.Table, recoding: Mapping[str, Any]) -> tuple[dict[str, pa.Array], NDArray[np.bool_]]:
    """Return the labels of people in every recoded column, and which of them would be released at all.

    Parameters
    ----------
    cells : Table
        The columns of `needed_columns`, as they are declared, one row a person or a kind of person.
    recoding : mapping
        The block of the params.

    Returns
    -------
    labels : dict
        By column: a string, or the cell itself where the column is kept; arrays of shape (n_rows,).
    placed : array of bool, shape (n_rows,)
        False where the recoding has no part for a cell: nobody who shows it is in the release.

    Raises
    ------
    LookupError, TypeError, ValueError
        The recoding is none.
    """
    placed = np.ones(cells.num_rows, dtype=bool)
    shown: dict[str, pa.Array] = {}
    codes: list[Codes] = []
    axes: list[AxisParts] = []
    local = recoding["kind"] == "local"
    for name, column in named(recoding["axes" if local else "columns"]):
        array = cells.column(name).combine_chunks()
        if column["kind"] == "kept":
            shown[name] = array
            continue
        axis = AxisParts.of(column)
        at = _parts(array, axis)
        placed &= at != _NOWHERE
        if local:
            axes.append(axis)
            codes.append(at)
        else:
            shown[name] = pa.array(column["labels"], pa.string()).take(pa.array(np.maximum(at, 0)))
    if local:
        names = [name for name, _ in named(recoding["axes"])]
        boxes = _boxes(codes, axes, recoding, placed)
        shown = dict(zip(names, boxes, strict=True))
    return shown, placed


def _boxes(
    codes: Sequence[Codes], axes: Sequence[AxisParts], recoding: Mapping[str, Any], placed: NDArray[np.bool_]
) -> list[pa.Array]:
    """Return the parts that rows with these parts of every axis show: those of the box that a tree of splits leads to.

    Rows that are outside what their box shows are no longer `placed`.
    """
    label_of: list[dict[frozenset[int], str | None]] = [{} for _ in axes]
    shown = [np.full(placed.size, None, dtype=object) for _ in axes]
    nodes, narrow = recoding["nodes"], shown_by_box(recoding, [axis.size for axis in axes])
    waiting = [(0, np.flatnonzero(placed), [frozenset(range(axis.size)) for axis in axes])]
    while waiting:
        number, inside, region = waiting.pop()
        if not inside.size:
            continue
        node = nodes[number]
        if node is None:
            region = within(narrow[number], region) if narrow else region
            for at, parts in enumerate(region):
                if narrow:
                    placed[inside] &= np.isin(codes[at][inside], sorted(parts))
                if parts not in label_of[at]:
                    label_of[at][parts] = axes[at].label(parts)
                shown[at][inside] = label_of[at][parts]
            continue
        at, left = node["axis"], frozenset(node["left"])
        goes_left = np.isin(codes[at][inside], sorted(left))
        for child, members, side in (
            (node["children"][0], inside[goes_left], region[at] & left),
            (node["children"][1], inside[~goes_left], region[at] - left),
        ):
            waiting.append((child, members, [*region[:at], side, *region[at + 1 :]]))
    return [pa.array(column, pa.string()) for column in shown]


def _parts(array: pa.Array, axis: AxisParts) -> Codes:
    """Return the part of every cell, -1 where there is none for it, shape (len(array),)."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    place = _place_of_point(kind, axis) if axis.intervals else _place_of_value(axis)
    missing = axis.size - 1 if axis.has_missing else _NOWHERE
    of_values = np.array([*(place(value) for value in _values(encoded.dictionary, kind)), missing], np.int64)
    at = encoded.indices.fill_null(of_values.size - 1).to_numpy(zero_copy_only=False)
    return np.asarray(of_values[at], np.int64)


def _values(dictionary: pa.Array, kind: pa.DataType) -> list[Any]:
    """Return cells as they are compared with cuts: moments and times of day in nanoseconds."""
    if pa.types.is_timestamp(kind):
        scale = 10**9 // _IN_A_SECOND[kind.unit]
        return [value * scale for value in dictionary.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        return [value * _DAY for value in dictionary.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    if pa.types.is_time(kind):
        return list(dictionary.cast(pa.time64("ns")).cast(pa.int64()).to_pylist())
    return list(dictionary.to_pylist())


def _place_of_point(kind: pa.DataType, axis: AxisParts) -> Callable[[Any], int]:
    """Return the function from a cell to its part between cuts."""
    if pa.types.is_floating(kind):
        cuts: list[Any] = [float(cut) for cut in axis.names]
    elif pa.types.is_temporal(kind):
        cuts = [_nanoseconds(cut) for cut in axis.names]
    else:
        cuts = [Decimal(cut) for cut in axis.names]
    return lambda value: bisect_right(cuts, value)


def _nanoseconds(text: str) -> int:
    """Return a cut of dates, moments or times of day as nanoseconds since 1970, or since midnight."""
    if ":" in text and "-" not in text.partition("T")[0]:
        clock = time.fromisoformat(text)
        return (((clock.hour * 60 + clock.minute) * 60 + clock.second) * 10**6 + clock.microsecond) * 1000
    moment = datetime.fromisoformat(text)
    since = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds) * 1000


def _place_of_value(axis: AxisParts) -> Callable[[Any], int]:
    """Return the function from a category to its part: its index in the list, that of all others, or none."""
    listed = axis.names[: axis.size - axis.has_other - axis.has_missing]
    place = {value: at for at, value in enumerate(listed)}
    other = len(listed) if axis.has_other else _NOWHERE
    return lambda value: place.get(_text(value), other)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


CHECK = "k_map"
"""The check that the population has enough people of every released class."""
_PEOPLE = "anonkit_population"
_FRACTION = 1e-12
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class PopulationCells:
    """The people of a population file, as the release's columns are declared."""

    cells: pa.Table
    """Distinct combinations of the columns that the recoding needs."""
    people: Counts
    """Rows of the file that have each of them, shape (n_combinations,)."""

    @property
    def rows(self) -> int:
        """Rows of the whole file."""
        return int(self.people.sum())


class ReadsPopulation(Protocol):
    """A reader of a file of the population."""

    def as_declared(self, params: Mapping[str, Any]) -> PopulationCells:
        """Return its people as the params of a release declare its columns."""
        ...

    def as_it_is(self) -> str | Path | pa.Table:
        """Return the population with its cells unchanged, like those of the plain table that is validated."""
        ...


def people_of_classes(
    data: Path, names: Sequence[str], recoding: Mapping[str, Any], population: PopulationCells
) -> tuple[Counts, Counts]:
    """Return the rows of every class of a release, and the people of the population who would show it.

    Parameters
    ----------
    data : path
        The data with labels.
    names : sequence of str
        Released quasi-identifiers, in the order of the promise: classes ascend with them, missing last.

    Returns
    -------
    rows, people : array of int64, shape (n_classes,)
    """
    shown, placed = labels_of_people(population.cells, recoding)
    table = pa.table({name: shown[name] for name in names} | {"": pa.array(population.people)})
    return _joined(data, names, table.filter(pa.array(placed)))


def people_of_rows(
    data: str | Path | pa.Table, names: Sequence[str], population: str | Path | pa.Table
) -> tuple[Counts, Counts, int]:
    """Return the same of a plain table, whose cells are compared unchanged, and the rows of the population."""
    with opened(population, names) as lines:
        keys = "".join(f"{lines.column(name)} AS k{at}, " for at, name in enumerate(names))
        counted = lines.connection.sql(
            f"SELECT {keys}{lines.rows()} AS n FROM {lines.source}{' GROUP BY ALL' if names else ''}"
        )
        table = counted.to_arrow_table().rename_columns([*names, ""])
    rows, people = _joined(data, names, table)
    return rows, people, int(np.asarray(table.column("")).sum())


def _joined(data: str | Path | pa.Table, names: Sequence[str], people: pa.Table) -> tuple[Counts, Counts]:
    own = [f"q{at}" for at in range(len(names))]
    listed = ", ".join(own)
    order = f" ORDER BY {', '.join(f'classes.{one} NULLS LAST' for one in own)}" if own else ""
    same_cells = " AND ".join(f"classes.{one} IS NOT DISTINCT FROM found.{one}" for one in own) or "true"
    with combined(data, names) as lines:
        keys = "".join(f"{lines.column(name)} AS {one}, " for name, one in zip(names, own, strict=True))
        grouped = " GROUP BY ALL" if names else ""
        lines.connection.register(_PEOPLE, exact_table(people.rename_columns([*own, "n"])))
        counts = lines.connection.execute(
            f"SELECT classes.n AS n, coalesce(found.n, 0)::BIGINT AS people FROM "
            f"(SELECT {keys}{lines.rows()} AS n FROM {lines.source}{grouped}) AS classes LEFT JOIN "
            f"(SELECT {listed}{', ' if listed else ''}sum(n)::BIGINT AS n FROM {_PEOPLE}{grouped}) AS found "
            f"ON {same_cells} WHERE classes.n > 0{order}"
        ).fetchnumpy()
    return np.asarray(counts["n"], np.int64), np.asarray(counts["people"], np.int64)


def figures_of(rows: int, sample: Counts, people: Counts, k_map: int | None) -> dict[str, Any]:
    """Return the `population` block for a file of so many rows.

    Parameters
    ----------
    sample, people : array of int64, shape (n_classes,)
        Rows, or people, of every class, and people of the file who share it; 0 where the file lacks the class.
    k_map : int, optional
        k-map that the owner requires.
    """
    met = people > 0
    inside, of_file = sample[met].astype(np.float64), people[met].astype(np.float64)
    estimates: dict[str, Any] = {
        "rows": rows,
        "unmatched_classes": int(people.size - np.count_nonzero(met)),
        "k_map": int(people[met].min()) if met.any() else None,
        **({} if k_map is None else {"k_map_required": k_map}),
    }
    if met.any():
        share = np.minimum(1.0, inside / of_file)
        marketer = float(np.sum(share) / np.sum(inside))
        estimates |= {
            "journalist": {
                "max": 1 / estimates["k_map"],
                "mean": max(float(inside.size / np.sum(of_file)), marketer),
            },
            "marketer": marketer,
            "delta_presence": {"max": float(share.max()), "mean": float(np.dot(inside, share) / np.sum(inside))},
        }
    return {"basis": "file", "assumption": WHOLE_POPULATION, "estimates": estimates}


def k_map_check(people: Counts, required: int) -> Check:
    """Check that the population has so many people of every class; of one that it lacks it has none."""
    fewest = int(people.min(initial=people.max(initial=0)))
    return Check(name=CHECK, passed=people.size > 0 and fewest >= required, observed=fewest, required=required)


# --- what a report states ---------------------------------------------------------------------------------------------


def wrong_block(
    stated: Mapping[str, Any], class_sizes: Sequence[tuple[int, int]], read: int | None, classes: int
) -> int:
    """Count what the block of a report states that cannot be, from the files alone.

    Parameters
    ----------
    class_sizes : sequence of (int, int)
        (size, number of classes) as recounted, in people where people are counted.
    read : int, optional
        Rows that were read; None where people are counted.
    classes : int
        Classes of the release.
    """
    if set(stated) != {"basis", "assumption", "estimates"}:
        return 1
    basis, estimates = stated["basis"], stated["estimates"]
    if basis == "file":
        return int(stated["assumption"] != WHOLE_POPULATION) + _wrong_file(estimates, class_sizes, classes)
    fraction, size = estimates["sampling_fraction"], estimates.get("population_size")
    if not _is_number(fraction) or not 0 < fraction <= 1 or (basis == "size") != (size is not None):
        return 1
    wrong = 0 if size is None else int(not _is_share_of(fraction, size, read))
    again = estimates_of(class_sizes, fraction, size, BY_CONSTRUCTION)
    return wrong + (not same_figure(stated, again))


def _wrong_file(stated: Mapping[str, Any], class_sizes: Sequence[tuple[int, int]], classes: int) -> int:
    """Count the contradictions of figures that were counted in a file which is not at hand."""
    rows, unmatched, k_map = stated["rows"], stated["unmatched_classes"], stated["k_map"]
    required = stated.get("k_map_required")
    keys = {"rows", "unmatched_classes", "k_map"} | ({"k_map_required"} if "k_map_required" in stated else set())
    if type(rows) is not int or type(unmatched) is not int:
        return 1
    if k_map is None:  # no class of the release was met
        return int(set(stated) != keys or required is not None or unmatched != classes)
    if type(k_map) is not int or set(stated) != keys | {"journalist", "marketer", "delta_presence"}:
        return 1
    journalist, marketer, presence = stated["journalist"], stated["marketer"], stated["delta_presence"]
    figures = (*journalist.values(), marketer, *presence.values())
    if not all(map(_is_number, figures)) or not set(journalist) == set(presence) == {"max", "mean"}:
        return 1
    wrong = int(not (0 <= unmatched < classes and k_map >= 1 and rows >= k_map * (classes - unmatched)))
    if "k_map_required" in stated:
        wrong += type(required) is not int or not 2 <= required <= k_map or unmatched > 0
    wrong += not same_figure(journalist["max"], 1 / k_map)
    wrong += not _ascending(0.0, marketer, journalist["mean"], journalist["max"])
    wrong += not _ascending(0.0, presence["mean"], presence["max"], 1.0)
    return wrong + (unmatched == 0 and presence["max"] < min(1.0, class_sizes[0][0] / rows))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ascending(*figures: float) -> bool:
    """Return True if each figure is at most the next one, and the first below the second."""
    return figures[0] < figures[1] and all(one <= other * (1 + _ROUNDING) for one, other in pairwise(figures))


def _is_share_of(fraction: float, size: object, read: int | None) -> bool:
    """Return True if the rows that were read are this share of a population of this size."""
    return type(size) is int and read is not None and 0 < read <= size and abs(read / size - fraction) <= _FRACTION


def same_file(stated: Mapping[str, Any], again: Mapping[str, Any]) -> bool:
    """Return True if a report's figures are those of a file of as many rows as it says."""
    return same(stated["estimates"]["rows"], again["estimates"]["rows"])


def block_checks(stated: Mapping[str, Any], again: Mapping[str, Any]) -> Iterator[Check]:
    """Compare a report's figures with those that the file gives now."""
    required = stated["estimates"].get("k_map_required")
    expected = {
        **again,
        "estimates": {**again["estimates"], **({} if required is None else {"k_map_required": required})},
    }
    wrong = not same_figure(stated, expected)
    yield Check(name="population_file", passed=not wrong, observed=int(wrong), required=0)
