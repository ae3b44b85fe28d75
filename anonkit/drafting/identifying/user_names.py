# SPDX-License-Identifier: Apache-2.0
"""User names: single words made of a person's name, or words that are hardly ever alike with a number behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from anonkit.drafting.identifying.person_names import FAMILY_NAMES, GIVEN_NAMES

_USER = re.compile(r"@?[^\W\d_][\w.\-]{2,29}")
_PARTS = re.compile(r"[^\W\d_]+")
_NUMBERED = re.compile(r"([^\W\d_]{4,}(?:[._-][^\W\d_]+)?)[._-]?\d{1,4}")
_SHAPE = 0.9
_VALUES = 20
_NAMED = 0.2
_HANDLES = 0.8
_INVENTED_VALUES = 40
_NUMBERED_SHARE = 0.5
_DIFFERENT_WORDS = 0.2
"""Different words before the number, a value: codes of things begin with one of a few."""
_SHORTEST_NAME = 4
_MOST_EXTENSIONS = 20


def are_user_names(texts: Sequence[str]) -> bool:
    """Return True if distinct strings are user names.

    Nearly all are one word of letters and digits, mostly in lower case; and at least one in five is made of a name
    (with an initial, a number or another word beside it), or half of them are words with a number behind them and the
    words are hardly ever alike, or nearly all begin with an at sign.
    """
    users = [text for text in texts if len(text) <= 31 and _USER.fullmatch(text)]
    if len(users) < max(_VALUES, _SHAPE * len(texts)):
        return False
    if sum(user.startswith("@") for user in users) >= _HANDLES * len(users):
        return True
    if sum(user == user.lower() for user in users) < _SHAPE * len(users) or _have_extensions(users):
        return False
    if sum(map(_is_made_of_a_name, users)) >= _NAMED * len(users):
        return True
    words = [found[1] for user in users if (found := _NUMBERED.fullmatch(user))]
    return (
        len(users) >= _INVENTED_VALUES
        and len(words) >= _NUMBERED_SHARE * len(users)
        and len(set(words)) >= max(_VALUES, _DIFFERENT_WORDS * len(words))
    )


def _have_extensions(users: Sequence[str]) -> bool:
    """Return True if names are those of files or domains, which end in one of a few words after a point."""
    ends = [user.rpartition(".")[2] for user in users if "." in user]
    return len(ends) >= _SHAPE * len(users) and len(set(ends)) <= _MOST_EXTENSIONS


def _is_made_of_a_name(user: str) -> bool:
    """Return True if a user name has a name and something beside it: a word, a number, an initial, or a rest."""
    parts = _PARTS.findall(user)
    beside = len(parts) > 1 or len(parts[0]) < len(user)
    if beside and any(len(part) >= _SHORTEST_NAME and _is_name(part) for part in parts):
        return True
    word = parts[0]
    return (len(word) > _SHORTEST_NAME and word[1:] in FAMILY_NAMES) or any(
        _is_name(word[:at]) or _is_name(word[at:]) for at in range(_SHORTEST_NAME, len(word) - _SHORTEST_NAME + 1)
    )


def _is_name(word: str) -> bool:
    return word in GIVEN_NAMES or word in FAMILY_NAMES
