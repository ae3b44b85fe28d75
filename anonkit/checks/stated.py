# SPDX-License-Identifier: Apache-2.0
"""Validation of a release by a noise statement, of any method: its account, noise, table and report.

The method is not called, and its package need not be installed. Loss, words and lines are worked out from the statement
in the params, by tables that no method shares and no code that made the claim.

*Account.* A table of its own has the change of each kind of query by one row that comes or goes:

=============  ======================================================================================================
count          one cell by 1
sum            one cell by the C - 1 half cells that the outermost of C cells are from the middle, at most
rank-score     each score by max(numerator, denominator - numerator), up or down: a range twice as wide
mode-score     one score by 1, up: a range of 1
=============  ======================================================================================================

Noise that falls by exp(-rate) a step loses rate times the change. A choice loses rate times the width of the range: a
shift of all scores alike changes nothing. `tests/mechanisms/test_stated_account.py` compares this table with all small
tables of rows and their neighbours. Losses of draws that can read the same row add up, and the most expensive row
counts. Each row of a unit counts once, and so do both sides of a replaced row.

*Noise.* Two contingency tables of the same rows have, for each value of the columns that both have, two noisy counts of
the same rows, which differ by noise alone. Draws are looked at in pairs, so that each takes part in one comparison of a
kind.

*Table.* It is made of the published values, row for row: nothing else is in it.

*Report.* It is compared with the params block by block.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.data_files import iter_batches, parts_of, read_rows, read_schema
from anonkit.checks.central import domain_checks
from anonkit.checks.central_noise import CountDifference, Noise, SameRows, shown_checks
from anonkit.checks.central_params import PublicColumn, PublicDomain, domain_of
from anonkit.checks.central_rows import codes_of
from anonkit.checks.sameness import differing, none_of, same, same_figure
from anonkit.checks.stated_params import (
    CELL_ROWS,
    COUNT,
    MODE,
    RANK,
    SUM,
    PublishedDraw,
    StatedRelease,
    labels_of,
    read_statement,
)
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

_BATCH_ROWS = 1 << 16
_DRAW, _LAST = "draw", ("of", "statistic", "value")
_MEANING = {
    "draw": "name of the draw",
    "of": "column that is added up, or of which a value is chosen",
    "statistic": "what the value is",
    "value": "with noise",
}
_ROUNDING = 1e-12


def row_checks(data: Path, release: StatedRelease, params: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the released table with the published values.

    Parameters
    ----------
    data : path
        The Parquet file or folder.
    release : StatedRelease
    params : mapping
        Its `columns` describe the table.
    """
    yield none_of("counted_domains", _described_otherwise(release, params["columns"]))
    if release.shows == CELL_ROWS:
        yield from domain_checks(data, {str(column["name"]): column for column in params["columns"]})
        yield none_of("rows_from_values", _rows_otherwise(data, release))
    else:
        yield none_of("rows_from_values", _lines_otherwise(data, release))


# --- rows of the cells of a table --------------------------------------------------------------------------------


def _described_otherwise(release: StatedRelease, columns: Any) -> int:
    """Count the released columns that are not described as the statement has them."""
    if release.shows == CELL_ROWS:
        by = {name: release.domains[name] for name in release.draw(release.shown).query.by}
        listed = {column["name"]: column for column in columns}
        wrong = len(set(by) ^ set(listed)) + len(columns) - len(listed)
        return wrong + sum(not _has_domain(listed[name], domain) for name, domain in by.items() if name in listed)
    cells = [{"name": name, "type": "category", "shows": "cell"} for name in _cell_columns(release)]
    first, *last = [
        {"name": name, "type": "number" if name == "value" else "category", "shows": _MEANING[name]}
        for name in (_DRAW, *_LAST)
    ]
    expected = [first, *cells, *last]
    return int(not same(columns, expected))


def _has_domain(listed: Mapping[str, Any], domain: PublicDomain) -> bool:
    keys = {"categories"} if domain.bounds is None else {"bounds", "cells"}
    as_written = set(listed) == {"name", "type", "domain"} and set(listed["domain"]) == {*keys, "has_missing"}
    return as_written and domain_of(listed["domain"], listed["type"]) == domain


