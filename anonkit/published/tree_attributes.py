# SPDX-License-Identifier: Apache-2.0
"""Attributes of published trees: their public domains, and the candidate splits of each.

A public hierarchy of categories, with the refinements of its groups one level at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anonkit.documents import ParamsPart, left_out
from anonkit.domains.coded_columns import BoolArray, IntArray
from anonkit.domains.number_bins import Categories, DeclaredTarget, Grid, shown_classes
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
        return cls(divisions=tuple(divisions), names=tuple(names), groups=_unambiguous(named, domain.values))

    def name_of(self, codes: BoolArray) -> str | None:
        """Return the coarsest group that is just these codes; None when there is none."""
        return next((name for name, group in self.groups if np.array_equal(group, codes)), None)


def _groups(codes: Sequence[int], paths: Paths, level: int) -> list[tuple[str, list[int]]]:
    """Divide codes by their group on a level, in the order of the first of each."""
    groups: dict[str, list[int]] = {}
    for code in codes:
        groups.setdefault(paths[code][level], []).append(code)
    return list(groups.items())


def _unambiguous(named: Sequence[tuple[str, BoolArray]], values: Sequence[str]) -> tuple[tuple[str, BoolArray], ...]:
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


MOST_BRANCHES = 2048
"""Children of a multiway split; an attribute with more codes is not split so. How many it has is public."""
MOST_ROUTES = 1 << 26
"""Nodes of a forest times codes of its widest attribute: a step that could bring more is not taken."""


class Split(StrEnum):
    """The rule by which a node divides the codes of an attribute among its children."""

    MULTIWAY = "multiway"
    """One child for every code."""
    CUT = "cut"
    """Codes up to some code go left, the others right; missing is the last code."""
    ONE_VS_REST = "one-vs-rest"
    """One code goes left, the others right."""
    TAXONOMY = "taxonomy"
    """A group of a public hierarchy is divided into the groups just below it; for top-down specialization."""


@dataclass(frozen=True, kw_only=True)
class Attribute(ParamsPart, keys=("name", "type=domain.type", "split", "domain", "tree=paths")):
    """One attribute, its public domain, and the one kind of split it allows.

    Missing, where it can occur, is one more code: a branch of its own in a multiway split, else on the side its code
    (the last) falls.
    """

    name: str
    domain: Categories | Grid
    split: Split
    paths: Paths = field(default=(), metadata=left_out())
    """For `Split.TAXONOMY`: the groups of each category, from itself to its coarsest."""

    def __post_init__(self) -> None:
        if (self.split is Split.TAXONOMY) != bool(self.paths):
            raise ParameterError("a taxonomy has a path for each category, and nothing else has")

    @property
    def codes(self) -> int:
        """Number of codes, missing included."""
        return self.domain.size

    @property
    def is_number(self) -> bool:
        """True for a number on a grid."""
        return isinstance(self.domain, Grid)

    @property
    def is_cut(self) -> bool:
        """True when it can be split at different points, and so again further down."""
        return self.split in (Split.CUT, Split.ONE_VS_REST)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The hierarchy of its categories, missing as a group of its own below all of them."""
        return Taxonomy.of(self.domain, self.paths)

    @cached_property
    def n_splits(self) -> int:
        """Number of different splits of a node by this attribute; 0 when the domain has one code, or far too many."""
        if self.codes < 2:
            return 0
        if self.split is Split.MULTIWAY:
            return 1 if self.codes <= MOST_BRANCHES else 0
        if self.split is Split.CUT:
            return self.codes - 1
        if self.split is Split.TAXONOMY:
            return len(self.taxonomy.divisions)
        return 1 if self.codes == 2 else self.codes

    @cached_property
    def n_children(self) -> IntArray:
        """Number of children of each split, shape (n_splits,)."""
        if self.split is Split.TAXONOMY:
            return np.array([division.max() + 1 for division in self.taxonomy.divisions], dtype=np.int64)
        return np.full(self.n_splits, self.codes if self.split is Split.MULTIWAY else 2, dtype=np.int64)

    @cached_property
    def branch_table(self) -> IntArray:
        """The child that each code goes to in each split, shape (n_splits, codes)."""
        if self.split is Split.TAXONOMY:
            return np.maximum(self.taxonomy.divisions, 0)  # codes of other groups never get there
        codes, splits = np.arange(self.codes), np.arange(self.n_splits)[:, np.newaxis]
        if self.split is Split.MULTIWAY:
            return np.broadcast_to(codes, (self.n_splits, self.codes)).astype(np.int64)
        return np.asarray(codes > splits if self.split is Split.CUT else codes != splits, dtype=np.int64)

    def branches(self, at: int) -> IntArray:
        """Return the child that each code goes to in split number `at`, shape (codes,)."""
        return np.asarray(self.branch_table[at])

    def children(self, counts: IntArray) -> IntArray:
        """Return the class counts of the children of every split.

        Parameters
        ----------
        counts : int64 array, shape (n, codes, classes)

        Returns
        -------
        int64 array, shape (n, n_splits, children, classes)
            Of a taxonomy, as many children as the widest split has, and rows of other groups left out.
        """
        if self.split is Split.MULTIWAY:
            return counts[:, np.newaxis]
        if self.split is Split.TAXONOMY:
            wide = np.arange(self.n_children.max(initial=0))
            members = np.array(self.taxonomy.divisions)[:, np.newaxis] == wide[:, np.newaxis]
            return np.asarray(np.einsum("swk,nkc->nswc", members.astype(np.int64), counts), dtype=np.int64)
        left = np.cumsum(counts, axis=1)[:, : self.n_splits] if self.split is Split.CUT else counts[:, : self.n_splits]
        total = counts.sum(axis=1, keepdims=True)
        return np.stack([left, total - left], axis=2)

    def splits_of(self, codes: BoolArray) -> IntArray:
        """Return the splits that divide a set of codes which earlier splits have left, shape (n,).

        Parameters
        ----------
        codes : bool array, shape (codes,)
            True for the codes that are left; of a number an interval.
        """
        if self.split is Split.CUT:
            return np.flatnonzero(codes)[:-1]
        if self.split is Split.TAXONOMY:
            whole = [division >= 0 for division in self.taxonomy.divisions]
            return np.flatnonzero([np.array_equal(group, codes) for group in whole])
        return np.arange(self.n_splits if codes.all() else 0)


@dataclass(frozen=True, kw_only=True)
class TreeSchema:
    """The attributes trees are grown on and the classes they predict, all public."""

    attributes: tuple[Attribute, ...]
    target: str
    classes: Categories

    @property
    def stated_target(self) -> DeclaredTarget:
        """The target and its classes, as the params have them."""
        return DeclaredTarget(name=self.target, domain=self.classes)

    @property
    def n_classes(self) -> int:
        """Number of classes, missing included."""
        return self.classes.size

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values of each column, the target too, missing included."""
        return {attribute.name: attribute.codes for attribute in self.attributes} | {self.target: self.n_classes}

    @property
    def domains(self) -> dict[str, Categories | Grid]:
        """Public domain of each released column: the target's, then the attributes'."""
        return {self.target: shown_classes(self.classes)} | {
            attribute.name: attribute.domain for attribute in self.attributes
        }

    @property
    def splittable(self) -> NDArray[np.bool_]:
        """True for attributes that can be split at all, shape (n_attributes,)."""
        return np.array([attribute.n_splits > 0 for attribute in self.attributes], dtype=bool)

    @cached_property
    def most_codes(self) -> int:
        """The largest number of codes of an attribute."""
        return max((attribute.codes for attribute in self.attributes), default=1)
