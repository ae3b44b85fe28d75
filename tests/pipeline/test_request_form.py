"""The one form of a request: what changes it, and what leaves no trace in it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anonkit.checks.population_risk import AgainstPopulation
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.engines.engine_choice import Local, Spark
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.ledger.account import Account
from anonkit.methods import make_method
from anonkit.methods.rr import RR
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.request_form import ReleaseRequest, request_form
from anonkit.policy.bookkeeping import Bookkeeping
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.publication import Publication

REQUEST = ReleaseRequest(method=make_method("rr", {"epsilon": 4.0}), policy=bank_customers_policy())
TABLE = bank_customers(20, seed=1)


def form(request: ReleaseRequest, table: pa.Table = TABLE, *, search_rows: int = 500) -> bytes | None:
    """Return the form of a request of a table."""
    with LocalEngine(search_rows=search_rows) as engine:
        source = engine.scan(table, Policy())
        return request_form(request, source.schema, engine, source.n_rows)


def read(tmp_path: Path, text: str) -> ReleaseRequest:
    """Return the request with a policy that is in a file."""
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    return replace(REQUEST, policy=Policy.load(tmp_path / "policy.toml"))


SAME: dict[str, dict[str, Any]] = {
    "engine": {"engine": Spark(master="local[1]")},
    "memory for the search of a small table": {"engine": Local(search_rows=100)},
    "how it is written": {"output": Output.at("x.parquet", force=True, sign="key.pem", owner_report="o")},
    "dry run": {"output": Output.at("y.parquet", dry_run=True)},
    "budget and ledger": {"account": Account(ledger="l.sqlite", budget=3, budget_delta=1e-6)},
    "budget and ledger of the policy": {
        "policy": replace(
            bank_customers_policy(),
            bookkeeping=Bookkeeping(ledger="l.sqlite", budget=3, budget_delta=1e-6, required=True),
        )
    },
    "who may receive it": {"policy": replace(bank_customers_policy(), publication=Publication(purpose="research"))},
    "an integer for a number": {"method": make_method("rr", {"epsilon": 4})},
    "progress": {"progress": print},
}


@pytest.mark.parametrize("changed", SAME.values(), ids=SAME)
def test_how_the_work_is_done_leaves_no_trace(changed: dict[str, Any]) -> None:
    """Engine, memory, place, signature, owner's report, budget and ledger are not what is requested."""
    assert form(replace(REQUEST, **changed)) == form(REQUEST)


OTHER: dict[str, dict[str, Any]] = {
    "method": {"method": make_method("ppnb", {"epsilon": 4.0})},
    "parameter": {"method": make_method("rr", {"epsilon": 4.5})},
    "preset": {"preset": "paper"},
    "domains from the table": {"domains_min_people": 10},
    "form of the data": {"output": Output.at("x.parquet", part_rows=10)},
    "cells": {"output": Output.at("x.parquet", cells="bounds")},
    "dataset": {"account": Account(dataset="bank")},
    "whom it is meant for": {"policy": bank_customers_policy().meant_for("the archive")},
    "joint view": {"account": Account(accept_joint_k=3)},
    "new people": {"account": Account(only_new=True)},
    "models that are trained": {"utility": False},
    "population": {"population": AgainstPopulation(size=1_000_000)},
    "population file": {"population": AgainstPopulation(file="register.csv")},
    "license": {"policy": replace(bank_customers_policy(), license="CC0")},
    "role": {"policy": bank_customers_policy().with_roles(insensitive=["age"])},
}


@pytest.mark.parametrize("changed", OTHER.values(), ids=OTHER)
def test_what_the_files_depend_on_changes_the_form(changed: dict[str, Any]) -> None:
    """Method, parameters, preset, policy, form of the data and the dataset's name are what is requested."""
    assert form(replace(REQUEST, **changed)) != form(REQUEST)


