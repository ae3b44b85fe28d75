# SPDX-License-Identifier: Apache-2.0
"""Boxes that show less than the tree of a recoding leaves them: what `params.json` says, read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Region = list[frozenset[int]]
"""The parts of every axis that a box holds."""


def shown_by_box(recoding: Mapping[str, Any], sizes: Sequence[int]) -> dict[int, Region]:
    """Return the parts of every axis that each box shows, by the number of its node; none where it shows all.

    Raises
    ------
    LookupError, ValueError, TypeError
        They are none of this tree: a set that is empty, written in two ways or not of its axis, a box too many.
    """
    if "narrowed" not in recoding:
        return {}
    block = recoding["narrowed"]
    if set(block) != {"sets", "boxes"} or recoding.get("merged", False) or len(block["sets"]) != len(sizes):
        raise ValueError("no boxes of one table")
    sets = [[_set(ends, size) for ends in of_axis] for of_axis, size in zip(block["sets"], sizes, strict=True)]
    leaves = [number for number, node in enumerate(recoding["nodes"]) if node is None]
    if len(block["boxes"]) != len(leaves):
        raise ValueError("not a line a box")
    shown = {}
    for number, box in zip(leaves, block["boxes"], strict=True):
        if any(type(at) is not int or at < 0 for at in box):
            raise ValueError("no number of a set")
        shown[number] = [of_axis[at] for of_axis, at in zip(sets, box, strict=True)]
    return shown


def within(narrow: Region, region: Sequence[frozenset[int]]) -> Region:
    """Return what a box may show of what is published: nothing that the tree does not leave it.

    Raises
    ------
    ValueError
        That is nothing of some axis.
    """
    shown = [narrowed & held for narrowed, held in zip(narrow, region, strict=True)]
    if not all(shown):
        raise ValueError("a box shows what it does not hold")
    return shown


def _set(ends: Sequence[int], size: int) -> frozenset[int]:
    """Return a set from the first and last parts of its runs, which neither touch nor overlap."""
    if not ends or len(ends) % 2 or any(type(end) is not int for end in ends):
        raise ValueError("no ends")
    firsts, lasts = ends[::2], ends[1::2]
    if firsts[0] < 0 or lasts[-1] >= size or any(first > last for first, last in zip(firsts, lasts, strict=True)):
        raise ValueError("no runs of parts")
    if any(last + 1 >= first for last, first in zip(lasts, firsts[1:], strict=False)):
        raise ValueError("runs that touch")
    return frozenset(part for first, last in zip(firsts, lasts, strict=True) for part in range(first, last + 1))
