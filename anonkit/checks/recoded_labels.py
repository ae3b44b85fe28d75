# SPDX-License-Identifier: Apache-2.0
"""Check that recoded labels are those of the published recoding, and that rows show classes it can produce.

Labels and boxes are made here from `params.json` once more, by code of its own.

Names of H3 cells, read once more: the numbers that a cell takes up among those of the finest resolution.

By strings of bits alone; where a cell is on the map is not looked at.

Boxes that show less than the tree of a recoding leaves them: what `params.json` says, read strictly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any

from anonkit.checks.calendar_labels import is_calendar_label
from anonkit.checks.sameness import named, none_of, repeated, same
from anonkit.checks.table_scans import Lines, combined
from anonkit.promises.guarantee import Check

_NAME = re.compile(r"8[0-9a-f]{14}")
_DIGITS = 15
_EVERYWHERE = "*"


def numbers_of(name: str, finest: int) -> tuple[int, int] | None:
    """Return the first number of a cell, and the first after it; None where the name is that of no cell."""
    if _NAME.fullmatch(name) is None:
        return None
    bits = f"{int(name, 16):064b}"
    resolution, base = int(bits[8:12], 2), int(bits[12:19], 2)
    digits = [int(bits[19 + 3 * at : 22 + 3 * at], 2) for at in range(_DIGITS)]
    used, unused = digits[:resolution], digits[resolution:]
    if bits[5:8] != "000" or base > 121 or 7 in used or set(unused) - {7} or resolution > finest:
        return None
    below = finest - resolution
    first = int("".join(map(str, [*used, *[0] * below])) or "0", 7) + base * 7**finest
    return first, first + 7**below


def is_cell_label(label: str | None, members: Sequence[int], cuts: Sequence[str], place: Mapping[str, Any]) -> bool:
    """Return True if neighbouring parts between cuts are exactly the cell that a label names.

    Parameters
    ----------
    members : sequence of int
        The parts: part i lies between cut i - 1 and cut i.
    cuts : sequence of str
        Numbers of cells of the finest resolution.
    place : mapping
        What the params state of it.
    """
    if label is None:
        return False
    parts, resolutions = sorted(members), place["resolutions"]
    if parts != list(range(parts[0], parts[-1] + 1)) or not parts[0] >= 1 or parts[-1] >= len(cuts):
        return False
    numbers = numbers_of(label, max(resolutions))
    if numbers is None or int(label[1], 16) not in resolutions:
        return False
    return (cuts[parts[0] - 1], cuts[parts[-1]]) == tuple(map(str, numbers))


def wrong_outlines(outlines: Mapping[str, Any], shown: Collection[str | None]) -> int:
    """Count the cells that rows show and that the params do not outline, and outlines that contradict themselves."""
    wrong = len({cell for cell in shown if cell not in (None, _EVERYWHERE)} - set(outlines))
    for outline in outlines.values():
        (latitude, longitude), (south, west, north, east) = outline["center"], outline["bounds"]
        across = west <= longitude <= east if west <= east else longitude >= west or longitude <= east
        wrong += not (south <= latitude <= north and across)
    return wrong


Region = list[frozenset[int]]
"""The parts of every axis that a box holds."""


def shown_by_box(recoding: Mapping[str, Any], sizes: Sequence[int]) -> dict[int, Region]:
    """Return the parts of every axis that each box shows, by the number of its node; none where it shows all.

    Raises
    ------
    LookupError, ValueError, TypeError
        They are none of this tree: a set that is empty, written in two ways or not of its axis, a box too many.
    """
    if "narrowed" not in recoding:
        return {}
    block = recoding["narrowed"]
    if set(block) != {"sets", "boxes"} or recoding.get("merged", False) or len(block["sets"]) != len(sizes):
        raise ValueError("no boxes of one table")
    sets = [[_set(ends, size) for ends in of_axis] for of_axis, size in zip(block["sets"], sizes, strict=True)]
    leaves = [number for number, node in enumerate(recoding["nodes"]) if node is None]
    if len(block["boxes"]) != len(leaves):
        raise ValueError("not a line a box")
    shown = {}
    for number, box in zip(leaves, block["boxes"], strict=True):
        if any(type(at) is not int or at < 0 for at in box):
            raise ValueError("no number of a set")
        shown[number] = [of_axis[at] for of_axis, at in zip(sets, box, strict=True)]
    return shown


def within(narrow: Region, region: Sequence[frozenset[int]]) -> Region:
    """Return the published parts that a box may show: none that the tree does not leave it.

    Raises
    ------
    ValueError
        That is nothing of some axis.
    """
    shown = [narrowed & parts for narrowed, parts in zip(narrow, region, strict=True)]
    if not all(shown):
        raise ValueError("a box shows what it does not hold")
    return shown


def _set(ends: Sequence[int], size: int) -> frozenset[int]:
    """Return a set from the first and last parts of its runs, which neither touch nor overlap."""
    if not ends or len(ends) % 2 or any(type(end) is not int for end in ends):
        raise ValueError("no ends")
    firsts, lasts = ends[::2], ends[1::2]
    if firsts[0] < 0 or lasts[-1] >= size or any(first > last for first, last in zip(firsts, lasts, strict=True)):
        raise ValueError("no runs of parts")
    if any(last + 1 >= first for last, first in zip(lasts, firsts[1:], strict=False)):
        raise ValueError("runs that touch")
    return frozenset(part for first, last in zip(firsts, lasts, strict=True) for part in range(first, last + 1))


_EVERYTHING = "*"
_MISSING = "missing"
_OTHERS = "other"
_PLAIN = ("kept", "means")
"""Columns without labels."""
_NUMBERED = re.compile(r" \([0-9]+\)$")
_MANY = 4
"""Sets of more values than this may be named by what they lack."""


@dataclass(frozen=True, kw_only=True)
class AxisParts:
    """The parts that an axis of `params.json` divides its column into."""

    names: tuple[str, ...]
    """Of a category axis: one a part, missing included. Of intervals: the cuts."""
    intervals: bool
    has_missing: bool
    has_other: bool = False
    groups: tuple[tuple[str, frozenset[int]], ...] | None = None
    """Declared groups with their names, the smaller first; a set of parts is called by the first that holds it."""
    calendar: Mapping[str, Any] | None = None
    """Calendar entry of the params for a column of dates, moments or times of day, or of a place."""

    @property
    def size(self) -> int:
        """Number of parts, missing included."""
        return len(self.names) + 1 + self.has_missing if self.intervals else len(self.names)

    @classmethod
    def of(cls, axis: Mapping[str, Any], calendar: Mapping[str, Any] | None = None) -> AxisParts:
        """Read an axis, and what the params state of its calendar.

        Raises
        ------
        ValueError, LookupError
            It is none.
        """
        missing, other = axis["missing"], axis.get("other", False)
        if not isinstance(missing, bool) or not isinstance(other, bool):
            raise ValueError("neither yes nor no")
        if repeated(axis.get("cuts", [])):
            raise ValueError("a cut appears twice")
        groups = None
        if "groups" in axis:
            groups = tuple((group["label"], frozenset(group["parts"])) for group in axis["groups"])
        if axis["kind"] == "intervals":
            return cls(names=tuple(axis["cuts"]), intervals=True, has_missing=missing, groups=groups, calendar=calendar)
        values = axis["values"]
        added = [_free(name, values) for name, there in ((_OTHERS, other), (_MISSING, missing)) if there]
        stated = [axis[key] for key, there in (("other_label", other), ("missing_label", missing)) if there]
        if axis["kind"] != "categories" or repeated(values) or added != stated:
            raise ValueError("no axis")
        return cls(names=(*values, *added), intervals=False, has_missing=missing, has_other=other, groups=groups)

    @property
    def added(self) -> list[int]:
        """Return the parts of other values and of missing, which a recoding may get after its labels were made."""
        return list(range(self.size - self.has_missing - self.has_other, self.size))

    def label(self, parts: Collection[int], unheard: Collection[int] = ()) -> str | None:
        """Return the label of a set of parts, were it not for some others; None for missing alone."""
        last = self.size - self.has_missing
        present = sorted(part for part in parts if part < last)
        if not present:
            return None
        if self.groups is not None:
            return next((name for name, group in self.groups if set(parts) <= group), _EVERYTHING)
        if len(present) == last:
            return _EVERYTHING
        return self._intervals(present, last in parts) if self.intervals else self._values(sorted(parts), unheard)

    def _intervals(self, present: Sequence[int], missing: bool) -> str:
        texts, first = [], present[0]
        for at, part in enumerate(present):
            if at + 1 < len(present) and present[at + 1] == part + 1:
                continue
            texts.append(self._between(first, part))
            first = present[at + 1] if at + 1 < len(present) else first
        return "|".join([*texts, *([_MISSING] if missing else [])])

    def _between(self, first: int, last: int) -> str:
        if first == 0:
            return f"< {self.names[last]}"
        return (
            f">= {self.names[first - 1]}"
            if last == len(self.names)
            else f"[{self.names[first - 1]}, {self.names[last]})"
        )

    def _values(self, parts: Sequence[int], unheard: Collection[int]) -> str:
        lacking = [name for part, name in enumerate(self.names) if part not in {*parts, *unheard}]
        if len(parts) > _MANY and len(lacking) < len(parts):
            return "not " + "|".join(lacking)
        return "|".join(self.names[part] for part in parts)


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name, numbered when a listed value has it already."""
    free, number = name, 1
    while free in taken:
        free, number = f"{name} ({number + 1})", number + 1
    return free


