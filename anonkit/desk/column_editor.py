# SPDX-License-Identifier: Apache-2.0
"""The editor of one column: bounds, bands, categories, and a hierarchy whose groups are made in the page.

A hierarchy as a grid that is edited in the page: a line a value, a column a level, groups made of ticked values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anonkit.desk.release_desk import Desk
from anonkit.desk.session_files import EditedPolicy, read_tree, tree_text
from anonkit.desk.station_views import column_named
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
        """Return the fields that `of_fields` reads."""
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


def column_view(desk: Desk, at: int, typed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the declaration of one column, for its editor; typed entries that are not saved stay."""
    name = column_named(desk, at)
    spec = EditedPolicy.read(desk.policy_text).columns().get(name, {})
    bounds = spec.get("bounds", ["", ""])
    ladder = spec.get("ladder", [])
    fields = {
        "low": str(bounds[0]),
        "high": str(bounds[1]),
        "categories": "\n".join(map(str, spec.get("categories", []))),
        "ladder": "none" if ladder == "none" else ", ".join(f"{width:g}" for width in ladder),
        "tree": "",
        "keep": "yes" if spec.get("keep") else "",
        "group-name": "",
        "group-level": "1",
        **(typed or {}),
    }
    counts = counts_of(desk, name)
    grid = edited_grid(desk, at, typed)
    is_short = len(grid.values) <= LONGEST
    if not is_short and not fields["tree"]:
        fields["tree"] = tree_text(grid.rows()) if grid.levels else ""
    return {
        "name": name,
        "number": at,
        "fields": fields,
        "role": spec.get("role", ""),
        "lines": _lines_of(grid, counts, typed or {}) if is_short else [],
        "n_levels": grid.levels,
        "levels": _levels(grid.rows(), counts),
        "bands": _bands(fields["ladder"], counts),
        "has_tree": bool(_tree_of(desk, spec)),
        "has_counts": bool(counts),
        "is_preview": typed is not None,
    }


def counts_of(desk: Desk, name: str) -> list[Sequence[Any]]:
    """Return the values of a column with their rows; none where the private table is not shown."""
    found = [column for column in desk.result("columns") or [] if column["name"] == name]
    return list(found[0]["counts"]) if found and not desk.is_simulated else []


def edited_grid(desk: Desk, at: int, typed: Mapping[str, str] | None) -> HierarchyGrid:
    """Return the hierarchy of a column as it is typed, else as it is declared, with values that it does not have yet.

    Raises
    ------
    PolicyError
        The form is not whole.
    """
    if typed is not None and any(name.startswith("value-") for name in typed):
        return HierarchyGrid.of_fields(typed)
    name = column_named(desk, at)
    spec = EditedPolicy.read(desk.policy_text).columns().get(name, {})
    values = list(map(str, spec.get("categories", []))) or [
        str(value) for value, _ in counts_of(desk, name) if isinstance(value, str)
    ]
    return HierarchyGrid.of_rows(_tree_of(desk, spec), values)


def _lines_of(grid: HierarchyGrid, counts: Sequence[Sequence[Any]], typed: Mapping[str, str]) -> list[dict[str, Any]]:
    n = {str(value): rows for value, rows in counts}
    return [
        {"value": value, "rows": n.get(value, 0) if n else None, "groups": path, "ticked": f"tick-{at}" in typed}
        for at, (value, path) in enumerate(zip(grid.values, grid.groups, strict=True))
    ]


def _tree_of(desk: Desk, spec: Mapping[str, Any]) -> list[list[str]]:
    tree = spec.get("tree")
    if isinstance(tree, list):
        return [list(map(str, path)) for path in tree]
    if isinstance(tree, str):
        try:
            return read_tree((desk.folder / tree).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, PolicyError):
            return []
    return []


def tree_file(desk: Desk, at: int) -> str:
    """Return the hierarchy of a column as CSV, to be kept elsewhere.

    Raises
    ------
    PolicyError
        It has none.
    """
    rows = _tree_of(desk, EditedPolicy.read(desk.policy_text).columns().get(column_named(desk, at), {}))
    if not rows:
        raise PolicyError("this column has no hierarchy", "go back to Roles")
    return tree_text(rows)


_SHOWN = 24
"""Groups of a level, and bands of a width, that are listed."""


def _levels(rows: Sequence[Sequence[str]], counts: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the groups of every level of a hierarchy, with the rows in each where they may be counted."""
    n = {str(value): rows_ for value, rows_ in counts}
    levels = []
    for level in range(len(rows[0]) if rows else 0):
        groups: dict[str, int] = {}
        for path in rows:
            groups[path[level]] = groups.get(path[level], 0) + n.get(path[0], 0)
        shown = sorted(groups.items(), key=lambda pair: -pair[1]) if n else list(groups.items())
        smallest = min(groups.values()) if n else None
        levels.append({"level": level, "groups": shown[:_SHOWN], "n": len(groups), "smallest": smallest})
    return levels


def _bands(ladder: str, counts: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return the number of bands of every width, with the rows in the smallest."""
    values = [(float(value), n) for value, n in counts if isinstance(value, int | float)]
    if not values or not re.fullmatch(r"[0-9.,\s]+", ladder):
        return []
    found = []
    for word in re.split(r"[,\s]+", ladder.strip(", \n")):
        width = float(word) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", word) else 0.0
        if width > 0:
            sizes: dict[float, int] = {}
            for value, n in values:
                sizes[value // width] = sizes.get(value // width, 0) + n
            shown = [
                (f"{width * at:,g} to below {width * (at + 1):,g}", rows) for at, rows in sorted(sizes.items())[:_SHOWN]
            ]
            smallest = min(sizes.values())
            found.append({"width": f"{width:g}", "n": len(sizes), "smallest": smallest, "bands": shown})
    return found
