# SPDX-License-Identifier: Apache-2.0
"""Validation of published aggregates: the requests, the measurements they need, the account, and every figure.

Nothing here is shared with the code that makes the release. From the tables that the params list follow the lines of
the request, the measurements and their shares of epsilon; from the noisy values every line of the tidy table.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from anonkit.budget_rules.model_queries import TABLE
from anonkit.bundle.data_files import read_rows, read_schema
from anonkit.checks.aggregate_intervals import Line, NumberSteps, StatedMeasurement, broken_lines
from anonkit.checks.central_account import (
    LAPLACE,
    ExpectedAccount,
    ExpectedLine,
    account_checks,
    claim_checks,
    row_epsilon,
)
from anonkit.checks.central_noise import EstimatedCount, Noise, Shown, Totals, alike, neighbours, shown_checks
from anonkit.checks.central_params import ALL_ROWS, Family, PublicColumn, PublicFacts, domain_of, integers
from anonkit.checks.number_cells import fewest, multiples_of
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_PARAMETERS = {"epsilon", "adjacency", "rows_per_unit", "aggregate", "bins", "points", "confidence"}
_KEYS = {
    *("format", "anonkit_version", "method", "preset", "method_parameters", "randomness", "assumptions", "treatment"),
    *("parameters", "groups", "numbers", "measurements", "tables", "accounting", "composition", "columns"),
    *("conditions", "binned", "places", "written"),
}
_FIXED = ("table", "of", "statistic", "value", "low", "high")
_SHOWN = {
    "table": "name of the table",
    "of": "column that is added up",
    "statistic": "what the value is",
    "value": "with noise, unbiased for counts and sums",
    "low": "lower end of the interval",
    "high": "upper end of the interval",
}
_KINDS = {"count": "counts", "sum": "sum", "mean": "halves", "quantile": "points"}
_WORDS = {"counts": "counts", "sum": "sum", "halves": "sum and count", "points": "histogram"}
_REST = "other or missing"
_MOST_GROUPS = 3
_COLUMNS_AT_ONCE = 64
_PLAIN = re.compile(r'[^\s(),="]+( [^\s(),="]+)*')


def aggregate_checks(data: Path, params: Mapping[str, Any], guarantee: Mapping[str, Any]) -> Iterator[Check]:
    """Check a release of aggregates, but for its report: request, measurements, account and figures.

    Raises
    ------
    ReleaseFormatError
        The params are damaged; so do errors of the kinds that reading damaged params brings.
    """
    facts = aggregated_facts(params)
    tables = [_table_of(table, facts) for table in params["tables"]]
    yield from _wrong("keys", len(set(params) - _KEYS))
    yield from claim_checks(params, guarantee, facts)
    sound = True
    requested = _wrong("requested_tables", _not_requested(tables, facts))
    for check in (*requested, *_wrong("measurements", _not_measured(params, tables, facts)), *_account(params, facts)):
        sound = sound and check.passed
        yield check
    yield from _wrong("columns", _other_columns(data, params))
    if sound:  # else the figures cannot be followed
        sizes = {group.name: group.domain.size for group in facts.attributes}
        measured = [_measured_of(each, sizes) for each in params["measurements"]]
        counted = _counted(params, measured)
        everybody = [_totals(own, ()) for own in counted]
        yield from shown_checks(list(_same_groups(counted)), neighbours(everybody))
        yield from _line_checks(data, tables, measured, facts)


def _wrong(name: str, count: int) -> Iterator[Check]:
    yield Check(name=name, passed=count == 0, observed=count, required=0)


# --- what is public ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Table:
    name: str
    statistic: str
    by: tuple[str, ...]
    of: str | None
    levels: tuple[float, ...]
    weight: float
    measured: int


def aggregated_facts(params: Mapping[str, Any]) -> PublicFacts:
    """Read the public side of the params of aggregates.

    Raises
    ------
    ReleaseFormatError
        A part is missing or of the wrong kind.
    """
    given = dict(params["parameters"])
    groups = tuple(
        PublicColumn(name=str(group["name"]), domain=domain_of(group["domain"], group["type"]))
        for group in params["groups"]
    )
    facts = PublicFacts(
        family=Family.AGGREGATES,
        parameters=given,
        target=ALL_ROWS,
        has_target=False,
        attributes=groups,
        added_multiples=tuple(
            str(number["name"]) for number in params["numbers"] if multiples_of(number, number["bounds"]) is not None
        ),
    )
    names = [group.name for group in groups]
    odd = set(given) != _PARAMETERS
    bins, *_ = facts.whole("bins", 2, 1024), facts.whole("points", 8, 4096), facts.whole("confidence", 50, 99)
    numbers = [group.domain for group in groups if group.domain.bounds is not None]
    odd = odd or any(domain.cells != fewest(bins, domain.multiples) for domain in numbers)
    odd = odd or names != sorted(set(names)) or bool(set(names) & set(_FIXED))
    odd = odd or any(_REST in (group.domain.categories or ()) for group in groups)
    if odd:
        raise ReleaseFormatError("the params have parameters or groups that method dp-tables does not write")
    return facts


def _table_of(raw: Mapping[str, Any], facts: PublicFacts) -> _Table:
    (measured,) = integers([raw["measured"]])
    known = {group.name for group in facts.attributes}
    by, statistic, levels = raw["by"], raw["statistic"], raw["levels"]
    odd = statistic not in _KINDS or len(by) > _MOST_GROUPS or len(set(by)) < len(by) or not set(by) <= known
    odd = odd or (raw["of"] is None) != (statistic == "count") or bool(levels) != (statistic == "quantile")
    odd = odd or levels != sorted(set(levels)) or not all(0 < level < 1 for level in levels)
    if odd or not 0.01 <= raw["weight"] <= 1000:
        raise ReleaseFormatError("the params list a table that cannot be requested")
    return _Table(
        name=str(raw["name"]),
        statistic=statistic,
        by=tuple(by),
        of=raw["of"],
        levels=tuple(levels),
        weight=raw["weight"],
        measured=measured,
    )


def _not_requested(tables: Sequence[_Table], facts: PublicFacts) -> int:
    """Count the tables that are not the lines of the request; without a request each column's counts, by name."""
    requested = facts.parameters["aggregate"]
    if not requested:
        alone = [table.by for table in tables if table.statistic == "count" and table.weight == 1]
        wanted = [(group.name,) for group in facts.attributes]
        named = sum(table.name != _shown(table) for table in tables)
        return int(alone != wanted or len(tables) != len(wanted)) + named
    other = sum(line != stated for line, stated in itertools.zip_longest(map(_line, tables), requested))
    return int(other) + len(tables) - len({table.name for table in tables})


