# SPDX-License-Identifier: Apache-2.0
"""Codes of things and of classes: diagnoses with a point, versions of software, colours, bar codes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anonkit.drafting.identifying.check_digits import article, isbn_10

_FORMS = re.compile(
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
    return sum(len(text) <= 24 and bool(_FORMS.fullmatch(text)) for text in texts) >= _SHARE * len(texts) or (
        sum(map(_is_article, texts)) >= _SHARE * len(texts)
    )


def _is_article(text: str) -> bool:
    if len(text) > 24 or not (text.isdigit() or _ISBN.fullmatch(text)):
        return False
    digits = text.replace("-", "").replace(" ", "")
    return article(digits) if digits.isdigit() and len(digits) != 10 else isbn_10(digits)
