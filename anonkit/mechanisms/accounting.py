# SPDX-License-Identifier: Apache-2.0
"""Privacy accounting of the owner: sensitivity of queries, loss of draws, and their sum, before data is read.

Amounts are integers in units of 2**-52 of epsilon, the unit in which mechanisms state their rates, so that what is
planned, charged and claimed are the same integers.

*Sensitivity* to one row that comes or goes: of a table the sum of the changes of all numbers; of scores the width of
the range of their changes. It covers queries of own methods and of noise statements. Tests of the queries recompute
each by brute force, and `tests/mechanisms/test_accounting.py` compares all with those of
`anonkit.checks.draw_loss`.

*Zero-concentrated differential privacy* (zCDP). A draw that is rho-zCDP has Renyi divergence at most alpha rho between
neighbours, for every order alpha > 1. Losses of several draws add up, and c changed rows lose c**2 as much. A total of
rho keeps every (epsilon, delta) with

    delta >= exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)**alpha

for one alpha > 1. Any alpha gives a bound that holds; the best one is looked for in floating point, and the bound is
worked out with 60 digits and rounded up, so that no search can claim too much.

*Composition* under (epsilon, delta). Draws of Gaussian noise add up in rho, choices by the exponential mechanism with
them where a method says so, and their sum is converted once, at the delta that is theirs. Draws with a bound of their
own (other choices, Laplace noise) add up in epsilon. Both parts together are basic composition: the epsilons add up,
and so do the deltas.

Sources: Dwork and Roth 2014, theorem 3.16 (basic composition); Bun and Steinke, "Concentrated differential privacy",
TCC 2016 (composition, groups); Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS
2020, proposition 12 and corollary 13 (the conversion, which is that of Asoodeh, Liao, Calmon, Kosut, Sankar, ISIT 2020,
in closed form).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import numpy as np

from anonkit.budget_rules.model_queries import (
    TABLE,
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
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.found_domains import FindingLine
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import BudgetError, ParameterError
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.published.exact_losses import LARGEST_EPSILON, RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.noise_statement import (
    Bootstrap,
    Composition,
    Count,
    Draw,
    ModeScore,
    Query,
    RankScore,
    Sum,
)
from anonkit.report.blocks import Budget, Expense, spent_on

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


_CONVERSION_DIGITS = 60
_CONVERSION_SLACK = Decimal(10) ** -40
_HALVINGS = 80
_LEAST_ORDER, _LARGEST_ORDER = 1e-9, 1e15
"""Range of alpha - 1 that is searched."""
_MARGIN = Fraction(10**9 - 1, 10**9)
"""Kept back from rho, so that whoever converts it with another alpha and other rounding does not exceed the claim."""


def delta_of(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta that goes with an epsilon when rho is lost: an upper bound, 1 at most.

    Parameters
    ----------
    rho : Fraction
        Above 0.
    epsilon : Fraction
        In [0, 40].
    """
    order = _best_order(float(rho), float(epsilon))
    with localcontext() as context:
        context.prec = _CONVERSION_DIGITS
        above = Decimal(order)  # alpha - 1
        alpha = 1 + above
        exponent = above * (alpha * _decimal(rho) - _decimal(epsilon))
        log = exponent - above.ln() + alpha * (above / alpha).ln()
        return Fraction(1) if log >= 0 else min(Fraction(1), Fraction(log.exp() * (1 + _CONVERSION_SLACK)))


def _best_order(rho: float, epsilon: float) -> float:
    """Return alpha - 1 where the logarithm of the bound is least: its derivative in alpha is 0 there."""
    low, high = _LEAST_ORDER, _LARGEST_ORDER
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        # d/da [(a - 1) (a rho - epsilon) - ln(a - 1) + a ln(1 - 1/a)] = (2 a - 1) rho - epsilon + ln(1 - 1/a)
        if (2 * middle + 1) * rho - epsilon - math.log1p(1 / middle) < 0:
            low = middle
        else:
            high = middle
    return low


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@lru_cache(maxsize=256)
def rho_units_within(epsilon: Fraction, delta: Fraction) -> int:
    """Return the most of rho, in units of 2**-52, that keeps (epsilon, delta); rounded down.

    Parameters
    ----------
    epsilon : Fraction
        In (0, 40].
    delta : Fraction
        In (0, 1).

    Raises
    ------
    ParameterError
        Not even one unit does.
    """
    one = 1 << RATE_BITS
    low, high = 0, int(LARGEST_EPSILON) * one
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(Fraction(middle, one), epsilon) <= delta:
            low = middle
        else:
            high = middle
    units = math.floor(low * _MARGIN)
    if units < 1:
        raise ParameterError(
            f"epsilon {float(epsilon):.3g} with delta {float(delta):.3g} leaves no room for noise",
            "give more of either",
        )
    return units


