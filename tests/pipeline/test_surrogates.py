"""Surrogates: rows of one person show one random number, rows of two show two, and the key is gone."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError
from anonkit.pipeline.derived_columns import numbered, refuse_taken_name, shown_rows, shows_surrogates
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE, PersonRows
from anonkit.randomness import Randomness

ROWS = pa.table({"person": ["b", "a", "b", "c"], "age": [1, 2, 3, 4]})
POLICY = replace(
    Policy.from_dict({"columns": {"person": {"role": "unit"}, "age": {"bounds": [0, 9]}}}),
    person_rows=PersonRows(surrogate=True),
)


def numbers(seed: int) -> list[int]:
    """The numbers of the rows."""
    with LocalEngine() as engine:
        shown = numbered(engine.scan(ROWS, Policy()), "person", engine, Randomness.seeded(seed))
        rows = pa.Table.from_batches(shown.batches(), schema=shown.schema)
    assert rows.column_names == [SURROGATE, "age"]
    assert rows.column("age").to_pylist() == [1, 2, 3, 4]
    return list(rows.column(SURROGATE).to_pylist())


def test_rows_of_one_person_have_one_number() -> None:
    """From 1 to the number of people, in an order that is drawn for the release."""
    found = numbers(1)
    assert found[0] == found[2]
    assert set(found) == {1, 2, 3}
    assert found == numbers(1)
    assert len({tuple(numbers(seed)) for seed in range(20)}) > 1


def test_without_surrogates_the_unit_is_hidden() -> None:
    """With them it is replaced."""
    for policy, names in ((POLICY, [SURROGATE, "age"]), (replace(POLICY, person_rows=PersonRows()), ["age"])):
        with LocalEngine() as engine:
            rows = engine.scan(ROWS, Policy())
            shown = shown_rows(engine, rows, ["person"], policy, Randomness.seeded(1))
            assert shown.schema.names == names


def test_a_column_of_that_name_is_refused() -> None:
    """Only where surrogates are shown."""
    taken = Policy.from_dict({"columns": {"surrogate": {"bounds": [0, 9]}}})
    refuse_taken_name(taken)
    assert not shows_surrogates(taken)
    with pytest.raises(PolicyError, match="surrogate"):
        refuse_taken_name(replace(taken, person_rows=PersonRows(surrogate=True)))
