# SPDX-License-Identifier: Apache-2.0
"""The grid of two or three attributes: splits of the first levels of a tree that follow from public facts alone.

Where the class depends on some attributes together and on none alone, a choice of one split after the other has
nothing to go by. If they are known, no choice is needed: their values are divided until each leaf is a cell of
their table. Nothing of it depends on a row, so it costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonkit.domains.array_types import IntArray
from anonkit.published.tree_attributes import Attribute

Division = tuple[int, int]
"""Number of an attribute, and number of its split."""
_Box = tuple[tuple[int, int], ...]
"""The groups of each attribute that a node holds: from, and up to."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairGrid:
    """The division of a tree into the cells of two or three attributes.

    The groups of a number are halved, categories are taken off one by one; the attribute is divided first that has
    most levels to go, and the earliest one where several have as many.
    """

    places: tuple[int, ...]
    """Numbers of the attributes in their schema."""
    attributes: tuple[Attribute, ...]
    groups: tuple[IntArray, ...]
    """For each of them the group of each code, shape (codes,): ascending from 0 on; of categories each its own."""

    @cached_property
    def levels(self) -> tuple[tuple[Division | None, ...], ...]:
        """For each level the division of each of its nodes, in the order of their parents; None for a leaf."""
        nodes: list[_Box] = [tuple((0, size) for size in self._sizes)]
        out: list[tuple[Division | None, ...]] = []
        while any(level := [self._division(node) for node in nodes]):
            out.append(tuple(None if one is None else (self.places[one[0]], one[1]) for one in level))
            divided = [(node, one) for node, one in zip(nodes, level, strict=True) if one is not None]
            nodes = [child for node, (at, _) in divided for child in self._below(node, at)]
        return tuple(out)

    @property
    def depth(self) -> int:
        """Number of levels, without dividing anything: the deepest leaf takes all steps of all attributes."""
        return sum(self._to_go(at, 0, size) for at, size in enumerate(self._sizes))

    @property
    def cells(self) -> int:
        """Number of cells: leaves of the grid."""
        return math.prod(self._sizes)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(int(groups.max()) + 1 for groups in self.groups)

    def _division(self, node: _Box) -> Division | None:
        to_go = [self._to_go(at, *own) for at, own in enumerate(node)]
        if not any(to_go):
            return None
        at = int(np.argmax(to_go))
        lower = node[at][0]
        if not self._is_halved(at):
            return at, lower
        return at, int(np.searchsorted(self.groups[at], self._middle(*node[at]))) - 1

    def _below(self, node: _Box, at: int) -> list[_Box]:
        lower, upper = node[at]
        middle = self._middle(lower, upper) if self._is_halved(at) else lower + 1
        parts = (lower, middle), (middle, upper)
        return [(*node[:at], own, *node[at + 1 :]) for own in parts]

    def _to_go(self, at: int, lower: int, upper: int) -> int:
        return steps_to_one(self.attributes[at], upper - lower)

    def _is_halved(self, at: int) -> bool:
        return self.attributes[at].is_number

    @staticmethod
    def _middle(lower: int, upper: int) -> int:
        return (lower + upper) // 2


def steps_to_one(attribute: Attribute, groups: int) -> int:
    """Return how many divisions lead from so many groups of an attribute to one, at most."""
    return (groups - 1).bit_length() if attribute.is_number else groups - 1