def changed_squared(rows_per_unit: int, *, replaced: bool) -> int:
    """Return the factor by which a unit loses more than one row in a table in which every row is in one cell.

    Rows of a unit that go, or come, change the table by a vector of length at most their number m: m**2. Where they are
    replaced, m go from some cells and m come into others: the vector is a difference of two such vectors with no entry
    below 0, hence its square is at most 2 m**2, and not (2 m)**2.
    """
    return rows_per_unit**2 * (2 if replaced else 1)


_ONE = 1 << RATE_BITS
_DIGITS = 90
_SLACK = Decimal(10) ** -60


def units_of(epsilon: float | Fraction) -> int:
    """Return epsilon in whole units of 2**-52, rounded down.

    Raises
    ------
    ParameterError
        When epsilon is not in (0, 40].
    """
    if isinstance(epsilon, bool) or not math.isfinite(epsilon) or not 0 < epsilon <= LARGEST_EPSILON:
        raise ParameterError(f"epsilon ({epsilon}) must be in (0, {LARGEST_EPSILON:g}]", "0.1 to 2 is usual")
    return math.floor(Fraction(epsilon) * _ONE)


def shares(units: int, weights: Sequence[int | Fraction]) -> list[int]:
    """Divide units in proportion to public weights; the parts are whole and add up to `units` exactly.

    Parts are rounded down and the last part of positive weight takes what is left over.

    Raises
    ------
    ParameterError
        When a weight is negative, or all are 0.
    """
    total = sum(map(Fraction, weights), Fraction(0))
    if any(weight < 0 for weight in weights) or total == 0:
        raise ParameterError("weights of a budget must be at least 0 and not all 0")
    # in fractions: a rounding error in a share would be a privacy loss that no line accounts for
    parts = [math.floor(units * Fraction(weight) / total) for weight in weights]
    last = max(position for position, weight in enumerate(weights) if weight > 0)
    parts[last] += units - sum(parts)
    return parts


def rate_within(units: int, sensitivity: int) -> int:
    """Return the highest rate at which a draw of this sensitivity costs at most `units`.

    Raises
    ------
    ParameterError
        When not even the lowest rate is that cheap, or the rate would be 64 or more.
    """
    # rounded down: rate * sensitivity never exceeds the units
    rate = units // sensitivity
    if not 1 <= rate < 64 * _ONE:
        raise ParameterError(
            f"a draw of epsilon {units / _ONE:.3g} at sensitivity {sensitivity} is outside the range of the noise",
            "spend more, or divide it less",
        )
    return rate


Domains: TypeAlias = Mapping[str, Categories | Grid]
"""Public domain of each column that queries name, by its name."""


def draw_units(draw: Draw, domains: Domains = MappingProxyType({})) -> int:
    """Return the loss of a row for a draw and its repetitions, in units of 2**-52 of epsilon.

    Raises
    ------
    ParameterError
        It is paid in rho: what that comes to in epsilon depends on delta.
    """
    if draw.in_rho:
        raise ParameterError(f"draw {draw.name!r} is paid in rho: state what is promised for all draws")
    return draw.rate * sensitivity_of(draw.query, domains) * draw.times


def draw_epsilon(draw: Draw, domains: Domains = MappingProxyType({})) -> float:
    """Return the same as epsilon, rounded up to a float."""
    return rounded_up(Fraction(draw_units(draw, domains), _ONE))


def draw_rho(draw: Draw) -> Fraction:
    """Return the loss rho of a row for a draw in rho and its repetitions.

    The losses of all outcomes of a choice by the exponential mechanism lie within epsilon of each other, epsilon being
    rate times sensitivity, so that it is epsilon**2 / 8 of zCDP (docs/proofs/central.md; Cesar and Rogers, ALT 2021).
    Permute-and-flip has no such range: it would cost epsilon**2 / 2.
    """
    one = Fraction(draw.rate, _ONE)
    return draw.times * (one if draw.law == GAUSSIAN else (one * sensitivity_of(draw.query)) ** 2 / 8)


