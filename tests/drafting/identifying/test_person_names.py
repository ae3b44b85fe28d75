"""Names of persons by their list and their shape; names of things are none."""

from __future__ import annotations

import pytest

from anonkit.drafting.identifying.person_names import (
    are_user_names,
    has_family_ending,
    is_given,
    kind_of_names,
    mention_persons,
)
from anonkit.drafting.identifying.street_addresses import IdentifierKind

GIVEN = [
    "Anna", "Maria", "Peter", "Thomas", "Michael", "Laura", "Julia", "David", "Daniel", "Sarah", "Paul", "Martin",
    "Robert", "James", "John", "William", "Emma", "Sophie", "Marie", "Andreas", "Stefan", "Christian", "Alexander",
]  # fmt: skip
FAMILY = ["Smith", "Miller", "Johnson", "Brown", "Garcia", "Martinez", "Schmidt", "Fischer", "Weber", "Wagner", "Rossi"]
FULL = [f"{given} {FAMILY[at % len(FAMILY)]}" for at, given in enumerate(GIVEN)]
CITIES = [f"{head} {tail}" for head in ("North", "South", "East", "West", "Upper") for tail in ("Park", "Hill", "Bay")]


def test_names_are_found_by_what_they_are_made_of() -> None:
    """Single given names, and given before family names."""
    assert kind_of_names(GIVEN) is IdentifierKind.GIVEN_NAME
    assert kind_of_names(FULL) is IdentifierKind.PERSON_NAME
    assert kind_of_names([f"{family}, {given}" for given, family in (name.split() for name in FULL)]) is (
        IdentifierKind.PERSON_NAME
    )


@pytest.mark.parametrize("texts", [CITIES, ["flu", "cold", "none"], [f"row {at}" for at in range(50)], GIVEN[:2], []])
def test_names_of_things_are_none(texts: list[str]) -> None:
    """Places, illnesses, numbered rows; and of two names nothing is known."""
    assert kind_of_names(texts) is None


def test_the_name_of_the_column_is_a_second_sign() -> None:
    """Full names of families that nobody has listed."""
    unlisted = [
        f"{head}ogu {head}embe{at}".replace(str(at), "x" * (at % 3 + 1)) for at, head in enumerate("ABCDEFGHIKLM")
    ]
    shaped = [" ".join(word.capitalize() for word in text.split()) for text in unlisted]
    assert kind_of_names(shaped, named=True) is IdentifierKind.PERSON_NAME


def test_user_names_are_made_of_names_or_numbered() -> None:
    """`peter.miller7` and `@anybody`; names of files are none."""
    assert are_user_names([f"{given.lower()}.{FAMILY[at % 11].lower()}{at}" for at, given in enumerate(GIVEN)])
    assert are_user_names([f"@handle{at}x" for at in range(30)])
    assert not are_user_names([f"report{at}.pdf" for at in range(60)])
    assert not are_user_names([name.lower() for name in GIVEN[:5]])


def test_words_are_looked_up_in_any_case() -> None:
    """Given names by the list, family names by their endings."""
    assert is_given("anna")
    assert not is_given("table")
    assert has_family_ending("Zimmermann")
    assert not has_family_ending("mann")


def test_a_fifth_of_the_strings_mentions_a_person() -> None:
    """By a title before a name, or a given name before another one; of fewer strings nothing is said."""
    plain = [f"the pump number {at} was repaired on site" for at in range(40)]
    titled = [f"a call from Mrs. Miller about invoice {at}" for at in range(10)]
    named = [f"yesterday Maria Keller sent the form {at}" for at in range(10)]
    assert mention_persons([*plain, *titled])
    assert mention_persons([*plain, *named])
    assert not mention_persons(plain)
    assert not mention_persons([*plain, *titled[:5]])
    assert not mention_persons(titled)
