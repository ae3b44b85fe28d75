# SPDX-License-Identifier: Apache-2.0
"""Cells of the source that a release could not use unchanged, in words: with counts, and without.

The risk in a population of a report: first in sentences, then as a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.report.wording import number, one_in, percent

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
