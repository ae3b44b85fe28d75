# SPDX-License-Identifier: Apache-2.0
"""Privacy loss of drawing rows and showing them where k are alike, computed from the files alone.

Delta is added up here in decimals of forty digits, one class size after another, each term from the one before by the
ratio of two binomial probabilities: no logarithm of a factorial, no array, nothing of the code that chose k by it. The
law is that of `docs/methods/safepub.md`: a class of m rows is shown j times with probability f(j; m), and the terms in
which a row more makes j more than e^epsilon times as likely are what delta has to cover.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from anonkit.budget_rules.model_queries import SchemeScore
from anonkit.bundle.data_files import read_schema
from anonkit.checks.query_changes import change_of
from anonkit.checks.sameness import counted, none_of, same
from anonkit.checks.table_scans import combined
from anonkit.promises.guarantee import Check

_UNIT = 2**52
_WORDS = 2**32
_DIGITS = 40
_NEGLIGIBLE = Decimal(10) ** -30
_ROUNDED_UP = Decimal("1.001")
"""Most by which the delta of a draw is stated above what it is: its logarithms are rounded upwards."""
_LARGEST = 2_000_000
"""Rows of a class up to which is added up; whoever states a draw that needs more states none that could be checked."""
CHOICE = "how each column is shown"
_DRAWING = "which rows are drawn"
_DRAW = {"sampled", "sampled_of", "k", "rate", "rate_unit", "delta"}


def draw_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check that the draws cost what is claimed, and that every row is alike k others.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    guarantee : mapping
        The `guarantee` block of the report.

    Raises
    ------
    LookupError, ValueError, TypeError, ArithmeticError
        The params are none of drawn rows.
    """
    claimed, draw, choice = guarantee["parameters"], params["draw"], params["choice"]
    spent = counted(draw["rate"]) + counted(choice["rate"]) * counted(choice["sensitivity"]) * counted(choice["times"])
    yield Check(
        name="epsilon",
        passed=spent > 0 and Fraction(spent, _UNIT) <= Fraction(claimed["epsilon"]),
        observed=spent / _UNIT,
        required=claimed["epsilon"],
    )
    delta = delta_of_draw(counted(draw["sampled"]), counted(draw["k"]), counted(draw["rate"]))
    yield Check(
        name="delta",
        passed=_is_number(draw["delta"]) and delta <= Decimal(draw["delta"]) <= Decimal(claimed["delta"]),
        observed=float(delta),
        required=claimed["delta"],
    )
    yield none_of("draw", _contradictions(params, guarantee, delta))
    fewest = _fewest_alike(data)
    is_alike = fewest >= claimed["k"] or fewest == 0  # no row at all: an outcome of the coins
    yield Check(name="alike_rows", passed=is_alike, observed=fewest, required=claimed["k"])


def delta_of_draw(sampled: int, k: int, rate: int) -> Decimal:
    """Return the delta of showing classes of k rows that were drawn.

    Parameters
    ----------
    sampled : int
        A row is drawn when its 32-bit word is below this.
    k : int
        Fewest alike rows that are shown.
    rate : int
        Epsilon of the draw, in units of 2**-52.

    Raises
    ------
    ValueError
        No delta below 1 covers so large a sample, or so small a class or epsilon that nobody could add it up.
    """
    with decimal.localcontext(prec=_DIGITS, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX):
        beta, factor = Decimal(sampled) / _WORDS, (Decimal(rate) / _UNIT).exp()
        if not (0 < beta < 1 and k >= 2 and (1 - beta) * factor >= 1):
            raise ValueError("no draw that epsilon covers")
        odds, gamma = beta / (1 - beta), 1 - (1 - beta) / factor
        divergence = gamma * (gamma / beta).ln() - (1 - gamma) * factor.ln()
        size = shown = k
        chance, worst = beta**k, Decimal(0)
        while worst == 0 or (-size * divergence).exp() > worst:
            if size > _LARGEST:
                raise ValueError("no draw that could be checked")
            worst = max(worst, _excess(chance, size, shown, odds, factor / (1 - beta)))
            size += 1  # f(j; m) from f(j; m - 1), then f(j + 1; m) from f(j; m), to the first term that counts
            chance *= (1 - beta) * size / (size - shown)
            while shown <= gamma * size:
                chance *= odds * (size - shown) / (shown + 1)
                shown += 1
        return worst


