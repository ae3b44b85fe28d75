# SPDX-License-Identifier: Apache-2.0
"""Changes that one row makes to the answers to queries of anonkit's own methods, worked out apart from the claims.

Of numbers the sum of their changes, of scores the width of the range of their changes, in the steps of the query. Where
both ends of a reading or a score are rounded to steps, that is a step at either end.
"""

from __future__ import annotations

import math

from anonkit.budget_rules.model_queries import (
    ClassDependence,
    ClippedSum,
    ModelQuery,
    PairError,
    PairGain,
    PairsDependence,
    PlaceHalves,
    PlaceSum,
    SchemeScore,
    SplitScore,
    Table,
    TargetDependence,
    TargetRelation,
    TripleError,
)
from anonkit.errors import ReleaseFormatError

_ROWS_UP_AND_DOWN = {PairGain: 2, PairError: 512, TripleError: 514}
"""A row moves each score by a row, up or down: in whole rows, in steps, and in steps that are rounded."""
_ROWS_READ = {TargetDependence: 2, TargetRelation: 1}
_TAKEN_FOR_ONE = 4
"""Distances within classes that are read together count as the sum of so many, or as the largest."""


def change_of(query: ModelQuery) -> int:
    """Return the L1 sensitivity to one row that comes or goes.

    Raises
    ------
    ReleaseFormatError
        Nothing is known of the score.
    """
    match query:
        case Table():
            return 1
        case SplitScore():
            return _of_score(query)
        case PairsDependence():
            return _of_reading(4 * query.pairs)
        case ClassDependence():
            together = min(query.attributes - 1, query.pairs)
            return max(_of_reading(2), 512 * together // _TAKEN_FOR_ONE + 2)
        case SchemeScore():
            return 2048 if query.has_target else 1024
        case PlaceSum():
            return max(-query.low, query.high)
        case PlaceHalves():
            return query.high - query.low
        case ClippedSum():
            return query.bound
        case TargetDependence() | TargetRelation():
            return _of_reading(_ROWS_READ[type(query)])
    return _ROWS_UP_AND_DOWN[type(query)]


def _of_reading(rows: int) -> int:
    return rows * 256 + 2


def _of_score(query: SplitScore) -> int:
    """Return the sensitivity of the scores of all candidates, in their steps of 2**-8 (of 1 for max-class)."""
    match query.score:
        case "max-class":
            return 1
        case "gini":
            return 2 * 256
        case "information-gain":
            return 2 * math.ceil(math.log2(max(query.classes, 2)) * 256)
        case "entropy":
            return math.ceil((math.log2(query.most_rows + 1) + 1 / math.log(2)) * 256) + 2
    raise ReleaseFormatError("the params name a score of splits that nothing bounds")
