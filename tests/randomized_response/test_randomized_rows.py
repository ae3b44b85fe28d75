"""Batches of randomized answers: a function of row number and key, whatever the batch size."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from anonkit.datasets import bank_customers_policy
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.randomized_response.randomized_draft import draft_randomized
from anonkit.randomized_response.randomized_rows import RandomizeBatch
from anonkit.randomness import Randomness

KEY = bytes(range(32))
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("rr", {"epsilon": 2.0}),
    ("rr", {"epsilon": 0.5, "label": "clear"}),
    ("rr", {"epsilon": 8.0, "allocation": "split"}),
    ("errph", {"epsilon": 1.0, "bins": 4}),
    ("ppnb", {"p_keep": 0.35, "label": "randomize"}),
]


def randomizer(name: str, chosen: dict[str, Any], table: pa.Table) -> RandomizeBatch:
    """Return the batch function of a method, under a known key."""
    policy = bank_customers_policy()
    published = make_method(name, chosen).published(policy)  # type: ignore[attr-defined]
    with LocalEngine() as engine:
        source = engine.scan(table, Policy())
        draft = draft_randomized(source, policy, engine, Randomness.seeded(1), published, public_domains(policy))
        return RandomizeBatch(table=published, key=KEY, schema=draft.data.schema)


@pytest.mark.parametrize(("name", "chosen"), MODELS)
def test_batches_of_any_size_give_the_same_rows(name: str, chosen: dict[str, Any], small_customers: pa.Table) -> None:
    """One batch of 400 rows, and batches of 7 rows on a function that went through pickle."""
    function = randomizer(name, chosen, small_customers)
    again: RandomizeBatch = pickle.loads(pickle.dumps(function))
    whole = function(small_customers.combine_chunks().to_batches()[0], 0)
    rows = 0
    for batch in small_customers.combine_chunks().to_batches(max_chunksize=7):
        part = again(batch, rows)
        assert part.to_pylist() == whole.slice(rows, part.num_rows).to_pylist()
        rows += batch.num_rows
    assert rows == small_customers.num_rows


@pytest.mark.parametrize(("name", "chosen"), MODELS)
def test_texts_and_dictionaries_are_answered_alike(
    name: str, chosen: dict[str, Any], small_customers: pa.Table
) -> None:
    """A category that comes as a place in a dictionary, whatever its order is, draws what its text draws."""
    function = randomizer(name, chosen, small_customers)
    plain, folded = small_customers, small_customers
    for at, field in enumerate(small_customers.schema):
        if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type):
            texts = small_customers.column(at).cast(pa.string())
            plain = plain.set_column(at, field.name, texts)
            folded = folded.set_column(at, field.name, texts.combine_chunks().dictionary_encode())
    one, other = (function(table.combine_chunks().to_batches()[0], 5) for table in (plain, folded))
    assert one.to_pylist() == other.to_pylist()


def test_the_key_is_not_shown(small_customers: pa.Table) -> None:
    """A reader of a log must not be able to undo the noise."""
    shown = repr(randomizer("rr", {"epsilon": 1.0}, small_customers))
    assert repr(KEY) not in shown
    assert KEY.hex() not in shown


def test_a_row_answers_exactly_the_attribute_it_was_asked(small_customers: pa.Table) -> None:
    """With allocation `sample` every other attribute of the row is null; an answer may be missing too."""
    function = randomizer("rr", {"epsilon": 2.0}, small_customers)
    for row in function(small_customers.combine_chunks().to_batches()[0], 0).to_pylist():
        answered = {name for name, value in row.items() if value is not None}
        assert answered - {row["asked_attribute"]} == {"customer_value", "asked_attribute"}


@pytest.mark.parametrize("column", ["occupation", "age"])
def test_cells_outside_the_domain_are_answered_as_missing(column: str, small_customers: pa.Table) -> None:
    """A word is answered as an empty cell is, whatever the other cells of its column are."""
    function = randomizer("errph", {"epsilon": 9.0, "bins": 4}, small_customers)
    at = small_customers.schema.get_field_index(column)
    shown = []
    for cells in (pa.nulls(small_customers.num_rows), pa.array(["spy-of-one-person"] * small_customers.num_rows)):
        table = small_customers.set_column(at, column, cells)
        shown.append(function(table.combine_chunks().to_batches()[0], 0))
    assert shown[0].equals(shown[1])
    assert shown[0].column(column).null_count > 0.9 * small_customers.num_rows


@pytest.mark.parametrize("label", ["clear", "randomize"])
def test_a_row_without_a_class_answers_with_one_by_chance(label: str, small_customers: pa.Table) -> None:
    """Every class alike, and a function of the key and the row number: no refusal, and no row is left out."""
    function = randomizer("errph", {"epsilon": 9.0, "bins": 4, "label": label}, small_customers)
    at = small_customers.schema.get_field_index("customer_value")
    table = small_customers.set_column(at, "customer_value", pa.array(["spy"] * small_customers.num_rows))
    shown = function(table.combine_chunks().to_batches()[0], 0).column("customer_value")
    counts = [one["counts"] for one in shown.value_counts().to_pylist()]
    assert len(counts) == 3
    assert min(counts) > small_customers.num_rows / 6
