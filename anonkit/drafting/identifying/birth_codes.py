# SPDX-License-Identifier: Apache-2.0
"""Codes that hold a date of birth: initials with a birthday, and numbers of persons that begin with one.

Codes of things have dates, too: of a few years. Births are spread over many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from anonkit.drafting.identifying.check_digits import is_date_of_birth

_INITIALS = re.compile(
    r"(?P<initials>[^\W\d_](?:[. ]{0,2}[^\W\d_]){1,2})[., _/\-*]{0,3}"
    r"(?P<date>\d{8}|\d{6}|\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})|\d{4}[./-]\d{1,2}[./-]\d{1,2})"
)
_NUMBER = re.compile(r"(?P<date>(?:19|20)?\d{6})(?P<joint>[-+/ A]?)(?P<serial>\d{3,7}[A-Z]?)")
_PARTS = re.compile(r"\d+")

_INITIALS_SHARE = 0.8
_NUMBERS_SHARE = 0.97
_VALUES = 20
_YEARS = 15
_INITIALS_DIFFERENT = 10
_CENTURY = range(1880, 2100)


def are_initials_with_birthday(texts: Sequence[str]) -> bool:
    """Return True if most of distinct strings are two or three letters and a date, both of many kinds."""
    found = [each for text in texts if len(text) <= 24 and (each := _INITIALS.fullmatch(text))]
    if len(found) < max(_VALUES, _INITIALS_SHARE * len(texts)):
        return False
    initials = {"".join(filter(str.isalpha, each["initials"])) for each in found}
    if len(initials) < _INITIALS_DIFFERENT:
        return False
    return _are_births([each["date"] for each in found], _INITIALS_SHARE * len(texts))


def begin_with_birth(texts: Sequence[str]) -> bool:
    """Return True if nearly all strings are a date of six or eight digits and three to seven more digits."""
    found = [each for text in texts if len(text) <= 18 and (each := _NUMBER.fullmatch(text))]
    if len(found) < max(_VALUES, _NUMBERS_SHARE * len(texts)):
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