def _rows_otherwise(data: Path, release: StatedRelease) -> int:
    """Count the cells whose rows are not as many as their noisy count, at least 0, and the rows in no cell."""
    draw = release.draw(release.shown)
    by = [PublicColumn(name=name, domain=release.domains[name]) for name in draw.query.by]
    sizes = [column.domain.size for column in by]
    found, strangers = np.zeros(len(draw.numbers), dtype=np.int64), 0
    for part in parts_of(data):
        for batch in iter_batches(part, [column.name for column in by], batch_rows=_BATCH_ROWS):
            codes = [codes_of(batch.column(column.name), column) for column in by]
            known = np.all([own >= 0 for own in codes], axis=0)
            cells = np.ravel_multi_index([own[known] for own in codes], sizes)
            found += np.bincount(cells, minlength=found.size)
            strangers += int((~known).sum())
    expected = np.maximum(np.array(draw.numbers, dtype=np.int64), 0)
    return int((found != expected).sum()) + strangers


# --- lines of values ---------------------------------------------------------------------------------------------


def _cell_columns(release: StatedRelease) -> list[str]:
    """Return the columns whose labels the lines have, in the order of the statement."""
    read = {name for draw in release.draws for name in (*draw.query.by, *draw.where)}
    read |= {draw.query.of for draw in release.draws if draw.query.kind == MODE}
    return [name for name in release.domains if name in read]


def _lines_otherwise(data: Path, release: StatedRelease) -> int:
    """Count the columns, and the lines, of the table that are not those of the values, in their order."""
    columns = _cell_columns(release)
    names = [_DRAW, *columns, *_LAST]
    schema = read_schema(data)
    if schema.names != names or not pa.types.is_float64(schema.field("value").type):
        return len(names)
    found = read_rows(data, names).to_pylist()
    expected = [dict.fromkeys(names) | line for line in _lines(release)]
    wrong = abs(len(found) - len(expected))
    return wrong + sum(not same(one, other, tolerance=_ROUNDING) for one, other in zip(found, expected, strict=False))


def _lines(release: StatedRelease) -> Iterator[dict[str, Any]]:
    """Yield the line of each published number, without the columns that are empty in it."""
    labels = {name: labels_of(release.domains[name], _MISSING) for name in _cell_columns(release)}
    for draw in release.draws:
        within = {name: labels[name][code] for name, code in draw.where.items()}
        for cell, number in zip(
            itertools.product(*(labels[name] for name in draw.query.by)), draw.numbers, strict=True
        ):
            place = dict(zip(draw.query.by, cell, strict=True))
            yield {_DRAW: draw.name, **within, **place, **_figure(draw, number, release, labels)}


