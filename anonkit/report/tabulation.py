# SPDX-License-Identifier: Apache-2.0
"""Blocks of a report as table rows: columns, rows, measures, budgets; unknown keys are shown unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anonkit.report.wording import bound, heading, number, percent, words

SHOWN_VALUES = 60
"""Released values of a column that are listed; the report has all."""

_MEAN = "mean in the owner's table"
_LONGEST_FIGURE = 24
_NO_DETAIL = ("full", "generalized", "dropped", "boxes", "means", "")
_COLUMN_KEYS = (
    "name", "role", "declared", "sensitive", "action", "reason", "detail", "values", "released_values", "importance",
    "domain", "parameters", "mean",
)  # fmt: skip


def column_row(column: Mapping[str, Any]) -> dict[str, Any]:
    """Return one column: its role, what was done to it, and what of it is released."""
    role = column["role"].replace("_", "-")
    values = column.get("values")
    detail = column.get("detail")
    return {
        "name": column["name"],
        "role": f"{role}, sensitive" if column.get("sensitive") and role != "sensitive" else role,
        "action": column["action"],
        "reason": column.get("reason"),
        "detail": None if detail is None or detail in _NO_DETAIL else number(detail),
        "facts": [
            *((words(key), bounded(key, entry)) for key, entry in column.items() if key not in _COLUMN_KEYS),
            *((_MEAN, _mean(entry)) for entry in [column.get("mean")] if entry is not None),
        ],
        "count": column.get("released_values", None if values is None else len(values)),
        "shown": None if values is None else [None if entry is None else str(entry) for entry in values[:SHOWN_VALUES]],
        "more": 0 if values is None else max(len(values) - SHOWN_VALUES, 0),
    }


def _mean(mean: Mapping[str, Any]) -> str:
    """Return a mean with its interval, and whether the rows have it."""
    stated = f"{number(mean['value'])}, {number(mean['low'])} to {number(mean['high'])} with 95 % confidence"
    return stated if mean["of_the_rows"] else f"{stated}; the rows do not carry it"


def bounded(key: str, value: object) -> str:
    """Return a value as text; a privacy bound is rounded up."""
    return bound(value) if key in ("epsilon", "delta") else number(value)


def row_counts(rows: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the counts of the rows; the suppressed share and its limit are beside the number suppressed."""
    out = []
    order = [key for key in ("in", "suppressed", "out") if key in rows]
    for key in [*order, *(key for key in rows if key not in (*order, "suppressed_fraction", "suppression_limit"))]:
        text = "not published: the guarantee protects this number" if rows[key] is None else number(rows[key])
        if key == "suppressed":
            text += f" ({percent(share)})" if (share := rows.get("suppressed_fraction")) is not None else ""
            text += (
                f", at most {percent(limit)} allowed" if (limit := rows.get("suppression_limit")) is not None else ""
            )
        out.append((heading(key), text))
    return out


def measures(block: object) -> Iterator[dict[str, Any]]:
    """Yield one row a measure, however deep it lies; strings beside figures are notes to them."""
    yield from _measures((block if isinstance(block, Mapping) else {"entries": block}).items(), "", "")


def _measures(block: Iterable[tuple[str, Any]], within: str, note: str) -> Iterator[dict[str, Any]]:
    for key, value in block:
        name = f"{within}: {words(key)}" if within else heading(key)
        if isinstance(value, Mapping):
            texts = {k: v for k, v in value.items() if isinstance(v, str) and k != "value"}
            rest = _with_intervals({k: v for k, v in value.items() if k not in texts})
            notes = "; ".join([*filter(None, [note]), *(f"{words(k)}: {v}" for k, v in texts.items())])
            if "value" in rest:
                yield _measure(name, rest, notes)
            elif rest:
                first, *others = _measures(rest.items(), name, notes)
                yield first
                yield from (
                    {**entry, "note": "as above"} if notes and entry["note"] == notes else entry for entry in others
                )
            else:
                yield from (_measure(f"{name}: {words(k)}", {"value": v}, note) for k, v in texts.items())
        elif isinstance(value, Sequence) and value and all(isinstance(entry, Mapping) for entry in value):
            yield from _measures([(str(entry.get("name", at)), entry) for at, entry in enumerate(value, 1)], name, note)
        else:
            yield _measure(name, {"value": value}, note)


def _with_intervals(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block of figures whose intervals are together under `ci`, each with its own."""
    intervals = block.get("ci")
    figures = {key: value for key, value in block.items() if key != "ci"}
    if not isinstance(intervals, Mapping) or not set(intervals) <= set(figures):
        return block
    return {key: {"value": v, "ci": intervals[key]} if key in intervals else v for key, v in figures.items()}


def _measure(name: str, block: Mapping[str, Any], note: str) -> dict[str, Any]:
    more = [f"{words(k)}: {number(v)}" for k, v in block.items() if k not in ("value", "ci", "baseline")]
    interval = block.get("ci")
    return {
        "name": name,
        "value": number(block["value"]),
        "is_text": len(number(block["value"])) > _LONGEST_FIGURE,
        "interval": "" if interval is None else "–".join(number(end) for end in interval),
        "baseline": "" if block.get("baseline") is None else number(block["baseline"]),
        "note": "; ".join([*filter(None, [note]), *more]),
    }


def budget_tables(budget: Mapping[str, Any], draws: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any] | None:
    """Return the privacy loss budget, how it was divided, and what each draw does; None when none was spent."""
    if all(not value for value in budget.values()):
        return None
    tables = [
        ("per_level", "Budget by level"),
        ("per_attribute", "Budget by attribute"),
        ("domains", "Budget for finding domains and frequent values"),
    ]
    facts = {key: value for key, value in budget.items() if key not in dict(tables) and value is not None}
    return {
        "facts": [(heading(key), bounded(key, value)) for key, value in facts.items()],
        "tables": [
            *((caption, *_records(budget[key])) for key, caption in tables if budget.get(key)),
            *([("Draws of noise, and how far each reaches", *_records(draws))] if draws else ()),
        ],
    }


def _records(records: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[tuple[str, bool]]]]:
    """Return records as headers and rows of (text, is a figure)."""
    keys = list(dict.fromkeys(key for record in records for key in record))
    rows = [
        [(bounded(key, record.get(key)), not isinstance(record.get(key), str)) for key in keys] for record in records
    ]
    return [heading(key) for key in keys], rows
