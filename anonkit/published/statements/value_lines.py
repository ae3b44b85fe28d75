# SPDX-License-Identifier: Apache-2.0
"""The published values of a statement as a table: a line for each number, with the cell it is of and what it is.

Widths of the noise of a draw: standard deviation, and the half-width of a 95 % interval.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from anonkit.domains.number_bins import Categories, Grid, interval_names
from anonkit.published.aggregates import OTHER
from anonkit.published.noise_intervals import count_margin
from anonkit.published.noisy_tables import noise_variance
from anonkit.published.statements.noise_statement import Count, ModeScore, RankScore, StatedDraw, Statement, Sum, Value

BEFORE, AFTER = ("draw",), ("of", "statistic", "value")
"""Columns of the table before and after those of the cells."""
MEANING = {
    "draw": "name of the draw",
    "of": "column that is added up, or of which a value is chosen",
    "statistic": "what the value is",
    "value": "with noise",
}


@dataclass(frozen=True, kw_only=True)
class ValueLine:
    """One line of the table."""

    draw: str
    cell: Mapping[str, str]
    """Label of each column that the number is a cell of."""
    of: str | None
    statistic: str
    value: float | None
    """None for a chosen category, which is a label of its column."""


def cell_columns(statement: Statement) -> tuple[str, ...]:
    """Return the columns that label the cells of the table, in the order of the statement."""
    read = set()
    for draw in statement.draws:
        query = draw.query
        read |= {each.column for each in draw.where}
        read |= set(query.by) if isinstance(query, Count | Sum) else set()
        read |= {query.of} if isinstance(query, ModeScore) else set()
    return tuple(column.name for column in statement.columns if column.name in read)


def labels_of(domain: Categories | Grid) -> list[str]:
    """Return the label of each code: a category, an interval, or the label of a missing value."""
    if isinstance(domain, Grid):
        named = interval_names([float(edge) for edge in domain.edges()])
    else:
        named = list(domain.values)
    return [*named, *([OTHER] if domain.has_missing else [])]


def value_lines(statement: Statement, values: Sequence[Value]) -> Iterator[ValueLine]:
    """Yield the lines, draw after draw and cell after cell."""
    labels = {name: labels_of(domain) for name, domain in statement.domains.items()}
    for draw, value in zip(statement.draws, values, strict=True):
        within = {each.column: labels[each.column][each.code] for each in draw.where}
        query = draw.query
        by = query.by if isinstance(query, Count | Sum) else ()
        for cell, number in zip(itertools.product(*(labels[name] for name in by)), value.numbers, strict=True):
            yield _line(statement, draw, {**within, **dict(zip(by, cell, strict=True))}, number, labels)


def _line(
    statement: Statement, draw: StatedDraw, cell: Mapping[str, str], number: int, labels: Mapping[str, Sequence[str]]
) -> ValueLine:
    match draw.query:
        case Count():
            return ValueLine(draw=draw.name, cell=cell, of=None, statistic="count", value=float(number))
        case Sum(of=of):
            # rows away from the middle of the bounds add to it: see the query
            value = number * half_cell(statement.domains[of])
            return ValueLine(draw=draw.name, cell=cell, of=of, statistic="sum from middle", value=value)
        case RankScore(of=of, numerator=numerator, denominator=denominator):
            domain = statement.domains[of]
            edge = float(domain.edges()[number]) if isinstance(domain, Grid) else None
            return ValueLine(
                draw=draw.name, cell=cell, of=of, statistic=f"quantile {numerator}/{denominator}", value=edge
            )
        case ModeScore(of=of):
            chosen = {**cell, of: labels[of][number]}
            return ValueLine(draw=draw.name, cell=chosen, of=of, statistic="most frequent", value=None)


def half_cell(domain: Categories | Grid) -> float:
    """Return half the width of a cell of a number, in its unit: what a sum counts in."""
    return domain.width / 2 if isinstance(domain, Grid) else 1.0


def lines_table(statement: Statement, values: Sequence[Value]) -> pa.Table:
    """Return the table of all lines; a column by which a number is not divided is empty in its line."""
    lines = list(value_lines(statement, values))
    texts = {
        "draw": [line.draw for line in lines],
        **{name: [line.cell.get(name) for line in lines] for name in cell_columns(statement)},
        "of": [line.of for line in lines],
        "statistic": [line.statistic for line in lines],
    }
    return pa.table(
        {
            **{name: pa.array(cells, pa.string()).dictionary_encode() for name, cells in texts.items()},
            "value": pa.array([line.value for line in lines], pa.float64()),
        }
    )


def reserved_names(statement: Statement) -> set[str]:
    """Return the columns of the cells whose names the table needs for itself."""
    return set(cell_columns(statement)) & {*BEFORE, *AFTER}


CONFIDENCE = 0.95
"""Confidence of the intervals of values, each by itself: a convention."""


@dataclass(frozen=True, kw_only=True)
class Width:
    """Noise of each number of a draw, in the unit of what it measures."""

    deviation: float
    """Standard deviation."""
    within: float
    """Half-width of an interval that holds the noise with a probability of 0.95 at least."""


def width_of(statement: Statement, draw: StatedDraw) -> Width | None:
    """Return the width of the noise of a draw; None for a choice, whose error depends on the rows."""
    match draw.query:
        case Count():
            unit = 1.0
        case Sum(of=of):
            unit = half_cell(statement.domains[of])
        case RankScore() | ModeScore():
            return None
    return Width(
        deviation=unit * math.sqrt(noise_variance(draw.rate)), within=unit * count_margin(draw.rate, 1, CONFIDENCE)
    )


def words_of(statement: Statement, draw: StatedDraw) -> str:
    """Return the query of a draw in words."""
    match draw.query:
        case Count(by=by):
            text = f"rows{_by(by)}"
        case Sum(of=of, by=by):
            text = f"sum of {of} from the middle of its bounds{_by(by)}"
        case RankScore(of=of, numerator=numerator, denominator=denominator):
            text = f"quantile {numerator}/{denominator} of {of}"
        case ModeScore(of=of):
            text = f"most frequent value of {of}"
    within = [f"{each.column} = {labels_of(statement.domains[each.column])[each.code]}" for each in draw.where]
    return f"{text}, where {' and '.join(within)}" if within else text


def _by(columns: tuple[str, ...]) -> str:
    return f" by {', '.join(columns)}" if columns else ""


def report_lines(statement: Statement) -> list[dict[str, Any]]:
    """Return the block `draws` of a report: each draw in words, with its law and the width of its noise."""
    lines = []
    for draw in statement.draws:
        width = width_of(statement, draw)
        line: dict[str, Any] = {"name": draw.name, "query": words_of(statement, draw), "law": draw.law}
        if width is not None:
            line |= {"standard_deviation": width.deviation, "within_95_percent": width.within}
        lines.append(line)
    return lines