def _figure(
    draw: PublishedDraw, number: int, release: StatedRelease, labels: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return the published number of a line."""
    query = draw.query
    if query.kind == COUNT:
        return {"statistic": "count", "value": float(number)}
    if query.kind == MODE:
        return {query.of: labels[query.of][number], "of": query.of, "statistic": "most frequent"}
    domain = release.domains[query.of]
    low, _ = domain.bounds or (0.0, 0.0)
    if query.kind == SUM:
        return {"of": query.of, "statistic": "sum from middle", "value": number * half_cell(domain)}
    edge = low if number == 0 else domain.edge(number - 1)
    share = f"{query.numerator}/{query.denominator}"
    return {"of": query.of, "statistic": f"quantile {share}", "value": edge}


def half_cell(domain: PublicDomain) -> float:
    """Return half the width of a cell of a number, in its unit."""
    low, high = domain.bounds or (0.0, 2.0 * domain.cells)
    return (high - low) / domain.cells / 2


_ADD_OR_REMOVE, _REPLACE = "add or remove one record", "replace one record"
_SIDES = {_ADD_OR_REMOVE: 1, _REPLACE: 2}
_ADJACENCIES = {"add-or-remove": _ADD_OR_REMOVE, "replace": _REPLACE}
_STEP = Fraction(1, 1 << 52)
_MOST_ROWS = 1000
"""Rows of a unit at most: the range of the parameter."""
_MOST_KINDS_OF_ROWS = 1 << 16
"""Kinds of rows that are distinguished at most: a bound on memory."""


def change_of(release: StatedRelease, draw: PublishedDraw) -> int:
    """Return the sensitivity to one row: the L1 sum of the changes of numbers, or the range of those of scores."""
    query = draw.query
    if query.kind == SUM:
        return release.domains[query.of].cells - 1
    if query.kind == RANK:
        return 2 * max(query.numerator, query.denominator - query.numerator)
    return {COUNT: 1, MODE: 1}[query.kind]


def loss_of_draw(release: StatedRelease, draw: PublishedDraw) -> Fraction:
    """Return the loss of a row that a draw reads."""
    return draw.rate * change_of(release, draw) * _STEP


def loss_of(release: StatedRelease) -> Fraction:
    """Return the loss of the unit of privacy: that of the dearest row, times the rows that differ.

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
    """Return the loss of each kind of row: of each restricted column a row has one of the named codes, or another."""
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


_MOST_TABLES = 64
"""Tables of the same rows among which pairs are looked for: a bound on time."""


def noise_checks(release: StatedRelease) -> Iterator[Check]:
    """Compare the visible noise with the stated rates; nothing where no rows were counted twice.

    A statement is made before any row is read: no draw decides on another, as the e-values require.
    """
    tables: dict[tuple[tuple[str, int], ...], list[PublishedDraw]] = defaultdict(list)
    for draw in release.draws:
        if draw.query.kind == COUNT:
            tables[tuple(sorted(draw.where.items()))].append(draw)
    closest = [pair for same_rows in tables.values() for pair in _closest(release, same_rows)]
    chains = [closest, *([pair for own in tables.values() for pair in _neighbours(own, start)] for start in (0, 1))]
    bets = [bet for first, second in closest for bet in _twice(release, first, second)]
    yield from shown_checks(
        bets, [[_difference(bet) for pair in chain for bet in _twice(release, *pair)] for chain in chains]
    )


def _closest(release: StatedRelease, draws: Sequence[PublishedDraw]) -> list[tuple[PublishedDraw, PublishedDraw]]:
    """Return disjoint pairs of draws, those first that count the most cells twice."""
    first = draws[:_MOST_TABLES]
    pairs = sorted(itertools.combinations(first, 2), key=lambda pair: -_shared_cells(release, *pair))
    chosen: list[tuple[PublishedDraw, PublishedDraw]] = []
    used: set[str] = set()
    for one, other in pairs:
        if not used & {one.name, other.name}:
            chosen.append((one, other))
            used |= {one.name, other.name}
    return chosen


def _neighbours(draws: Sequence[PublishedDraw], start: int) -> list[tuple[PublishedDraw, PublishedDraw]]:
    """Return disjoint pairs of draws one after the other, from a first one on."""
    return list(zip(draws[start::2], draws[start + 1 :: 2], strict=False))


def _shared(first: PublishedDraw, second: PublishedDraw) -> list[str]:
    return [name for name in first.query.by if name in second.query.by]


def _shared_cells(release: StatedRelease, first: PublishedDraw, second: PublishedDraw) -> int:
    return math.prod(release.domains[name].size for name in _shared(first, second))


def _difference(counted: SameRows) -> CountDifference:
    (one, other), (noise, other_noise) = counted.values, counted.noise
    return CountDifference(value=one - other, parts=(*noise, *other_noise))


def _twice(release: StatedRelease, first: PublishedDraw, second: PublishedDraw) -> Iterator[SameRows]:
    """Yield the counts by the columns that two tables share, once by each: of all rows where they share none."""
    shared = _shared(first, second)
    one, of_one = _margin(release, first, shared)
    other, of_other = _margin(release, second, shared)
    for mine, yours in zip(one.tolist(), other.tolist(), strict=True):
        yield SameRows(values=(mine, yours), noise=((Noise(first.rate, of_one),), (Noise(second.rate, of_other),)))


def _margin(release: StatedRelease, draw: PublishedDraw, columns: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return the sums of a table by some of its columns, flat, and how many cells went into each."""
    by = draw.query.by
    table = np.array(draw.numbers, dtype=np.int64).reshape([release.domains[name].size for name in by])
    summed = table.sum(axis=tuple(at for at, name in enumerate(by) if name not in columns), dtype=np.int64)
    left = [name for name in by if name in columns]
    ordered = np.transpose(summed, [left.index(name) for name in columns])
    return ordered.reshape(-1), table.size // ordered.size


_PARAMS = {
    *("format", "anonkit_version", "method", "preset", "method_parameters", "randomness", "assumptions", "treatment"),
    *("parameters", "statement", "values", "columns", "conditions", "binned", "places", "written"),
}
_REPORT = {
    *("format", "anonkit_version", "created", "dataset", "source_name", "recipients", "method", "guarantee", "budget"),
    *("columns", "rows", "disclosure_risk", "utility", "verification", "randomness", "domains_declared_by", "notes"),
    *("ledger", "draws"),
}
_MISSING = "other or missing"
_CHANCE_BEYOND = 1 - 0.95
_HAIR = 1e-12
"""Steps below which a logarithm that ends just above an integer is that integer."""


def report_checks(release: StatedRelease, params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Compare method, parameters, promise, budget, draws and columns of the report with the params.

    Parameters
    ----------
    release : StatedRelease
        Read from the params.
    params, report : mapping
        The sidecars.
    """
    # a block that no check reads could hold rows: a statement publishes its values and nothing else
    unknown = len(set(params) - _PARAMS) + len(set(report) - _REPORT)
    yield none_of("blocks", unknown)
    method = report["method"]
    repeated = same(method["parameters"], params["parameters"])
    yield Check(name="parameters", passed=repeated, observed=str(method["name"]), required=str(method["name"]))
    promise = report["guarantee"]
    claims = sum(not str(text).startswith("CONDITIONAL: ") for text in promise["assumptions"])
    yield none_of("published_claim", claims + (promise["parameters"]["published_claim"] is not None))
    yield none_of("budget_lines", _spent_otherwise(release, report["budget"]))
    yield none_of("draws", not same_figure(report["draws"], [_described(release, draw) for draw in release.draws]))
    yield from _column_checks(release, params, report)


def _spent_otherwise(release: StatedRelease, budget: Mapping[str, Any]) -> int:
    """Count the parts of the budget that the statement does not make."""
    lines = [{"name": draw.name, "epsilon": not_below(loss_of_draw(release, draw))} for draw in release.draws]
    expected = {"epsilon": budget["epsilon"], "delta": 0, "per_level": [], "per_attribute": lines}
    return differing(expected, budget)


def _column_checks(release: StatedRelease, params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    columns = {column["name"]: column for column in report["columns"]}
    released = [column["name"] for column in params["columns"]]
    built = [name for name, column in columns.items() if column["action"] == "synthesized"]
    yield Check(name="columns_of_params", passed=built == released, observed=len(built), required=len(released))
    cells = {name: domain.size for name, domain in release.domains.items() if name in released}
    stated = {name: column["released_values"] for name, column in columns.items() if "released_values" in column}
    yield none_of("released_values", not same(stated, cells))
    units = [name for name, column in columns.items() if column["role"] == "unit"]
    unit = report["guarantee"]["parameters"]["unit_column"]
    right = units == ([] if unit is None else [unit]) and (units != [] or release.rows_per_unit == 1)
    yield Check(name="unit", passed=right, observed=", ".join(units) or None, required=unit)


# --- draws in words ----------------------------------------------------------------------------------------------


def _described(release: StatedRelease, draw: PublishedDraw) -> dict[str, Any]:
    """Return the report's entry of a draw: its query in words, and how far its noise reaches."""
    query = draw.query
    by = f" by {', '.join(query.by)}" if query.by else ""
    words = {
        COUNT: f"rows{by}",
        SUM: f"sum of {query.of} from the middle of its bounds{by}",
        RANK: f"quantile {query.numerator}/{query.denominator} of {query.of}",
        MODE: f"most frequent value of {query.of}",
    }[query.kind]
    rows = [f"{name} = {labels_of(release.domains[name], _MISSING)[code]}" for name, code in draw.where.items()]
    line = {"name": draw.name, "query": f"{words}, where {' and '.join(rows)}" if rows else words, "law": draw.law}
    if query.kind not in (COUNT, SUM):
        return line
    unit = 1.0 if query.kind == COUNT else half_cell(release.domains[query.of])
    return {**line, "standard_deviation": unit * _deviation(draw.rate), "within_95_percent": unit * _reach(draw.rate)}


def _deviation(rate: int) -> float:
    """Return the standard deviation of noise that falls by exp(-rate) a step: sqrt(2 q) / (1 - q)."""
    decay = rate / 2**52
    return math.sqrt(2 * math.exp(-decay)) / -math.expm1(-decay)


def _reach(rate: int) -> int:
    """Return the smallest number of steps beyond which noise is with a chance of 0.05 at most.

    Noise is beyond t steps with a chance of 2 exp(-(t + 1) r) / (1 + exp(-r)).
    """
    decay = rate / 2**52
    steps = math.log(2 / (_CHANCE_BEYOND * (1 + math.exp(-decay)))) / decay - 1
    return max(0, math.ceil(steps - _HAIR))


_DAMAGED = "the params or the report lack a key or have one of the wrong kind"


def stated_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a release by a noise statement, but for its report: account against promise, its noise, its table.

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
        The params are damaged, or have a query or a law of noise that cannot be checked.
    """
    with refusing_damage(_DAMAGED):
        release = read_statement(params)
        sound = True
        for check in account_checks(release, params, guarantee):
            sound = sound and check.passed
            yield check
        if sound:  # else the noise is not that of the account
            yield from noise_checks(release)
        yield from row_checks(data, release, params)


def stated_report_checks(params: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[Check]:
    """Compare the report of a release by a noise statement with its params; errors are those of `stated_checks`."""
    with refusing_damage(_DAMAGED):
        yield from report_checks(read_statement(params), params, report)
