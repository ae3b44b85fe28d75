"""The strings that are no value: folded as they are compared, and never a value of many tables."""

from __future__ import annotations

import unicodedata

import pytest

from anonkit.promises.no_values import CODE_WORDS, MISSING_CODES, NO_VALUES


def test_every_string_is_folded_and_listed_once() -> None:
    """Else no cell, which is folded before it is compared, would ever meet it."""
    folded = [
        unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).strip() for text in NO_VALUES
    ]
    assert list(NO_VALUES) == folded
    assert len(set(NO_VALUES)) == len(NO_VALUES)


@pytest.mark.parametrize("text", ["dk", "refused", "other", "no", "0", "healthy", "normal"])
def test_a_value_of_many_tables_is_not_listed(text: str) -> None:
    """A value on the list would not be protected."""
    assert text not in NO_VALUES


def test_codes_and_words_of_headers_are_as_they_are_compared() -> None:
    """Numbers by their amount, words in small letters."""
    assert len(set(MISSING_CODES)) == len(MISSING_CODES)
    assert {word.casefold() for word in CODE_WORDS} == CODE_WORDS
