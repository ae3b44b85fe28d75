# SPDX-License-Identifier: Apache-2.0
"""Cells of the source that a release could not use unchanged, in words: with counts, and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.report.wording import number, percent

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
