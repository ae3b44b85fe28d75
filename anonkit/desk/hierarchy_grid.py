# SPDX-License-Identifier: Apache-2.0
"""A hierarchy as a grid that is edited in the page: a line a value, a column a level, groups made of ticked values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anonkit.errors import PolicyError

LONGEST = 200
"""Values of a column at most that are edited as a grid; a longer hierarchy is edited as CSV."""
_DEEPEST = 8
_ALL = "any"
_GROUP = re.compile(r"group-[0-9]+-[0-9]+")


@dataclass(frozen=True, kw_only=True)
class HierarchyGrid:
    """Values of a column, and the group of each on every level, the coarsest last; every change returns another one."""

    values: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    """Shape (n_values, n_levels); a group may be empty while it is edited."""

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[str]], values: Sequence[str] = ()) -> HierarchyGrid:
        """Take a hierarchy, and values that it does not have yet; without a hierarchy there is no level."""
        levels = len(rows[0]) - 1 if rows else 0
        known = {row[0] for row in rows}
        more = [value for value in values if value not in known]
        return cls(
            values=(*(row[0] for row in rows), *more),
            groups=(*(tuple(row[1:]) for row in rows), *(("",) * levels for _ in more)),
        )

    @classmethod
    def of_fields(cls, fields: Mapping[str, str]) -> HierarchyGrid:
        """Read the grid that a form holds: `value-I` and `group-I-L`, numbered from 0.

        Raises
        ------
        PolicyError
            Lines are missing, or not of one length.
        """
        n_values = sum(name.startswith("value-") for name in fields)
        n_groups = sum(_GROUP.fullmatch(name) is not None for name in fields)
        levels = n_groups // n_values if n_values else 0
        try:
            values = tuple(fields[f"value-{at}"] for at in range(n_values))
            groups = tuple(
                tuple(fields[f"group-{at}-{level}"].strip() for level in range(levels)) for at in range(n_values)
            )
        except KeyError:
            raise PolicyError("the form is not whole", "load the page again") from None
        return cls(values=values, groups=groups)

    def fields(self) -> dict[str, str]:
        """Return what `of_fields` reads."""
        found = {f"value-{at}": value for at, value in enumerate(self.values)}
        for at, path in enumerate(self.groups):
            found |= {f"group-{at}-{level}": group for level, group in enumerate(path)}
        return found

    @property
    def levels(self) -> int:
        """Levels above the values."""
        return len(self.groups[0]) if self.groups else 0

    def with_level(self) -> HierarchyGrid:
        """Return the grid with one coarser level, whose one group holds all.

        Raises
        ------
        PolicyError
            It has as many levels as can be read.
        """
        if self.levels >= _DEEPEST:
            raise PolicyError(f"a hierarchy has {_DEEPEST} levels at most here", "import a deeper one as CSV")
        return replace(self, groups=tuple((*path, _ALL) for path in self.groups))

    def without_level(self) -> HierarchyGrid:
        """Return the grid without its coarsest level."""
        return replace(self, groups=tuple(path[:-1] for path in self.groups))

    def grouped(self, ticked: Sequence[int], level: int, name: str) -> HierarchyGrid:
        """Return the grid in which ticked values are one group of a level; levels are made up to it.

        Values that shared a group with a ticked one stay where they are; coarser groups are those of the first ticked
        value, since a group is in one coarser group.

        Raises
        ------
        PolicyError
            Nothing is ticked, the group has no name, or the level cannot be.
        """
        if not ticked or not name.strip():
            raise PolicyError("a group needs ticked values and a name", "tick values, name the group, press Group")
        if not 1 <= level <= _DEEPEST:
            raise PolicyError(f"a level is a whole number from 1 to {_DEEPEST}")
        grid = self
        while grid.levels < level:  # a value that is in no group yet is its own
            grid = replace(grid, groups=tuple((*path, "") for path in grid.groups))
        wanted = {at for at in ticked if at < len(grid.groups)}
        if not wanted:
            raise PolicyError("a group needs ticked values and a name", "tick values, name the group, press Group")
        coarser = grid.groups[min(wanted)][level:]
        groups = tuple(
            (*path[: level - 1], name.strip(), *coarser) if at in wanted else path
            for at, path in enumerate(grid.groups)
        )
        return replace(grid, groups=groups)

    def rows(self) -> list[list[str]]:
        """Return the hierarchy: an empty group is that of the level before, or the value itself; none without levels.

        Where the coarsest level has several groups, one more holds all of them.
        """
        if not self.levels:
            return []
        rows = []
        for value, path in zip(self.values, self.groups, strict=True):
            row = [value]
            for group in path:
                row.append(group or row[-1])
            rows.append(row)
        if len({row[-1] for row in rows}) > 1:
            rows = [[*row, _ALL] for row in rows]
        return rows


def ticked_lines(fields: Mapping[str, str]) -> list[int]:
    """Return the numbers of the lines whose box is ticked."""
    numbers = (name.removeprefix("tick-") for name in fields if name.startswith("tick-"))
    return [int(number) for number in numbers if number.isascii() and number.isdigit()]
