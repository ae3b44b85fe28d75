"""Drafts of joined tables: whatever the table, at least k people have every whole set of released rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.violating_classes import rare_people
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import PersonRows
from anonkit.randomness import Randomness

SCHEMA = pa.schema([("who", pa.string()), ("age", pa.int64()), ("ward", pa.string()), ("y", pa.string())])
VISIT = st.fixed_dictionaries(
    {"ward": st.sampled_from(["a", "b", "c", None]), "y": st.sampled_from(["yes", "no", None])}
)
PERSON = st.tuples(st.sampled_from([20, 30, 40, None]), st.lists(VISIT, min_size=1, max_size=4))


def table_of(people: list[tuple[int | None, list[dict[str, Any]]]]) -> pa.Table:
    """Return the flat view of some people; the fifth of every seven has no key."""
    rows = [
        {"who": None if at % 7 == 4 else f"p{at}", "age": age, **visit}
        for at, (age, visits) in enumerate(people)
        for visit in visits
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("method", ["rfka", pytest.param("mondrian", marks=pytest.mark.slow)])
@settings(max_examples=12)
@given(
    people=st.lists(PERSON, min_size=8, max_size=24),
    drop=st.booleans(),
    most=st.none() | st.integers(1, 3),
)
def test_every_whole_set_of_a_draft_is_shared(method: str, people: Any, drop: bool, most: int | None) -> None:
    """By hand on the draft: k people have every multiset, nobody more rows than may be, and rows are accounted for."""
    missing = Missing.DROP if drop else Missing.CATEGORY
    columns = {
        "who": Column(name="who", role=Role.UNIT),
        "age": Column(name="age", missing=missing),
        "ward": Column(name="ward"),
        "y": Column(name="y", role=Role.TARGET),
    }
    policy = Policy(columns=columns, person_rows=PersonRows(whole_set=True, most=most))
    table = table_of(people)
    settings_of = {"k": 3} | ({"trees": 3, "max_suppression": 0.3} if method == "rfka" else {})
    with LocalEngine() as engine:
        try:
            draft = make_method(method, settings_of, None).release(
                engine.scan(table, policy), policy, engine=engine, rng=Randomness.seeded(1)
            )
        except GuaranteeError:
            return  # too few people, or no possible figure of them: that is a refusal, not a release
        rows = [row for batch in draft.data.batches() for row in batch.to_pylist()]
    shown = [name for name in draft.data.schema.names if name in ("age", "ward")]
    sets: dict[str, Counter[Any]] = {}
    for row in rows:
        sets.setdefault(row["who"], Counter())[tuple(row[name] for name in shown)] += 1

    assert None not in sets
    assert min(Counter(frozenset(held.items()) for held in sets.values()).values()) >= 3
    assert most is None or max(sum(held.values()) for held in sets.values()) <= most
    left_out = ("suppressed", "dropped_missing", "dropped_without_unit", "beyond_rows_per_person")
    assert draft.rows["in"] == table.num_rows == len(rows) + sum(int(draft.rows.get(key, 0)) for key in left_out)  # type: ignore[call-overload]


def test_people_are_named_by_their_keys_and_their_rows_counted() -> None:
    """One person with a set of their own goes, with both rows; the others stay."""
    table = pa.table({"who": ["a", "b", "c", "c"], "q": ["x", "x", "x", "y"]})
    with LocalEngine() as engine:
        found = rare_people(engine.hold(table), engine, ["q"], "who", 2)

    assert found.keys.to_pylist() == ["c"]
    assert found.n_rows == 2
