# SPDX-License-Identifier: Apache-2.0
"""The published account of a noisy release: its lines compared with lines rebuilt from public facts, then summed.

Nothing of this is shared with the code that makes the claim.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from anonkit.checks.account_lines import choice_rho_of, epsilon_of, finding_delta, finding_lines, rho_of
from anonkit.checks.central_params import GAUSSIAN, THRESHOLDED, PublicFacts, integers
from anonkit.checks.central_plans import ExpectedAccount, ExpectedLine
from anonkit.checks.query_changes import change_of
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

ADD_OR_REMOVE = "add or remove one record"
REPLACE = "replace one record"
ADJACENCIES = {"add-or-remove": ADD_OR_REMOVE, "replace": REPLACE}
RATE_UNIT = "2**-52"
_STEP = Fraction(1, 1 << 52)
_MECHANISMS = ("discrete-laplace", "permute-and-flip", "exponential", THRESHOLDED)
_DIGITS = 80
_ROUNDING_OF_DOUBLES = 1e-12
_CLOSE = 1e-6
"""Rates are whole units, rounded down from shares of epsilon; nobody gains by a millionth."""
_ROUNDINGS = 16
"""Units that may be lost to rounding, for each step of sensitivity of each draw; the last of many lines may have one
from each of the others."""


@dataclass(frozen=True, kw_only=True)
class PublishedAccount:
    """The loss that the published rates of a release have."""

    epsilon: float
    rows_per_unit: int
    adjacency: str


def published_account(params: Mapping[str, Any]) -> PublishedAccount:
    """Add up the account of a release.

    A row pays for the draws outside all levels, for the draws of all levels above the leaf it ends in, and for
    those of that leaf's level marked `ends_path`; the dearest leaf level counts. Each draw costs
    rate * sensitivity * times.

    Raises
    ------
    ReleaseFormatError
        When the account is absent or damaged, or a line states another epsilon than its rate has.
    """
    with refusing_damage("the account of the params lacks a key or has one of the wrong kind"):
        lines = [(line, _pure_cost(line)) for line in params["accounting"]]
        path = max((cost for _, cost in _paths(lines)), default=Fraction(0))
        composition = params["composition"]
        adjacency, (rows,) = str(composition["adjacency"]), integers([composition["rows_per_unit"]])
        loss = path if composition["bootstrap"] is None else _bootstrap_loss(composition["bootstrap"], path)
    if adjacency not in (ADD_OR_REMOVE, REPLACE) or rows < 1:
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    total = loss * rows * (2 if adjacency == REPLACE else 1)
    return PublishedAccount(epsilon=_not_below(total), rows_per_unit=rows, adjacency=adjacency)


def approximate_loss(params: Mapping[str, Any], delta: Fraction, *, may_be_pure: bool = False) -> PublishedAccount:
    """Add up the account of a release: what it costs at the delta that is claimed.

    A row is in one cell of every table with Gaussian noise. The rows of a unit, m of them, move a table by a vector of
    length m at most, so that rho grows with m**2; replaced rows leave some cells and come into others, 2 m**2. Choices
    that are paid in rho have a range that c changed rows make c times as wide: c**2, with 2 m rows changed where m are
    replaced. All other lines cost epsilon, for each changed row. Where domains were looked for, that may take half of
    delta.

    Parameters
    ----------
    params : mapping
    delta : Fraction
        In (0, 1).
    may_be_pure : bool
        True where noise that needs no delta may be drawn although one was given.

    Raises
    ------
    ReleaseFormatError
        The account is none that anonkit writes.
    """
    composition = params["composition"]
    adjacency, (rows,) = str(composition["adjacency"]), integers([composition["rows_per_unit"]])
    if adjacency not in (ADD_OR_REMOVE, REPLACE) or rows < 1 or composition["bootstrap"] is not None:
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    sides = 2 if adjacency == REPLACE else 1
    lines = [(line, _cost(line)) for line in params["accounting"]]
    rho = sum((cost for line, cost in lines if line["mechanism"] == GAUSSIAN), Fraction(0)) * rows**2 * sides
    chosen = [cost for line, cost in lines if _is_in_rho(line) and line["mechanism"] != GAUSSIAN]
    rho += sum(chosen, Fraction(0)) * (rows * sides) ** 2
    others = [(line, cost) for line, cost in lines if not _is_in_rho(line)]
    pure = max((cost for _, cost in _paths(others)), default=Fraction(0)) * rows * sides
    found = finding_lines(params)
    if rho == 0 and not found and not may_be_pure:
        raise ReleaseFormatError("the account of the params has no line for which a delta is spent")
    if finding_delta(params, rows, replaced=sides == 2) > delta / 2:
        raise ReleaseFormatError("the thresholds of the account spend more than half of delta")
    converted = epsilon_of(rho, delta / 2 if found else delta) if rho else Fraction(0)
    return PublishedAccount(epsilon=_not_below(pure + converted), rows_per_unit=rows, adjacency=adjacency)


def claim_checks(params: Mapping[str, Any], guarantee: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the promise of a report with the sum of the account.

    Raises
    ------
    ReleaseFormatError
        As `published_account` and `approximate_loss` do.
    """
    claimed = guarantee["parameters"]
    epsilon, delta = float(claimed["epsilon"]), float(claimed["delta"])
    if delta:
        params_delta = facts.number("delta")
        yield Check(name="claimed_delta", passed=0 < params_delta <= delta, observed=params_delta, required=delta)
        account = approximate_loss(params, Fraction(params_delta), may_be_pure=facts.family.chooses_law)
    else:
        account = published_account(params)
    (rows,) = integers([claimed["rows_per_unit"]])
    yield Check(name="epsilon", passed=account.epsilon <= epsilon, observed=account.epsilon, required=epsilon)
    same = account.adjacency == guarantee["adjacency"]
    yield Check(name="adjacency", passed=same, observed=account.adjacency, required=guarantee["adjacency"])
    same = account.rows_per_unit == rows
    yield Check(name="rows_per_unit", passed=same, observed=account.rows_per_unit, required=rows)


