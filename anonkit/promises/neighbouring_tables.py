# SPDX-License-Identifier: Apache-2.0
"""The neighbour relation of a promise, the meaning of a delta among its rows or people, and the words for both.

One record comes or goes (`ADD_OR_REMOVE`), or has other values (`REPLACE`); a record is a row, or all rows of a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"
MOST_SHOWN = 0.01
"""Rows or people whom the worst release within an (epsilon, delta) promise shows on average, at most: delta times all
of them. More is not far below one in them."""
CHANGES = {ADD_OR_REMOVE: "added or removed", REPLACE: "replaced"}
"""Difference of a record between neighbours, in words."""
_HAIR = 1 + 1e-12
"""Error bound of floating-point numbers of a delta."""


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two tables that a promise compares: what differs between them."""

    adjacency: str
    """`ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Column whose values are the people, all rows of one of whom differ; None: one row does."""

    @property
    def changed(self) -> str:
        """The difference of neighbours, as in `D with one record added or removed`."""
        unit = "one record" if self.unit is None else f"all records of one value of {self.unit!r}"
        return f"{unit} {CHANGES[self.adjacency]}"

    @property
    def in_short(self) -> str:
        """The difference of neighbours, in short: `one row added or removed`, `one value of 'patient' replaced`."""
        whose = "one row" if self.unit is None else f"one value of {self.unit!r}"
        return f"{whose} {CHANGES[self.adjacency]}"

    @property
    def counted(self) -> str:
        """The number that delta is compared with: `rows`, or `people`."""
        return "rows" if self.unit is None else "people"


def changed_rows(rows_per_unit: int, adjacency: str) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    return rows_per_unit * (2 if adjacency == REPLACE else 1)


def is_far_below(delta: float, protected: int) -> bool:
    """Return True if a delta is far below one in so many rows or people."""
    return delta * protected <= MOST_SHOWN * _HAIR


def most_protected(delta: float) -> int:
    """Return the most rows or people in whom a delta above 0 is far below one."""
    return math.floor(MOST_SHOWN * _HAIR / delta)


def fewest_protected(rows: int, rows_per_unit: int) -> int:
    """Return the least number of rows or people, of whom so many rows were used."""
    return -(-rows // max(rows_per_unit, 1))  # a report of others may say 0