def label_checks(
    data: Path, names: Collection[str], params: Mapping[str, Any], report: Mapping[str, Any]
) -> Iterator[Check]:
    """Check the labels of a recoding, the classes that rows show, and what the report states of the labels.

    Parameters
    ----------
    data : path
        The Parquet file or folder; its distinct labels and combinations are counted, its rows never listed.
    names : collection of str
        Columns of the data.

    Raises
    ------
    LookupError, ValueError, TypeError, AttributeError
        The recoding or the report is not one.
    """
    recoding, stated = params["recoding"], dict(named(report["columns"]))
    calendars = {
        name: column[key]
        for name, column in named(params.get("columns", ()))
        for key in ("calendar", "place")
        if key in column
    }
    merged = recoding.get("merged", False)
    if merged not in (True, False):
        raise ValueError("neither yes nor no")
    if recoding["kind"] not in ("local", "global"):
        raise ValueError("no recoding")
    is_local = recoding["kind"] == "local"
    recoded = [name for name, _ in named(recoding["axes" if is_local else "columns"])]
    with combined(data, [name for name in recoded if name in names]) as lines:
        if recoding["kind"] == "local":
            axes = [name for name, _ in named(recoding["axes"])]
            there = [at for at, name in enumerate(axes) if name in names]
            for axis in recoding["axes"]:
                if axis["kind"] == "intervals" and "groups" in axis:
                    yield none_of(f"labels:{axis['name']}", _wrong_groups(axis, calendars.get(axis["name"])))
            boxes = {tuple(box[at] for at in there) for box in boxes_of(recoding)}
            released = set(_distinct(lines, [axes[at] for at in there]))
            yield none_of("boxes", len(released - boxes))
            allowed: dict[str, set[str | None] | None] = {
                axes[at]: {box[column] for box in boxes} for column, at in enumerate(there)
            }
        else:
            allowed = {
                name: None if column["kind"] in _PLAIN else _labels(column, merged)
                for name, column in named(recoding["columns"])
            }
            declared = {name: column.get("domain", {}).get("categories") for name, column in named(params["columns"])}
            for name, column in named(recoding["columns"]):
                if column["kind"] not in _PLAIN:
                    levels = [column["labels"], *column.get("coarser", ())]
                    wrong = sum(
                        _wrong_labels({**column, "labels": level}, declared.get(name) or (), calendars.get(name))
                        for level in levels
                    )
                    yield none_of(f"labels:{name}", wrong + _torn_groups(levels))
        for name, labels in allowed.items():
            if name not in names:
                continue  # the `columns` and `actions` checks say whether it has to be there
            if labels is None:
                yield none_of(f"told:{name}", stated[name]["released_values"] != _count(lines, name))
                continue
            present = {row[0] for row in _distinct(lines, [name])}
            unknown = len(present - labels)
            if "resolutions" in calendars.get(name, ()):
                unknown += wrong_outlines(params["places"][name], present)
            yield none_of(f"domain:{name}", unknown)
            yield none_of(f"told:{name}", _wrong_entry(stated[name], present, lists_values=not is_local))


