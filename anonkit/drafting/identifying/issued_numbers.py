# SPDX-License-Identifier: Apache-2.0
"""Numbers that somebody issued: of accounts, policies and contracts, of phones, and on licence plates.

Those of accounts are drawn from a wide range, are of one length, and are not rounded; what is measured is not.

Codes of things and of classes: diagnoses with a point, versions of software, colours, bar codes.

Codes that hold a date of birth: initials with a birthday, and numbers of persons that begin with one.

Codes of things have dates, too: of a few years. Births are spread over many.

Licence plates: five to nine capital letters and digits in at most three groups, whose letters hardly ever repeat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from anonkit.drafting.identifying.cell_shapes import is_quantity
from anonkit.drafting.identifying.check_digits import article, is_date_of_birth, isbn_10

_FORMS_OF_THINGS = re.compile(
    r"[A-Z]\d{1,2}[A-Z]?\.\d{1,4}[A-Z]{0,2}[+*!]?"  # ICD-10
    r"|[A-Z]\d{2}"  # ICD-10, three characters
    r"|[VE]?\d{3}\.\d{1,2}"  # ICD-9
    r"|[A-Z]\d{2}[A-Z]{2}\d{2}"  # ATC
    r"|(v|version |release )?\d{1,4}(\.\d{1,6}){1,4}([-+.]?(a|b|rc|alpha|beta|dev|final|p)\.?\d*)?"  # versions
    r"|#[0-9a-f]{3}([0-9a-f]{3})?"  # colours
    r"|[A-Z]{1,4}",  # tickers, airports, currencies
    re.IGNORECASE,
)
_ISBN = re.compile(r"(97[89][- ]?)?\d[\d -]{7,13}[\dX]")
_SHARE = 0.9


def are_codes_of_things(texts: Sequence[str]) -> bool:
    """Return True if nearly all strings are such codes, or bar codes of articles, books among them."""
    return sum(len(text) <= 24 and bool(_FORMS_OF_THINGS.fullmatch(text)) for text in texts) >= _SHARE * len(texts) or (
        sum(map(_is_article, texts)) >= _SHARE * len(texts)
    )


def _is_article(text: str) -> bool:
    if len(text) > 24 or not (text.isdigit() or _ISBN.fullmatch(text)):
        return False
    digits = text.replace("-", "").replace(" ", "")
    return article(digits) if digits.isdigit() and len(digits) != 10 else isbn_10(digits)


_INITIALS = re.compile(
    r"(?P<initials>[^\W\d_](?:[. ]{0,2}[^\W\d_]){1,2})[., _/\-*]{0,3}"
    r"(?P<date>\d{8}|\d{6}|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./-]\d{1,2}[./-]\d{1,2})"
)
_NUMBER = re.compile(r"(?P<date>(?:19|20)?\d{6})(?P<joint>[-+/ A]?)(?P<serial>\d{3,7}[A-Z]?)")
_PARTS = re.compile(r"\d+")

_INITIALS_SHARE = 0.8
_NUMBERS_SHARE = 0.97
_BIRTH_CODES = 20
_YEARS = 15
_INITIALS_DIFFERENT = 10
_CENTURY = range(1880, 2100)


def are_initials_with_birthday(texts: Sequence[str]) -> bool:
    """Return True if most of distinct strings are two or three letters and a date, both of many kinds."""
    found = [each for text in texts if len(text) <= 24 and (each := _INITIALS.fullmatch(text))]
    if len(found) < max(_BIRTH_CODES, _INITIALS_SHARE * len(texts)):
        return False
    initials = {"".join(filter(str.isalpha, each["initials"])) for each in found}
    if len(initials) < _INITIALS_DIFFERENT:
        return False
    return _are_births([each["date"] for each in found], _INITIALS_SHARE * len(texts))


def begin_with_birth(texts: Sequence[str]) -> bool:
    """Return True if nearly all strings are a date of six or eight digits and three to seven more digits."""
    found = [each for text in texts if len(text) <= 18 and (each := _NUMBER.fullmatch(text))]
    if len(found) < max(_BIRTH_CODES, _NUMBERS_SHARE * len(texts)):
        return False
    return _are_births([each["date"] for each in found], _NUMBERS_SHARE * len(texts))


def _are_births(dates: Sequence[str], enough: float) -> bool:
    """Return True if so many dates are valid in one order of their parts, and of many years."""
    for order in (_year_first, _year_last):
        years = [year for date in dates if (year := order(_PARTS.findall(date))) is not None]
        if len(years) >= enough and len(set(years)) >= _YEARS:
            return True
    return False


def _year_first(parts: Sequence[str]) -> str | None:
    """Return the year of YYMMDD, YYYYMMDD, or three parts in this order; None when it is no date."""
    if len(parts) == 1:
        digits = parts[0]
        parts = (digits[:-4], digits[-4:-2], digits[-2:])
    return _year(parts[0], parts[1], parts[2])


def _year_last(parts: Sequence[str]) -> str | None:
    """Return the year of DDMMYY or MMDDYY."""
    if len(parts) == 1:
        digits = parts[0]
        parts = (digits[:2], digits[2:4], digits[4:])
    return _year(parts[2], parts[1], parts[0]) or _year(parts[2], parts[0], parts[1])


def _year(year: str, month: str, day: str) -> str | None:
    if len(year) == 4 and int(year) not in _CENTURY:
        return None
    # months are moved by 20, 40 or 50 for a sex or a century in some countries, days by 40
    months: Iterable[int] = (int(month), int(month) - 20, int(month) - 40, int(month) - 50)
    return year if any(is_date_of_birth(str(each), str(int(day) % 40 or 40)) for each in months) else None


_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"[^\W_][\w /.\-]{4,28}[^\W_]")
_RUNS = re.compile(r"\d+")

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


_PLATE = re.compile(r"[^\W_]{1,9}(?:[ \-•·.]{1,3}[^\W_]{1,6}){0,3}")
_POSTCODE = re.compile(
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|[A-Z]\d{2}[- ]?[A-Z\d]{4}"
)
"""Of Britain, Canada, the Netherlands and Ireland."""
_LIKE_POSTCODES = re.compile(r"[A-Z]{2}\d{3}[A-Z]{2}")
"""Plates of Italy and others: some British postcodes have this form, but never all."""
_SHARE_OF_PLATES = 0.8
_PLATE_VALUES = 30
_PLATE_LETTERS = 0.25
"""Different groups of letters a value, at least: codes of things begin with one of a few."""
_PLATE_LENGTH = (5, 9)
_PLATE_DIGITS = 2


def are_licence_plates(texts: Sequence[str]) -> bool:
    """Return True if most of distinct strings have the form of a plate, and their letters are hardly ever alike.

    Codes of things share the letters with which they begin; postcodes are places.
    """
    plates = [text for text in texts if _is_plate(text)]
    if len(plates) < max(_PLATE_VALUES, _SHARE_OF_PLATES * len(texts)):
        return False
    if sum(_POSTCODE.fullmatch(plate) is not None for plate in plates) >= _SHARE_OF_PLATES * len(plates) and not all(
        map(_LIKE_POSTCODES.fullmatch, plates)
    ):
        return False
    letters = {"".join(filter(str.isalpha, plate)) for plate in plates}
    return len(letters) >= _PLATE_LETTERS * len(plates)


def _is_plate(text: str) -> bool:
    if len(text) > 14 or not _PLATE.fullmatch(text) or text != text.upper():
        return False
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    return letters > 0 and digits >= _PLATE_DIGITS and _PLATE_LENGTH[0] <= digits + letters <= _PLATE_LENGTH[1]
