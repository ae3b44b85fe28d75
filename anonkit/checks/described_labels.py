# SPDX-License-Identifier: Apache-2.0
"""Check the labels that the descriptor explains: each means what `params.json` makes it from.

Bounds and values are worked out here once more, from the parts of each column in the recoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from anonkit.checks.recoded_labels import AxisParts, walk
from anonkit.checks.sameness import named, same

KEY = "anonkit:labels"
_EVERYTHING = "*"
_MOST_LISTED = 20_000
_EXACT = 2**53
"""Integers up to it are the same in every reader of JSON."""


def label_lists(params: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return what the descriptor has to say of the labels of each column.

    Raises
    ------
    LookupError, ValueError, TypeError
        The recoding is none.
    """
    if "recoding" not in params:
        return {}
    places = {name for name, column in named(params["columns"]) if "place" in column}
    found = {}
    for name, parts, held in _columns(params["recoding"]):
        listed = [] if name in places else _listed(parts, held)
        if name not in places and sum(1 + len(one.get("values", ())) for one in listed) <= _MOST_LISTED:
            found[name] = listed
    return found


def wrong_lists(fields: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> int:
    """Count the fields of a descriptor whose labels are explained otherwise than the recoding says.

    None where no field has an explanation: earlier versions wrote none.
    """
    if not any(KEY in field for field in fields):
        return 0
    lists = label_lists(params)
    return sum(not same(field.get(KEY), lists.get(field["name"])) for field in fields)


_Held = Mapping[str, frozenset[int]]


def _columns(recoding: Mapping[str, Any]) -> Iterator[tuple[str, AxisParts, _Held]]:
    """Yield every column with labels, its parts, and the parts of each label."""
    if recoding["kind"] == "local":
        axes = [AxisParts.of(axis) for axis in recoding["axes"]]
        held: list[dict[str, frozenset[int]]] = [{} for _ in axes]
        for at, parts in walk(recoding, axes):
            label = axes[at].label(parts)
            if label is not None:
                held[at][label] = held[at].get(label, frozenset()) | parts
        yield from zip((name for name, _ in named(recoding["axes"])), axes, held, strict=True)
        return
    for name, column in named(recoding["columns"]):
        if "labels" in column:
            yield name, AxisParts.of(column), _of_levels([column["labels"], *column.get("coarser", ())])


def _of_levels(levels: Iterable[Sequence[str | None]]) -> _Held:
    """Return the parts of each label: those of the finest level that has it."""
    found: dict[str, frozenset[int]] = {}
    for labels in levels:
        for label in dict.fromkeys(labels):
            if label is not None and label not in found:
                found[label] = frozenset(part for part, one in enumerate(labels) if one == label)
    return found


def _listed(parts: AxisParts, held: _Held) -> list[dict[str, Any]]:
    groups = dict(parts.groups or ())
    covered = {label: sorted(groups.get(label, members)) for label, members in held.items()}
    listed = []
    for label in sorted(covered, key=lambda one: (one == _EVERYTHING, covered[one], one)):
        members = covered[label]
        if parts.intervals:
            listed.append({"label": label, **_bounds(parts, members if label != _EVERYTHING else [])})
        elif label == _EVERYTHING:
            listed.append({"label": label})
        else:
            listed.append({"label": label, "values": [parts.names[part] for part in members]})
    return listed


def _bounds(parts: AxisParts, members: Sequence[int]) -> dict[str, Any]:
    within = [part for part in members if part <= len(parts.names)]
    low = within[0] - 1 if within else -1
    high = within[-1] if within else len(parts.names)
    return {
        "low": None if low < 0 else _plain(parts.names[low]),
        "high": None if high >= len(parts.names) else _plain(parts.names[high]),
    }


def _plain(text: str) -> float | str:
    """Return a number where JSON has it as it is written, else the string."""
    try:
        exact = Decimal(text)
    except InvalidOperation:
        return text
    number = float(text) if set(text) & set(".eE") else int(text)
    return number if str(number) == text and abs(exact) <= _EXACT else text
