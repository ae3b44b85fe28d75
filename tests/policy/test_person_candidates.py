"""Candidates for the person of a row: joint keys that are equal exactly where all columns are."""

from __future__ import annotations

import pyarrow as pa

from anonkit.policy.person_candidates import Candidate, WithKeys, joint_keys, key_names

BATCH = pa.record_batch({"name": ["a", "a:", "a", None], "day": ["1:b", "b", "1:b", "b"]})


def test_joint_keys_are_equal_exactly_where_every_column_is() -> None:
    """Cells do not run into each other; a row without one of the values has no key."""
    first, second, third, fourth = joint_keys(BATCH, ["name", "day"]).to_pylist()
    assert first == third
    assert len({first, second}) == 2
    assert fourth is None
    assert joint_keys(BATCH, ["name"]).to_pylist()[3] is None


def test_keys_get_names_that_no_column_has() -> None:
    """Two candidates, one of whose names is taken."""
    assert key_names([["name"], ["name", "day"]], ["candidate 1", "candidate 1_"]) == ["candidate 0", "candidate 1__"]


def test_a_batch_with_keys_is_that_of_its_schema() -> None:
    """Columns stay, keys come after them, row by row."""
    add = WithKeys(candidates=(Candidate(columns=("name", "day"), key="candidate 0"),))
    made = add(BATCH, 0)
    assert made.schema.equals(add.schema(BATCH.schema))
    assert made.column("candidate 0").equals(joint_keys(BATCH, ["name", "day"]))
    assert made.select(BATCH.schema.names).equals(BATCH)
    assert add.candidates[0].name == "name, day"
