"""The detection of identifiers: by kind of column, with precision and recall, and never by chance.

Columns that a release would show unchanged: row numbers and functions of others are found, measures are not.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds_of_columns import IDENTIFIERS, OTHERS

from anonkit.datasets import bank_customers
from anonkit.domains.coded_columns import CodedColumn
from anonkit.drafting.identifying.verdicts import (
    _enough_match,
    allowed_note,
    evidence_of,
    evidence_of_cells,
    evidence_of_times,
    follows_from,
    found_in,
    functions_among,
    judged,
    refused_note,
    verdict_of,
)
from anonkit.drafting.profiling import judge_undeclared
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine

DRAW = np.random.default_rng(1)


def coded(values: list[object]) -> CodedColumn:
    """A column of codes."""
    known = sorted(set(values), key=str)
    codes = np.array([known.index(value) for value in values], dtype=np.int32)
    return CodedColumn(name="a", codes=codes, values=known, ordered=isinstance(known[0], int))


def test_numbers_of_rows_are_found() -> None:
    """Different integers that lie close together, in any order and with gaps; not measures, and not a few."""
    numbers = DRAW.permutation(100) + 5
    found = found_in(evidence_of_cells(pa.chunked_array([numbers]), "n"))
    assert found is not None
    assert found.rule == "row_numbers"
    assert "'n'" in refused_note("n", found)
    assert found.reason in allowed_note("n", found)
    assert found_in(evidence_of_cells(pa.chunked_array([numbers * 40]), "n")) is None
    assert found_in(evidence_of_cells(pa.chunked_array([np.arange(9)]), "n")) is None
    assert found_in(evidence_of_times("day", filled=100, distinct=100)) is None


def test_a_function_of_a_known_column_follows_from_it() -> None:
    """A code of a city, or an income in another currency; neither noise nor a constant."""
    city = DRAW.integers(0, 4, 200).tolist()
    code = [("n", "e", "s", "w")[at] for at in city]
    assert follows_from(coded(code), coded(city))
    assert not follows_from(coded(DRAW.integers(0, 4, 200).tolist()), coded(city))
    assert not follows_from(coded(["x"] * 200), coded(city))
    income = DRAW.permutation(10_000)[:200]
    assert follows_from(coded((income * 3).tolist()), coded(income.tolist()))


@pytest.mark.parametrize("names", [["code", "other"], ["other", "code"]])
def test_columns_that_follow_are_listed_with_the_first_they_follow_from(names: list[str]) -> None:
    """Among the known ones, and each once."""
    city = DRAW.integers(0, 4, 200)
    table = pa.table(
        {"city": city, "town": city * 2, "code": [f"c{at}" for at in city], "other": DRAW.integers(0, 50, 200)}
    )
    assert functions_among(table, names, ["city", "town"]) == [("code", "city")]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def rule_of(engine: Engine, name: str, values: Any) -> str | None:
    """The rule by which a column is taken for an identifier."""
    (column,) = engine.encode(engine.scan(pa.table({name: values}), Policy()), [name])
    verdict = verdict_of(column)
    return None if verdict is None else verdict.rule


@pytest.mark.quick_cases("1-*")
@pytest.mark.parametrize("kind", IDENTIFIERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_columns_that_identify_are_taken_for_identifiers(engine: Engine, kind: str, seed: int) -> None:
    """By the rule that is meant for them, whatever values are drawn."""
    name, rule, values = IDENTIFIERS[kind]

    assert rule_of(engine, name, values(random.Random(seed))) == rule


@pytest.mark.quick_cases("1-*")
@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_other_columns_are_not(engine: Engine, kind: str, seed: int) -> None:
    """Measurements, codes, categories, dates and places stay what they are."""
    name, values = OTHERS[kind]

    assert rule_of(engine, name, values(random.Random(seed))) is None


@pytest.mark.quick_cases("breast_*", "car_*")
@pytest.mark.parametrize(
    ("table", "taken", "unique"),
    [
        ("adult.csv.gz", set(), {"fnlwgt"}),
        ("breast_cancer_wisconsin.csv", {"Sample_code_number"}, set()),
        ("car_evaluation.csv", set(), set()),
    ],
)
def test_real_tables(engine: Engine, real_tables: Path, table: str, taken: set[str], unique: set[str]) -> None:
    """One identifier in three tables, the sample number; the near-unique weight of Adult is pointed out."""
    source = engine.scan(real_tables / table, Policy())
    found = judge_undeclared(source, source.schema.names, engine)

    assert set(found.taken) == taken
    assert set(found.nearly_unique) == unique


def test_simulated_customers(engine: Engine) -> None:
    """The number of the customer, and nothing else."""
    table = engine.scan(bank_customers(2_000, customer_id=True, rows_per_customer=3), Policy())

    assert set(judge_undeclared(table, table.schema.names, engine).taken) == {"customer_id"}


@given(data=st.data(), kind=st.sampled_from([*IDENTIFIERS, *OTHERS]))
def test_a_verdict_does_not_depend_on_the_order_of_rows(engine: Engine, data: st.DataObject, kind: str) -> None:
    """The same rows in another order, in one column or in categories, get the same verdict."""
    name, values = IDENTIFIERS[kind][0::2] if kind in IDENTIFIERS else OTHERS[kind]
    cells = values(random.Random(data.draw(st.integers(0, 5))))
    rows = pa.array(cells)
    shuffled = rows.take(pa.array(data.draw(st.permutations(range(len(cells))))))

    assert rule_of(engine, name, rows) == rule_of(engine, name, shuffled)
    if rows.type == pa.string():
        assert rule_of(engine, name, rows) == rule_of(engine, name, shuffled.dictionary_encode())


@given(matching=st.lists(st.booleans(), max_size=30), share=st.floats(0, 1), least=st.integers(0, 9))
def test_enough_cells_match_when_counted_to_the_end(matching: list[bool], share: float, least: int) -> None:
    """Stopping early changes no answer, at shares that are no whole number of cells, too."""
    texts = ["x" if one else "-" for one in matching]
    for enough in (share * len(texts), 0.95 * len(texts), max(share * len(texts), least)):
        assert _enough_match("x".__eq__, texts, enough) is (sum(matching) >= enough)


@given(
    values=st.one_of(
        st.lists(st.none() | st.text(max_size=12), max_size=40),
        st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=40),
        st.lists(st.none() | st.floats(), max_size=40),
        st.lists(st.none() | st.datetimes(), max_size=20),
    ),
    name=st.text(max_size=8).filter(str.strip),
)
def test_any_column_gets_a_verdict(engine: Engine, values: list[Any], name: str) -> None:
    """The verdict on any column ends, and no word of it is a cell."""
    source = engine.scan(pa.table({name: values}), Policy())
    (column,) = engine.encode(source, [name])
    evidence = evidence_of(column)
    verdict = judged(evidence)

    assert verdict is None or verdict == verdict_of(column)
    assert evidence.distinct <= evidence.filled <= len(values)


@pytest.mark.slow
def test_uniform_integers_are_measurements(engine: Engine) -> None:
    """Of 200 columns of uniform draws, none is taken for given-out numbers by the chance of few repetitions."""
    r = random.Random(3)
    ranges = [r.randrange(50, 20_000) for _ in range(200)]

    assert not [top for top in ranges if rule_of(engine, "x", [r.randrange(top) for _ in range(120)]) is not None]