def copies_loss(bootstrap: Bootstrap, path: Fraction) -> Fraction:
    """Return an upper bound, tight to 1e-60, of the loss of a row whose single copy loses `path` in a tree.

    With M copies a path costs M times its units, and the loss of a tree is ln E[exp(M * loss)], summed over the trees:
    a mixture over M of outcomes each within exp(M * loss) of those without the row.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        per_copy = Decimal(path.numerator) / Decimal(path.denominator)
        mean = sum((Decimal(w) * (per_copy * k).exp() for k, w in enumerate(bootstrap.weights)), Decimal(0))
        return Fraction(((mean / 2**bootstrap.word_bits).ln() + _SLACK) * bootstrap.trees)


@dataclass(frozen=True, kw_only=True)
class AccountLine(
    ParamsPart,
    keys=(
        *("purpose=draw.name", "mechanism=draw.law", "rate=draw.rate", "rate_unit", "sensitivity"),
        *("times=draw.times", "level=draw.level", "ends_path=draw.ends_path", "**cost"),
    ),
):
    """The line of an account: a draw and its loss."""

    rate_unit: ClassVar[str] = f"2**-{RATE_BITS}"
    draw: Draw

    @property
    def sensitivity(self) -> int:
        """In steps: for noise the sum of the changes one row makes, for a choice the width of the range of changes."""
        return sensitivity_of(self.draw.query)

    @property
    def cost(self) -> Expense:
        """Loss of a row, rounded up to a float: epsilon, or rho, which is converted in sum."""
        draw = self.draw
        return {"rho": rounded_up(draw_rho(draw))} if draw.in_rho else {"epsilon": draw_epsilon(draw)}


@dataclass(frozen=True, kw_only=True)
class Accounting(ParamsPart, keys=("accounting=lines", "composition")):
    """Everything a release draws from the data, and the loss that makes for the unit of privacy.

    Draws on the same rows add up, disjoint rows count once (parallel composition), and a unit of several rows, or a
    replaced row (one goes, one comes), loses the epsilon of a row for each of them.
    """

    draws: tuple[Draw, ...]
    searched: tuple[Draw | FindingLine, ...] = ()
    """Draws that looked for domains or spikes, before all others."""
    claim: tuple[float, float] | None = None
    """Epsilon and delta that are promised, at least what all draws come to; None: the sum of the draws, and no delta.

    Draws in rho need one, and so do draws with thresholds.
    """
    bootstrap: Bootstrap | None = None
    rows_per_unit: int = 1
    """Most rows of one unit that are used."""
    adjacency: str = ADD_OR_REMOVE
    by_level: bool = False
    """True for trees: the budget lists what each level costs, in place of each draw."""
    is_void: bool = False
    """True where a look without noise leaves nothing to promise: no draw is listed then."""

    @property
    def path_units(self) -> int:
        """Privacy loss of the most expensive path, in units of 2**-52."""
        return most_expensive_path([(draw.level, draw.ends_path, draw_units(draw)) for draw in self.draws])

    @property
    def row_loss(self) -> Fraction:
        """Loss of one row that comes or goes."""
        path = Fraction(self.path_units, _ONE)
        return path if self.bootstrap is None else copies_loss(self.bootstrap, path)

    @property
    def epsilon(self) -> float:
        """Promised loss of the unit of privacy; else that of the draws under the adjacency, rounded up to a float."""
        if self.claim is not None:
            return self.claim[0]
        return rounded_up(self.row_loss * changed_rows(self.rows_per_unit, self.adjacency))

    @property
    def rho(self) -> Fraction:
        """Loss rho of the unit of privacy for all Gaussian draws, and all choices paid in rho."""
        table = changed_squared(self.rows_per_unit, replaced=self.adjacency == REPLACE)
        choice = changed_rows(self.rows_per_unit, self.adjacency) ** 2
        in_rho = (draw for draw in self.draws if draw.in_rho)
        return sum((draw_rho(draw) * (table if draw.law == GAUSSIAN else choice) for draw in in_rho), Fraction(0))

    @property
    def lines(self) -> tuple[FindingLine | AccountLine, ...]:
        """Every kind of draw, as the params have them."""
        listed = () if self.is_void else (*self.searched, *self.draws)
        return tuple(line if isinstance(line, FindingLine) else AccountLine(draw=line) for line in listed)

    @property
    def composition(self) -> Composition:
        """The neighbouring tables that the account holds for."""
        return Composition(adjacency=self.adjacency, rows_per_unit=self.rows_per_unit, bootstrap=self.bootstrap)

    @property
    def budget(self) -> Budget:
        """The report's `budget` block."""
        if self.is_void:
            return spent_on((), None, None)
        delta = 0 if self.claim is None else self.claim[1]
        if self.by_level:
            return {**spent_on((), self.epsilon, delta), "per_level": _by_level(self.draws), **self._domains}
        lines = [AccountLine(draw=draw) for draw in self.draws]
        expenses: list[Expense] = [{"name": line.draw.column or line.draw.name, **line.cost} for line in lines]
        return {**spent_on(expenses, self.epsilon, delta), **self._domains}

    @property
    def _domains(self) -> Budget:
        """The part of the budget that was spent on domains and spikes; nothing where none were looked for."""
        expenses: list[Expense] = [
            {"name": line.purpose, "epsilon": float(line.epsilon), "delta": float(line.delta)}
            if isinstance(line, FindingLine)
            else {"name": line.name, "epsilon": draw_epsilon(line), "delta": 0.0}
            for line in self.searched
        ]
        return {"domains": expenses} if expenses else {}

    def after_search(self, lines: Sequence[Draw | FindingLine], epsilon: float, delta: float) -> Accounting:
        """Return the account with draws that looked for domains or spikes before, and the promise for all together."""
        return replace(self, searched=tuple(lines), claim=(epsilon, delta))


