# SPDX-License-Identifier: Apache-2.0
"""The privacy account of an (epsilon, delta) release recomputed from its published noise, then composed.

A line of `account` in `params.json` is one draw of noise for every cell of a column::

    {"name": "count", "mechanism": "integer-noise", "weights": [1, 6, 18, 6, 1], "sensitivity": 1, "times": 1,
     "epsilon": 1.1, "delta": 0.03125}

The noise is an integer with published weights around its middle one, drawn exactly: probability is weight over sum. So
what the line costs can be worked out without trusting anybody. Between two tables that differ in one row a cell moves
by at most `sensitivity`; the two noisy cells are two shifted copies of one distribution, and

    delta(epsilon) = max over shifts, sum over outcomes of max(0, P(outcome) - exp(epsilon) P'(outcome))

is the least delta that goes with the stated epsilon (the hockey-stick divergence). It is computed with integers, the
exponential rounded down, so that rounding never flatters. `times` is how many such draws one row enters.

Draws add up by basic composition, in epsilon and in delta. Neighbours that differ in m rows (`composition`: several
rows a unit, or a row replaced) pay m epsilon, and delta times 1 + exp(epsilon) + ... + exp((m - 1) epsilon).

Source: Dwork and Roth, "The algorithmic foundations of differential privacy", 2014, theorems 2.2 and 3.16 (whose group
privacy is used in this sharper form), lemma 3.17.

Validation of a noisy histogram under (epsilon, delta): its account, cells and report agree with each other.

The one format that such a release can have today is `anonkit-noisy-histogram-1`: a row for every combination of public
values, each exactly once, with one or more noisy counts. Which combinations occur in the source must not show, so that
a table in which one is absent, or twice, fails. A release of any other format cannot be checked, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

from anonkit.bundle.data_files import read_rows
from anonkit.checks.central import domain_checks
from anonkit.checks.central_params import domain_of, integers
from anonkit.checks.sameness import none_of, repeated, same
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

_ADJACENCIES = {"add or remove one record": 1, "replace one record": 2}
"""Rows in which neighbouring tables differ, for one row a unit: a replaced row goes, and another comes."""
_MECHANISM = "integer-noise"
_LINE = frozenset({"name", "mechanism", "weights", "sensitivity", "times", "epsilon", "delta"})
_DIGITS = 60
_MOST_EPSILON = 700


@dataclass(frozen=True, kw_only=True)
class ComposedLoss:
    """The loss of one unit of privacy by all lines, exactly or rounded up."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, kw_only=True)
class PublishedLine:
    """One draw of noise, as it is published."""

    name: str
    """Of the released column."""
    weights: tuple[int, ...]
    sensitivity: int
    times: int
    epsilon: Fraction
    delta: Fraction

    @property
    def is_covered(self) -> bool:
        """True when the noise has no more than the stated delta at the stated epsilon."""
        return hockey_stick(self.weights, self.sensitivity, self.epsilon) <= self.delta


def account_of(params: Mapping[str, Any]) -> list[PublishedLine]:
    """Read the lines of an account.

    Raises
    ------
    ReleaseFormatError
        There are none, or one is not such as the module says.
    """
    lines = [_line(raw) for raw in params["account"]]
    if not lines:
        raise ReleaseFormatError("the account of the params has no line, so that nothing in the release has noise")
    return lines


def _line(raw: Mapping[str, Any]) -> PublishedLine:
    if set(raw) != _LINE or raw["mechanism"] != _MECHANISM:
        raise ReleaseFormatError("a line of the account is of a mechanism that cannot be worked out")
    weights, (sensitivity, times) = integers(raw["weights"]), integers([raw["sensitivity"], raw["times"]])
    if len(weights) % 2 == 0 or min(weights) < 0 or not any(weights) or sensitivity < 1 or times < 1:
        raise ReleaseFormatError("a line of the account has weights, a sensitivity or a number that cannot be")
    return PublishedLine(
        name=str(raw["name"]),
        weights=tuple(weights),
        sensitivity=sensitivity,
        times=times,
        epsilon=_figure(raw["epsilon"], _MOST_EPSILON),
        delta=_figure(raw["delta"], 1),
    )


def hockey_stick(weights: Sequence[int], sensitivity: int, epsilon: Fraction) -> Fraction:
    """Return the least delta that goes with an epsilon, for integer noise; rounded up by less than 1e-50.

    Parameters
    ----------
    weights : sequence of int
        Of the outcomes in order; at least one is above 0.
    sensitivity : int
        Largest shift between neighbouring tables, 1 or more.
    epsilon : Fraction
        In [0, 700].
    """
    total, growth = sum(weights), exponential(epsilon, is_above=False)
    worst = 0
    for shift in range(1, sensitivity + 1):
        padding = [0] * shift
        lower, upper = [*weights, *padding], [*padding, *weights]
        for here, there in ((lower, upper), (upper, lower)):
            rest = sum(
                max(0, item * growth.denominator - growth.numerator * other)
                for item, other in zip(here, there, strict=True)
            )
            worst = max(worst, rest)
    return Fraction(worst, total * growth.denominator)


def exponential(exponent: Fraction, *, is_above: bool) -> Fraction:
    """Return e to a power, rounded up or down by at most one part in 10**59."""
    with localcontext() as context:
        context.prec = _DIGITS
        power = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        # the quotient is off by half a digit, which the exponent multiplies; both together are below 1e-55 parts
        margin = power.scaleb(-(_DIGITS - 5))
        return Fraction(power + margin if is_above else power - margin)