def _count(lines: Lines, name: str) -> int:
    """Count the values of a column, missing among them."""
    cells = lines.column(name)
    row = lines.connection.execute(
        f"SELECT count(DISTINCT {cells}) + (count({cells}) < count(*))::BIGINT FROM {lines.source}"
    ).fetchone()
    return int(row[0])


def _distinct(lines: Lines, names: Sequence[str]) -> list[tuple[Any, ...]]:
    if not names:
        return []
    listed = ", ".join(map(lines.column, names))
    found = lines.connection.execute(f"SELECT DISTINCT {listed} FROM {lines.source}")
    rows: list[tuple[Any, ...]] = found.fetchall()
    return rows


def _labels(column: Mapping[str, Any], merged: bool) -> set[str | None]:
    """Return the cells that a column may show: its labels, and those of the levels above where small groups merge."""
    return {label for level in (column["labels"], *(column.get("coarser", ()) if merged else ())) for label in level}


def _torn_groups(levels: Sequence[Sequence[str | None]]) -> int:
    """Count the groups of a level whose parts are in several groups of the level above it."""
    return sum(len(set(zip(finer, coarser, strict=False))) - len(set(finer)) for finer, coarser in pairwise(levels))


def boxes_of(recoding: Mapping[str, Any]) -> set[tuple[str | None, ...]]:
    """Return the labels of the boxes of a local recoding, one an axis; those above them too where boxes merge.

    Raises
    ------
    LookupError, ValueError, TypeError
        The recoding is none.
    """
    axes = [AxisParts.of(axis) for axis in recoding["axes"]]
    return {
        tuple(axis.label(parts) for axis, parts in zip(axes, region, strict=True))
        for is_leaf, _, region in _regions(recoding, axes)
        if is_leaf or recoding.get("merged")
    }


