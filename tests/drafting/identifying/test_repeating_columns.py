"""Identifying columns whose values repeat are found, harmless ones left alone: counted on two sets of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
from drafting.identifying import tables_to_choose, tables_to_report
from drafting.identifying.repeating_columns import Draw, of_people, tables

from anonkit.drafting.identifying.street_addresses import IdentifierKind
from anonkit.drafting.profiling import ColumnProfile, judge_undeclared
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine

MISSED = 3
"""Of 24 repeating identifying columns, at most."""
TAKEN = 2
"""Of 200 harmless columns, at most."""
GENERATORS = {"chosen on": tables_to_choose, "reported on": tables_to_report}


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def profiles_of(engine: Engine, columns: Mapping[str, list[Any]]) -> Mapping[str, ColumnProfile]:
    """The profiles by the detector of every column of a table that declares none."""
    return judge_undeclared(engine.scan(pa.table(columns), Policy()), list(columns), engine).profiles


def judged(engine: Engine, identifying: Mapping[str, tuple[str, Draw]], seed: int) -> dict[str, ColumnProfile]:
    """One column of each kind, in 6 to 25 rows a person."""
    found = {}
    for at, (kind, (name, draw)) in enumerate(identifying.items()):
        found[kind] = profiles_of(engine, {name: of_people(draw, seed=1_000 * seed + at)})[name]
    return found


@pytest.mark.quick_cases("1-chosen on")
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("seed", [1, 2])
def test_at_most_three_of_24_repeating_identifying_columns_are_missed(
    engine: Engine, generator: str, seed: int
) -> None:
    """Names, addresses, plates, phones, user names, hashes, accounts, policies, national numbers, texts with names."""
    found = judged(engine, GENERATORS[generator].IDENTIFYING, seed)

    assert len(found) == 24
    assert all(profile.repeats for profile in found.values())
    assert len([kind for kind, profile in found.items() if profile.verdict is None]) <= MISSED


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("seed", [1, 2])
def test_at_most_two_of_200_harmless_columns_are_taken(engine: Engine, generator: str, seed: int) -> None:
    """Of 40 tables: neither by their names and cells nor by their cells alone."""
    drawn = tables(GENERATORS[generator].HARMLESS, count=40, width=5, seed=seed)
    found = [profile for columns in drawn.values() for profile in profiles_of(engine, columns).values()]

    assert len(found) == 200
    assert len([each.name for each in found if each.verdict is not None or each.by_cells is not None]) <= TAKEN


@pytest.mark.parametrize("generator", GENERATORS)
def test_cells_alone_identify_all_but_bare_numbers(engine: Engine, generator: str) -> None:
    """A declared column has no say in it: its cells have the form of identifiers, whatever it is called."""
    found = {}
    for at, (kind, (_, draw)) in enumerate(GENERATORS[generator].IDENTIFYING.items()):
        found[kind] = profiles_of(engine, {"x": of_people(draw, seed=at)})["x"]

    assert {kind for kind, each in found.items() if each.by_cells is None} <= {
        "members by number",
        "patients by number",
    }


@pytest.mark.parametrize("generator", GENERATORS)
def test_kinds_of_identifiers(engine: Engine, generator: str) -> None:
    """Keys, phones, national numbers and names identify a person; an address identifies a household."""
    expected = {
        "full names": IdentifierKind.PERSON_NAME,
        "names with initials": IdentifierKind.PERSON_NAME,
        "street addresses": IdentifierKind.ADDRESS,
        "local phones": IdentifierKind.PHONE,
        "national numbers": IdentifierKind.NATIONAL_NUMBER,
        "account numbers": IdentifierKind.KEY,
        "free text with names": IdentifierKind.FREE_TEXT,
    }
    for kind, profile in judged(engine, GENERATORS[generator].IDENTIFYING, 3).items():
        if (start := kind.split(",")[0]) in expected and profile.verdict is not None:
            assert profile.verdict.kind is expected[start], kind


@pytest.mark.parametrize("name", ["firmware", "x"])
def test_versions_and_diagnoses_are_no_identifiers(engine: Engine, name: str) -> None:
    """Versions in four parts are no addresses of computers, and codes with a point are no keys, under any name."""
    for kind in ("firmware_version", "x_build", "icd", "icd10|2", "dx"):
        cells = tables({kind: tables_to_report.HARMLESS[kind]}, count=1, width=1, seed=3)["table 0"]
        (values,) = cells.values()
        assert profiles_of(engine, {name: values})[name].verdict is None, kind


def test_a_name_is_no_thing(engine: Engine) -> None:
    """The same cells under the name of a thing are a thing where codes of things are written so: `flight`, `batch`."""
    cells = of_people(tables_to_report.IDENTIFYING["policy numbers"][1], seed=4)

    assert profiles_of(engine, {"policy": cells})["policy"].verdict is not None
    assert profiles_of(engine, {"part_number": cells})["part_number"].verdict is None
