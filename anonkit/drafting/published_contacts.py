# SPDX-License-Identifier: Apache-2.0
"""Values that a release would print word by word though they reach a person: addresses, numbers, written sentences.

A value is checked by itself, unlike in `identifying.verdicts`, which judges a column: one remark with a telephone
number among twenty plain ones is published like them once k rows share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from anonkit.drafting.identifying import check_digits

_EMAIL = re.compile(r"[\w.+'%-]@[\w-]+(\.[\w-]+)*\.\w{2,}")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_PHONE = re.compile(r"(?<![\w.,:/-])(?:\+\d|0\d+[ ()/-])[\d ()/-]{4,}\d(?![\w.,:]\d)")
"""With a sign or a blank in it: digits alone may be any code."""
_PHONE_DIGITS = range(8, 16)
_CALENDAR = re.compile(r"\d{2,4}[-/]\d{2}[-/]\d{2,4}")
_WORDS, _LETTERS = 12, 100
_LOOKED_AT = 2_000
"""Letters of a value that are looked at."""


def has_contact(value: str) -> bool:
    """Return True if a text has an e-mail address, a telephone number as people write it, or a bank account in it."""
    text = value[:_LOOKED_AT]
    if _EMAIL.search(text) or any(check_digits.iban(found[0].replace(" ", "")) for found in _IBAN.finditer(text)):
        return True
    return any(
        sum(map(str.isdigit, found[0])) in _PHONE_DIGITS and not _CALENDAR.search(found[0])
        for found in _PHONE.finditer(text)
    )


def is_written_text(value: str) -> bool:
    """Return True if a value is a sentence or more: twelve words, or a hundred letters with blanks between them."""
    return len(value.split()) >= _WORDS or (len(value) >= _LETTERS and " " in value.strip())


def words_on_published(name: str, values: Iterable[str]) -> str | None:
    """Return the owner's note on values that a column publishes word by word; None where there is none.

    Parameters
    ----------
    name : str
        The column.
    values : iterable of str
        Different values that its labels list.

    Privacy
    -------
    A function of published labels. No value is quoted.
    """
    listed = list(values)
    contacts, texts = sum(map(has_contact, listed)), sum(map(is_written_text, listed))
    found = [
        f"{number:,} {what}"
        for number, what in (
            (contacts, "with an e-mail address, a telephone number or a bank account"),
            (texts, "that are free text"),
        )
        if number
    ]
    if not found:
        return None
    return (
        f"Column {name!r} publishes values word by word, among them {' and '.join(found)}. Give it categories in the "
        f'policy, or leave it out with role = "identifier".'
    )