def walk(recoding: Mapping[str, Any], axes: Sequence[AxisParts]) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield every set of parts that some box of a local recoding holds, with the number of its axis.

    Raises
    ------
    LookupError, ValueError, TypeError
        The recoding is none.
    """
    for _, changed, region in _regions(recoding, axes):
        yield from ((at, region[at]) for at in (range(len(axes)) if changed is None else (changed,)))


def _regions(
    recoding: Mapping[str, Any], axes: Sequence[AxisParts]
) -> Iterator[tuple[bool, int | None, Sequence[frozenset[int]]]]:
    """Yield every box: whether rows may show it, the axis on which it is less than the one above, its parts.

    Where boxes show less than the tree leaves them, both are yielded, and the latter is not what rows may show.
    """
    nodes, narrow = recoding["nodes"], shown_by_box(recoding, [axis.size for axis in axes])
    waiting: list[tuple[int, int | None, list[frozenset[int]]]] = [
        (0, None, [frozenset(range(axis.size)) for axis in axes])
    ]
    reached = [0]
    while waiting:
        number, changed, region = waiting.pop()
        node, is_possible = nodes[number], all(region)  # a box that no row can be in shows nothing
        if is_possible:
            yield node is None and not narrow, changed, region
        if node is None:
            if narrow and is_possible:
                yield True, None, within(narrow[number], region)
            continue
        at, left = node["axis"], frozenset(node["left"])
        (low, high), whole = node["children"], region[node["axis"]]
        reached += [low, high]
        if min(low, high) <= number or repeated(node["left"]) or not left <= set(range(axes[at].size)):
            raise ValueError("not a tree of boxes")
        for child, side in ((low, whole & left), (high, whole - left)):
            waiting.append((child, at, [*region[:at], side, *region[at + 1 :]]))
    if sorted(reached) != list(range(len(nodes))):
        raise ValueError("not every box is in the tree exactly once")


def labels_of(recoding: Mapping[str, Any]) -> dict[str, set[str | None]]:
    """Return every label that a recoding has for each column it recodes, those of coarser steps among them.

    Raises
    ------
    LookupError, ValueError, TypeError
        The recoding is none.
    """
    if recoding["kind"] == "local":
        axes = [AxisParts.of(axis) for axis in recoding["axes"]]
        regions = [region for _, _, region in _regions(recoding, axes)]
        return {
            name: {axes[at].label(region[at]) for region in regions}
            for at, (name, _) in enumerate(named(recoding["axes"]))
        }
    return {name: _labels(column, merged=True) for name, column in named(recoding["columns"]) if "labels" in column}


def _wrong_groups(axis: Mapping[str, Any], calendar: Mapping[str, Any] | None) -> int:
    """Count the named groups of an axis of intervals that are not called by what they cover."""
    parts = AxisParts.of({key: value for key, value in axis.items() if key != "groups"}, calendar)
    within = range(parts.size - parts.has_missing)
    wrong = 0
    for group in axis["groups"]:
        members = sorted(group["parts"])
        known = bool(members) and set(members) <= set(within)
        wrong += not (known and group["label"] != _EVERYTHING and _may_be(group["label"], members, parts))
    return wrong


def _wrong_labels(column: Mapping[str, Any], declared: Sequence[str], calendar: Mapping[str, Any] | None = None) -> int:
    """Count the groups of a global recoding whose label neither their parts nor a declared hierarchy can make.

    Parameters
    ----------
    declared : sequence of str
        The column's declared categories, or the values of its declared tree; empty without either.
    calendar : mapping or None
        What the params state of a column of dates, moments or times of day.
    """
    parts, labels = AxisParts.of(column, calendar), column["labels"]
    if len(labels) != parts.size:
        return parts.size
    groups: dict[str | None, list[int]] = {}
    for part, label in enumerate(labels):
        groups.setdefault(label, []).append(part)
    wrong = {label: members for label, members in groups.items() if not _may_be(label, members, parts)}
    if not wrong or column["kind"] != "categories" or set(column["values"]) != set(declared):
        return len(wrong)
    return _wrong_names(wrong, groups, parts)


def _wrong_names(
    named_groups: Mapping[str | None, Sequence[int]], groups: Mapping[str | None, Sequence[int]], parts: AxisParts
) -> int:
    """Count the groups of a column with declared values that cannot be groups of a declared tree.

    The names of a tree are the owner's and are in no file but as labels. What can be checked: in a tree no group of
    several values is called by them, and none by a value that is in another group.
    """
    if any(
        len(members) > 1 and label not in named_groups and label != _EVERYTHING for label, members in groups.items()
    ):
        return len(named_groups)  # groups that are called by their values come from no tree
    part_of = {name: part for part, name in enumerate(parts.names)}
    return sum(
        label is None or part_of.get(_NUMBERED.sub("", label), members[0]) not in members
        for label, members in named_groups.items()
    )


def _may_be(label: str | None, members: Sequence[int], parts: AxisParts) -> bool:
    """Return True if a group may have this name: by its parts, or `*` for a dropped column.

    A recoding that was found on a sample got places for other values and for missing afterwards, so that labels may be
    those of the axis without them. A label that another group has too is numbered.
    """
    if label == _EVERYTHING:
        return True
    plain = None if label is None else _NUMBERED.sub("", label)
    added = [part for part in parts.added if part not in members]
    possible = {parts.label(members, unheard) for unheard in ((), added, added[:1], added[1:])}
    if parts.intervals and len(members) == 1 and 0 < members[0] < len(parts.names):
        low, high = parts.names[members[0] - 1], parts.names[members[0]]
        possible |= {low} if _is_next(low, high) else set()
    if parts.intervals and parts.calendar is not None:
        is_label = is_cell_label if "resolutions" in parts.calendar else is_calendar_label
        if is_label(label, members, parts.names, parts.calendar):
            return True
    return plain in possible or label in possible or (plain == _MISSING and None in possible)


def _is_next(low: str, high: str) -> bool:
    """Return True if a cut is the point right after another: one value is between them, and may be its own label."""
    try:
        first, second = Decimal(low), Decimal(high)
        unit = Decimal(1).scaleb(min(int(first.as_tuple().exponent), int(second.as_tuple().exponent)))
        return second - first == unit or math.nextafter(float(low), math.inf) == float(high)
    except InvalidOperation:
        day = "1970-01-01T" if low[2:3] == ":" else ""  # a time of day is one number
        gap = datetime.fromisoformat(day + high) - datetime.fromisoformat(day + low)
        return gap == (timedelta(microseconds=1) if ":" in low else timedelta(days=1))


def _wrong_entry(entry: Mapping[str, Any], present: Collection[str | None], *, lists_values: bool) -> int:
    """Count what the report's entry of a column says otherwise than the labels that rows show."""
    wrong = int(not same(entry["released_values"], len(present))) + (("values" in entry) != lists_values)
    return wrong + ("values" in entry and (set(entry["values"]) != set(present) or repeated(entry["values"]) > 0))
