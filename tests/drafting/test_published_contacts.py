# SPDX-License-Identifier: Apache-2.0
"""Single values that reach a person are found in whatever is around them; harmless ones are not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.drafting.published_contacts import has_contact, is_written_text, words_on_published

CONTACTS = (
    "anna.schmidt@example.org",
    "0171 2345678",
    "+49 (0)30 1234567",
    "030/1234567-8",
    "DE89 3704 0044 0532 0130 00",
    "DE89370400440532013000",
)
HARMLESS = (
    "2020-01-01", "01.02.2020", "0123456789", "01067", "1,234,567.89", "06-12 months", "0-4", "10:30-11:45", "n/a",
    "ICD A00-B99", "Married-civ-spouse", "0.5 to 0.75", "@home", "00-19", "1990-1999", "DE00370400440532013000", "1/2",
    "08/15", "05 06 07",
)  # fmt: skip
WORDS = st.text("abcdefghij klmno", max_size=30)


@given(contact=st.sampled_from(CONTACTS), before=WORDS, after=WORDS)
def test_a_contact_is_found_in_a_text(contact: str, before: str, after: str) -> None:
    """A contact is found at any place of the text."""
    assert has_contact(f"{before} {contact} {after}")


@pytest.mark.parametrize("value", HARMLESS)
def test_what_reaches_nobody_is_passed(value: str) -> None:
    """Dates, ranges, codes, quantities."""
    assert not has_contact(value)
    assert not is_written_text(value)


@given(st.lists(st.sampled_from([*CONTACTS, *HARMLESS, "said that " * 12])))
def test_values_are_counted_and_never_quoted(values: list[str]) -> None:
    """The words have the column and numbers alone."""
    words = words_on_published("remark", values)
    assert (words is None) == all(value in HARMLESS for value in values)
    assert words is None or not any(value in words for value in [*CONTACTS, "said that"])


def test_a_release_that_publishes_a_telephone_number_says_so() -> None:
    """A remark that k rows share is a category of its column, whole; who hands the table out reads a note of it."""
    remarks = ["none", "late", "call back on 0171 2345678", "moved"]
    table = pa.table({"remark": remarks * 60, "age": list(range(20, 60)) * 6, "paid": ["yes", "no", "no"] * 80})
    policy = {"columns": {"remark": {"role": "quasi_identifier"}, "paid": {"role": "insensitive"}}}
    made = anonkit.release(table, method="mondrian", k=2, policy=policy, unit="none", ledger=None)
    assert any("0171" in str(cell) for cell in made.to_arrow().column("remark").to_pylist())
    (note,) = [note for note in made.report["notes"] if "'remark'" in note]
    assert "1 with an e-mail address, a telephone number or a bank account" in note
    assert "0171" not in note
