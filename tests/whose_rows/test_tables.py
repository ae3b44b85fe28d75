"""Tables of people and of things, without a declaration of whose the rows are: lone rows, and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from whose_rows.tables import PEOPLE, THINGS, PeopleTable

import anonkit
from anonkit.drafting.profiling import judge_undeclared
from anonkit.drafting.whose_rows import candidates_for_person, with_keys_by_structure
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.protocols import Engine

METHODS = ("rfka", "mondrian", "datafly", "incognito", "mdav", "greedy-hamdist")
TAG = "whose"
COUNTED = {"sensors": ["sensor_id"], "readings of 300": ["meter_id"]}
"""Tables of things with an identifier that repeats: each class holds k different ones."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def candidates(table: pa.Table, engine: Engine, **roles: Any) -> list[list[str]]:
    """The columns of the candidates of a table, and no others but those are released."""
    source, policy = engine.scan(table, Policy()), Policy().with_roles(**roles)
    free = [name for name in table.column_names if not policy.declares(name)]
    undeclared = with_keys_by_structure(source, judge_undeclared(source, free, engine), engine)
    resolved = undeclared.declared(policy).resolve(table.column_names, target_use=TargetUse.AS_DECLARED)
    return [list(each.columns) for each in candidates_for_person(source, resolved, undeclared, engine)]


def people_of_classes(made: PeopleTable, method: str, **more: Any) -> np.ndarray[Any, Any]:
    """Release a table with a mark of the person beside it, unchanged; return the people of each class."""
    tag = pa.array([f"mark of {one}" for one in made.person])
    more.setdefault("insensitive", [TAG])
    roles = {name: column for name, column in made.options.items() if name not in more}
    release = anonkit.release(
        made.rows.append_column(TAG, tag), method=method, k=10, ledger=None, utility=False, **roles, **more
    )
    names = [
        c["name"] for c in release.report["columns"] if c["role"] == "quasi_identifier" and c["action"] != "dropped"
    ]
    counted = release.to_arrow().group_by(names).aggregate([(TAG, "count_distinct")])
    people: np.ndarray[Any, Any] = counted.column(f"{TAG}_count_distinct").to_numpy()
    return people


@pytest.mark.parametrize("name", PEOPLE)
def test_every_table_of_people_has_a_candidate(name: str, engine: Engine) -> None:
    """An identifier that repeats, declared or found, or a key by structure; two that part the rows alike are one."""
    made = PEOPLE[name](np.random.default_rng(11))
    (candidate,) = candidates(made.rows, engine, **made.options)
    keys = pc.dictionary_encode(pc.binary_join_element_wise(*(made.rows[c].cast(pa.string()) for c in candidate), "|"))
    there = keys.combine_chunks().indices.is_valid().to_numpy(zero_copy_only=False)
    codes = keys.combine_chunks().indices.fill_null(0).to_numpy()[there]
    assert np.unique(made.person[there]).size <= np.unique(codes).size * 1.2


@pytest.mark.parametrize("name", THINGS)
def test_no_table_of_things_has_a_candidate_but_identifiers_that_repeat(name: str, engine: Engine) -> None:
    """Goods, machines, lines and codes determine other columns, and none that is about a person."""
    expected = [COUNTED[name]] if name in COUNTED else []
    assert candidates(THINGS[name](np.random.default_rng(11)), engine) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["visits, account declared", "payments, gaps"])
@pytest.mark.quick_cases("visits, account declared-greedy-hamdist", "visits, account declared-incognito")
def test_no_class_is_of_one_person(name: str, method: str) -> None:
    """By every method: 10 different people at least; said to be independent, 105 of 112 classes were one person."""
    assert people_of_classes(PEOPLE[name](np.random.default_rng(11)), method).min() >= 10


@pytest.mark.slow
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
@pytest.mark.parametrize("name", PEOPLE)
def test_no_class_of_any_table_is_of_one_person(name: str, method: str) -> None:
    """Of 24 tables none is refused, and in none a class is of few people."""
    assert people_of_classes(PEOPLE[name](np.random.default_rng(11)), method).min() >= 9


@pytest.mark.slow
def test_rows_that_are_said_to_be_independent_count_as_people_do() -> None:
    """On the owner's word a class may be one person: this is what everybody got before."""
    made = PEOPLE["visits, account declared"](np.random.default_rng(11))
    assert (people_of_classes(made, "mondrian", unit="none") == 1).any()
