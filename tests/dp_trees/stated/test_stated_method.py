"""Methods that hand on a noise statement: what follows from it, and what is refused before a row is read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from checks.stated_releases import CELLS, LINES, METHODS, POLICY, people

from anonkit.dp_trees.stated.stated_method import StatedMethod, StatedSchema, Tallies, exact_answers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import BudgetError, ParameterError
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.promises.guarantee import REPLACE
from anonkit.published.statements.noise_statement import CellRows, Count, Statement, Sum, ValueLines


@dataclass(frozen=True, kw_only=True)
class Given(StatedMethod):
    """A method of any statement."""

    name: ClassVar[str] = "given"
    paper: ClassVar[str] = "none: a test"
    summary: ClassVar[str] = "any statement"
    target_use: ClassVar[TargetUse] = TargetUse.AS_DECLARED
    publishes_rows: ClassVar[bool] = False
    made: ClassVar[Callable[[StatedMethod, Policy], Statement]]

    def statement(self, policy: Policy) -> Statement:
        """Return what the test gives."""
        return type(self).made(self, policy)


def _policy(**columns: Any) -> Policy:
    return Policy.given({"columns": {**POLICY["columns"], **columns}})


def _given(made: Callable[[StatedMethod, Policy], Statement]) -> type[Given]:
    return type("Given", (Given,), {"made": staticmethod(made)})


def _rows_twice(method: StatedMethod, policy: Policy) -> Statement:
    columns = method.columns(policy, cells=4)
    draws = tuple(method.draw(name, Count(), columns, share=Fraction(2, 3)) for name in ("one", "two"))
    return method.stated(columns, draws, ValueLines())


def _of_replaced_rows(method: StatedMethod, policy: Policy) -> Statement:
    columns = method.columns(policy, cells=4)
    draws = (method.draw("rows", Count(), columns),)
    return Statement(columns=columns, draws=draws, shows=ValueLines(), adjacency=REPLACE, rows_per_unit=1)


def _shown_rows(method: StatedMethod, policy: Policy) -> Statement:
    columns = method.columns(policy, cells=4)
    return method.stated(columns, (method.draw("rows", Count(by=("sex",)), columns),), CellRows(of="rows"))


def test_draws_that_cost_more_than_epsilon_are_refused() -> None:
    """Two thirds and two thirds are more than one, and nothing is promised."""
    promise = None
    with suppress(BudgetError):
        promise = _given(_rows_twice)(epsilon=1.0).guarantee(_policy())
    assert promise is None


def test_a_statement_of_other_neighbours_or_of_rows_that_are_not_said_is_refused() -> None:
    """Before a row is read, with the page that says how it is done."""
    for made, words in ((_of_replaced_rows, "other neighbours"), (_shown_rows, "publishes_rows")):
        with pytest.raises(ParameterError, match=words) as caught:
            _given(made)(epsilon=1.0).guarantee(_policy())
        assert "add-a-noise-method.md" in str(caught.value.hint)


def test_the_promise_is_what_the_draws_come_to() -> None:
    """In both kinds of methods a hair below the epsilon that was requested, whoever the neighbours are."""
    for kind in (CELLS, LINES):
        for more in ({}, {"adjacency": "replace"}, {"rows_per_unit": 3}):
            promise = METHODS[kind](epsilon=1.0, **more).guarantee(_policy())
            assert 1 - 1e-9 < promise.epsilon <= 1  # type: ignore[attr-defined]


def test_answers_are_counts_of_the_coded_rows() -> None:
    """Of a table small enough to be counted by hand; the row without a declared class is not used."""
    policy = _policy()
    method = _given(_hand)(epsilon=1.0)
    table = pa.table(
        {
            "age": pa.array([18, 78, None, 40]),
            "sex": ["F", "M", "M", "F"],
            "job": ["a", "a", "b", "c"],
            "person": ["p", "q", "r", "s"],
            "note": ["n"] * 4,
            "y": ["no", "yes", "yes", "perhaps"],
        }
    )
    engine = LocalEngine()
    answers = exact_answers(engine.scan(table, policy), engine, method.statement(policy), "y", None)
    engine.close()

    assert [answer.tolist() for answer in answers] == [[1, 2], [-3, 3], [1]]


def _hand(method: StatedMethod, policy: Policy) -> Statement:
    columns, third = method.columns(policy, cells=4), Fraction(1, 3)
    draws = (
        method.draw("sex", Count(by=("sex",)), columns, share=third),
        method.draw("age", Sum(of="age", by=("sex",)), columns, share=third),
        method.draw("b", Count(), columns, share=third, where={"job": 1}),
    )
    return method.stated(columns, draws, ValueLines())


def test_rows_too_many_to_be_held_are_counted_where_they_are() -> None:
    """The same answers by one pass of the engine, with a function that workers can be sent."""
    policy = _policy()
    method = METHODS[LINES](epsilon=1.0)
    statement = method.statement(policy)
    here, there = LocalEngine(), LocalEngine(search_rows=10)
    found = [exact_answers(engine.scan(people(), policy), engine, statement, "y", None) for engine in (here, there)]
    here.close()
    there.close()

    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
    tally = Tallies(statement=statement, schema=StatedSchema.of(statement, "y"))
    assert pickle.loads(pickle.dumps(tally)).sizes == tally.sizes
