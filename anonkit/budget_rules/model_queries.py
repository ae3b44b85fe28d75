# SPDX-License-Identifier: Apache-2.0
"""Queries of anonkit's own methods: what each asks of the rows, in values that name no method and have no loss.

Each says in its docstring how its answer depends on rows. How far one row moves it is worked out twice from this:
by the owner (`anonkit.mechanisms.accounting`) and by a check (`anonkit.checks.query_changes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, kw_only=True)
class Table:
    """Contingency table: a row is in one of its cells. Chosen by its counts, the commonest class is one of them."""


@dataclass(frozen=True, kw_only=True)
class SplitScore:
    """Scores of all splits of a node, each a sum over the children of a function of a child's class counts.

    `max-class`: rows of the commonest class. In steps of a 256th: `gini`, minus rows times Gini impurity; `entropy`,
    minus rows times entropy in bits, along a straight line beyond `most_rows`; `information-gain`, minus the mean
    entropy of a row, whose range is from minus log2 of the classes to 0.
    """

    score: str
    classes: int
    most_rows: int = 1


@dataclass(frozen=True, kw_only=True)
class PairGain:
    """Scores of sets of attributes: rows whose class their table guesses more than other tables do, in whole rows."""


@dataclass(frozen=True, kw_only=True)
class PairError:
    """Scores of pairs: half of the absolute difference of two tables of expected rows, in steps of a 256th row."""


@dataclass(frozen=True, kw_only=True)
class TripleError:
    """Scores of triples: as `PairError`, rounded to steps after the sum."""


@dataclass(frozen=True, kw_only=True)
class PairsDependence:
    """Reading of the distances of some pairs of columns from independence, added up; steps of a 256th row."""

    pairs: int


@dataclass(frozen=True, kw_only=True)
class TargetDependence:
    """Reading of the mean distance of columns from independence of the target; steps of a 256th row."""


@dataclass(frozen=True, kw_only=True)
class TargetRelation:
    """Reading of half the distance of the target from its best pair of columns; steps of a 256th row."""


@dataclass(frozen=True, kw_only=True)
class ClassDependence:
    """Reading of half distances from independence within classes; steps of a 256th row.

    The largest of all pairs; or a quarter of the sum of the largest, one fewer than there are attributes, if that is
    more.
    """

    attributes: int
    pairs: int


@dataclass(frozen=True, kw_only=True)
class SchemeScore:
    """Scores of ways to show all columns: rows, each by the detail that it shows; steps of a 1024th row.

    With a target also minus the rows that it guesses wrong.
    """

    has_target: bool


@dataclass(frozen=True, kw_only=True)
class PlaceSum:
    """Sum of the places of a number on a grid, from `low` to `high` steps; a row adds its place."""

    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class PlaceHalves:
    """Sums of how far rows are from either end of a grid, from `low` to `high` steps: both ends together are apart."""

    low: int
    high: int


@dataclass(frozen=True, kw_only=True)
class ClippedSum:
    """Sum of vectors, of which each row adds one of at most `bound` in absolute sum: a longer one is shortened."""

    bound: int


TABLE = Table()
ModelQuery: TypeAlias = (
    Table
    | SplitScore
    | PairGain
    | PairError
    | TripleError
    | PairsDependence
    | TargetDependence
    | TargetRelation
    | ClassDependence
    | SchemeScore
    | PlaceSum
    | PlaceHalves
    | ClippedSum
)
