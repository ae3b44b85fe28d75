# SPDX-License-Identifier: Apache-2.0
"""Validation of a noisy histogram under (epsilon, delta): its account, cells and report agree with each other.

The one format that such a release can have today is `anonkit-noisy-histogram-1`: a row for every combination of public
values, each exactly once, with one or more noisy counts. Which combinations occur in the source must not show, so that
a table in which one is absent, or twice, fails. A release of any other format cannot be checked, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from anonkit.bundle.data_files import read_rows
from anonkit.checks.approximate_account import account_of, loss_checks
from anonkit.checks.central import domain_checks
from anonkit.checks.central_params import domain_of
from anonkit.checks.sameness import none_of, repeated, same
from anonkit.errors import ReleaseFormatError, refusing_damage
from anonkit.promises.guarantee import Check

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
