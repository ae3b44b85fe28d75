# SPDX-License-Identifier: Apache-2.0
"""Which two tables a promise compares: one record more or less, or with other values; a row or all of a person."""

from __future__ import annotations

from dataclasses import dataclass

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two tables that a promise compares: what differs between them."""

    adjacency: str
    """`ADD_OR_REMOVE` or `REPLACE`."""
    unit: str | None = None
    """Column whose values are the people, all rows of one of whom differ; None: one row does."""


def changed_rows(rows_per_unit: int, adjacency: str) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    return rows_per_unit * (2 if adjacency == REPLACE else 1)
