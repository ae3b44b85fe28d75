# SPDX-License-Identifier: Apache-2.0
"""Forecast of a release under noise before anything is spent: the same release of simulated rows.

A plan may not look at the private table, since nothing is charged for what it would disclose. So the method is run,
with the same parameters and the same policy, on rows simulated from the declared domains, and these are measured as an
owner measures a release: columns, noise of every table, how far distributions move, what models learn.

The half of a table that is released, the test half, and how a release of the first is measured.

Effect of a release on the columns of its rows: the dropped ones, and the distance of the others' distributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.auditing import audit
from anonkit.bundle.stored_release import Release
from anonkit.comparing.model_scores import (
    MEASURE,
    FrontierPoint,
    models_of_release,
    models_of_rows,
    scores_of,
    scores_of_release,
    scores_of_rows,
    some_rows,
)
from anonkit.datasets.simulated_rows import declared_rows
from anonkit.engines import open_engine
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.declared_tables import declared_table
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError, ParameterError, in_python
from anonkit.ledger.account import Account, Where
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.pipeline.source_and_release import BeforeAndAfter
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import joint_keys
from anonkit.policy.target_task import Task, task_from_declaration
from anonkit.promises.guarantee import loss_json
from anonkit.promises.promise_kinds import read_promise
from anonkit.protocols import Method
from anonkit.published.noise_intervals import count_margin, gaussian_margin
from anonkit.published.statements.noise_statement import FORMAT as STATEMENT
from anonkit.published.statements.noise_statement import Count, ReleasedStatement
from anonkit.published.statements.value_lines import width_of
from anonkit.report.promise_words import words_of
from anonkit.report.wording import NO_ROW
from anonkit.utility.consumer_models import best_of, name_of_best

_SHARE, _DEVIATIONS = "share of the rows", "standard deviations"


def moved_columns(release: Release, rows: pa.Table, policy: Policy) -> list[dict[str, Any]]:
    """Return the distance by which the distribution of every column moved, the farthest first within a measure.

    Parameters
    ----------
    release : Release
    rows : Table
        Those it was made of, with cells as the policy declares them.
    policy : Policy
        With a role for every column.

    Returns
    -------
    list of dict
        `name`; `measure`: "share of the rows" that would have to change, or "standard deviations"; `value`. Columns
        that did not move are left out, and so are randomized answers: as they are, they are those of the noise.
    """
    compared = BeforeAndAfter(source=rows, released=release.to_arrow(), params=release.params, policy=policy)
    found = []
    as_they_are = [column for column in release.report["columns"] if column["action"] not in ("randomized", "dropped")]
    for change in compared.changes(as_they_are):
        distance = change.get("distance")
        if distance is None:
            continue
        in_deviations = distance.get("in_standard_deviations")
        measure = _DEVIATIONS if "in_standard_deviations" in distance else _SHARE
        value = distance["value"] if measure == _SHARE else in_deviations
        if value:
            found.append({"name": change["name"], "measure": measure, "value": round(float(value), 4)})
    return sorted(found, key=lambda entry: (entry["measure"], -entry["value"]))


def lost_columns(release: Release) -> list[str]:
    """Return the columns that no file shows any more; those that name people are never meant to be shown."""
    return [
        column["name"]
        for column in release.report["columns"]
        if column["action"] == "dropped" and column["role"] not in (Role.IDENTIFIER, Role.UNIT)
    ]


def settled_rows(rows: pa.Table, policy: Policy) -> pa.Table:
    """Return rows with their cells as the policy declares them: as places and parts of the calendar are released."""
    with Local().opened() as engine:
        table, _ = declared_table(engine.scan(rows, policy), policy, engine)
        return pa.Table.from_batches(table.batches(), schema=table.schema)


LEARNED = 4_000
"""Released rows that models are trained on, and test rows that they are scored on, at most."""


def halves_of(source: object, policy: Policy, rows: int, seed: int) -> tuple[pa.Table, pa.Table, int]:
    """Read a table, and return two halves of at most so many of its rows, drawn at random, and how many rows it has.

    Raises
    ------
    ParameterError, PolicyError
        The table has too few rows or people, or does not fit the policy.
    """
    with closing(open_engine("local")) as engine, snapshot(source) as stays:
        opened = stays.scan(engine, policy)
        table = pa.Table.from_batches(opened.batches(), schema=opened.schema)
    policy.resolve(table.column_names)  # what is wrong for every method is no point on the frontier
    if table.num_rows < 100:
        raise ParameterError(f"the table has {table.num_rows} rows, 100 are needed to compare")
    random = np.random.default_rng(seed)
    together = policy.names(Role.HOUSEHOLD) or policy.names(Role.UNIT)
    if together:
        return *_halves_of_people(table, together, rows, random), table.num_rows
    order = random.permutation(table.num_rows)[:rows]
    half = order.size // 2
    return table.take(pa.array(order[:half])), table.take(pa.array(order[half:])), table.num_rows


def _halves_of_people(
    table: pa.Table, unit: Sequence[str], rows: int, random: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """Divide the people, with all their rows, as far as so many rows go; nobody is in both halves."""
    keys = pc.dictionary_encode(pa.chunked_array([joint_keys(batch, unit) for batch in table.to_batches()]))
    codes = pc.fill_null(keys.combine_chunks().indices, -1).to_numpy().astype(np.int64)
    sizes = np.bincount(codes[codes >= 0])
    order = random.permutation(sizes.size)
    reached = np.cumsum(sizes[order])
    order = order[: max(int(np.searchsorted(reached, rows, side="right")), 2)]
    half = int(np.searchsorted(np.cumsum(sizes[order]), sizes[order].sum() / 2)) + 1
    first, second = (np.isin(codes, chosen) for chosen in (order[:half], order[half:]))
    if not first.any() or not second.any():
        raise ParameterError("the table has too few people to compare", "two halves need different people")
    return table.filter(pa.array(first)), table.filter(pa.array(second))


@dataclass(frozen=True, kw_only=True, eq=False)
class Halves:
    """The rows that are released and those of the test set, and how a release of the first is measured."""

    released: pa.Table
    held_out: pa.Table
    policy: Policy
    """With a role for every column."""
    target: str
    task: Task
    attacks: int
    """People attacked."""
    seed: int

    @cached_property
    def _scored(self) -> pa.Table:
        """Test rows that models are scored on."""
        return some_rows(self.held_out, LEARNED)

    @cached_property
    def _settled(self) -> pa.Table:
        """Released rows with cells as the policy declares them."""
        return settled_rows(self.released, self.policy)

    def settled(self) -> Halves:
        """Return the same halves with their rows settled and chosen, so that no copy of them does it again."""
        _ = self._settled, self._scored
        return self

    def scores_of_rows(self, dropped: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the scores of models trained on the rows as they are, without some columns."""
        train = some_rows(self.released, LEARNED).drop_columns(dropped)
        weight = None if self.policy.weight is None else self.policy.weight.name
        return scores_of(models_of_rows(train, self._scored.drop_columns(dropped), self.target, self.task, weight))

    def point(self, method: str, parameter: str, value: float | None, outcome: Release | AnonkitError) -> FrontierPoint:
        """Return the release on the frontier, or why there is none."""
        empty = FrontierPoint(
            method=method,
            parameter=parameter,
            value=value,
            scores={},
            attacks={},
            guarantee={},
            measure=MEASURE[self.task],
        )
        if isinstance(outcome, AnonkitError):
            message, hint = outcome.told
            refused = message if hint is None else f"{message} ({hint})"
            return replace(empty, refusal=refused)
        if outcome.report["rows"].get("out") == 0:
            return replace(empty, refusal=NO_ROW)
        models = models_of_release(outcome, self._scored, self.target, self.task, most=LEARNED)
        scores = scores_of(models)
        best = name_of_best(scores, MEASURE[self.task])
        attacked = audit(
            outcome,
            self.released,
            control=self.held_out,
            attacks=self.attacks,
            runs=0,
            seed=self.seed,
            ceilings=False,
        )
        return replace(
            empty,
            scores=scores,
            by_row=None if best is None else models[best].by_row,
            lost=tuple(lost_columns(outcome)),
            moved=tuple(moved_columns(outcome, self._settled, self.policy)),
            attacks={attack.name: attack.to_dict() for attack in attacked.attacks},
            left_out=outcome.owner.get("rows_left_out"),
            guarantee=outcome.report["guarantee"],
            protection=_protection(outcome.report["guarantee"]),
            clear=outcome.report["disclosure_risk"].get("with_clear_columns"),
        )


def _protection(guarantee: Mapping[str, Any]) -> str | None:
    """Return the name of a promise within a sentence; None where nothing bounds what is learned of a row."""
    promise = read_promise(guarantee)
    loss = promise.loss()
    if promise.counted_classes is None and (loss is None or math.isinf(loss.epsilon)):
        return None
    name = words_of(guarantee).headline(guarantee).text
    return name[:1].lower() + name[1:]


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
        statement = ReleasedStatement.from_params(params).statement
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
