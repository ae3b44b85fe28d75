# SPDX-License-Identifier: Apache-2.0
"""The form of text files that a policy may declare: their encoding, and the decimal mark of their numbers."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

from anonkit.errors import PolicyError
from anonkit.policy.toml_values import optional_text

UTF8 = "utf-8"
POINT, COMMA = ".", ","
ENCODINGS = (
    *(UTF8, "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1", "iso-8859-2", "iso-8859-15", "cp1250", "cp1251"),
    *("cp437", "cp850", "mac-roman", "koi8-r", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"),
)
"""Names of encodings that are taken, each also under its other names (`windows-1252`, `latin1`)."""

_NAMES = {codecs.lookup(name).name: name for name in ENCODINGS}


def encoding_named(name: str) -> str:
    """Return the name that anonkit uses for an encoding.

    Raises
    ------
    PolicyError
        There is none of this name in the list.
    """
    try:
        return _NAMES[codecs.lookup(name).name]
    except (LookupError, ValueError):  # ValueError: a zero byte in the name
        raise PolicyError(f"encoding {name!r} is not known", f"one of {', '.join(ENCODINGS)}") from None


def declared_encoding(raw: Mapping[str, Any]) -> str:
    """Return the encoding that the parsed TOML document of a policy declares, UTF-8 by default."""
    return encoding_named(optional_text("policy", "encoding", raw) or UTF8)


def decimal_named(mark: str) -> str:
    """Return the mark between a number and its fraction.

    Raises
    ------
    PolicyError
        It is neither a point nor a comma.
    """
    if mark not in (POINT, COMMA):
        raise PolicyError(f"decimal {mark!r} is not known", 'decimal = "," or decimal = "."')
    return mark


def declared_decimal(raw: Mapping[str, Any]) -> str:
    """Return the decimal mark that the parsed TOML document of a policy declares, a point by default."""
    return decimal_named(optional_text("policy", "decimal", raw) or POINT)
