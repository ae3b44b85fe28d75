# SPDX-License-Identifier: Apache-2.0
"""Boxes shown as narrow as their rows: the parts of every axis that the rows of a box have, as they are published.

The tree of a local recoding says in which box a row is. What the box shows may be less than what the tree leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.published.recoding.box_routes import HeldParts


@dataclass(frozen=True, kw_only=True)
class NarrowedBoxes:
    """The parts that every box shows; boxes that show the same parts of an axis share one set."""

    sets: tuple[tuple[tuple[int, ...], ...], ...]
    """Of every axis its different sets of parts, each ascending."""
    held: tuple[tuple[int, ...], ...]
    """Of every leaf, in the order of their numbers, the index of its set of each axis."""

    def shown(self, found: HeldParts, leaves: Sequence[int]) -> HeldParts:
        """Return what boxes show in place of what the tree leaves them, in the same order.

        Parameters
        ----------
        found : HeldParts
            Of the leaves where a row can be.
        leaves : sequence of int
            The numbers of all leaves, ascending.
        """
        place = np.searchsorted(np.array(leaves), np.array(found.nodes, dtype=np.int64))
        held = np.array(self.held, dtype=np.int64).reshape(len(self.held), len(self.sets))[place]
        sets = tuple(tuple(np.array(members, dtype=np.int64) for members in of_axis) for of_axis in self.sets)
        return HeldParts(nodes=found.nodes, held=held, sets=sets)

    def to_dict(self) -> dict[str, Any]:
        """Return the boxes in their form in `params.json`: a set is written as the ends of its runs of parts."""
        return {
            "sets": [[list(_runs(members)) for members in of_axis] for of_axis in self.sets],
            "boxes": [list(box) for box in self.held],
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], sizes: Sequence[int], n_boxes: int) -> NarrowedBoxes:
        """Read the boxes back.

        Parameters
        ----------
        sizes : sequence of int
            Parts of each axis.
        n_boxes : int
            Leaves of the tree.

        Raises
        ------
        ValueError, TypeError, KeyError, IndexError
            They are none of such a tree.
        """
        sets = tuple(
            tuple(_members(ends, size) for ends in of_axis) for of_axis, size in zip(raw["sets"], sizes, strict=True)
        )
        held = tuple(tuple(int(at) for at in box) for box in raw["boxes"])
        if len(held) != n_boxes or any(len(box) != len(sets) for box in held):
            raise ValueError("boxes")
        if any(not 0 <= at < len(of_axis) for box in held for at, of_axis in zip(box, sets, strict=True)):
            raise ValueError("a set that there is not")
        return cls(sets=sets, held=held)


def is_shown(found: HeldParts, sizes: Sequence[int], box: IntArray, codes: Sequence[NDArray[np.int64]]) -> BoolArray:
    """Return which rows are in what their box shows, shape (n_rows,).

    Parameters
    ----------
    box : IntArray
        Row of `found.held` of the box of each row, shape (n_rows,).
    codes : sequence of ndarray
        Part of each row, one array an axis.
    """
    inside = np.ones(box.size, dtype=bool)
    for axis, (parts, size) in enumerate(zip(codes, sizes, strict=True)):
        members = found.sets[axis]
        of_set = np.zeros(len(members) * size, dtype=bool)
        of_set[np.repeat(np.arange(len(members)) * size, [one.size for one in members]) + np.concatenate(members)] = 1
        inside &= of_set[found.held[box, axis] * size + parts]
    return inside


def _runs(members: Sequence[int]) -> Iterator[int]:
    """Yield the first and the last part of every run, one after the other."""
    for at, part in enumerate(members):
        if at == 0 or members[at - 1] != part - 1:
            yield part
        if at + 1 == len(members) or members[at + 1] != part + 1:
            yield part


def _members(ends: Sequence[int], size: int) -> tuple[int, ...]:
    ends = [int(end) for end in ends]
    pairs = list(zip(ends[::2], ends[1::2], strict=True))
    members = tuple(chain.from_iterable(range(first, last + 1) for first, last in pairs if 0 <= first <= last < size))
    if not members or list(_runs(members)) != ends:
        raise ValueError("no set of parts")
    return members
