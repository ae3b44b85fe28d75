# SPDX-License-Identifier: Apache-2.0
"""Strings that mention persons: a title with a name, or a given name of the list with another name after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from anonkit.drafting.identifying.person_names import is_given

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
