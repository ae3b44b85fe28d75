"""The grid of a hierarchy: groups of ticked values, levels, and the rows that a policy takes."""

from __future__ import annotations

import pytest

from anonkit.desk.column_editor import HierarchyGrid, ticked_lines
from anonkit.errors import PolicyError
from anonkit.policy.side_files import check_tree

FLAT = HierarchyGrid.of_rows([], ["flu", "cold", "burn"])


def test_ticked_values_become_a_group_below_one_that_holds_all() -> None:
    """A value that is in no group is its own; the rows are a tree of the policy."""
    rows = FLAT.grouped([0, 1], 1, " respiratory ").rows()
    assert rows == [["flu", "respiratory", "any"], ["cold", "respiratory", "any"], ["burn", "burn", "any"]]
    check_tree("here", rows)


def test_a_value_that_is_moved_takes_the_coarser_groups_of_the_others() -> None:
    """Else a group would be in two coarser ones, which no policy takes."""
    grid = HierarchyGrid.of_rows([["a", "x", "left"], ["b", "y", "right"], ["c", "y", "right"]])
    rows = grid.grouped([0, 1], 1, "z").rows()
    assert rows == [["a", "z", "left", "any"], ["b", "z", "left", "any"], ["c", "y", "right", "any"]]
    check_tree("here", rows)


def test_a_form_gives_back_the_grid_that_it_holds() -> None:
    """With values that are markup, empty, or in another script."""
    grid = HierarchyGrid.of_rows([["<b>", "g", "any"], ["", "g", "any"], ["שלום", "h", "any"]])
    assert HierarchyGrid.of_fields({**grid.fields(), "group-name": "g", "group-level": "1"}) == grid
    assert ticked_lines({"tick-2": "yes", "tick-x": "yes", "tick-0": "yes"}) == [2, 0]


def test_values_that_a_hierarchy_lacks_are_lines_without_groups() -> None:
    """A new value is its own group until it is given one."""
    grid = HierarchyGrid.of_rows([["a", "x", "any"]], ["a", "b"])
    assert grid.rows() == [["a", "x", "any", "any"], ["b", "b", "b", "any"]]


def test_levels_come_and_go() -> None:
    """The one that is added holds all."""
    assert FLAT.rows() == []
    assert FLAT.with_level().rows() == [[value, "any"] for value in FLAT.values]
    assert FLAT.with_level().without_level() == FLAT


@pytest.mark.parametrize(
    ("ticked", "level", "name"), [([], 1, "g"), ([0], 1, " "), ([0], 0, "g"), ([0], 9, "g"), ([7], 1, "g")]
)
def test_a_group_that_cannot_be_is_refused(ticked: list[int], level: int, name: str) -> None:
    """Nothing ticked, no name, a level that is none, a line that is not there."""
    with pytest.raises(PolicyError):
        FLAT.grouped(ticked, level, name)


def test_a_form_that_is_not_whole_is_refused() -> None:
    """Lines are numbered without a gap, and each has every level."""
    with pytest.raises(PolicyError):
        HierarchyGrid.of_fields({"value-0": "a", "value-2": "b"})
    with pytest.raises(PolicyError):
        HierarchyGrid.of_fields({"value-0": "a", "value-1": "b", "group-0-0": "g", "group-0-1": "h"})
