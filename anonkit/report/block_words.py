# SPDX-License-Identifier: Apache-2.0
"""Blocks of a report in words: rows of tables, and sentences on the population and on lost cells.

Columns, rows, measures and budgets become rows; unknown keys are shown unchanged. The risk in a population of a report
is given in sentences and as a table. Cells of the source that a release could not use unchanged are in words with
counts, and without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from anonkit.report.wording import bound, heading, number, one_in, percent, words

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


_NO_PROMISE = "An estimate, and no guarantee."
_MODELS = ("pitman", "zayatz", "snb")


def population_sentences(block: Mapping[str, Any] | None, *, by_owner: bool = True) -> Iterator[str]:
    """Yield the sentences of the `population` block of `disclosure_risk`; nothing where there is none.

    Parameters
    ----------
    by_owner : bool
        The owner counted the file, as a report states; False: whoever reads the sentences did.
    """
    if not block:
        return
    estimates = block["estimates"]
    if block["basis"] == "file":
        yield from _of_file(estimates, "The owner counted" if by_owner else "Counted")
        return
    individual = estimates["individual"]
    if block["basis"] == "weights":
        yield (
            f"If the weights say how many people each row stands for ({number(estimates['population_size'])} in all): "
            f"{one_in(individual['max'])} at most, {one_in(individual['mean'])} on average, to find a person of it in "
            f"the population. {_NO_PROMISE}"
        )
        return
    share = percent(estimates["sampling_fraction"])
    yield (
        f"If the table is a simple random sample of {share} of a population: {one_in(individual['max'])} at most, "
        f"{one_in(individual['mean'])} on average, to find a person of it in the population. {_NO_PROMISE}"
    )
    if isinstance(estimates["uniques"], Mapping):
        yield f"Unique in the population: {_uniques(estimates['uniques'])}."


def _of_file(estimates: Mapping[str, Any], counted: str) -> Iterator[str]:
    rows, unmatched, k_map = number(estimates["rows"]), estimates["unmatched_classes"], estimates["k_map"]
    if k_map is None:
        yield f"A population file of {rows} rows has nobody of any group of this table."
        return
    required = estimates.get("k_map_required")
    beside = "" if required is None else f" (asked: {number(required)})"
    yield (
        f"{counted} in a population file of {rows} rows: at least {number(k_map)} people share each "
        f"group{' that the file has' if unmatched else ''}{beside}. {_NO_PROMISE}"
    )
    if unmatched:
        yield f"The file lacks {number(unmatched)} groups of this table: it is not the whole population."


def population_rows(block: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the figures of the block as (what, figure), for a table."""
    if not block:
        return []
    estimates = block["estimates"]
    if block["basis"] != "file":
        individual = estimates["individual"]
        size = estimates.get("population_size")
        uniques = estimates["uniques"]
        return [
            *([] if size is None else [("People of the population", number(size))]),
            *(
                [("Share of the population that was read", percent(estimates["sampling_fraction"]))]
                if "sampling_fraction" in estimates
                else []
            ),
            ("Highest expected risk of a person", one_in(individual["max"])),
            ("Mean expected risk", one_in(individual["mean"])),
            ("People found by who looks for everybody, expected", number(individual["sum"])),
            ("Unique in the population", uniques if isinstance(uniques, str) else _uniques(uniques)),
        ]
    rows = [
        ("People in the population file", number(estimates["rows"])),
        ("Groups of this table that the file lacks", number(estimates["unmatched_classes"])),
        ("Fewest people of a group in the file (k-map)", number(estimates["k_map"])),
    ]
    if "k_map_required" in estimates:
        rows.append(("k-map that the owner requires", number(estimates["k_map_required"])))
    if estimates["k_map"] is None:
        return rows
    journalist, presence = estimates["journalist"], estimates["delta_presence"]
    return [
        *rows,
        ("Journalist, highest risk", one_in(journalist["max"])),
        ("Journalist, mean risk", one_in(journalist["mean"])),
        ("Marketer, share found", percent(estimates["marketer"])),
        ("Largest share of a group's people who are in the table (δ-presence)", percent(presence["max"])),
        ("The same on average", percent(presence["mean"])),
    ]


def _uniques(models: Mapping[str, float | None]) -> str:
    found = [share for share in map(models.get, _MODELS) if share is not None]
    return f"{percent(models['rule'])} (models: {percent(min(found))} to {percent(max(found))})"


LOST_CELLS = ("cells_among_numbers", "cells_in_another_form", "cells_not_as_declared", "points_between_figures")
"""Keys of the owner's measures that `lost_cells` puts into words."""
_OUTSIDE = "outside its declared bounds, categories or form, clamped or missing as its `outside` says"
_MOSTLY = "Hardly anything of the column is released: declare its categories or bounds, or its type, such as a date."
_NO_NUMBERS = (
    'no numbers, so that it is read as categories: list their text in missing_values, or declare type = "text"'
)

_FORM = (
    "numbers with a decimal comma, thousands, a per cent sign or a currency, so that it is read as categories: declare "
    'decimal, thousands, percent or currency, or type = "text"'
)
_GROUPS = (
    "whole numbers beside ones with three figures behind a point, which is read as a decimal point. If it parts "
    'thousands, declare thousands = "." and decimal = ","'
)


def lost_cells(owner: Mapping[str, Any], *, counted: bool) -> Iterator[str]:
    """Yield a sentence for each column with cells that may not be read as they are meant.

    Such are strings among numbers, numbers in an undeclared form, cells outside what is declared, and `1.234` beside
    `900`.

    Parameters
    ----------
    owner : mapping
        The owner's measures, as `Release.owner` has them.
    counted : bool
        How many cells it are is part of the sentence, which is the owner's alone then.

    Privacy
    -------
    Computed from the source and covered by no promise. Without counts it has a bit for each column, of which
    k-anonymity says nothing; under differential privacy no such sentence may leave.
    """
    for name, cells in owner.get("cells_among_numbers", {}).items():
        odd, of = cells["no_numbers"], cells["cells"]
        which = f"{number(odd)} of {number(of)} cells ({percent(odd / of)})" if counted else "cells"
        yield f"Column {name!r} has {which} that are {_NO_NUMBERS}."
    for name, cells in owner.get("cells_in_another_form", {}).items():
        which = f"{number(cells['numbers'])} of {number(cells['cells'])} cells" if counted else "cells"
        yield f"Column {name!r} has {which} that are {_FORM}."
    for name, cells in owner.get("cells_not_as_declared", {}).items():
        if cells.get("outside"):
            count = f"{number(cells['outside'])} " if counted else ""
            filled = cells.get("filled")
            most = f": {percent(cells['outside'] / filled)} of them. {_MOSTLY}" if counted and filled else "."
            yield f"Column {name!r} has {count}cells {_OUTSIDE}{most}"
    for name in owner.get("points_between_figures", ()):
        yield f"Column {name!r} has {_GROUPS}."
