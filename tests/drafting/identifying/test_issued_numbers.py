"""Numbers that somebody issued, phones, licence plates, and codes with a birthday: found by their spread and form."""

from __future__ import annotations

import random
import string

from anonkit.drafting.identifying.issued_numbers import (
    are_codes_of_things,
    are_initials_with_birthday,
    are_issued_numbers,
    are_licence_plates,
    are_phones,
    begin_with_birth,
)

DRAW = random.Random(2)
POLICIES = [f"AB-{DRAW.randrange(10**6, 10**7)}" for _ in range(200)]
PLAIN = [str(DRAW.randrange(10**7, 10**8)) for _ in range(200)]


def birthday() -> str:
    """A day of the last century, year first."""
    return f"{DRAW.randrange(1930, 1999)}{DRAW.randrange(1, 13):02d}{DRAW.randrange(1, 29):02d}"


def test_issued_numbers_are_spread() -> None:
    """With letters or without; numbers that run on, days, seconds and rounded amounts are none."""
    assert are_issued_numbers(POLICIES)
    assert are_issued_numbers(PLAIN)
    assert not are_issued_numbers([str(10_000_000 + at) for at in range(200)])
    assert not are_issued_numbers([birthday() for _ in range(200)])
    assert not are_issued_numbers([str(1_500_000_000 + DRAW.randrange(10**8)) for _ in range(200)])
    assert not are_issued_numbers([f"{DRAW.randrange(10**5, 10**6)}00" for _ in range(200)])
    assert not are_issued_numbers(POLICIES[:20])


def test_phones_are_written_in_several_ways() -> None:
    """Or in one of the local forms; intervals of years are none."""
    numbers = [str(DRAW.randrange(10**9, 10**10)) for _ in range(60)]
    ways = ["+49 {} {}", "0{}/{}", "({}) {}"]
    assert are_phones([ways[at % 3].format(number[:3], number[3:]) for at, number in enumerate(numbers)])
    assert are_phones([f"{number[:3]}-{number[3:7]}" for number in numbers])
    assert not are_phones([f"{year} {year + 5}" for year in range(1900, 1960)])
    assert not are_phones(numbers[:5])


def test_initials_beside_a_birthday_are_a_person() -> None:
    """Of many letters and many days; one prefix is a code of things."""
    initials = ["".join(DRAW.choices(string.ascii_uppercase, k=2)) for _ in range(60)]
    assert are_initials_with_birthday([f"{letters}{birthday()}" for letters in initials])
    assert not are_initials_with_birthday([f"AB{birthday()}" for _ in range(60)])
    assert begin_with_birth([f"{birthday()}-{DRAW.randrange(1000, 9999)}" for _ in range(60)])
    assert not begin_with_birth(PLAIN)


def test_codes_of_things_are_known() -> None:
    """Diagnoses, versions, airports; policies are none."""
    assert are_codes_of_things(["A01.1", "B20", "C50.9", "J45.0"])
    assert are_codes_of_things(["1.2.3", "v2.0", "3.11.7rc1"])
    assert not are_codes_of_things(POLICIES)


def letters(n: int) -> str:
    """So many capitals."""
    return "".join(DRAW.choices(string.ascii_uppercase, k=n))


PLATES = [f"{letters(1)}-{letters(2)} {DRAW.randrange(10, 9999)}" for _ in range(80)]
ARTICLES = [f"AB-CD {DRAW.randrange(10, 9999)}" for _ in range(80)]
POSTCODES = [f"{letters(2)}{at % 9 + 1} {at % 8 + 1}{letters(2)}" for at in range(80)]


def test_plates_have_letters_that_are_hardly_ever_alike() -> None:
    """Codes of things begin with one of a few; postcodes are places; a few plates are no column of them."""
    assert are_licence_plates(PLATES)
    assert not are_licence_plates(ARTICLES)
    assert not are_licence_plates(POSTCODES)
    assert not are_licence_plates(PLATES[:20])
    assert not are_licence_plates([*PLATES, *(f"row {at} of a list" for at in range(80))])
