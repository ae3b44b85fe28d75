"""Drafts of randomized answers: their promise, what a shuffle adds to it, and notes on weaker answers."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.randomized_table import PublishedTable
from anonkit.randomized_response.randomized_draft import (
    ANSWERED_COLUMN,
    assumptions_of,
    draft_randomized,
    local_promise,
    realised_notes,
    shuffled_view,
)
from anonkit.randomness import Randomness

COLUMNS: dict[str, Any] = {
    "job": {"categories": ["cook", "nurse", "smith"]},
    "sex": {"categories": ["f", "m"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = Policy.from_dict({"columns": COLUMNS})
PEOPLE = Policy.from_dict({"columns": {"who": {"role": "unit"}, **COLUMNS}})


def table_of(policy: Policy = POLICY, method: str = "rr", **given: Any) -> PublishedTable:
    """The mechanisms of a method under a policy."""
    chosen = {"epsilon": 1.0, **given} if "p_keep" not in given else given
    table: PublishedTable = make_method(method, chosen).published(policy)  # type: ignore[attr-defined]
    return table


@pytest.mark.parametrize("allocation", ["split", "sample"])
def test_the_promise_is_the_loss_of_a_row(allocation: str) -> None:
    """At most what was requested, and that of all answers of a row together."""
    table = table_of(allocation=allocation)
    promise = local_promise(table, POLICY)
    assert 0.95 < promise.epsilon <= 1.0
    assert promise.epsilon == pytest.approx(table.record_epsilon)


@given(st.floats(0.1, 4), st.integers(1, 10**7))
def test_a_shuffle_never_adds_to_the_loss(epsilon: float, n_rows: int) -> None:
    """The block states the local loss, or less of it for a delta; few rows, or a large loss, gain nothing."""
    table = table_of(epsilon=epsilon, allocation="split", label="randomize")
    block = shuffled_view(table, POLICY, n_rows, 1e-6)
    assert block["applies"]
    assert 0 < block["epsilon"] <= table.record_epsilon
    assert block["delta"] == (1e-6 if block["epsilon"] < table.record_epsilon else 0)
    if n_rows == 1:
        assert block["epsilon"] == table.record_epsilon


def test_more_rows_hide_a_row_the_better() -> None:
    """At epsilon 1 and a delta of one in a million."""
    table = table_of(allocation="split", label="randomize")
    found = [shuffled_view(table, POLICY, n, 1e-6)["epsilon"] for n in (100, 10_000, 1_000_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.1 < found[0]


def test_an_order_that_hides_nobody_is_said_with_its_reason() -> None:
    """People with several rows, a label that stays clear, and transformed numbers."""
    for table, policy in (
        (table_of(PEOPLE, label="randomize"), PEOPLE),
        (table_of(label="clear"), POLICY),
    ):
        block = shuffled_view(table, policy, 10_000, None)
        assert set(block) == {"applies", "reason"}
        assert not block["applies"]


@given(st.floats(0.1, 9), st.floats(0.1, 9))
def test_only_answers_clearly_weaker_than_requested_are_noted(asked: float, realised: float) -> None:
    """Below 98 % of it, by name; nothing where something else was requested."""
    notes = realised_notes(asked, {"job": realised})
    assert len(notes) == (realised < 0.98 * asked)
    assert all("job has" in note for note in notes)
    assert realised_notes(None, {"job": realised}) == []


def test_the_draft_has_a_budget_line_for_each_column_and_the_schema_of_its_answers() -> None:
    """Types are those of the answers, whatever the source has; the asked column comes last."""
    rows = pa.table({"job": ["cook", None] * 9, "sex": ["f", "m"] * 9, "ill": ["no", "yes"] * 9})
    table = table_of(allocation="sample", label="randomize")
    with LocalEngine() as engine:
        source = engine.scan(rows, POLICY)
        draft = draft_randomized(source, POLICY, engine, Randomness.seeded(1), table, public_domains(POLICY))
        assert draft.data.schema.names == ["job", "sex", "ill", ANSWERED_COLUMN]
    lines: Any = draft.statement.budget
    assert {line["name"] for line in lines["per_attribute"]} == set(table.losses)
    assert lines["epsilon"] == pytest.approx(table.record_epsilon)
    assert draft.rows == {"in": 18, "suppressed": 0}


def test_a_column_that_is_called_as_the_release_needs_is_refused() -> None:
    """The name of the column that says which attribute a row answers."""
    policy = Policy.from_dict({"columns": {**COLUMNS, ANSWERED_COLUMN: {"categories": ["x", "y"]}}})
    table = table_of(allocation="sample")
    with LocalEngine() as engine:
        source, domains = (
            engine.scan(pa.table({name: ["x"] for name in policy.columns}), policy),
            public_domains(policy),
        )
        with pytest.raises(PolicyError, match="a name that the release needs"):
            draft_randomized(source, policy, engine, Randomness.seeded(1), table, domains)


def test_assumptions_are_whole_sentences() -> None:
    """Each once, whatever the number of columns that need it."""
    policy = Policy.from_dict({"columns": {"x": {"bounds": [0, 9]}, "y": {"bounds": [0, 9]}}})
    table = make_method("trr", {}).published(policy)  # type: ignore[attr-defined]
    found = assumptions_of(table, policy)
    assert len(set(found)) == len(found)
    assert all(text[0].isupper() and text.endswith(".") for text in found)
    assert math.isinf(local_promise(table, policy).epsilon)