def _shown(table: _Table) -> str:
    by = f" by {', '.join(map(_quoted, table.by))}" if table.by else ""
    levels = "".join(f", {level:g}" for level in table.levels)
    return f"count{by}" if table.of is None else f"{table.statistic}({_quoted(table.of)}{levels}){by}"


def _line(table: _Table) -> str:
    shown = _shown(table)
    named = "" if table.name == shown else f"{_quoted(table.name)} = "
    return f"{named}{shown}{'' if table.weight == 1 else f' weight {table.weight:.10g}'}"


def _quoted(name: str) -> str:
    reserved = {"by", "weight", "count"} & set(name.split(" "))
    return name if _PLAIN.fullmatch(name) and not reserved else '"' + name.replace('"', '""') + '"'


# --- what was measured -------------------------------------------------------------------------------------------


_Key = tuple[str, str | None, frozenset[str]]
"""Kind, column that is added up, and columns by which."""


def _read_off(kind: str, of: str | None, by: Sequence[str]) -> Iterator[_Key]:
    """Yield all that can be read off a measurement: by fewer columns, a sum off the halves of a mean."""
    for n_names in range(len(by) + 1):
        for names in itertools.combinations(by, n_names):
            yield kind, of, frozenset(names)
            if kind == "halves":
                yield "sum", of, frozenset(names)


