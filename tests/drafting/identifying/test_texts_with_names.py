"""Strings that mention persons, and licence plates: found in what they are, and not in what resembles them."""

from __future__ import annotations

import random
import string

from anonkit.drafting.identifying.texts_with_names import are_licence_plates, mention_persons

DRAW = random.Random(4)


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
