# SPDX-License-Identifier: Apache-2.0
"""The grid of two, three or all attributes: splits of the first levels of a tree that follow from public facts alone.

Where the class depends on some attributes together and on none alone, a choice of one split after the other has
nothing to go by. If they are known, no choice is needed: their values are divided until each leaf is a cell of
their table. Nothing of it depends on a row, so it costs nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

Division = tuple[int, int]
"""Number of an attribute, and number of its split."""
_Box = tuple[tuple[int, int], ...]
"""The groups of each attribute that a node holds: from, and up to."""


@dataclass(frozen=True, kw_only=True)
class AttributeSize:
    """The public size of an attribute."""

    codes: int
    """Its values, missing included."""
    cells: int = 0
    """Cells of a number; 0 for categories."""
    has_missing: bool = False
    """True where the last of the values is missing."""

    @property
    def is_number(self) -> bool:
        """True for a number."""
        return self.cells > 0

    def n_groups(self, most: int) -> int:
        """Return the number of groups of its values, where most cells of a number are distinguished."""
        return min(self.cells, most) + self.codes - self.cells if self.is_number else self.codes

    def groups(self, most: int) -> tuple[int, ...]:
        """Return the group of each code, from 0 on: neighbouring cells of a number together; missing stays apart."""
        if not self.is_number:
            return tuple(range(self.codes))
        few = min(self.cells, most)
        return (*(code * few // self.cells for code in range(self.cells)), *[few] * (self.codes - self.cells))

    def merged(self, most: int) -> tuple[int, ...]:
        """Return the group of each code as `groups`, with missing in the group of the last value: groups are fewer."""
        groups = self.groups(most)
        return (*groups[:-1], groups[-2]) if self.has_missing and len(groups) > 1 else groups

    def steps_to_one(self, groups: int) -> int:
        """Return how many divisions lead from so many groups to one, at most: halves of a number, words one by one."""
        return (groups - 1).bit_length() if self.is_number else groups - 1


@dataclass(frozen=True, kw_only=True)
class PairGrid:
    """The division of a tree into the cells of two, three or all attributes.

    The groups of a number are halved, categories are taken off one by one; the attribute is divided first that has
    most levels to go, and the earliest one where several have as many.
    """

    places: tuple[int, ...]
    """Numbers of the attributes in their schema."""
    attributes: tuple[AttributeSize, ...]
    """Those attributes."""
    apart: int
    """Most cells of a number that are distinguished."""
    is_merged: bool = False
    """True where missing is in the group of the last value."""

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
        return sum(own.steps_to_one(size) for own, size in zip(self.attributes, self._sizes, strict=True))

    @property
    def cells(self) -> int:
        """Number of cells: leaves of the grid."""
        return math.prod(self._sizes)

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(groups[-1] + 1 for groups in self._groups)

    @cached_property
    def _groups(self) -> tuple[tuple[int, ...], ...]:
        return tuple(own.merged(self.apart) if self.is_merged else own.groups(self.apart) for own in self.attributes)

    def _division(self, node: _Box) -> Division | None:
        to_go = [own.steps_to_one(upper - lower) for own, (lower, upper) in zip(self.attributes, node, strict=True)]
        if not any(to_go):
            return None
        at = to_go.index(max(to_go))
        if not self.attributes[at].is_number:
            return at, node[at][0]
        return at, bisect_left(self._groups[at], self._middle(*node[at])) - 1

    def _below(self, node: _Box, at: int) -> list[_Box]:
        lower, upper = node[at]
        middle = self._middle(lower, upper) if self.attributes[at].is_number else lower + 1
        parts = (lower, middle), (middle, upper)
        return [(*node[:at], own, *node[at + 1 :]) for own in parts]

    @staticmethod
    def _middle(lower: int, upper: int) -> int:
        return (lower + upper) // 2
