# SPDX-License-Identifier: Apache-2.0
"""Names of H3 cells, read once more: the numbers that a cell takes up among those of the finest resolution.

By strings of bits alone; where a cell is on the map is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

_NAME = re.compile(r"8[0-9a-f]{14}")
_DIGITS = 15
_EVERYWHERE = "*"


def numbers_of(name: str, finest: int) -> tuple[int, int] | None:
    """Return the first number of a cell, and the first after it; None where the name is that of no cell."""
    if _NAME.fullmatch(name) is None:
        return None
    bits = f"{int(name, 16):064b}"
    resolution, base = int(bits[8:12], 2), int(bits[12:19], 2)
    digits = [int(bits[19 + 3 * at : 22 + 3 * at], 2) for at in range(_DIGITS)]
    used, unused = digits[:resolution], digits[resolution:]
    if bits[5:8] != "000" or base > 121 or 7 in used or set(unused) - {7} or resolution > finest:
        return None
    below = finest - resolution
    first = int("".join(map(str, [*used, *[0] * below])) or "0", 7) + base * 7**finest
    return first, first + 7**below


def is_cell_label(label: str | None, members: Sequence[int], cuts: Sequence[str], place: Mapping[str, Any]) -> bool:
    """Return True if neighbouring parts between cuts are exactly the cell that a label names.

    Parameters
    ----------
    members : sequence of int
        The parts: part i lies between cut i - 1 and cut i.
    cuts : sequence of str
        Numbers of cells of the finest resolution.
    place : mapping
        What the params state of it.
    """
    if label is None:
        return False
    parts, resolutions = sorted(members), place["resolutions"]
    if parts != list(range(parts[0], parts[-1] + 1)) or not parts[0] >= 1 or parts[-1] >= len(cuts):
        return False
    numbers = numbers_of(label, max(resolutions))
    if numbers is None or int(label[1], 16) not in resolutions:
        return False
    return (cuts[parts[0] - 1], cuts[parts[-1]]) == tuple(map(str, numbers))


def wrong_outlines(told: Mapping[str, Any], shown: Collection[str | None]) -> int:
    """Count the cells that rows show and that the params do not outline, and outlines that contradict themselves."""
    wrong = len({cell for cell in shown if cell not in (None, _EVERYWHERE)} - set(told))
    for outline in told.values():
        (latitude, longitude), (south, west, north, east) = outline["center"], outline["bounds"]
        across = west <= longitude <= east if west <= east else longitude >= west or longitude <= east
        wrong += not (south <= latitude <= north and across)
    return wrong
