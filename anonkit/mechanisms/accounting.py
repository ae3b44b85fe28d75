# SPDX-License-Identifier: Apache-2.0
"""Privacy accounting: every draw of a release and its loss per row, planned before any data is read, then charged.

Amounts are whole units of 2**-52 of epsilon, the unit in which mechanisms state their rates, so that what is planned,
charged and claimed are the same integers.

Privacy accounting under (epsilon, delta): Gaussian draws in rho, other draws in epsilon, one claim for both.

Draws of Gaussian noise add up in rho (`anonkit.mechanisms.concentrated_loss`), choices by the exponential mechanism
with them where a method says so, and their sum is converted once, at the delta that is theirs. Draws with a bound of
their own (other choices, Laplace noise) add up in epsilon. Both parts together are basic composition: the epsilons add
up, and so do the deltas (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, TypeAlias

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.documents import ParamsPart
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.found_domains import FindingLine
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import BudgetError, ParameterError
from anonkit.mechanisms.concentrated_loss import changed_squared, rho_units_within
from anonkit.mechanisms.query_sensitivity import sensitivity_of
from anonkit.promises.guarantee import ADD_OR_REMOVE, REPLACE, changed_rows
from anonkit.published.exact_losses import RATE_BITS
from anonkit.published.noisy_tables import GAUSSIAN
from anonkit.published.statements.draws import Bootstrap, Composition, Draw
from anonkit.report.blocks import Budget, Expense, spent_on

LARGEST_EPSILON = 40.0
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