def composed(lines: Sequence[PublishedLine], changed_rows: int) -> ComposedLoss:
    """Add up what neighbours that differ in some rows pay for all lines together.

    Parameters
    ----------
    lines : sequence of PublishedLine
    changed_rows : int
        Rows in which neighbouring tables differ, 1 or more.
    """
    epsilon = sum((line.epsilon * line.times for line in lines), Fraction(0))
    delta = sum((line.delta * line.times for line in lines), Fraction(0))
    group = sum((exponential(epsilon * rows, is_above=True) for rows in range(1, changed_rows)), Fraction(1))
    return ComposedLoss(epsilon=epsilon * changed_rows, delta=delta * group)


def loss_checks(params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Compare a promise with its account.

    Parameters
    ----------
    params : mapping
        What `params.json` holds.
    guarantee : mapping
        The `guarantee` block of the report.

    Yields
    ------
    Check
        `stated_losses`: lines whose noise costs more than they state. `epsilon` and `delta`: what all lines cost, and
        what is claimed. `adjacency` and `rows_per_unit`: which neighbours are compared.

    Raises
    ------
    ReleaseFormatError
        The account is none that can be worked out.
    """
    lines, claimed = account_of(params), guarantee["parameters"]
    adjacency = str(params["composition"]["adjacency"])
    rows, claimed_rows = integers([params["composition"]["rows_per_unit"], claimed["rows_per_unit"]])
    if adjacency not in _ADJACENCIES or rows < 1 or (claimed["unit_column"] is None and rows > 1):
        raise ReleaseFormatError("the composition of the params is not one that anonkit writes")
    flattered = sum(not line.is_covered for line in lines)
    yield Check(name="stated_losses", passed=flattered == 0, observed=flattered, required=0)
    loss = composed(lines, rows * _ADJACENCIES[adjacency])
    for name, cost, most in (("epsilon", loss.epsilon, _MOST_EPSILON), ("delta", loss.delta, 1)):
        expected = _figure(claimed[name], most)
        passed = cost <= expected and expected > 0 and (name == "epsilon" or expected < 1)
        yield Check(name=name, passed=passed, observed=not_below(cost), required=float(expected))
    same = adjacency == guarantee["adjacency"]
    yield Check(name="adjacency", passed=same, observed=adjacency, required=str(guarantee["adjacency"]))
    yield Check(name="rows_per_unit", passed=rows == claimed_rows, observed=rows, required=claimed_rows)


def not_below(value: Fraction) -> float:
    """Return the smallest float that is not below a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _figure(value: Any, most: int) -> Fraction:
    """Return an epsilon or a delta as the exact rational that a float of the document is."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ReleaseFormatError("an epsilon or a delta of the files is no figure that can be")
    return Fraction(value)


_FORMAT = "anonkit-noisy-histogram-1"
_COUNT = "count"
"""Type of a column of noisy counts; all others are categories."""
_DAMAGED = "the params or the report lack a key or have one of the wrong kind"


def approximate_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a release under an (epsilon, delta) promise, but for its report.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    params : mapping
        What `params.json` holds.
    guarantee : mapping
        The `guarantee` block of the report.

    Raises
    ------
    ReleaseFormatError
        The params or the report are damaged, or of a format that cannot be checked.
    """
    with refusing_damage(_DAMAGED):
        if params["format"] != _FORMAT:
            raise ReleaseFormatError("an approximate promise can be checked of a histogram only")
        yield from loss_checks(params, guarantee)
        yield _line_check(params)
        domains = {str(column["name"]): column for column in params["columns"]}
        yield none_of("counted_domains", repeated([column["name"] for column in params["columns"]]))
        yield from domain_checks(data, domains)
        yield _cells_check(data, domains)


def approximate_report_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the report of a release under an (epsilon, delta) promise with its params.

    Raises
    ------
    ReleaseFormatError
        One of them is damaged.
    """
    with refusing_damage(_DAMAGED):
        yield from _report_checks(params, report)


def _line_check(params: Mapping[str, Any]) -> Check:
    """Check that every column of counts has noise: one line of the account, and no line without a column."""
    lines = [line.name for line in account_of(params)]
    columns = [str(column["name"]) for column in params["columns"] if column["type"] == _COUNT]
    wrong = len(set(lines) ^ set(columns)) + repeated(lines)
    return Check(name="account_lines", passed=wrong == 0, observed=len(lines), required=len(columns))


def _cells_check(data: Path, domains: Mapping[str, Mapping[str, Any]]) -> Check:
    """Check that every combination of public values is in the table once."""
    released = {name: column for name, column in domains.items() if column["type"] != _COUNT}
    sizes = [domain_of(column["domain"], str(column["type"])).size for column in released.values()]
    rows = read_rows(data, list(released)) if released else None
    combinations = 0 if rows is None else rows.group_by(list(released)).aggregate([]).num_rows
    n_rows = 0 if rows is None else rows.num_rows
    return none_of("cells_once", abs(math.prod(sizes) - combinations) + abs(n_rows - combinations))


def _report_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Compare columns, unit and budget of the report with the params."""
    released = [column["name"] for column in params["columns"]]
    built = [column["name"] for column in report["columns"] if column["action"] == "synthesized"]
    yield Check(
        name="columns_of_params", passed=sorted(built) == sorted(released), observed=len(built), required=len(released)
    )
    units = [column["name"] for column in report["columns"] if column["role"] == "unit"]
    unit = report["guarantee"]["parameters"]["unit_column"]
    right = units == ([] if unit is None else [unit])
    yield Check(name="unit", passed=right, observed=", ".join(units) or None, required=unit)
    lines = [{name: line[name] for name in ("name", "epsilon", "delta")} for line in params["account"]]
    budget = report["budget"]
    yield none_of("budget_lines", (not same(budget["per_attribute"], lines)) + len(budget["per_level"]))