def _by_level(draws: Sequence[Draw]) -> list[Expense]:
    """Return the loss of the draws on each level of a tree, in epsilon; each loss in rho is an expense of its own."""
    levels: dict[tuple[int | None, bool], float] = {}
    concentrated: list[Expense] = []
    for draw in draws:
        if draw.in_rho:
            concentrated.append({"level": None, "part": "split", **AccountLine(draw=draw).cost})
        else:
            key = (draw.level, draw.ends_path)
            levels[key] = levels.get(key, 0.0) + draw_epsilon(draw)
    pure: list[Expense] = [
        {"level": level, "part": "leaf" if ends else "split", "epsilon": epsilon}
        for (level, ends), epsilon in levels.items()
    ]
    return [*pure, *concentrated]


def most_expensive_path(draws: Sequence[tuple[int | None, bool, int]]) -> int:
    """Return the largest sum over the paths of (level, ends_path, units): see `Draw`."""
    everywhere = sum(units for level, _, units in draws if level is None)
    inner = [(level, units) for level, ends, units in draws if level is not None and not ends]
    ends: dict[int, int] = {}
    for level, is_end, units in draws:
        if level is not None and is_end:
            ends[level] = ends.get(level, 0) + units
    if not ends:
        return everywhere + sum(units for _, units in inner)
    return everywhere + max(units + sum(node for at, node in inner if at < end) for end, units in ends.items())


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


class PathAccount:
    """The loss charged to the path of each node of growing trees: to the rows in it, by it and all above it.

    Parameters
    ----------
    limit : int
        Units that may be spent on any path.
    roots : int
        Nodes at the start, numbered from 0.
    """

    def __init__(self, limit: int, roots: int) -> None:
        self.limit = limit
        self.spent: IntArray = np.zeros(roots, dtype=np.int64)
        """Units spent on the path of each node, shape (n_nodes,)."""

    @property
    def most(self) -> int:
        """Units spent on the dearest path."""
        return int(self.spent.max(initial=0))

    def charge(self, purpose: str, units: int, nodes: IntArray) -> None:
        """Charge a draw in some nodes, before it is made.

        Raises
        ------
        BudgetError
            When a path has less left. Nothing is charged then.
        """
        if units < 1:
            raise ParameterError("a draw must be charged at least one unit")
        if int(self.spent[nodes].max(initial=0)) + units > self.limit:
            raise BudgetError(
                f"{purpose} would exceed the planned epsilon ({self.limit / _ONE:.6g})",
                "a bug in the method: its plan spends more than its claim; nothing was released",
            )
        self.spent[nodes] += units

    def branch(self, parents: IntArray) -> None:
        """Add nodes: the next numbers, each going on from the path of its parent."""
        self.spent = np.append(self.spent, self.spent[parents])


def row_rho_units(epsilon: Fraction, delta: float | Fraction, rows_per_unit: int, adjacency: str) -> int:
    """Return the rho that one row may cost in all its Gaussian tables, in units of 2**-52.

    Parameters
    ----------
    epsilon : Fraction
        For the unit of privacy, in (0, 40].
    delta : float or Fraction
        In (0, 0.01].
    rows_per_unit : int
    adjacency : str
    """
    units = rho_units_within(epsilon, Fraction(delta))
    return units // changed_squared(rows_per_unit, replaced=adjacency == REPLACE)


def gaussian_draws(purposes: Sequence[str], weights: Sequence[Fraction], units: int) -> tuple[Draw, ...]:
    """Divide rho over tables in proportion to public weights."""
    return tuple(
        Draw(name=purpose, query=TABLE, law=GAUSSIAN, rate=rate, in_rho=True)
        for purpose, rate in zip(purposes, shares(units, weights), strict=True)
    )
