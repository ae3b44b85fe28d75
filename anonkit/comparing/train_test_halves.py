# SPDX-License-Identifier: Apache-2.0
"""The half of a table that is released, the test half, and how a release of the first is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.auditing import audit
from anonkit.bundle.stored_release import Release
from anonkit.comparing.frontier_points import FrontierPoint
from anonkit.comparing.model_scores import MEASURE, models_of_release, models_of_rows, scores_of, some_rows
from anonkit.comparing.moved_columns import lost_columns, moved_columns, settled_rows
from anonkit.engines import open_engine
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError, ParameterError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import joint_keys
from anonkit.policy.target_task import Task
from anonkit.promises.promise_kinds import read_promise
from anonkit.report.promise_words import words_of
from anonkit.report.wording import NO_ROW
from anonkit.utility.consumer_models import name_of_best

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
            return replace(empty, told=refused)
        if outcome.report["rows"].get("out") == 0:
            return replace(empty, told=NO_ROW)
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
