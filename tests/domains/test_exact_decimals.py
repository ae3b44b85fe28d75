"""The one rule by which texts are numbers, and by which people are distinguished: a text at a time, exactly."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.exact_decimals import exact_decimal, key_of_text, number_of_text

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    "text", ["12", "12.0", " 12", "1.2e1", "012", "+12", "12.", "0.12e2", "120e-1", "１２", "١٢\t"]
)
def test_every_spelling_of_a_number_is_one(text: str) -> None:
    """Blanks, zeros, signs, points, exponents and digits of other scripts do not make another number."""
    assert exact_decimal(text) == "12"


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "0x1F", "1_000", "1,000", "", " ", ".", "+", "e5", "1e", "1e5.0", "1 2", "12a"]
)
def test_words_other_bases_and_separators_are_no_numbers(text: str) -> None:
    """A cell that is not plain decimal notation stays a string."""
    assert exact_decimal(text) is None


@given(DECIMALS)
def test_the_form_is_exact(value: Decimal) -> None:
    """The one form of a decimal is equal to it, and to the form of every other spelling."""
    form = exact_decimal(str(value))
    assert form is not None
    assert Decimal(form) == value
    assert exact_decimal(form) == form
    assert exact_decimal(f" {value:f}0" if "." in f"{value:f}" else f"0{abs(value):f}.00") == (
        form if "." in f"{value:f}" else exact_decimal(str(abs(value)))
    )


@given(DECIMALS, DECIMALS)
def test_two_numbers_share_a_form_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    """No two numbers are merged, none is split."""
    assert (exact_decimal(str(one)) == exact_decimal(str(other))) is (one == other)


@given(st.integers())
def test_whole_numbers_are_exact_beyond_doubles(value: int) -> None:
    """2**53 + 1 is not 2**53."""
    assert exact_decimal(str(value)) == str(value)
    assert exact_decimal(str(value + 1)) != exact_decimal(str(value))


def test_huge_exponents_are_not_multiplied_out() -> None:
    """A cell of a few characters costs a few characters, whatever number it spells."""
    assert exact_decimal("1e999999999") == "1e999999999"
    assert exact_decimal("-10e-999999999") == "-1e-999999998"
    assert exact_decimal("0e99999999999999999999") == "0"
    assert exact_decimal("1e99999999999999999999") is None
    assert exact_decimal("1e" + "0" * 5000 + "1") == "10"
    assert exact_decimal("9" * 100_000) == "9" * 100_000
    assert number_of_text("1e999999999") == float("inf")
    assert number_of_text("1e-999999999") == 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_rounded_once(value: float) -> None:
    """A text is the double that Python reads from it."""
    assert number_of_text(repr(value)) == value
    assert number_of_text(f"{Decimal(value):f}") == value


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    """Keys are settled: the key of a key is the same key, and blanks at the ends do not matter."""
    key = key_of_text(text)
    assert key is None or key_of_text(key) == key
    assert key_of_text(f" {text}\t") == key


def test_texts_are_distinguished_by_their_letters() -> None:
    """Only blanks at the ends and compatibility forms do not matter; blanks alone are nobody."""
    assert key_of_text(" a b ") == "a b"
    assert key_of_text("ｘ７") == "x7"
    assert key_of_text("A") != key_of_text("a")
    assert key_of_text(" \t") is None