def _not_measured(params: Mapping[str, Any], tables: Sequence[_Table], facts: PublicFacts) -> int:
    """Count the measurements that are not those which the tables need, and the tables that are read off others."""
    sizes = {group.name: group.domain.size for group in facts.attributes}
    keys: list[_Key] = [(_KINDS[table.statistic], table.of, frozenset(table.by)) for table in tables]
    of_larger = {other for key in set(keys) for other in _read_off(key[0], key[1], sorted(key[2])) if other != key}
    firsts = {key: table for key, table in zip(reversed(keys), reversed(tables), strict=True) if key not in of_larger}
    needed = [table for key, table in zip(keys, tables, strict=True) if firsts.get(key) is table]
    published = [(str(own["kind"]), own["of"], tuple(own["by"])) for own in params["measurements"]]
    wrong = int(published != [(_KINDS[table.statistic], table.of, table.by) for table in needed])
    fewest: dict[_Key, tuple[int, int]] = {}
    for at, (kind, of, by) in enumerate(published):
        here = (math.prod(sizes[name] for name in by), at)
        for key in _read_off(kind, of, by[: _MOST_GROUPS + 1]):
            fewest[key] = min(fewest.get(key, here), here)
    wrong += sum(key not in fewest or fewest[key][1] != table.measured for key, table in zip(keys, tables, strict=True))
    wrong += int({group.name for group in facts.attributes} != {name for table in tables for name in table.by})
    wrong += int([number["name"] for number in params["numbers"]] != sorted({of for *_, of, _ in _added(published)}))
    return wrong


def _added(published: Sequence[tuple[str, str | None, tuple[str, ...]]]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(kind, of, by) for kind, of, by in published if of is not None]


