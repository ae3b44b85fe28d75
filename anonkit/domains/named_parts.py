# SPDX-License-Identifier: Apache-2.0
"""The interface of hierarchies whose parts have public names and ends: those of the calendar, and cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from anonkit.domains.array_types import IntArray
from anonkit.domains.interval_ends import Point


class NamedParts(Protocol):
    """Levels of an ordered column, finest first; every part of a level lies in one part of each coarser level."""

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        ...

    @property
    def exact(self) -> bool:
        """True when the finest level keeps all of a cell, so that cells may be released as they are."""
        ...

    @property
    def shows_gaps(self) -> bool:
        """True when what lies between named parts has a name of its own, by its ends; else it is `*`."""
        ...

    def numbers(self, values: Sequence[Any], level: int) -> IntArray:
        """Return the number of the part that holds each value, shape (n_values,)."""
        ...

    def part(self, value: Any, level: int) -> tuple[Point, Point | None, str]:
        """Return the first point of the part of a value, that of the next part if there is one, and the name."""
        ...
