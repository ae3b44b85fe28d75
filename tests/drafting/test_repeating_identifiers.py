"""The detection of identifiers of persons that occur in several rows."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator

import pyarrow as pa
import pytest
from kinds_of_columns import ENGLISH

from anonkit.drafting.identifying.kinds import IdentifierKind
from anonkit.drafting.repeating_identifiers import RepeatingIdentifier, repeating_identifiers
from anonkit.drafting.undeclared import judge_undeclared, profiles_of
from anonkit.engines import open_engine
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """One engine for all tables."""
    with open_engine("local") as opened:
        yield opened


def visits(**columns: list[object]) -> pa.Table:
    """Twelve visits of each person."""
    return pa.table({name: [value for value in values for _ in range(12)] for name, values in columns.items()})


def test_keys_addresses_and_names_with_a_birth_date_repeat(engine: Engine) -> None:
    """An e-mail address is one identifier; given name, family name and date of birth are one together."""
    r = random.Random(3)
    born = [datetime.date(1940, 1, 1) + datetime.timedelta(days=r.randrange(20_000)) for _ in range(200)]
    table = visits(
        Vorname=[r.choice(ENGLISH) for _ in born],
        Nachname=[
            r.choice("VWKLT") + r.choice("aeiou") + r.choice("rlnst") + r.choice(["mann", "er", "sen"]) for _ in born
        ],
        Geburtsdatum=born,
        contact=[f"p{at}@example.org" for at in range(200)],
        ward=[r.randrange(6) for _ in born],
    )
    source = engine.scan(table, Policy())
    found = repeating_identifiers(judge_undeclared(source, table.column_names, engine).profiles.values())

    assert found == [
        RepeatingIdentifier(columns=("contact",), kind=IdentifierKind.EMAIL),
        RepeatingIdentifier(columns=("Vorname", "Nachname", "Geburtsdatum"), kind=IdentifierKind.PERSON_NAME),
    ]


def test_a_declared_identifier_counts_by_its_name(engine: Engine) -> None:
    """Integers from 1 to 200 look like measurements; declared as an identifier they are a key that repeats."""
    table = visits(member=list(range(1, 201)), once=["x"] * 200)
    source = engine.scan(table, Policy())
    profiles = profiles_of(source, ["member"], engine)

    assert [each.kind for each in repeating_identifiers(profiles, declared={"member"})] == [IdentifierKind.KEY]


def test_what_occurs_in_one_row_each_does_not_repeat(engine: Engine) -> None:
    """Row numbers identify the person no better than the row does."""
    source = engine.scan(pa.table({"row": list(range(300))}), Policy())
    (profile,) = profiles_of(source, ["row"], engine)

    assert profile.by_cells is not None
    assert profile.by_cells.rule == "row_numbers"
    assert repeating_identifiers([profile]) == []