def _steps_of(kind: str, number: Mapping[str, Any], facts: PublicFacts) -> NumberSteps:
    """Return the grid on which a column must have been added up, from its public bounds."""
    low, high = (float(bound) for bound in number["bounds"])
    if not math.isfinite(low) or not math.isfinite(high) or not low < high:
        raise ReleaseFormatError("a column that is added up has bounds that cannot be")
    if kind != "points":
        tens = math.floor(math.log10(high - low)) - 6
        return NumberSteps.over(low, high, 1, max(tens, math.ceil(math.log10(max(-low, high, low))) - 10))
    multiples = multiples_of(number, (low, high))
    if multiples is not None:
        return NumberSteps.of_multiples(multiples, facts.whole("points"))
    most, tens = facts.whole("points"), math.floor(math.log10((high - low) / facts.whole("points"))) - 1
    finer = (NumberSteps.over(low, high, (1, 2, 5)[at % 3], tens + at // 3) for at in itertools.count())
    return next(steps for steps in finer if steps.last - steps.first < most)


def _measured_of(raw: Mapping[str, Any], sizes: Mapping[str, int]) -> StatedMeasurement:
    grid = raw["grid"]
    return StatedMeasurement(
        kind=raw["kind"],
        by=tuple(raw["by"]),
        sizes=tuple(sizes[name] for name in raw["by"]),
        steps=None if grid is None else NumberSteps(grid["mantissa"], grid["exponent"], grid["low"], grid["high"]),
        rate=raw["rate"],
        values=np.array(raw["values"], dtype=np.int64),
    )


def _account(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Rebuild the account: a line a measurement, epsilon shared by the roots of the groups times the weights."""
    sizes = {group.name: group.domain.size for group in facts.attributes}
    numbers = {number["name"]: number for number in params["numbers"]}
    lines, weights, wrong = [], [], 0
    heaviest: dict[Any, float] = {}
    for table in params["tables"]:
        heaviest[table["measured"]] = max(heaviest.get(table["measured"], table["weight"]), table["weight"])
    for at, own in enumerate(params["measurements"]):
        kind, of, by = own["kind"], own["of"], own["by"]
        cells = math.prod(sizes[name] for name in by)
        steps = None if of is None else _steps_of(kind, numbers[of], facts)
        parts = {"counts": 1, "sum": 1, "halves": 2}.get(kind, 0 if steps is None else steps.last - steps.first + 1)
        wrong += int(own["grid"] != (None if steps is None else steps.to_params()))
        wrong += int([len(integers(row)) for row in own["values"]] != [parts] * cells)
        weights.append(heaviest.get(at, 1.0) * math.sqrt(cells))
        purpose = f"{_WORDS[kind]}{'' if of is None else f' of {of}'}{' by ' if by else ''}{' x '.join(by)}"
        lines.append((purpose, TABLE if steps is None else steps.query(kind)))
    whole, all_weights = row_epsilon(facts), math.fsum(weights)
    expected = tuple(
        ExpectedLine(purpose=purpose, mechanism=LAPLACE, query=query, cost=whole * weight / all_weights)
        for (purpose, query), weight in zip(lines, weights, strict=True)
    )
    yield from account_checks(params, facts, ExpectedAccount(lines=expected))
    stated = [(line["purpose"], line["rate"]) for line in params["accounting"]]
    rates = [(purpose, own["rate"]) for (purpose, _), own in zip(lines, params["measurements"], strict=True)]
    yield from _wrong("noisy_tables", wrong + int(stated != rates))


def _counted(params: Mapping[str, Any], measured: Sequence[StatedMeasurement]) -> list[StatedMeasurement]:
    """Return the measurements that count every row once."""
    every_row = {number["name"] for number in params["numbers"] if not number["has_missing"]}
    return [
        own
        for own, raw in zip(measured, params["measurements"], strict=True)
        if own.kind == "counts" or (own.kind == "points" and raw["of"] in every_row)
    ]


def _totals(measured: StatedMeasurement, names: Sequence[str]) -> Totals:
    """Return the rows of each group of some columns, and the noise of each."""
    values, draws = measured.summed(names)
    return values.sum(axis=1).tolist(), [(Noise(measured.rate, draws * values.shape[1]),)] * len(values)


def _same_groups(counted: Sequence[StatedMeasurement]) -> Iterator[Shown]:
    """Yield the counts of the same groups by several measurements, each of which is in one comparison.

    Taken first are columns that compare most: their groups, times the measurements by them but one. A measurement that
    is left alone follows the one with which it shares most groups.
    """
    left = list(counted)
    while len(left) > 1:
        columns = Counter(frozenset(own.by) for own in left)
        both = {one & other for one, other in itertools.combinations(columns, 2)}
        shared = {tuple(sorted(names)) for names in both | {one for one, times in columns.items() if times > 1}}
        having = {names: [own for own in left if set(names) <= set(own.by)] for names in sorted(shared)}
        best = max(having, key=lambda names: _groups(left, names) * (len(having[names]) - 1))
        yield from alike([_totals(own, best) for own in having[best]])
        left = [own for own in left if all(own is not one for one in having[best])]
    for own in left:
        others = [other for other in counted if other is not own]
        if others:
            other = max(others, key=lambda other: _groups(counted, _shared(own, other)))
            names = _shared(own, other)
            for estimate, before, value, noise in zip(*_totals(other, names), *_totals(own, names), strict=True):
                yield EstimatedCount(value=value, noise=noise, estimate=estimate, noise_before=before)


def _shared(one: StatedMeasurement, other: StatedMeasurement) -> tuple[str, ...]:
    return tuple(sorted(set(one.by) & set(other.by)))


def _groups(measured: Sequence[StatedMeasurement], names: Sequence[str]) -> int:
    """Return the number of groups that columns make."""
    sizes = {name: size for own in measured for name, size in zip(own.by, own.sizes, strict=True)}
    return math.prod(sizes[name] for name in names)


# --- what is published -------------------------------------------------------------------------------------------


def _other_columns(data: Path, params: Mapping[str, Any]) -> int:
    """Count the columns of file and params that are not those of the tidy table, in order, or are described otherwise.

    A column that is added up and makes groups, too, has one domain.
    """
    fixed = [
        {"name": name, "type": "number" if name in ("value", "low", "high") else "category", "shows": _SHOWN[name]}
        for name in _FIXED
    ]
    expected = [fixed[0], *({**group, "shows": "group"} for group in params["groups"]), *fixed[1:]]
    other = sum(not same(stated, own) for stated, own in itertools.zip_longest(params["columns"], expected))
    domains = {group["name"]: group["domain"] for group in params["groups"]}
    for number in params["numbers"]:
        domain = domains.get(number["name"], number)
        alike = all(same(number.get(key), domain.get(key)) for key in ("bounds", "step", "has_missing"))
        other += int(not alike or not isinstance(number["has_missing"], bool))
    return int(read_schema(data).names != [own["name"] for own in expected]) + other


_Place = tuple[str, frozenset[tuple[str, Any]], str | None, str]
"""Table, the group in each of its columns, the column that is added up, and the statistic."""


def _line_checks(
    data: Path, tables: Sequence[_Table], measured: Sequence[StatedMeasurement], facts: PublicFacts
) -> Iterator[Check]:
    """Check that every group of every table is there once and nothing besides, and each line's figures."""
    names = [group.name for group in facts.attributes]
    labels = {group.name: [_REST if label is None else label for label in _labels(group)] for group in facts.attributes}
    keys, lines = _read_lines(data, names)
    expected: list[_Place] = []
    broken: Counter[str] = Counter()
    for table in tables:
        own = measured[table.measured]
        values, draws = own.summed(table.by)
        for at, group in enumerate(itertools.product(*(labels[name] for name in table.by))):
            start = (table.name, frozenset(zip(table.by, group, strict=True)), table.of)
            statistics = _statistics(table)
            expected += [(*start, statistic) for statistic in statistics]
            shown: dict[str, Line] = {
                statistic: lines[(*start, statistic)] for statistic in statistics if (*start, statistic) in lines
            }
            if len(shown) == len(statistics):  # what is not there is counted below
                broken.update(
                    broken_lines(own, values[at], draws, table.levels, shown, facts.whole("confidence") / 100)
                )
    astray = sum(((Counter(keys) - Counter(expected)) + (Counter(expected) - Counter(keys))).values())
    yield from _wrong("groups_once", astray)
    for what in ("values", "intervals", "quantiles_ascend"):
        yield from _wrong(what, broken[what])


def _read_lines(data: Path, names: Sequence[str]) -> tuple[list[_Place], dict[_Place, tuple[float, float, float]]]:
    """Return the cell of each line of the file, and its figures.

    Most cells of thousands of columns are empty: of some columns at a time those are kept that are not.
    """
    fixed = read_rows(data, _FIXED).to_pydict()
    groups: list[list[tuple[str, Any]]] = [[] for _ in fixed["table"]]
    for first in range(0, len(names), _COLUMNS_AT_ONCE):
        some = read_rows(data, names[first : first + _COLUMNS_AT_ONCE])
        for name in some.column_names:
            column = some.column(name)
            there = np.flatnonzero(column.is_valid().to_numpy())
            for at, label in zip(there.tolist(), column.take(there).to_pylist(), strict=True):
                groups[at].append((name, label))
    places = list(zip(fixed["table"], map(frozenset, groups), fixed["of"], fixed["statistic"], strict=True))
    figures = zip(fixed["value"], fixed["low"], fixed["high"], strict=True)
    return places, dict(zip(places, figures, strict=True))


def _labels(group: PublicColumn) -> list[str | None]:
    """Return the name of each code: a category, or an interval of bounds in equal bins."""
    domain = group.domain
    if domain.bounds is None:
        return domain.labels()
    named = [f"[{low:.15g}, {high:.15g})" for low, high in itertools.pairwise(map(float, domain.grid.edges))]
    return [*named[:-1], f"{named[-1][:-1]}]", *([None] if domain.has_missing else [])]


def _statistics(table: _Table) -> list[str]:
    if table.statistic == "quantile":
        return [f"quantile {level:g}" for level in table.levels]
    return ["count", "sum", "mean"] if table.statistic == "mean" else [table.statistic]
