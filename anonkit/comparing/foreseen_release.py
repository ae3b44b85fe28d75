# SPDX-License-Identifier: Apache-2.0
"""Forecast of a release under noise before anything is spent: the same release of simulated rows.

A plan may not look at the private table, since nothing is charged for what it would disclose. So the method is run,
with the same parameters and the same policy, on rows simulated from the declared domains, and these are measured as an
owner measures a release: columns, noise of every table, how far distributions move, what models learn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from anonkit.bundle.stored_release import Release
from anonkit.comparing.model_scores import MEASURE, scores_of_release, scores_of_rows
from anonkit.comparing.moved_columns import moved_columns, settled_rows
from anonkit.datasets.declared_domains import declared_rows
from anonkit.errors import AnonkitError, in_python
from anonkit.ledger.account import Account, Where
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.release_request import ReleaseRequest
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import Task, task_from_declaration
from anonkit.promises.guarantee import loss_json
from anonkit.protocols import Method
from anonkit.published.gaussian_intervals import gaussian_margin
from anonkit.published.noise_intervals import count_margin
from anonkit.published.statements.draw_widths import width_of
from anonkit.published.statements.noise_statement import FORMAT as STATEMENT
from anonkit.published.statements.queries import Count
from anonkit.published.statements.statement_json import from_params
from anonkit.report.wording import NO_ROW
from anonkit.utility.consumer_models import best_of

_NEVER_SHOWN = (Role.IDENTIFIER, Role.UNIT, Role.HOUSEHOLD)
ROWS = 5_000
"""Rows that are simulated, where the method has no number of rows."""
_MOST_ROWS = 20_000
_CONFIDENCE = 0.95
_MARGINS: Mapping[str, Callable[[int], float]] = {
    "discrete-laplace": lambda rate: count_margin(rate, 1, _CONFIDENCE),
    "discrete-gaussian": lambda rate: gaussian_margin(((1.0, rate, 1),), 1 - _CONFIDENCE),
}
"""By mechanism: how far noise of a rate carries a count, at 95 %."""


def foreseen_release(method: Method, policy: Policy, names: Sequence[str], *, utility: bool = True) -> dict[str, Any]:
    """Release simulated rows, and measure them.

    Parameters
    ----------
    method : Method
        With its parameters.
    policy : Policy
        With a role for every column, and every domain declared.
    names : sequence of str
        The columns of the table.
    utility : bool
        Whether models are trained; without them nothing is predicted.

    Returns
    -------
    dict
        `simulated_rows`, and `refused`, a text, where nothing could be released of them. Else `rows` released;
        `columns` (`name`, `role`, `action`); `noise` of tables of counts, the noisiest first (`table`, `cells`, null
        where draws decide how many, `epsilon`, `reaches`: what a count is off by at most, at 95 %); `changes`, how far
        distributions of columns moved (`name`, `measure`, `value`), none of answers and of tables of figures; and
        `prediction` (`target`, `measure`, `released`, `simulated`, `guessing`), null where nothing is predicted.
        `not_foreseen`, a text, alone where domains are not declared.

    Privacy
    -------
    A function of the declaration and of the columns' names: no cell of the table enters. The seed is fixed, so that two
    tables under one policy have the same plan to the last digit.
    """
    if policy.found_domains is not None or policy.is_conditional:
        return {"not_foreseen": "the domains of its columns are not declared"}
    n = min(getattr(method, "n_rows", 0) or ROWS, _MOST_ROWS)
    request = ReleaseRequest(method=method, policy=policy, account=Account(ledger=Where.NOWHERE), seed=0, utility=False)
    publishes_rows = getattr(method, "publishes_rows", True)
    try:
        rows, others = (declared_rows(policy, names, n, seed) for seed in (0, 1))
        release = release_table(rows, request)
        if release.report["rows"].get("out") == 0:
            return {"simulated_rows": n, "refused": NO_ROW}
        before, held_out = settled_rows(rows, policy), settled_rows(others, policy)
        changes = moved_columns(release, before, policy) if publishes_rows else []
        prediction = _prediction(release, before, held_out, policy) if publishes_rows and utility else None
    except AnonkitError as error:
        return {"simulated_rows": n, "refused": in_python(error.told[0])}
    return {
        "simulated_rows": n,
        "rows": release.report["rows"]["out"],
        "columns": [{key: column[key] for key in ("name", "role", "action")} for column in release.report["columns"]],
        "noise": _noise(release),
        "changes": changes,
        "prediction": prediction,
    }


def _noise(release: Release) -> list[dict[str, Any]]:
    """Return size and noise of every table of counts, as the account or the statement of the release states."""
    params = release.params
    if params.get("format") == STATEMENT:
        statement, _ = from_params(params)
        losses = {line["name"]: line["epsilon"] for line in release.report["budget"]["per_attribute"]}
        counts = [
            {
                "table": draw.name,
                "cells": statement.numbers_of(draw),
                "epsilon": losses[draw.name],
                "reaches": width.within,
            }
            for draw in statement.draws
            if isinstance(draw.query, Count) and (width := width_of(statement, draw)) is not None
        ]
        return sorted(counts, key=lambda table: -table["reaches"])
    cells = _cells(params)
    tables = [
        {
            "table": line["purpose"],
            "cells": cells.get(line["purpose"]),
            "epsilon": loss_json(line["epsilon"]) if "epsilon" in line else None,
            "reaches": _MARGINS[line["mechanism"]](line["rate"]),
        }
        for line in params.get("accounting", ())
        if line["mechanism"] in _MARGINS and line.get("sensitivity", 1) == 1
    ]
    return sorted(tables, key=lambda table: -table["reaches"])


def _cells(params: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of cells of each table whose size the declaration decides, by its line of the account."""
    known = {
        f"{table['kind']} by {' x '.join(table['by'])}": len(table["values"])
        for table in params.get("measurements", ())
    }
    target = params.get("target")
    if not isinstance(target, Mapping) or not target.get("domain"):
        return {**known, "number of rows": 1}
    classes = _size(target["domain"])
    of_columns = {
        f"class x {column['name']}": classes * _size(column["domain"])
        for column in params.get("attributes", ())
        if column.get("domain")
    }
    return {**known, **of_columns, "rows per class": classes, "number of rows": 1}


def _size(domain: Mapping[str, Any]) -> int:
    values = len(domain["categories"]) if "categories" in domain else int(domain["cells"])
    return values + bool(domain["has_missing"])


def _prediction(release: Release, rows: pa.Table, held_out: pa.Table, policy: Policy) -> dict[str, Any] | None:
    """Return the score of the release's best model on test rows, beside that of the simulated rows."""
    target = policy.target
    if target is None:
        return None
    task = task_from_declaration(policy.column(target), policy.task)
    measure = MEASURE[task]
    released = best_of(scores_of_release(release, held_out, target, task), measure)
    plain = [name for name in rows.column_names if policy.column(name).role not in _NEVER_SHOWN]
    before = best_of(scores_of_rows(rows.select(plain), held_out.select(plain), target, task), measure)
    if released is None:
        return None
    return {
        "target": target,
        "measure": measure,
        "released": released,
        "simulated": before,
        "guessing": 0.0 if task is Task.REGRESSION else 0.5,
    }
