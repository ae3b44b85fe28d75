# SPDX-License-Identifier: Apache-2.0
"""The report of a release by a noise statement compared with its params, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from anonkit.checks.known_keys import OWN
from anonkit.checks.sameness import differing, none_of, same, same_figure
from anonkit.checks.stated_account import loss_of_draw, not_below
from anonkit.checks.stated_params import (
    COUNT,
    MODE,
    RANK,
    SUM,
    StatedDraw,
    StatedRelease,
    labels_of,
)
from anonkit.checks.stated_rows import half_cell
from anonkit.promises.guarantee import Check

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
    unknown = len(set(params) - _PARAMS) + len(set(report) - _REPORT) + (params["method"] in OWN)
    yield none_of("blocks", unknown)
    method = report["method"]
    repeated = method["name"] == params["method"] and same(method["parameters"], params["parameters"])
    yield Check(name="parameters", passed=repeated, observed=str(method["name"]), required=str(params["method"]))
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


def _described(release: StatedRelease, draw: StatedDraw) -> dict[str, Any]:
    """Return what the report states of a draw: its query in words, and how far its noise reaches."""
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
