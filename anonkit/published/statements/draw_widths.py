# SPDX-License-Identifier: Apache-2.0
"""Widths of the noise of a draw: standard deviation, and the half-width of a 95 % interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from anonkit.published.noise_intervals import count_margin
from anonkit.published.noisy_tables import noise_variance
from anonkit.published.statements.noise_statement import Draw, Statement
from anonkit.published.statements.queries import Count, ModeScore, RankScore, Sum
from anonkit.published.statements.value_lines import half_cell, labels_of

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Width:
    """Noise of each number of a draw, in the unit of what it measures."""

    deviation: float
    """Standard deviation."""
    within: float
    """Half-width of an interval that holds the noise with a probability of 0.95 at least."""


def width_of(statement: Statement, draw: Draw) -> Width | None:
    """Return how far the noise of a draw reaches; None for a choice, whose error depends on the rows."""
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


def words_of(statement: Statement, draw: Draw) -> str:
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
