# SPDX-License-Identifier: Apache-2.0
"""The public part of a noisy release's params: the method with all its parameters, the columns and their domains.

Read strictly, with code that no method shares: whatever is of another kind than anonkit writes is refused.

Columns of booleans in a release of noise: what their domain says, and the type that their cells have.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.budget_rules.tree_rule import OVER_LEVELS, PAPER_TREES, PaperTree, RequestedTrees, requested_trees
from anonkit.checks.number_cells import EqualCells, Multiples, fewest, multiples_of
from anonkit.errors import ReleaseFormatError

_KEY = "truth_values"


def is_boolean(domain: Mapping[str, Any]) -> bool:
    """Return True if a domain is that of booleans.

    Raises
    ------
    ReleaseFormatError
        It says so in another way than anonkit, or of other categories than false and true.
    """
    if _KEY not in domain:
        return False
    if domain[_KEY] is not True or domain.get("categories") != ["false", "true"]:
        raise ReleaseFormatError("a domain of the params calls other categories than false and true truth values")
    return True


def are_of_type(cells: pa.Array, *, truth_values: bool) -> bool:
    """Return True if cells of categories are booleans exactly where their domain says so."""
    return bool(pa.types.is_boolean(cells.type)) is truth_values


GAUSSIAN, THRESHOLDED, EXPONENTIAL = "discrete-gaussian", "thresholded-laplace", "exponential"
PLACES_IN_A_CELL = 16
"""Places in a cell at which rows drawn from noisy counts show a number; a multiple of a step has one."""


class Family(Enum):
    """The kind of model that is published."""

    TABLES = "tables of counts by class"
    MARGINALS = "tables of columns and pairs, and a mixture"
    STACKED = "trees with histograms and scores"
    GROUPS = "cells by top-down specialization"
    PAPER_TREES = "trees of one paper"
    AGGREGATES = "tables of figures, and no rows"

    @property
    def is_stacked(self) -> bool:
        """True for trees with histograms, scores and a budget rule: words are divided one against the rest."""
        return self is Family.STACKED

    @property
    def has_trees(self) -> bool:
        """True where trees are published."""
        return self in (Family.STACKED, Family.GROUPS, Family.PAPER_TREES)

    @property
    def is_of_paper(self) -> bool:
        """True for trees whose choices are those of a paper."""
        return self in (Family.GROUPS, Family.PAPER_TREES)

    @property
    def places(self) -> int:
        """Places in a cell of a number at which rows show it, all equally likely; multiples have one each.

        1 where rows show the number by which a cell is known.
        """
        return PLACES_IN_A_CELL if self in (Family.TABLES, Family.MARGINALS, Family.STACKED) else 1

    @property
    def chooses_law(self) -> bool:
        """True where noise that needs no delta may be drawn although one was given."""
        return self in (Family.STACKED, Family.MARGINALS)

    @property
    def needs_target(self) -> bool:
        """False where a table in which nothing is predicted can be released."""
        return self not in (Family.MARGINALS, Family.AGGREGATES)


_FORMATS = {
    Family.TABLES: ("anonkit-noisy-tables-1", "anonkit-noisy-tables-2"),
    Family.STACKED: ("anonkit-forest-1", "anonkit-forest-2"),
    Family.MARGINALS: ("anonkit-marginals-1", "anonkit-marginals-2"),
    Family.AGGREGATES: ("anonkit-aggregates-1",) * 2,
}
"""Formats of models by the law of their noise: Laplace, Gaussian."""
MULTIWAY, CUT, ONE_VS_REST, TAXONOMY = "multiway", "cut", "one-vs-rest", "taxonomy"
MOST_BRANCHES = 2048
"""Children of a multiway split: an attribute with more codes is never split so."""

_CHOICES = {
    "rows": ("disjoint", "shared", "bootstrap", "published-bootstrap"),
    "score": ("gini", "max-class", "entropy", "information-gain"),
    "rate": ("full", "published"),
    "tables": ("share", "published"),
    "leaf": ("counts", "label"),
    "stop": ("depth", "noisy", "pure"),
    "order": ("ascending", "descending"),
    "allocation": tuple(OVER_LEVELS),
}
"""Words of the parameters of trees."""

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class PublicDomain:
    """Categories, or equal cells over bounds; missing is one more code, the last."""

    categories: tuple[str, ...] | None
    bounds: tuple[float, float] | None
    cells: int
    """Codes without missing."""
    has_missing: bool
    fine: int = 0
    """Of the bins of a numeric target: the cells of the grid that they are runs of; else 0."""
    ends: tuple[int, ...] = ()
    """For each of these bins the cell after its last one."""
    multiples: Multiples | None = None
    """The numbers that the column holds, where it does not hold any."""
    bins: int = 0
    """Number of equal cells that single values divide; 0 where none is a cell of its own."""
    truth_values: bool = False
    """True where its categories are false and true, and its cells booleans."""

    @property
    def grid(self) -> EqualCells:
        """The cells of numbers; of a numeric target those that its bins are runs of."""
        low, high = self.bounds or (math.nan, math.nan)
        return EqualCells(low=low, high=high, cells=self.fine or self.cells, multiples=self.multiples, bins=self.bins)

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.cells + self.has_missing

    def labels(self) -> list[str | None]:
        """Return the category of each code, or the interval of each bin of a target."""
        return [*(self.categories or self._intervals()), *([None] if self.has_missing else [])]

    def _intervals(self) -> list[str]:
        edges = [float(edge) for edge in self.grid.edges[[0, *self.ends]]]
        named = [f"[{first:.15g}, {last:.15g})" for first, last in itertools.pairwise(edges)]
        return [*named[:-1], f"{named[-1][:-1]}]"]

    def edge(self, at: int) -> float:
        """Return the lower bound of the cells after number `at`."""
        return float(self.grid.edges[at + 1])


@dataclass(frozen=True, kw_only=True)
class PublicColumn:
    """A column that was counted."""

    name: str
    domain: PublicDomain
    split: str = ""
    """Kind of split by trees; empty where there are none."""

    @property
    def is_cut(self) -> bool:
        """True where it can be split at different points, and so again."""
        return self.split in (CUT, ONE_VS_REST)

    @property
    def n_splits(self) -> int:
        """Number of different splits; of a taxonomy at least this many."""
        size = self.domain.size
        if size < 2:
            return 0
        if self.split == CUT:
            return size - 1
        if self.split == ONE_VS_REST:
            return 1 if size == 2 else size
        return int(self.split == TAXONOMY or size <= MOST_BRANCHES)

    def children(self) -> int:
        """Return the number of children of a split; 0 for a taxonomy, whose groups differ."""
        return {MULTIWAY: self.domain.size, TAXONOMY: 0}.get(self.split, 2)

    def goes_to(self, at: int) -> NDArray[np.int64]:
        """Return the child that each code goes to, shape (codes,)."""
        codes = np.arange(self.domain.size)
        return codes if self.split == MULTIWAY else (codes > at if self.split == CUT else codes != at).astype(np.int64)


ALL_ROWS = PublicColumn(name="", domain=PublicDomain(categories=("all rows",), bounds=None, cells=1, has_missing=False))
"""In place of a target where there is none: all rows are of one class."""


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """The public side of a release."""

    family: Family
    paper: PaperTree | None = None
    """The choices of the paper whose trees they are."""
    parameters: Mapping[str, Any]
    target: PublicColumn
    """Of a release without a target: a column of one class that no row has, see `has_target`."""
    attributes: tuple[PublicColumn, ...]
    has_target: bool = True
    added_multiples: tuple[str, ...] = ()
    """Names of the columns that are added up and hold multiples of a step."""

    @cached_property
    def trees(self) -> RequestedTrees:
        """The trees that the method grows with its parameters; of trees of papers alone."""
        for name, most in {"depth": 20, "trees": 1000, "steps": 100}.items():
            if name in self.parameters:
                self.whole(name, 1, most)
        for name, choices in _CHOICES.items():
            if name in self.parameters:
                self.word(name, *choices)
        numbers = sum(attribute.split == CUT and attribute.n_splits > 0 for attribute in self.attributes)
        assert self.paper is not None  # noqa: S101 - the family was looked at before
        return requested_trees(self.paper, self.parameters, numbers)

    @property
    def columns(self) -> tuple[PublicColumn, ...]:
        """The columns that were counted, the target first where there is one."""
        return (self.target, *self.attributes) if self.has_target else self.attributes

    @property
    def n_classes(self) -> int:
        """Number of classes, missing included."""
        return self.target.domain.size

    @staticmethod
    def is_gaussian(params: Mapping[str, Any]) -> bool:
        """Return True if a draw of the account has Gaussian noise, for which a delta is spent."""
        return any(line["mechanism"] == GAUSSIAN for line in params["accounting"])

    @property
    def delta(self) -> float:
        """The declared delta; 0 where there is none, as in releases of versions that knew none."""
        delta = self.number("delta") if "delta" in self.parameters else 0
        if not 0 <= delta <= 0.01:
            raise ReleaseFormatError("the delta of the params is not one that is taken")
        return delta

    def number(self, name: str) -> float:
        """Return a parameter that is a finite number."""
        value = self.parameters[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ReleaseFormatError(f"parameter {name!r} of the params is no number")
        return value

    def whole(self, name: str, low: int = 0, high: int = 1 << 28) -> int:
        """Return a parameter that is an integer in its range."""
        value = self.number(name)
        if not isinstance(value, int) or not low <= value <= high:
            raise ReleaseFormatError(f"parameter {name!r} of the params is not a number that it can be")
        return value

    def word(self, name: str, *choices: str) -> str:
        """Return a parameter that is one of some words."""
        value = self.parameters[name]
        if value not in choices:
            raise ReleaseFormatError(f"parameter {name!r} of the params is not a word that it can be")
        return str(value)


def facts_of(params: Mapping[str, Any]) -> PublicFacts:
    """Read the public side of the params.

    Raises
    ------
    ReleaseFormatError
        A part is missing or of the wrong kind; releases of earlier formats do not hold their parameters.
    """
    if "parameters" not in params:
        raise ReleaseFormatError(
            "the params do not hold the parameters of the method: written by an older format",
            "validate it with the version of anonkit that wrote it, or release it anew",
        )
    target = params["target"]
    family, paper = family_of(params)
    if target is None and family.needs_target:
        raise ReleaseFormatError("the params name no target, and the method needs one")
    return PublicFacts(
        family=family,
        paper=paper,
        parameters=dict(params["parameters"]),
        target=ALL_ROWS if target is None else PublicColumn(name=str(target["name"]), domain=_classes(target)),
        has_target=target is not None,
        attributes=tuple(
            PublicColumn(
                name=str(attribute["name"]),
                domain=domain_of(attribute["domain"], attribute["type"]),
                split=str(attribute.get("split", "")),
            )
            for attribute in params["attributes"]
        ),
    )


def _classes(target: Mapping[str, Any]) -> PublicDomain:
    """Read the classes of the target: categories, or bins of a number, each a run of cells of a grid."""
    domain = domain_of(target["domain"], kind := str(target.get("type", "category")))
    if kind == "category":
        return domain
    ends = tuple(integers(target["domain"].get("ends", list(range(1, domain.cells + 1)))))
    if (
        not ends
        or ends[0] < 1
        or ends[-1] != domain.cells
        or any(low >= high for low, high in itertools.pairwise(ends))
    ):
        raise ReleaseFormatError("the bins of the target are no runs of cells")
    return replace(domain, cells=len(ends), fine=domain.cells, ends=ends)


def domain_of(raw: Mapping[str, Any], kind: str) -> PublicDomain:
    """Read a domain.

    Raises
    ------
    ReleaseFormatError
        It is none that anonkit writes.
    """
    has_missing = raw["has_missing"]
    if not isinstance(has_missing, bool):
        raise ReleaseFormatError("a domain of the params does not say whether values may be missing")
    if kind == "category":
        values = raw["categories"]
        texts = isinstance(values, list) and all(isinstance(value, str) for value in values)
        if not texts or not values or len(set(values)) != len(values):
            raise ReleaseFormatError("a domain of the params is no list of different categories")
        return PublicDomain(
            categories=tuple(values),
            bounds=None,
            cells=len(values),
            has_missing=has_missing,
            truth_values=is_boolean(raw),
        )
    low, high = raw["bounds"]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (low, high))
    if kind != "number" or not numbers or not math.isfinite(low) or not math.isfinite(high) or not low < high:
        raise ReleaseFormatError("a domain of the params has bounds that cannot be")
    (cells,) = integers([raw["cells"]])
    if cells < 1:
        raise ReleaseFormatError("a domain of the params has no cells")
    bounds = (float(low), float(high))
    multiples = multiples_of(raw, bounds)
    bins = 0
    if multiples is not None and multiples.alone:
        (bins,) = integers([raw["bins"]])
        if not 1 <= bins <= multiples.number:
            raise ReleaseFormatError("a domain of the params has more cells than numbers")
    if fewest(bins or cells, multiples) != cells:
        raise ReleaseFormatError("a domain of the params has more cells than numbers")
    return PublicDomain(
        categories=None, bounds=bounds, cells=cells, has_missing=has_missing, multiples=multiples, bins=bins
    )


def family_of(params: Mapping[str, Any]) -> tuple[Family, PaperTree | None]:
    """Return the kind of model of params, by their format, and the paper whose trees they are.

    Raises
    ------
    ReleaseFormatError
        The format is that of no model with noise.
    """
    method, own = _named(params)
    paper = PAPER_TREES.get(method)
    for family, formats in _FORMATS.items():
        if own not in formats:
            continue
        if paper is None:
            return family, None
        if family.is_stacked:
            return Family.GROUPS if paper.in_steps else Family.PAPER_TREES, paper
    raise ReleaseFormatError(
        "the params are of no model with noise whose account can be worked out",
        "a method of central differential privacy hands on a statement: docs/how-to/add-a-noise-method.md",
    )


def has_gaussian_tables(params: Mapping[str, Any]) -> bool:
    """Return True if the noise of the published tables is Gaussian, by their format; it fits their lines if checked."""
    return is_of_format(params, *_FORMATS, gaussian=True)


def is_of_format(params: Mapping[str, Any], *families: Family, gaussian: bool) -> bool:
    """Return True if params have the format of a kind of model under a law of noise."""
    return _named(params)[1] in [_FORMATS[family][gaussian] for family in families]


def _named(params: Mapping[str, Any]) -> tuple[str, str]:
    """Return the method and the format that params name."""
    return str(params.get("method")), str(params.get("format"))


def integers(values: Sequence[Any]) -> list[int]:
    """Return values that must be integers: no string, no float, no truth value.

    Raises
    ------
    ReleaseFormatError
        One is not.
    """
    if not isinstance(values, list) or any(not isinstance(value, int) or isinstance(value, bool) for value in values):
        raise ReleaseFormatError("a list of the params must hold whole numbers, and does not")
    return values


def changed_rows(facts: PublicFacts) -> int:
    """Return most rows that come or go between neighbours: a replaced row goes, and another comes."""
    rows = facts.whole("rows_per_unit", 1, 1000)
    return rows * (2 if facts.word("adjacency", "add-or-remove", "replace") == "replace" else 1)


def changed_squared(facts: PublicFacts) -> int:
    """Return the square of how far neighbours move a table, at most: rows of a unit that go, or go and come."""
    sides = 2 if facts.word("adjacency", "add-or-remove", "replace") == "replace" else 1
    return sides * facts.whole("rows_per_unit", 1, 1000) ** 2
