# SPDX-License-Identifier: Apache-2.0
"""The labels of a recoding with what each means, as the descriptor of a release lists them for readers without anonkit.

An interval has the bounds `low <= value < high`, null where it is open; a set of categories has its values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from anonkit.domains.interval_ends import Point, point_text
from anonkit.published.recoding import MASK, CategoryAxis, IntervalAxis, recoding_from_dict
from anonkit.published.recoding.label_parts import Labels, labels_of

MOST_LISTED = 20_000
"""Labels and values that are listed of one column; a column that needs more has no list."""


def label_entries(params: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the labels of each recoded column, in the order of their parts.

    Parameters
    ----------
    params : mapping
        Those of a release. Without a recoding no column has labels; neither has a column of places, whose cells the
        params outline.

    Returns
    -------
    dict
        By column, `{label, low, high}` of an interval and `{label, values}` of categories. `*` has no bounds and no
        values. A bound is a number, or a string where JSON would round it: dates, moments, long decimals.

    Privacy
    -------
    A function of the published params.
    """
    if "recoding" not in params:
        return {}
    places = {column["name"] for column in params["columns"] if "place" in column}
    found = {}
    for name, (axis, labels) in labels_of(recoding_from_dict(params["recoding"])).items():
        if name not in places:
            entries = _entries(axis, labels)
            if sum(1 + len(entry.get("values", ())) for entry in entries) <= MOST_LISTED:
                found[name] = entries
    return found


def _entries(axis: IntervalAxis | CategoryAxis, labels: Labels) -> list[dict[str, Any]]:
    groups = {name: frozenset(parts) for name, parts in axis.named or ()}
    parts = {label: sorted(groups.get(label, held)) for label, held in labels.items() if label is not None}
    order = sorted(parts, key=lambda label: (label == MASK, parts[label], label))
    if isinstance(axis, IntervalAxis):
        return [{"label": label, **_bounds(axis, label, parts[label])} for label in order]
    names = _names(axis)
    return [
        {"label": label, **({} if label == MASK else {"values": [names[part] for part in parts[label]]})}
        for label in order
    ]


def _names(axis: CategoryAxis) -> list[str]:
    added = ((axis.other_label, axis.has_other), (axis.missing_label, axis.has_missing))
    return [*axis.values, *(name for name, there in added if there)]


def _bounds(axis: IntervalAxis, label: str, parts: Collection[int]) -> dict[str, Any]:
    inside = [part for part in parts if part <= len(axis.cuts)]
    if not inside or label == MASK:
        return {"low": None, "high": None}
    first, last = min(inside), max(inside)
    return {
        "low": _plain(axis.cuts[first - 1]) if first > 0 else None,
        "high": _plain(axis.cuts[last]) if last < len(axis.cuts) else None,
    }


def _plain(point: Point) -> float | str:
    """Return a cut as a number where JSON keeps its text, else as the text that labels have."""
    text = point_text(point)
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
    return number if str(number) == text and abs(number) <= 2**53 else text