DECIDED: dict[type, dict[bool, set[str]]] = {
    ReleaseRequest: {
        True: {"method", "preset", "policy", "domains_min_people", "engine", "output", "account", "seed", "utility"}
        | {"population"},
        False: {"progress"},
    },
    Output: {
        True: {"part_rows", "cells"},
        False: {"place", "copy", "force", "dry_run", "for_owner", "foresees", "previews", "owner_report", "examples"}
        | {"sign", "emit"},
    },
    AgainstPopulation: {True: {"file", "size", "fraction", "k_map"}, False: set()},
    Account: {
        True: {"dataset", "accept_joint_k", "only_new"},
        False: {
            "ledger",
            "budget",
            "budget_delta",
            "budget_neighbours",
            "budget_unit",
            "declared",
            "new_ledger",
            "applied",
            "displaced",
            "is_simulated",
            "released_before",
            "disjoint_from",
            "was_handed_out",
        },
    },
}
"""Fields of a request whose values are in its form (those of the engine by the sample it takes), and the others."""


@pytest.mark.parametrize("part", DECIDED)
def test_of_every_field_it_is_decided_whether_it_is_asked(part: type) -> None:
    """A field that is new would leave no trace: a release requested with it would be taken for the one without."""
    assert {one.name for one in fields(part)} == DECIDED[part][True] | DECIDED[part][False]


def test_comments_and_order_of_a_policy_leave_no_trace(tmp_path: Path) -> None:
    """Policies are compared as they are parsed, the order of their columns apart; of categories it counts."""
    first = form(read(tmp_path, '[columns.a]\nbounds=[0, 1]\n[columns.b]\ncategories = ["x", "y"]\n'))
    again = '# reviewed\n[columns.b]\ncategories = ["x", "y"] # two\n[columns.a]\nbounds = [0.0, 1]\n'
    assert form(read(tmp_path, again)) == first
    assert form(read(tmp_path, again.replace('"x", "y"', '"y", "x"'))) != first


def test_a_role_from_an_option_is_a_role_from_the_file(tmp_path: Path) -> None:
    """The policy is taken after the options were merged into it."""
    in_file = read(tmp_path, '[columns.name]\nrole = "identifier"\n')
    assert form(replace(in_file, policy=Policy().with_roles(identifiers=["name"]))) == form(in_file)


def test_the_columns_of_the_table_are_part_of_what_is_asked() -> None:
    """Another order may make another column the target; categories and texts are one type, since engines differ."""
    turned = TABLE.select(TABLE.column_names[::-1])
    texts = pa.table([c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in TABLE], TABLE.column_names)
    assert form(REQUEST, turned) != form(REQUEST)
    assert form(REQUEST, texts) == form(REQUEST)


def test_memory_for_the_search_counts_where_it_makes_a_sample() -> None:
    """A table with more rows than a method may hold is searched on as many as it may."""
    assert form(REQUEST, search_rows=10) != form(REQUEST) != form(REQUEST, search_rows=11)
    assert form(REQUEST, search_rows=10) != form(REQUEST, search_rows=11)


def test_a_seeded_request_has_no_form() -> None:
    """Its release is not for release, and does not validate."""
    assert form(replace(REQUEST, seed=1)) is None


def test_a_field_that_is_new_and_as_before_leaves_no_trace() -> None:
    """An older request of a policy that could not say `joint_k` yet is the same as one that leaves it out."""

    @dataclass(frozen=True, kw_only=True)
    class Later(Policy):
        retention: int | None = None
        places: tuple[str, ...] = field(default_factory=tuple)

    Later.__name__ = "Policy"
    declared = {"a": Column(name="a", role=Role.TARGET)}
    before, after = Policy(columns=declared), Later(columns=declared)
    assert form(replace(REQUEST, policy=after)) == form(replace(REQUEST, policy=before))
    assert form(replace(REQUEST, policy=replace(after, retention=3))) != form(replace(REQUEST, policy=before))


def test_a_parameter_without_a_form_makes_the_request_unknown() -> None:
    """A method of another package may hold anything; what cannot be compared is never taken for the same."""

    @dataclass(frozen=True, kw_only=True)
    class Other(RR):
        anything: object = None

    assert form(replace(REQUEST, method=Other(epsilon=4.0, anything=object()))) is None
    assert form(replace(REQUEST, method=Other(epsilon=4.0, anything={"a": [b"1", 2, {3, "4"}]}))) is not None
