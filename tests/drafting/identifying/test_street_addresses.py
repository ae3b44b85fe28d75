"""Street addresses in a dozen languages, and the words of a header by which a column names persons or things."""

from __future__ import annotations

import pytest

from anonkit.drafting.identifying.street_addresses import (
    are_street_addresses,
    is_measure,
    is_numbering,
    is_postal,
    kind_named,
    names_birth,
    names_persons,
    words_of,
)


@pytest.mark.parametrize(
    "form", ["{} Main Street", "Hauptstraße {}", "{} rue de la Paix", "Calle Mayor {}", "Via Roma {}", "{} Elm Ave."]
)
def test_a_street_has_its_word_and_a_number(form: str) -> None:
    """In whichever order the language has them."""
    assert are_street_addresses([form.format(at) for at in range(1, 60)])


@pytest.mark.parametrize(
    "texts", [[f"Box {at} of the store" for at in range(60)], ["Main Street"] * 1, [str(at) for at in range(60)], []]
)
def test_other_texts_with_numbers_are_none(texts: list[str]) -> None:
    """Boxes, bare numbers, one street."""
    assert not are_street_addresses(texts)


@pytest.mark.parametrize(
    ("name", "words"),
    [("birthDate", ["birth", "date"]), ("PATIENT_ID", ["patient", "id"]), ("zip-code", ["zip", "code"])],
)
def test_a_header_is_read_word_by_word(name: str, words: list[str]) -> None:
    """In any spelling."""
    assert words_of(name) == words


def test_headers_say_what_a_column_is() -> None:
    """Births, postal codes, numbers of rows; measures are none of them."""
    assert names_birth("date_of_birth")
    assert is_postal("postcode")
    assert not is_postal("income")
    assert not names_birth("visit_date")
    assert names_persons("patient_name")
    assert not names_persons("wage")
    assert not is_numbering("wage")
    assert not is_measure("patient_id")
    assert kind_named("email") != kind_named("phone")