def account_checks(params: Mapping[str, Any], facts: PublicFacts, expected: ExpectedAccount) -> Iterator[Check]:
    """Compare the account with the draws that must have been made.

    Parameters
    ----------
    params : mapping
    facts : PublicFacts
        What the params state besides the account.
    expected : ExpectedAccount
        Rebuilt from these.
    """
    published = list(params["accounting"])
    wrong = list(_differences(published, expected.lines))
    yield Check(
        name="account_lines", passed=not wrong, observed=wrong[0] if wrong else len(published), required="as rebuilt"
    )
    composition = params["composition"]
    stated = (composition["adjacency"], composition["rows_per_unit"], _words(composition["bootstrap"]))
    rebuilt = (ADJACENCIES[facts.parameters["adjacency"]], facts.whole("rows_per_unit", 1), expected.copies)
    yield Check(
        name="composition", passed=stated == rebuilt, observed=_unit_in_words(stated), required=_unit_in_words(rebuilt)
    )
    if expected.path is not None:
        lines = [(line, _cost(line)) for line in published if not _is_in_rho(line)]
        slack = _CLOSE * expected.path + float(_STEP) * _ROUNDINGS * (1024 + _steps(published))
        costs = [float(cost) for _, cost in _paths(lines)]
        passed = all(expected.path - slack <= cost <= expected.path * (1 + 1e-12) for cost in costs)
        yield Check(name="account_spends_epsilon", passed=passed, observed=min(costs), required=expected.path)


def _unit_in_words(composition: Sequence[Any]) -> str:
    """Return neighbouring tables and rows of a unit as the report has them."""
    adjacency, rows, *_ = composition
    return f"{adjacency}, {rows} {'row' if rows == 1 else 'rows'} of a unit"


def _differences(published: Sequence[Mapping[str, Any]], expected: Sequence[ExpectedLine]) -> Iterator[str]:
    """Name the lines that are missing, that are there for nothing, and that say something else."""
    rest = Counter((str(line["purpose"]), line["level"], line["ends_path"]) for line in published)
    for line in expected:
        key = (line.purpose, line.level, line.ends_path)
        if not rest[key]:
            yield f"missing: {line.purpose}"
        rest[key] -= 1
    yield from (f"not planned: {purpose}" for (purpose, _, _), left in rest.items() if left > 0)
    known = {(line.purpose, line.level, line.ends_path): line for line in expected}
    for stated in published:
        same = known.get((str(stated["purpose"]), stated["level"], stated["ends_path"]))
        if same is not None and (what := _difference(stated, same, len(expected))):
            yield f"{what}: {same.purpose}"


