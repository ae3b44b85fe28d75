# SPDX-License-Identifier: Apache-2.0
"""Generalization trees as the policy declares them: one row a value, from the value to its coarsest group."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from anonkit.errors import PolicyError
from anonkit.policy.side_files import UTF8, read_side_table, texts

_HEADINGS = re.compile(
    r"(level|hierarchy|group)[ _-]?[0-9]*|value|leaf|code|category|((coarser|coarsest) )+group|parent"
)
"""Names that the columns of a tree commonly have, in lower case."""


def check_tree(where: str, tree: Sequence[Sequence[str]], place: Callable[[int], str] | None = None) -> None:
    """Refuse a tree whose rows differ in length, that lists a value twice, or whose levels do not refine the next.

    Parameters
    ----------
    place : callable, optional
        Names the line of a row of the tree, by its place from 0.

    Raises
    ------
    PolicyError
        It is one of these.
    """
    at_row = place or (lambda at: f"row {at + 1}")
    odd = next((at for at, path in enumerate(tree) if len(path) != len(tree[0])), None)
    if not tree or odd is not None:
        where_odd = "" if odd is None else f": {at_row(odd)} has {len(tree[odd])}, {at_row(0)} has {len(tree[0])}"
        raise PolicyError(
            f"{where}: every row of the tree must have the same number of levels{where_odd}",
            "value,group,coarser group",
        )
    seen: dict[str, int] = {}
    for at, path in enumerate(tree):
        if seen.setdefault(path[0], at) != at:
            raise PolicyError(
                f"{where}: a value appears twice in the tree, in {at_row(seen[path[0]])} and {at_row(at)}"
            )
    for level in range(1, len(tree[0]) - 1):
        parents: dict[str, tuple[str, int]] = {}
        for at, path in enumerate(tree):
            parent, first = parents.setdefault(path[level], (path[level + 1], at))
            if parent != path[level + 1]:
                raise PolicyError(
                    f"{where}: a group of tree level {level} has two different parents at level {level + 1}, in "
                    f"{at_row(first)} and {at_row(at)}",
                    "each level must refine the next",
                )


def declared_tree(
    where: str, name: str, raw: object, folder: Path | None, encoding: str = UTF8
) -> tuple[tuple[str, ...], ...]:
    """Return a tree as the policy has it: a list of paths, or a delimited file beside the policy.

    The first line of a file is a header, and no path, where its first cell is the name of the column, or each of its
    cells is a usual heading (`value`, `group`, `level 1`, …), and no other line has one of its cells at its place.

    Raises
    ------
    PolicyError
        It is neither, or the file cannot be read.
    """
    if isinstance(raw, list):
        return tuple(tuple(texts(where, "tree", path)) for path in raw)
    if not isinstance(raw, str):
        raise PolicyError(
            f"{where}: tree must be a CSV file or a list of paths", 'tree = [["2541", "25**", "2***"], …]'
        )
    table = read_side_table(where, "tree", raw, folder, encoding)
    if _is_header(table.rows, name):
        table = table.without_first()
    check_tree(where, table.rows, table.line)
    return table.rows


def _is_header(rows: Sequence[Sequence[str]], name: str) -> bool:
    if len(rows) < 2:
        return False
    first = [cell.casefold() for cell in rows[0]]
    if first[0] != name.casefold() and not all(map(_HEADINGS.fullmatch, first)):
        return False
    return not any(one.casefold() == other for row in rows[1:] for one, other in zip(row, first, strict=False))
