# SPDX-License-Identifier: Apache-2.0
"""Strings that mention persons: a title with a name, or a given name of the list with another name after it.

Licence plates: five to nine capital letters and digits in at most three groups, whose letters hardly ever repeat.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from anonkit.drafting.identifying.person_names import is_given

_PLATE = re.compile(r"[^\W_]{1,9}(?:[ \-•·.]{1,3}[^\W_]{1,6}){0,3}")
_POSTCODE = re.compile(
    r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2}|[A-Z]\d{2}[- ]?[A-Z\d]{4}"
)
"""Of Britain, Canada, the Netherlands and Ireland."""
_LIKE_POSTCODES = re.compile(r"[A-Z]{2}\d{3}[A-Z]{2}")
"""Plates of Italy and others: some British postcodes have this form, but never all."""
_SHARE_OF_PLATES = 0.8
_PLATES = 30
_LETTERS = 0.25
"""Different groups of letters a value, at least: codes of things begin with one of a few."""
_FEWEST, _MOST = 5, 9
_FEWEST_DIGITS = 2


def are_licence_plates(texts: Sequence[str]) -> bool:
    """Return True if most of distinct strings have the form of a plate, and their letters are hardly ever alike.

    Codes of things share the letters with which they begin; postcodes are places.
    """
    plates = [text for text in texts if _is_plate(text)]
    if len(plates) < max(_PLATES, _SHARE_OF_PLATES * len(texts)):
        return False
    if sum(_POSTCODE.fullmatch(plate) is not None for plate in plates) >= _SHARE_OF_PLATES * len(plates) and not all(
        map(_LIKE_POSTCODES.fullmatch, plates)
    ):
        return False
    letters = {"".join(filter(str.isalpha, plate)) for plate in plates}
    return len(letters) >= _LETTERS * len(plates)


def _is_plate(text: str) -> bool:
    if len(text) > 14 or not _PLATE.fullmatch(text) or text != text.upper():
        return False
    digits, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    return letters > 0 and digits >= _FEWEST_DIGITS and _FEWEST <= digits + letters <= _MOST


_TITLED = re.compile(
    r"\b(?:mr|mrs|ms|miss|dr|prof|frau|herrn?|fräulein|familie|madame|monsieur|mme|mlle|señora?|sra?|don|doña|signora?|"
    r"sig|senhora?|mevrouw|mevr|dhr|fru|pan|pani)\b\.?,? ([^\W\d_]{2,})",
    re.IGNORECASE,
)
_CAPITALISED = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_SHARE = 0.2
_VALUES = 20
_WORDS = 4
_MOST_LETTERS = 2_000


def mention_persons(texts: Sequence[str]) -> bool:
    """Return True if distinct strings have several words each, and one in five mentions a person."""
    if len(texts) < _VALUES or sum(text.count(" ") for text in texts) < (_WORDS - 1) * len(texts):
        return False
    return sum(map(_mentions, texts)) >= _SHARE * len(texts)


def _mentions(text: str) -> bool:
    short = text[:_MOST_LETTERS]
    if any(found[1][0].isupper() for found in _TITLED.finditer(short)):
        return True
    words = [found for found in _CAPITALISED.finditer(short) if found[0][0].isupper()]
    return any(is_given(first[0]) and second.start() - first.end() == 1 for first, second in pairwise(words))