def _difference(stated: Mapping[str, Any], line: ExpectedLine, n_lines: int) -> str | None:
    """Return the fields of a published line that differ from the expected ones."""
    if stated["mechanism"] != line.mechanism:
        return "mechanism"
    if _is_in_rho(stated) != (line.in_rho or line.mechanism == GAUSSIAN):
        return "currency"
    if line.query is not None and stated["sensitivity"] != change_of(line.query):
        return "sensitivity"
    if stated["times"] not in line.times:
        return "times"
    if line.cost is None:
        return None
    slack = _CLOSE * line.cost + float(_STEP) * (max(_ROUNDINGS, n_lines) * _steps([stated]) + line.left_over)
    return None if line.cost - slack <= float(_cost(stated)) <= line.cost + slack else "rate"


def _steps(lines: Sequence[Mapping[str, Any]]) -> int:
    return sum(int(line["sensitivity"]) * int(line["times"]) for line in lines)


def _words(bootstrap: Mapping[str, Any] | None) -> tuple[int, tuple[int, ...], int] | None:
    """Return trees, the words that give each number of copies, and their bits."""
    if bootstrap is None:
        return None
    return (bootstrap["trees"], tuple(integers(bootstrap["weights"])), bootstrap["word_bits"])


def _pure_cost(line: Mapping[str, Any]) -> Fraction:
    """Return the epsilon of a line; refuse one that has no epsilon without a delta."""
    if line["mechanism"] == THRESHOLDED or _is_in_rho(line):
        raise ReleaseFormatError("a line of the account has noise that no epsilon covers without a delta")
    return _cost(line)


def _is_in_rho(line: Mapping[str, Any]) -> bool:
    """Return True if what a line costs is a rho, which is converted in sum, and no epsilon."""
    return line["mechanism"] == GAUSSIAN or "rho" in line


def _cost(line: Mapping[str, Any]) -> Fraction:
    if line["mechanism"] == GAUSSIAN:
        return rho_of(line)
    if _is_in_rho(line):
        return choice_rho_of(line)
    rate, sensitivity, times = line["rate"], line["sensitivity"], line["times"]
    whole = all(
        isinstance(term, int) and not isinstance(term, bool) and term >= 1 for term in (rate, sensitivity, times)
    )
    level, ends = line["level"], line["ends_path"]
    whole = whole and (level is None or (isinstance(level, int) and not isinstance(level, bool)))
    if not whole or not isinstance(ends, bool) or line["mechanism"] not in _MECHANISMS:
        raise ReleaseFormatError("a line of the account has a mechanism, rate, sensitivity or number that cannot be")
    if line["rate_unit"] != RATE_UNIT:
        raise ReleaseFormatError("a line of the account has rates in another unit")
    cost: Fraction = rate * sensitivity * times * _STEP
    if not same(float(cost), line["epsilon"], tolerance=_ROUNDING_OF_DOUBLES):
        raise ReleaseFormatError(
            "a line of the account states another epsilon than its rate has", "the params file was altered"
        )
    return cost


def _paths(lines: Sequence[tuple[Mapping[str, Any], Fraction]]) -> Iterator[tuple[int | None, Fraction]]:
    """Yield the loss of each kind of path, one for every level at which it can end."""
    ends = {line["level"] for line, _ in lines if line["ends_path"]}
    if any(line["ends_path"] and line["level"] is None for line, _ in lines):
        raise ReleaseFormatError("a line of the account ends a path at no level")
    for end in ends or {None}:
        yield end, sum((cost for line, cost in lines if _on_path(line, end)), Fraction(0))


def _on_path(line: Mapping[str, Any], end: int | None) -> bool:
    level = line["level"]
    if line["ends_path"]:
        return bool(level == end)
    return level is None or end is None or int(level) < end


def _bootstrap_loss(bootstrap: Mapping[str, Any], path: Fraction) -> Fraction:
    weights, (bits, trees) = integers(bootstrap["weights"]), integers([bootstrap["word_bits"], bootstrap["trees"]])
    if not 1 <= bits <= 64 or sum(weights) != 1 << bits or min(weights) < 0 or trees < 1:
        raise ReleaseFormatError("the bootstrap of the params has weights that cannot be")
    with localcontext() as context:
        context.prec = _DIGITS
        growth = (Decimal(path.numerator) / Decimal(path.denominator)).exp()
        mean = sum((Decimal(weight) * growth**copies for copies, weight in enumerate(weights)), Decimal(0)) / 2**bits
        return Fraction(trees * mean.ln())


def _not_below(value: Fraction) -> float:
    """Return the smallest float not below a rational; a hair (1e-40) below a float is that float."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value - Fraction(1, 10**40) else math.nextafter(nearest, math.inf)
