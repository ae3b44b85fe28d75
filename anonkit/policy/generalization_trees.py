# SPDX-License-Identifier: Apache-2.0
"""Generalization trees as the policy declares them: one row a value, from the value to its coarsest group."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from anonkit.errors import PolicyError
from anonkit.policy.toml_values import texts


def check_tree(where: str, tree: Sequence[Sequence[str]]) -> None:
    """Refuse a tree whose rows differ in length, that lists a value twice, or whose levels do not refine the next.

    Raises
    ------
    PolicyError
        It is one of these.
    """
    if not tree or len({len(path) for path in tree}) != 1:
        raise PolicyError(
            f"{where}: every row of the tree must have the same number of levels", "value,group,coarser group"
        )
    if len({path[0] for path in tree}) != len(tree):
        raise PolicyError(f"{where}: a value stands twice in the tree")
    for level in range(1, len(tree[0]) - 1):
        parents: dict[str, str] = {}
        for path in tree:
            if parents.setdefault(path[level], path[level + 1]) != path[level + 1]:
                raise PolicyError(
                    f"{where}: a group of tree level {level} has two different parents at level {level + 1}",
                    "each level must refine the next",
                )


def declared_tree(where: str, raw: object, folder: Path | None) -> tuple[tuple[str, ...], ...]:
    """Return a tree as the policy has it: a list of paths, or a CSV file beside the policy.

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
    path = (folder or Path()) / raw
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return tuple(tuple(row) for row in csv.reader(file) if row)
    except FileNotFoundError:
        raise PolicyError(
            f"{where}: tree file {raw!r} does not exist", "the path is relative to the policy file"
        ) from None
    except (UnicodeDecodeError, csv.Error):
        raise PolicyError(f"{where}: tree file {raw!r} is not UTF-8 CSV") from None
