# SPDX-License-Identifier: Apache-2.0
"""Names of columns in a line of text: an ambiguous one is in double quotes, a quote in it doubled."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anonkit.errors import did_you_mean, spoken

QUOTED = r'"((?:[^"]|"")*)"'
"""A name in quotes, as a regular expression; `unquoted` makes it the name."""
_FIRST = re.compile(rf"\s*{QUOTED}\s*")


def unquoted(inner: str) -> str:
    """Return a name from the characters between its quotes."""
    return inner.replace('""', '"')


def in_quotes(name: str) -> str:
    """Return a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def first_name(text: str, sign: str) -> tuple[str, str | None]:
    """Return the name before a sign and what follows the sign, None where there is none.

    Parameters
    ----------
    text : str
    sign : str
        A character; in a name in quotes it is a part of the name. Outer spaces are left out but of names in quotes.
    """
    found = _FIRST.match(text)
    if found is not None and text[found.end() :][:1] in ("", sign):
        rest = text[found.end() :]
        return unquoted(found[1]), rest[1:] if rest else None
    name, there, rest = text.partition(sign)
    return name.strip(), rest if there else None


def names_of(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    names, rest = [], text
    while True:
        name, left = first_name(rest, ",")
        names.append(name)
        if left is None:
            return tuple(names)
        rest = left


def which_column(name: str, known: Iterable[str]) -> str:
    """Return the hint to a column that is not known: the nearest name, or all, and how odd ones are typed."""
    names = list(known)
    odd = [one for one in names if first_name(one, ",") != (one, None) or "=" in one]
    typed = f"; a name with a comma, = or outer spaces goes in double quotes: '{in_quotes(odd[0])}'" if odd else ""
    return did_you_mean(name, names) + spoken(python="", typed=typed)
