# SPDX-License-Identifier: Apache-2.0
"""Redaction of addresses: user names, passwords and tokens in URLs, which no message, file or `repr` may show.

A source, or a path given by mistake, may be an address such as ``postgresql://owner:secret@host/db?table=people``.
`redacted` takes the secrets out of any text with addresses, `table_name` makes the name of a table of one.
"""

from __future__ import annotations

import os
import re
from pathlib import PurePath

HIDDEN = "***"

_HARMLESS = frozenset(
    {"table", "schema", "sheet", "format", "header", "delimiter", "encoding", "sslmode", "version", "snapshot"}
)
"""Parameters of an address whose values are no secrets."""

_END = r"\s'\"<>`"
_RUN = re.compile(r"[A-Za-z0-9+.:-]+")
"""Characters of a scheme, with its colon."""
_LETTER = re.compile("[A-Za-z]")
_PLACE = re.compile(rf"[^{_END}]*")
# neither looks for a beginning inside a run of letters that it has passed: whatever the text, it is gone over once
_HIDING = r"passw(?:or)?d|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|credential|signature"
_SECRET_PAIR = re.compile(
    rf"(?<![\w.-])(?=[\w.-]*?(?:{_HIDING}))(?P<key>[\w.-]++)(?P<sign>\s?=\s?)(?P<value>[^\s&;,{_END}]+)",
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """Return a text without the secrets of the addresses in it.

    Of every address the part before the last ``@`` is hidden, so are the values of its parameters, except a few
    that name a table or a format, and its fragment. Pairs such as ``password=…`` are hidden
    wherever they are. Scheme, host and path stay.

    >>> redacted("'s3://key:secret@bucket/people.csv?X-Signature=ab' does not exist")
    "'s3://***@bucket/people.csv?X-Signature=***' does not exist"
    """
    if not any(mark in text for mark in "=@#"):
        return text
    return _SECRET_PAIR.sub(lambda pair: f"{pair['key']}{pair['sign']}{HIDDEN}", _without_secrets(text))


def _without_secrets(text: str) -> str:
    """Return a text whose addresses have no secrets; they are found by hand, each letter looked at once."""
    shown, done, line_end, last_at = [], 0, -1, -1
    for run in _RUN.finditer(text):
        first = _LETTER.search(text, max(run.start(), done), run.end())
        # a scheme has two letters; one slash is left of two when an address was taken for a path
        if (
            first is None
            or run[0][-1] != ":"
            or run.end() - first.start() < 3
            or text[run.end() : run.end() + 1] != "/"
        ):
            continue
        begin = run.end()
        while begin < run.end() + 3 and text[begin : begin + 1] == "/":
            begin += 1
        if line_end < begin:
            found = text.find("\n", begin)
            line_end = len(text) if found < 0 else found
            last_at = text.rfind("@", begin, line_end)
        # a secret may hold any character, a blank or a quote too: all up to the last @ of the line may belong to it
        place = _PLACE.match(text, max(begin, last_at + 1))
        assert place is not None  # noqa: S101 - it matches nothing at least
        shown += [text[done:begin], f"{HIDDEN}@" if last_at >= begin else "", _hidden(place[0])]
        done = place.end()
    return "".join([*shown, text[done:]])


def _hidden(place: str) -> str:
    """Return the rest of an address, after the part before its last ``@``."""
    place, fragment, _ = place.partition("#")
    path, mark, parameters = place.partition("?")
    end = f"#{HIDDEN}" if fragment else ""
    if not mark:
        return path + end
    visible = "&".join(_parameter(pair) for pair in re.split("[&;]", parameters))
    return f"{path}?{visible}{end}"


def _parameter(pair: str) -> str:
    key, equals, _ = pair.partition("=")
    if not equals:
        return HIDDEN
    return pair if key.lower() in _HARMLESS else f"{key}={HIDDEN}"


def is_address(text: str) -> bool:
    """Return True if a string is an address, not a path."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.:-]+://", text))


UNNAMED = "table"
"""Name of an unnamed table in a ledger."""


def table_name(source: object) -> str:
    """Return the name of a table whose owner gave it none: its file's stem, the table of an address.

    Never a secret of an address; `table` for tables that have no name.
    """
    if not isinstance(source, str | os.PathLike):
        return UNNAMED
    text = redacted(os.fspath(source) if isinstance(source, os.PathLike) else source)
    if is_address(text):
        named = re.search(r"[?&]table=([^&;#]+)", text)
        if named is not None:
            return named[1]
        text = re.split("[?#]", text.split("://", 1)[1].rpartition("@")[2], maxsplit=1)[0]
    # of a pattern, the part before its first wildcard; of standard input nothing
    return re.split(r"[.*?\[]", PurePath(text).name, maxsplit=1)[0].strip("-_ ") or UNNAMED


def source_names(source: object) -> tuple[str, str]:
    """Return the name of a table whose owner gave it none, and the name of its file, or its address.

    Never a secret of an address; `a table in memory` where there is no file.
    """
    if not isinstance(source, str | os.PathLike):
        return table_name(source), "a table in memory"
    text = redacted(os.fspath(source) if isinstance(source, os.PathLike) else source)
    return table_name(source), text if is_address(text) else PurePath(text).name or text


def argument_forms(argument: str) -> dict[str, str]:
    """Return the ways in which an argument that has secrets may be quoted, each with what is shown instead.

    A secret with blanks or quotes in it cannot be distinguished from the text around it: what was given is replaced as
    a whole.
    """
    value = argument.split("=", 1)[1] if argument.startswith("-") and "=" in argument else argument
    hidden = _whole(value)
    if hidden == value:
        return {}
    path = str(PurePath(value))
    forms = {value, repr(value)[1:-1], path, repr(path)[1:-1], " ".join(value.split())}
    return dict.fromkeys(sorted(forms, key=len, reverse=True), hidden)


def _whole(value: str) -> str:
    """Return an argument without secrets, when all of it may be one address."""
    if not is_address(value):
        return redacted(value)
    return redacted(re.sub(rf"[{_END}]", "_", value))
