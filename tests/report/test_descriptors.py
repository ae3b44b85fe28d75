"""The descriptor of a release: its files with their hashes, its columns with their types, and nothing twice.

Entries for registries: for bounded losses alone, made of public facts, as YAML that is read back.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import yaml

import anonkit
from anonkit.policy.declaration import Policy
from anonkit.report.descriptors import (
    build_descriptor,
    build_registry_entry,
    field_type,
    has_entry,
    listed_files,
    with_resources,
)

POLICY = Policy.from_dict({"dataset": "people", "columns": {"sex": {"categories": ["f", "m"], "missing": "first"}}})
ROWS = pa.table({"sex": ["f", "m"] * 40})


def released(method: str, **parameters: object) -> anonkit.Release:
    """A release in memory."""
    return anonkit.release(ROWS, method=method, policy=POLICY, no_target=True, seed=1, ledger=None, **parameters)


def test_a_bounded_loss_has_an_entry() -> None:
    """With the promise in words, and the released columns."""
    release = released("dp-marginals", epsilon=1.0)
    entry = yaml.safe_load(build_registry_entry(name="people", report=release.report))
    assert entry["url_slug"] == "people"
    assert entry["deployment"]["basic"]["description"] == release.report["guarantee"]["statement"]
    assert entry["deployment"]["basic"]["data_product_type"] == "Synthetic data"


@pytest.mark.parametrize(("epsilon", "expected"), [(1.0, True), ("inf", False), (None, False)])
def test_no_other_promise_has_one(epsilon: object, expected: bool) -> None:
    """k-anonymity has no epsilon, a boundless loss no number."""

    class Promise:
        def to_dict(self) -> dict[str, object]:
            return {"parameters": {} if epsilon is None else {"epsilon": epsilon}}

    assert has_entry(Promise()) is expected  # type: ignore[arg-type]


REPORT: dict[str, Any] = {
    "dataset": "people",
    "created": "2026-01-01T00:00:00Z",
    "columns": [{"name": "age", "role": "quasi_identifier", "action": "generalized"}],
    "guarantee": {"statement": "k holds", "kind": "k-anonymity", "parameters": {"k": 5}, "basis": "counted"},
    "method": {"name": "mondrian"},
    "randomness": "none",
}
FILES = {"data": ("out.parquet", "d" * 64), "params": ("out.params.json", "p" * 64)}
LISTED = {"out.parquet": (100, "d" * 64), "out.params.json": (10, "p" * 64)}


def descriptor(**changed: Any) -> dict[str, Any]:
    """The descriptor of a small release."""
    given: dict[str, Any] = {
        "name": "out", "schema": pa.schema([("age", pa.string()), ("low", pa.int64())]), "files": FILES,
        "data_paths": "out.parquet", "listed": LISTED, "report": REPORT, "labels": {"age": [{"label": "< 20"}]},
        "bounds": {"age": {"low": "low", "high": "high"}}, "license_name": None,
    }  # fmt: skip
    return build_descriptor(**{**given, **changed})


def test_files_have_bytes_and_hashes() -> None:
    """The data first, then its sidecars, each with its media type."""
    data, params = descriptor()["resources"]
    assert (data["path"], data["hash"]) == ("out.parquet", "sha256:" + "d" * 64)
    assert (params["name"], params["mediatype"], params["hash"]) == ("params", "application/json", "sha256:" + "p" * 64)
    assert params["anonkit:bytes"] == 10


def test_columns_say_what_was_done_to_them() -> None:
    """Labels, roles, and what an end of an interval means."""
    age, low = descriptor()["resources"][0]["schema"]["fields"]
    assert age == {
        "name": "age",
        "type": "string",
        "anonkit:role": "quasi_identifier",
        "anonkit:action": "generalized",
        "anonkit:labels": [{"label": "< 20"}],
    }
    assert "interval of age begins" in low["description"]


def test_a_licence_is_named_as_the_policy_names_it() -> None:
    """With an identifier of plain letters."""
    assert descriptor(license_name="CC BY 4.0")["licenses"] == [{"name": "CC-BY-4.0", "title": "CC BY 4.0"}]
    assert "licenses" not in descriptor()


def test_copies_are_added_in_their_order_and_once() -> None:
    """Adding one again replaces it."""
    made = with_resources(descriptor(), {"xlsx": ("out.xlsx", "x" * 64, 7), "csv": ("out.csv", "c" * 64, 5)})
    assert [one["name"] for one in made["resources"]] == ["data", "params", "csv", "xlsx"]
    again = with_resources(made, {"csv": ("out.csv", "e" * 64, 6)})
    assert [one["name"] for one in again["resources"]] == ["data", "params", "csv", "xlsx"]
    assert again["resources"][2]["hash"] == "sha256:" + "e" * 64


def test_a_folder_lists_its_files() -> None:
    """In their order, each with bytes and hash."""
    facts = {"b": (2, "bb"), "a": (1, "aa")}
    (listed,) = listed_files(["b", "a"], facts).values()
    assert listed == [{"path": "b", "bytes": 2, "hash": "sha256:bb"}, {"path": "a", "bytes": 1, "hash": "sha256:aa"}]
    assert list(listed_files("a", facts).values()) == [1]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.bool_(), "boolean"),
        (pa.int16(), "integer"),
        (pa.decimal128(5, 2), "number"),
        (pa.date32(), "date"),
        (pa.timestamp("us"), "datetime"),
        (pa.time32("ms"), "time"),
        (pa.binary(), "any"),
    ],
)
def test_cells_have_the_types_of_a_data_package(kind: pa.DataType, expected: str) -> None:
    """A type that it lacks is any."""
    assert field_type(kind) == expected
