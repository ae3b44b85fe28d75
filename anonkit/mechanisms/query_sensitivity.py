# SPDX-License-Identifier: Apache-2.0
"""Sensitivity of queries to one row that comes or goes, as the owner accounts for it: of own methods and of statements.

Of a table it is the sum of the changes of all numbers; of scores the width of the range of their changes. Tests of the
queries recompute each by brute force, and `tests/mechanisms/test_query_sensitivity.py` compares all with those of
`anonkit.checks.query_changes`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

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
from anonkit.domains.number_bins import Categories, Grid
from anonkit.published.statements.noise_statement import Count, ModeScore, Query, RankScore, Sum

STEPS = 256
"""Steps of a score, or of a reading, in a row."""
MANY_PAIRS = 4
"""Pairs of a small dependence that count as one of a large: the sum over as many pairs as would join all attributes is
divided by it. By less, a row would move it further; by more, one factor behind many attributes would not show."""
SCHEME_BITS = 10
"""A score of a scheme is in steps of 2**-10 of a row."""
_ROUNDING = 2
"""Steps by which rounding moves what is compared: one at either end."""


def sensitivity_of(query: ModelQuery | Query, domains: Mapping[str, Categories | Grid] = MappingProxyType({})) -> int:
    """Return the sensitivity of a query, in its own steps.

    Parameters
    ----------
    query : ModelQuery or Query
    domains : mapping, optional
        Public domain of each column that a query of a noise statement names.

    Raises
    ------
    ValueError
        Nothing is known of the score.
    """
    match query:
        case Table() | SplitScore(score="max-class"):  # one cell, or one row of the commonest class
            return 1
        case SplitScore(score="gini"):  # a row that comes lowers it, by less than 2
            return 2 * STEPS
        case SplitScore(score="entropy"):  # between 0 and the steepest slope
            return math.ceil(steepest_entropy(query.most_rows) * STEPS) + _ROUNDING
        case SplitScore(score="information-gain"):  # its range alone bounds it, up and down
            return 2 * entropy_steps(query.classes)
        case PairGain():  # each score by a row, up or down
            return 2
        case PairError():  # it may raise one and lower another
            return STEPS + STEPS
        case TripleError():
            return STEPS + STEPS + _ROUNDING
        case PairsDependence(pairs=pairs):  # an error of independence moves by less than 4
            return 4 * pairs * STEPS + _ROUNDING
        case TargetDependence():
            moved = 2
            return moved * STEPS + _ROUNDING
        case TargetRelation():
            of_best = STEPS
            return of_best + _ROUNDING
        case ClassDependence(attributes=attributes, pairs=pairs):  # half an error moves by less than 2
            summed = max(1.0, min(attributes - 1, pairs) / MANY_PAIRS)
            return math.ceil(2 * summed * STEPS) + _ROUNDING
        case SchemeScore(has_target=has_target):
            return (2 if has_target else 1) << SCHEME_BITS
        case PlaceSum(low=low, high=high):
            return max(abs(low), abs(high))
        case PlaceHalves(low=low, high=high):
            return high - low
        case ClippedSum(bound=bound):
            return bound
        case Count() | ModeScore():  # one cell, or the score of one value
            return 1
        case Sum(of=of):  # a row in an outermost cell
            return _cells(domains[of]) - 1
        case RankScore(numerator=numerator, denominator=denominator):
            # each score moves by so much at most, some up and others down
            return 2 * max(numerator, denominator - numerator)
        case _:
            raise ValueError("nothing bounds this score of splits")


def _cells(domain: Categories | Grid) -> int:
    return domain.cells if isinstance(domain, Grid) else len(domain.values)


def steepest_entropy(most_rows: int) -> float:
    """Return a bound on the slope of x log2 x up to a number of rows and one more, in bits."""
    return math.log2(most_rows + 1) + 1 / math.log(2)


def entropy_steps(classes: int) -> int:
    """Return the largest entropy of so many classes, in steps of a bit."""
    return math.ceil(math.log2(max(classes, 2)) * STEPS)
