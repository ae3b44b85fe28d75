# SPDX-License-Identifier: Apache-2.0
"""Which two tables a central promise compares: one record more or less, or one record with other values."""

from __future__ import annotations

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"


def changed_rows(rows_per_unit: int, adjacency: str) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    return rows_per_unit * (2 if adjacency == REPLACE else 1)