def _excess(chance: Decimal, size: int, shown: int, odds: Decimal, ratio: Decimal) -> Decimal:
    """Return the probability in excess of e^epsilon, from that of the first number shown upwards."""
    total = Decimal(0)
    while True:
        total += max(chance * (1 - ratio * (size - shown) / size), Decimal(0))
        if shown == size or chance <= _NEGLIGIBLE * total:
            return total + chance * (shown < size)  # what is left falls by half and more
        chance *= odds * (size - shown) / (shown + 1)
        shown += 1


def _is_number(value: object) -> bool:
    """Return True if a value is a number, not a string that Decimal reads as one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _contradictions(params: Mapping[str, Any], guarantee: Mapping[str, Any], delta: Decimal) -> int:
    """Count what the params state of the draws that is not as it is, or not as it is promised."""
    claimed, draw, choice = guarantee["parameters"], params["draw"], params["choice"]
    parameters = params["method_parameters"]
    width = change_of(SchemeScore(has_target=params["target"] is not None))
    units = math.floor(Fraction(parameters["epsilon"]) * _UNIT)
    rate = math.floor(Fraction(parameters["epsilon"]) * _UNIT / 4) // width  # a quarter is for the choice
    right = (
        same(draw["rate"], units - rate * width),
        set(draw) == _DRAW,
        same(draw["sampled_of"], _WORDS),
        draw["rate_unit"] == "2**-52",
        Decimal(draw["delta"]) <= max(delta * _ROUNDED_UP, _NEGLIGIBLE),
        same(draw["k"], claimed["k"]),
        counted(parameters["k"]) <= counted(claimed["k"]),
        same(parameters["epsilon"], claimed["epsilon"]),
        same(parameters["delta"], claimed["delta"]),
        same(choice, _line_of_choice(rate, width)),
        guarantee["adjacency"] == "add or remove one record",
        same(claimed["rows_per_unit"], 1),
        same(claimed["unit_column"], params["unit"]),
    )
    return sum(not fact for fact in right)


def _line_of_choice(rate: int, width: int) -> dict[str, Any]:
    """Return the entry of the params on the choice of a scheme."""
    return {
        "purpose": CHOICE,
        "mechanism": "permute-and-flip",
        "rate": rate,
        "rate_unit": "2**-52",
        "sensitivity": width,
        "times": 1,
        "level": None,
        "ends_path": False,
        "epsilon": _upwards(rate * width),
    }


def budget_lines(params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return on what the epsilon of drawn rows is spent, as the report has to list it; its draws are checked apart."""
    draw, choice = params["draw"], params["choice"]
    spent = {CHOICE: counted(choice["rate"]) * counted(choice["sensitivity"]), _DRAWING: counted(draw["rate"])}
    return [{"name": name, "epsilon": _upwards(units)} for name, units in spent.items()]


def _upwards(units: int) -> float:
    """Return units of 2**-52 as the least float that is not below them."""
    near = units / _UNIT
    return near if Fraction(near) >= Fraction(units, _UNIT) else math.nextafter(near, math.inf)


def _fewest_alike(data: Path) -> int:
    """Count the rows of the smallest class under all columns; 0 for an empty table."""
    names = read_schema(data).names
    with combined(data, names) as lines:
        grouped = ", ".join(map(lines.column, names))
        counting = f"SELECT min(n) FROM (SELECT {lines.rows()} AS n FROM {lines.source} GROUP BY {grouped})"
        return int(lines.connection.execute(counting).fetchone()[0] or 0)
