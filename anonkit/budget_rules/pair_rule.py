# SPDX-License-Identifier: Apache-2.0
"""The public rule of pairs, triples and all of the attributes: which tables are looked at, and which grid leads a tree.

It follows from the sizes of attributes, from epsilon, and from a number of rows that is public or noisy.

The grid of two, three or all attributes: splits of the first levels of a tree that follow from public facts alone.

Where the class depends on some attributes together and on none alone, a choice of one split after the other has
nothing to go by. If they are known, no choice is needed: their values are divided until each leaf is a cell of
their table. Nothing of it depends on a row, so it costs nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import combinations

import numpy as np

from anonkit.budget_rules.tree_rule import choice_share, least_gain

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
        """Return the most divisions that lead from so many groups to one: halves of a number, words one by one."""
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


# 8 and 16 of epsilon times rows for each cell were chosen on ten simulated tables (docs/methods/details/dp_forest.md,
# "What the pair brought"); limits of cells, levels and candidates are conventions that bound memory and time.
MOST_CELLS = 8
"""Cells of a number that are distinguished."""
ROWS_A_CELL = 16
"""Rows for each cell of the table of a pair by class, at least: chance alone makes sparser tables look dependent."""
_MOST_CELLS_COUNTED = 1 << 21
"""Cells of all pairs together that are counted at once: those of the smallest tables."""
CHANCE = 0.4
"""Distance that chance makes of independent rows, times the root of cells over rows: half of the root of 2 / pi."""
_STRENGTH_A_CELL = 8
"""Product of epsilon and rows for each cell of the table of a pair by class, at least."""
_FINER_CELLS = (32, 16)
_STRENGTH_A_FINER_CELL = 16
"""The same for each cell of the grid of a tree that distinguishes more cells of numbers than the choice does."""
_MOST_LEVELS = 12
"""Levels of a grid: categories are taken off one by one."""
MOST_FEW_CELLS = 4
"""Cells of a number, or categories, of an attribute that is one of three; missing is one more."""
_MOST_TRIPLES = 5_000
_COUNTS_AS = 8
"""Pairs that a triple counts as in the price: none is taken where nothing gains anything in 98 of 100 releases."""
_MOST_ROW_LOOKS = 1 << 28
"""Triples times rows at most."""
FEWEST_JOINT = 4
"""Attributes from which on all of them together are more than a triple."""
_ROWS_A_JOINT_CELL = 8
"""Rows for each cell of the table of all attributes by class, at least: half of what pairs have, as it is one table."""
MOST_ROUTES = 1 << 26
"""Nodes times codes of a tree at most."""

Pair = tuple[int, int]
Triple = tuple[int, int, int]
Places = tuple[int, ...]
"""Numbers of two, three or all attributes."""


@dataclass(frozen=True, kw_only=True)
class PairRule:
    """The pairs of attributes that have rows enough for a table by class, and what is chosen among them."""

    attributes: tuple[AttributeSize, ...]
    classes: int
    rows: float
    """Number of rows, public or noisy."""
    epsilon: float = 0.0
    """Privacy loss of one row allowed for everything that follows."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of groups of each attribute."""
        return tuple(own.n_groups(MOST_CELLS) for own in self.attributes)

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs that are looked at."""
        first, second = np.triu_indices(len(self.sizes), 1)
        sizes = np.array(self.sizes, dtype=np.int64)
        cells = self.classes * sizes[first] * sizes[second]
        (enough,) = np.nonzero(cells * ROWS_A_CELL <= self.rows)
        smallest = enough[np.argsort(cells[enough], kind="stable")]
        affordable = np.sort(smallest[np.cumsum(cells[smallest]) <= _MOST_CELLS_COUNTED])
        return tuple(zip(first[affordable].tolist(), second[affordable].tolist(), strict=True))

    def cells(self, pair: Pair) -> int:
        """Return the number of cells of the table of a pair by class."""
        return self.classes * self.sizes[pair[0]] * self.sizes[pair[1]]

    def chance(self, cells: int) -> float:
        """Return a bound on the distance by chance of a table of so many cells from independence, in rows."""
        return CHANCE * math.sqrt(cells * self.rows)

    @cached_property
    def candidates(self) -> tuple[Pair, ...]:
        """The pairs that may lead a tree."""
        strength = self.epsilon * self.rows
        steps = [own.steps_to_one(size) for own, size in zip(self.attributes, self.sizes, strict=True)]
        return tuple(
            (first, second)
            for (first, second), cells in zip(self.pairs, map(self.cells, self.pairs), strict=True)
            if cells * _STRENGTH_A_CELL <= strength
            and self._is_small(steps[first] + steps[second], cells // self.classes)
        )

    @cached_property
    def triples(self) -> tuple[Triple, ...]:
        """The triples that may: of the attributes with fewest cells, and none where they would cost more."""
        known = len(self.candidates)
        if not known:
            return ()
        price = partial(choice_share, epsilon=self.epsilon, rows=self.rows)
        sizes = [own.n_groups(MOST_FEW_CELLS) for own in self.attributes]
        strength = min(self.epsilon * self.rows / _STRENGTH_A_CELL, self.rows / ROWS_A_CELL) / self.classes
        order = sorted((size, at) for at, size in enumerate(sizes) if 1 < size <= MOST_FEW_CELLS + 1)
        while order and (
            math.comb(len(order), 3) > min(_MOST_TRIPLES, _MOST_ROW_LOOKS / max(self.rows, 1.0))
            or price(pairs=known + _COUNTS_AS * math.comb(len(order), 3)) != price(pairs=known)
            or math.prod(size for size, _ in order[-3:]) > strength
            or not self._is_small(0, math.prod(size for size, _ in order[-3:]))
        ):
            order.pop()
        return tuple(combinations(sorted(at for _, at in order), 3))

    @cached_property
    def joint(self) -> tuple[Places, ...]:
        """All attributes, where they may: their table is small, and they cost nothing more beside the triples."""
        places = tuple(range(len(self.attributes)))
        if not self.triples or len(places) < FEWEST_JOINT:
            return ()
        grid, known = self.grid(places, 0.0), len(self.candidates)
        cells, price = self.classes * grid.cells, partial(choice_share, epsilon=self.epsilon, rows=self.rows)
        is_candidate = (
            cells * _STRENGTH_A_CELL <= self.epsilon * self.rows
            and cells * _ROWS_A_JOINT_CELL <= self.rows
            and self._is_small(grid.depth, grid.cells)
            and price(pairs=known + _COUNTS_AS * (len(self.triples) + 1)) == price(pairs=known)
        )
        return (places,) if is_candidate else ()

    @property
    def number(self) -> int:
        """Number of candidates: pairs, triples and all attributes."""
        return len(self.candidates) + len(self.triples) + len(self.joint)

    def least_gain(self, paid: float) -> int:
        """Return the gain from which on a candidate leads the tree, in rows, for an epsilon that the choice costs."""
        return math.floor(least_gain(epsilon=paid, rows=self.rows, pairs=self.number) * self.rows)

    def grid(self, places: Places, strength: float) -> PairGrid:
        """Return the grid of chosen attributes, of a pair as fine as its counts have rows for their noise.

        Parameters
        ----------
        places : tuple of int
        strength : float
            Product of epsilon and the number of rows.
        """
        if len(places) > 2:
            return replace(self._grid(places, MOST_FEW_CELLS), is_merged=len(places) >= FEWEST_JOINT)
        enough = (
            grid
            for grid in (self._grid(places, cells) for cells in _FINER_CELLS)
            if _STRENGTH_A_FINER_CELL * self.classes * grid.cells <= strength and self._is_small(grid.depth, grid.cells)
        )
        return next(enough, self._grid(places, MOST_CELLS))

    def _grid(self, places: Places, apart: int) -> PairGrid:
        return PairGrid(places=places, attributes=tuple(self.attributes[at] for at in places), apart=apart)

    def _is_small(self, depth: int, cells: int) -> bool:
        """Return True if a tree may begin with a grid: few levels, and few routes of its nodes for all codes."""
        return depth <= _MOST_LEVELS and 2 * cells * self._most_codes <= MOST_ROUTES

    @cached_property
    def _most_codes(self) -> int:
        return max((own.codes for own in self.attributes), default=1)


def choice_share_of(rule: PairRule, *, trees: int, in_cells: bool, is_free: bool) -> Fraction:
    """Return the share of epsilon for the choice among the candidates of a rule; 0 where there is no choice.

    Parameters
    ----------
    rule : PairRule
    trees : int
    in_cells : bool
        True where leaves are released as cells: no pair leads them.
    is_free : bool
        False where the owner declares the depth of trees: no pair leads them then.
    """
    price = partial(choice_share, epsilon=rule.epsilon, rows=rule.rows, trees=trees)
    if not is_free or in_cells or not price(pairs=1):  # else pairs are not even looked for
        return Fraction(0)
    return price(pairs=len(rule.candidates))
