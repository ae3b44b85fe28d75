# SPDX-License-Identifier: Apache-2.0
"""Cells of the source that a release could not use as they stand, in words: with counts, and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.report.wording import number, percent

_OUTSIDE = "outside its declared bounds, categories or form, clamped or missing as its `outside` says"
_NO_NUMBERS = (
    'no numbers, so that it is read as categories: list their text in missing_values, or declare type = "text"'
)


def lost_cells(owner: Mapping[str, Any], *, counted: bool) -> Iterator[str]:
    """Yield a sentence for each column with cells outside its declaration, or with texts among its numbers.

    Parameters
    ----------
    owner : mapping
        The owner's measures, as `Release.owner` has them.
    counted : bool
        How many cells it are is part of the sentence, which is the owner's alone then.

    Privacy
    -------
    Computed from the source and covered by no promise. Without counts it tells of a column that one such cell is there,
    which k-anonymity does not deny; under differential privacy no such sentence may leave.
    """
    for name, cells in owner.get("cells_among_numbers", {}).items():
        odd, of = cells["no_numbers"], cells["cells"]
        which = f"{number(odd)} of {number(of)} cells ({percent(odd / of)})" if counted else "cells"
        yield f"Column {name!r} has {which} that are {_NO_NUMBERS}."
    for name, cells in owner.get("cells_not_as_declared", {}).items():
        if cells.get("outside"):
            count = f"{number(cells['outside'])} " if counted else ""
            yield f"Column {name!r} has {count}cells {_OUTSIDE}."
