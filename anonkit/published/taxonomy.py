# SPDX-License-Identifier: Apache-2.0
"""A public hierarchy of categories, with the refinements of its groups one level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonkit.domains.array_types import BoolArray, IntArray
from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.errors import ParameterError

Paths = tuple[tuple[str, ...], ...]

ANY = "*"


@dataclass(frozen=True, kw_only=True, eq=False)
class Taxonomy:
    """The divisions of a hierarchy, those of coarser groups first."""

    divisions: tuple[IntArray, ...]
    """For each group that has several below it the number of the one each code is in, -1 outside; shape (codes,)."""
    names: tuple[str, ...]
    """The name of each divided group; `*` for all codes."""
    groups: tuple[tuple[str, BoolArray], ...]
    """Every group of several codes whose name means nothing else, and its codes; coarser ones first."""

    @classmethod
    def of(cls, domain: Categories | Grid, paths: Paths) -> Taxonomy:
        """Return the divisions of a domain's categories by their paths.

        Raises
        ------
        ParameterError
            The paths are not those of a hierarchy of the domain's categories.
        """
        if isinstance(domain, Grid) or tuple(path[0] for path in paths) != tuple(domain.values):
            raise ParameterError("a taxonomy must have one path for each category of its attribute")
        if len({len(path) for path in paths}) != 1:
            raise ParameterError("all paths of a taxonomy must have the same length")
        missing = [len(paths)] if domain.has_missing else []
        size = len(paths) + len(missing)
        top = _groups(range(len(paths)), paths, len(paths[0]) - 1)
        divisions: list[IntArray] = []
        names: list[str] = []
        named: list[tuple[str, BoolArray]] = []
        waiting = [(ANY, [*top, ("", missing)] if missing else top, len(paths[0]) - 2)]
        while waiting:
            name, parts, below = waiting.pop(0)
            if len(parts) > 1:
                divisions.append(_division([codes for _, codes in parts], size))
                names.append(name)
            for part, codes in parts:
                if len(codes) > 1:
                    named.append((part, _members(codes, size)))
                if below >= 0 and codes != missing:
                    inner = part if len(parts) > 1 else name
                    waiting.append((inner, _groups(codes, paths, below), below - 1))
        return cls(divisions=tuple(divisions), names=tuple(names), groups=_told_apart(named, domain.values))

    def name_of(self, codes: BoolArray) -> str | None:
        """Return the coarsest group that is just these codes; None when there is none."""
        return next((name for name, group in self.groups if np.array_equal(group, codes)), None)


def _groups(codes: Sequence[int], paths: Paths, level: int) -> list[tuple[str, list[int]]]:
    """Divide codes by their group on a level, in the order of the first of each."""
    groups: dict[str, list[int]] = {}
    for code in codes:
        groups.setdefault(paths[code][level], []).append(code)
    return list(groups.items())


def _told_apart(named: Sequence[tuple[str, BoolArray]], values: Sequence[str]) -> tuple[tuple[str, BoolArray], ...]:
    """Leave out names that would mean two things in a table: another group's, or a category's."""
    meant: dict[str, set[bytes]] = {}
    for name, codes in named:
        meant.setdefault(name, set()).add(codes.tobytes())
    return tuple((name, codes) for name, codes in named if len(meant[name]) == 1 and name not in (ANY, *values))


def _division(parts: Sequence[Sequence[int]], size: int) -> IntArray:
    division = np.full(size, -1, dtype=np.int64)
    for number, codes in enumerate(parts):
        division[codes] = number
    return division


def _members(codes: Sequence[int], size: int) -> BoolArray:
    members = np.zeros(size, dtype=bool)
    members[codes] = True
    return members
