# SPDX-License-Identifier: Apache-2.0
"""The privacy loss of a noise statement, worked out from its file alone: no code that made the claim is read.

A table of its own says what one row that comes or goes changes for each kind of query:

=============  ======================================================================================================
count          one cell by 1
sum            one cell by the C - 1 half cells that the outermost of C cells are from the middle, at most
rank-score     each score by max(numerator, denominator - numerator), up or down: a range twice as wide
mode-score     one score by 1, up: a range of 1
=============  ======================================================================================================

Noise that falls by exp(-rate) a step loses rate times the change. A choice loses rate times the width of the range: a
shift of all scores alike changes nothing. `tests/mechanisms/test_stated_account.py` compares this table with all small
tables of rows and their neighbours. Losses of draws that can read the same row add up, and the dearest row counts. Each
row of a unit counts once, and so do both sides of a replaced row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anonkit.checks.sameness import none_of, same
from anonkit.checks.stated_params import COUNT, MODE, RANK, SUM, StatedDraw, StatedRelease
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_ADD_OR_REMOVE, _REPLACE = "add or remove one record", "replace one record"
_SIDES = {_ADD_OR_REMOVE: 1, _REPLACE: 2}
_ADJACENCIES = {"add-or-remove": _ADD_OR_REMOVE, "replace": _REPLACE}
_STEP = Fraction(1, 1 << 52)
_MOST_ROWS = 1000
_MOST_KINDS_OF_ROWS = 1 << 16


def change_of(release: StatedRelease, draw: StatedDraw) -> int:
    """Return what one row changes: the sum of the changes of numbers, or the width of the range of those of scores."""
    query = draw.query
    if query.kind == SUM:
        return release.domains[query.of].cells - 1
    if query.kind == RANK:
        return 2 * max(query.numerator, query.denominator - query.numerator)
    return {COUNT: 1, MODE: 1}[query.kind]


def loss_of_draw(release: StatedRelease, draw: StatedDraw) -> Fraction:
    """Return what a draw costs a row that it reads."""
    return draw.rate * change_of(release, draw) * _STEP


def loss_of(release: StatedRelease) -> Fraction:
    """Return what the statement costs the unit of privacy: the dearest row, times the rows that differ.

    Raises
    ------
    ReleaseFormatError
        The neighbours or the rows of a unit are none that anonkit writes, or there are too many kinds of rows.
    """
    if release.adjacency not in _SIDES or release.rows_per_unit > _MOST_ROWS:
        raise ReleaseFormatError("the statement of the params has neighbours that cannot be")
    row = max(_losses_of_rows(release))
    return row * release.rows_per_unit * _SIDES[release.adjacency]


def _losses_of_rows(release: StatedRelease) -> list[Fraction]:
    """Return what each kind of row pays: for each restricted column a row has one of the named codes, or another."""
    kinds: list[dict[str, int]] = [{}]
    for column in sorted({name for draw in release.draws for name in draw.where}):
        codes = sorted({draw.where[column] for draw in release.draws if column in draw.where})
        kinds = [{**kind, column: code} for kind in kinds for code in (*codes, -1)]
        if len(kinds) > _MOST_KINDS_OF_ROWS:
            raise ReleaseFormatError("the statement of the params divides rows more finely than can be checked")
    costs = [(draw.where, loss_of_draw(release, draw)) for draw in release.draws]
    return [sum((cost for where, cost in costs if where.items() <= kind.items()), Fraction(0)) for kind in kinds]


def not_below(value: Fraction) -> float:
    """Return the smallest float that is not below a rational."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def account_checks(release: StatedRelease, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the promise with the loss of the statement.

    Parameters
    ----------
    release : StatedRelease
    params : mapping
        Its `parameters` say for which epsilon, neighbours and rows of a unit the method was called.
    guarantee : mapping
        The `guarantee` block of the report.
    """
    claimed, given = guarantee["parameters"], params["parameters"]
    epsilon = not_below(loss_of(release))
    yield Check(
        name="epsilon", passed=same(claimed["epsilon"], epsilon), observed=epsilon, required=float(claimed["epsilon"])
    )
    within = _is_number(given["epsilon"]) and epsilon <= given["epsilon"]
    yield none_of("account_lines", (not within) + (not same(claimed["delta"], 0)))
    stated = release.adjacency == guarantee["adjacency"] == _ADJACENCIES.get(str(given["adjacency"]))
    yield Check(name="adjacency", passed=stated, observed=release.adjacency, required=guarantee["adjacency"])
    rows = release.rows_per_unit
    stated = same(claimed["rows_per_unit"], rows) and same(given["rows_per_unit"], rows)
    yield Check(name="rows_per_unit", passed=stated, observed=rows, required=claimed["rows_per_unit"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
