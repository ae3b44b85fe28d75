"""The source as the policy declares it: roles, notes for the owner, and what is refused before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from anonkit.bundle.private_files import PrivateFolder
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import ChoiceError, PolicyError
from anonkit.methods import make_method
from anonkit.pipeline.declared_source import DeclaredSource, declared_source, refuse_unknown_columns
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.declaration import Policy
from tests.pipeline.test_several_tables import every_byte, hospital, recipe

ROWS = pa.table({"age": [20 + at % 9 for at in range(40)], "town": ["xyz"[at % 3] for at in range(40)],
                 "ill": ["yes" if at % 4 else "no" for at in range(40)]})  # fmt: skip
AGE, TOWN = (
    {"role": "quasi_identifier", "bounds": [20, 30]},
    {"role": "quasi_identifier", "categories": ["x", "y", "z"]},
)
ILL = {"role": "target", "categories": ["yes", "no"]}
NOISY, CLASSES = ("dp-nb", {"epsilon": 1.0}), ("mondrian", {"k": 3})


def request_of(method: tuple[str, dict[str, Any]], policy: dict[str, Any]) -> ReleaseRequest:
    """A request for a method under a policy."""
    return ReleaseRequest(method=make_method(*method), policy=Policy.from_dict(policy))


@contextmanager
def declared(
    method: tuple[str, dict[str, Any]], columns: dict[str, Any], source: object = ROWS, **policy: Any
) -> Iterator[DeclaredSource]:
    """The rows as a release by the method declares them."""
    request = request_of(method, {"columns": columns, **policy})
    with closing(PrivateFolder()) as private, closing(LocalEngine()) as engine:
        yield declared_source(source, request, request.declared(), engine, private)


def test_cells_are_given_to_the_method_as_they_are_declared_and_to_the_ledger_as_they_were_read() -> None:
    """A number beyond its bounds is the nearest bound for k-anonymity, and itself in the rows that were read."""
    columns = {"age": {**AGE, "bounds": [22, 30], "outside": "clamp"}, "town": TOWN, "ill": ILL}
    with declared(CLASSES, columns) as found:
        ages = [[age for batch in rows.batches(["age"]) for age in batch.column("age").to_pylist()]
                for rows in (found.table, found.rows.table)]  # fmt: skip
        assert found.clear_names == ["ill"]
        assert found.refusal is None
    read = ROWS.column("age").to_pylist()
    assert ages == [[max(age, 22) for age in read], read]


def test_columns_that_nobody_declared_are_judged_by_their_cells_under_k_anonymity() -> None:
    """A column of distinct names is taken for an identifier, with a note; under noise it is refused as undeclared."""
    named = ROWS.append_column("who", pa.array([f"Ann Example {at}" for at in range(40)]))
    columns = {"age": AGE, "town": TOWN, "ill": ILL}
    with declared(CLASSES, columns, named) as found:
        assert str(found.policy.column("who").role) == "identifier"
        assert any("'who'" in note for note in found.notes)
    with pytest.raises(PolicyError, match="'who'"), declared(NOISY, columns, named):
        pass


KEYS = {"keys": [{"columns": ["age"], "k": 5}]}


@pytest.mark.parametrize(
    ("method", "columns", "policy", "said"),
    [
        (NOISY, {"age": {**AGE, "keep": True}, "town": TOWN, "ill": ILL}, {}, "does not promise parts of a column"),
        (NOISY, {"age": AGE, "town": TOWN, "ill": ILL}, KEYS, "does not promise them"),
        (CLASSES, {"age": AGE, "town": {"role": "unit"}, "ill": ILL}, KEYS, "counted by column"),
        (CLASSES, {"age": {**AGE, "release_as_is": True}, "ill": ILL}, {}, "released as it is"),
    ],
    ids=["parts under noise", "keys under noise", "keys of people", "clear without a role"],
)
def test_what_nobody_could_promise_is_refused(
    method: tuple[str, dict[str, Any]], columns: dict[str, Any], policy: dict[str, Any], said: str
) -> None:
    """Before a cell is read, and each with a hint."""
    with pytest.raises(ChoiceError, match=said) as refused, declared(method, columns, **policy):
        pass
    assert refused.value.hint


def test_spikes_and_rules_that_a_method_does_not_keep_are_named() -> None:
    """Three methods of noise have them; another releases without, and says so."""
    age = {**AGE, "type": "integer", "spikes": [25]}
    rule = {"constraints": [{"never": {"town": "x", "ill": "no"}}]}
    columns = {"age": age, "town": TOWN, "ill": ILL}
    with declared(("rr", {"epsilon": 2.0}), columns, **rule) as found:
        assert [note.split(":")[0] for note in found.notes] == [
            "Rows may break the [[constraints]] of the policy", "The spikes of age are no cells of their own here"
        ]  # fmt: skip
    with declared(NOISY, columns, **rule) as found:
        assert found.notes == []


def test_a_declared_column_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    """By the names of columns alone; what cannot be read, and several tables, are left to their own refusal."""
    request = request_of(NOISY, {"columns": {"agee": AGE}})
    with pytest.raises(PolicyError, match="'agee'"):
        refuse_unknown_columns(ROWS, request)
    refuse_unknown_columns(ROWS, request_of(NOISY, {"columns": {"age": AGE}}))
    refuse_unknown_columns(tmp_path / "nothing.csv", request)
    refuse_unknown_columns("postgresql://nowhere/t", request)


def test_identifiers_are_seen_in_their_own_table(tmp_path: Path) -> None:
    """A number that is unique among people is an identifier though the view repeats it with every visit."""
    people, visits = hospital(tmp_path)
    people.insert(1, "insurance", [1_000_000 + 7919 * n for n in range(len(people))])
    people.to_csv(tmp_path / "people.csv", index=False)
    pd.concat([visits] * 4).to_csv(tmp_path / "visits.csv", index=False)
    release = recipe(tmp_path).run()

    assert {c["name"]: c["role"] for c in release.report["columns"]}["insurance"] == "identifier"
    assert "1007919" not in every_byte(tmp_path)
