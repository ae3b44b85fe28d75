# SPDX-License-Identifier: Apache-2.0
"""Numbers that somebody issued: of accounts, policies and contracts, and of phones.

Those of accounts are drawn from a wide range, are of one length, and are not rounded; what is measured is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from anonkit.drafting.identifying.cell_shapes import is_quantity
from anonkit.drafting.identifying.check_digits import article
from anonkit.drafting.identifying.codes_of_things import are_codes_of_things

_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"[^\W_][\w /.\-]{4,28}[^\W_]")
_RUNS = re.compile(r"\d+")

_SHARE = 0.9
_FORMS = 4
_VALUES = 40
_PLAIN_VALUES = 100
"""Different values, at least, of digits alone: a measure that every group has once has fewer."""
_FEWEST_DIGITS = 6
_PLAIN_DIGITS = 7
_MOST_LETTERS = 5
_ROUNDED = 0.3
_SPARSE = 3
"""Numbers in the range for each that was issued, at least: product numbers run on."""
_SECONDS = (900_000_000, 2_200_000_000)
"""Seconds since 1970 of the years 1998 to 2039."""

_PHONE = re.compile(r"\+?\(?[\d+][\d ()./\-]{5,22}\d( ?(x|ext\.?) ?\d{1,6})?")
_PHONE_DIGITS = (7, 20)
_WRITTEN_WAYS = 3
_WAY = 0.02
_LOCAL = re.compile(r"(\d{3})[- .](\d{4})|(\d{4}) (\d{4})|\d{2}([ .])\d{2}\5\d{2}\5\d{2}|\d{2,4}( \d{2}){3}")
_PHONE_VALUES = 20


def are_issued_numbers(texts: Sequence[str]) -> bool:
    """Return True if distinct strings are numbers that somebody issued.

    Nearly all have one of a few forms with six digits or more (seven without a letter or a separator) and at most five
    letters; their last digits are spread; they are no dates, no seconds of an epoch, no bar codes of articles.
    """
    codes = [text for text in texts if len(text) <= 30 and _CODE.fullmatch(text)]
    if len(codes) < max(_VALUES, _SHARE * len(texts)):
        return False
    forms = Counter(_LETTER.sub("A", _DIGIT.sub("9", code)) for code in codes).most_common(_FORMS)
    if sum(count for _, count in forms) < _SHARE * len(codes):
        return False
    form = forms[0][0]
    plain = form.count("9") == len(form)
    fewest, values = (_PLAIN_DIGITS, _PLAIN_VALUES) if plain else (_FEWEST_DIGITS, _VALUES)
    if form.count("9") < fewest or form.count("A") > _MOST_LETTERS or len(codes) < values:
        return False
    numbers = ["".join(_RUNS.findall(code)) for code in codes]
    if (plain and _are_seconds(numbers)) or _are_articles(numbers) or _are_days(numbers):
        return False
    return _are_spread(numbers)


def are_phones(texts: Sequence[str]) -> bool:
    """Return True if nearly all of distinct strings are phone numbers, with or without the code of a country.

    They are of one of the forms of local numbers and no intervals; or they are digits, blanks and signs in several
    forms, as people write their numbers.
    """
    return _are_local_phones(texts) or _are_phones_of_many_forms(texts)


def _are_local_phones(texts: Sequence[str]) -> bool:
    found = [each for text in texts if len(text) <= 14 and (each := _LOCAL.fullmatch(text))]
    if len(found) < max(_PHONE_VALUES, _SHARE * len(texts)):
        return False
    halves = [(each[1] or each[3], each[2] or each[4]) for each in found if each[1] or each[3]]
    rising = sum(int(first) <= int(second) for first, second in halves)
    return not halves or rising < _SHARE * len(halves) or any(second.startswith("0") for _, second in halves)


def _are_phones_of_many_forms(texts: Sequence[str]) -> bool:
    if sum(map(is_quantity, texts)) >= _SHARE * len(texts):
        return False
    phones = [text for text in texts if len(text) <= 36 and _PHONE.fullmatch(text)]
    if len(phones) < max(_PHONE_VALUES, _SHARE * len(texts)):
        return False
    numbers = ["".join(_RUNS.findall(phone)) for phone in phones]
    if sum(_PHONE_DIGITS[0] <= len(number) <= _PHONE_DIGITS[1] for number in numbers) < _SHARE * len(phones):
        return False
    forms = Counter(_DIGIT.sub("9", phone) for phone in phones)
    common = sum(count >= max(2, _WAY * len(phones)) for count in forms.values())
    spaced = sum(not phone.isdigit() for phone in phones) >= _ROUNDED * len(phones)
    return common >= _WRITTEN_WAYS and spaced and not are_codes_of_things(texts)


def _are_articles(numbers: Sequence[str]) -> bool:
    return sum(map(article, numbers)) >= _SHARE * len(numbers)


def _are_seconds(numbers: Sequence[str]) -> bool:
    """Return True if numbers are seconds of an epoch."""
    within = sum(len(number) == 10 and _SECONDS[0] <= int(number) <= _SECONDS[1] for number in numbers)
    return within >= _SHARE * len(numbers)


def _are_days(numbers: Sequence[str]) -> bool:
    """Return True if numbers are dates of six or eight digits, with or without more digits after them."""
    return sum(map(_has_day, numbers)) >= _SHARE * len(numbers)


def _has_day(number: str) -> bool:
    if len(number) < 6:
        return False
    year_first = (number[2:4], number[4:6])
    century_first = (number[4:6], number[6:8])
    day_first = (number[2:4], number[0:2])
    orders = (year_first, century_first, day_first) if number[:2] in ("19", "20") else (year_first, day_first)
    return any(
        month.isdigit() and day.isdigit() and 1 <= int(month) <= 12 and 1 <= int(day) <= 31 for month, day in orders
    )


def _are_spread(numbers: Sequence[str]) -> bool:
    values = sorted({int(number) for number in numbers})
    rounded = sum(value % 10 == 0 for value in values) >= _ROUNDED * len(values)
    return not rounded and values[-1] - values[0] + 1 >= _SPARSE * len(values)
