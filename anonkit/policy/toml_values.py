# SPDX-License-Identifier: Apache-2.0
"""Typed values of a parsed TOML document; an error names the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from anonkit.errors import PolicyError, did_you_mean

_Member = TypeVar("_Member", bound=StrEnum)


def refuse_unknown(where: str, raw: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse keys that a table does not have, with the closest name as a hint."""
    for key in raw:
        if key not in known:
            raise PolicyError(f"{where}: unknown key {key!r}", did_you_mean(key, known))


def expect(where: str, key: str, value: Any, kind: type) -> Any:
    """Return a value of a kind, or refuse it."""
    if not isinstance(value, kind):
        raise PolicyError(f"{where}: {key} must be a {'table' if kind is dict else kind.__name__}")
    return value


def optional_text(where: str, key: str, raw: Mapping[str, Any]) -> str | None:
    """Return a string, None where the key is absent."""
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise PolicyError(f"{where}: {key} must be a text in quotes")
    return value


def texts(where: str, key: str, values: object) -> list[str]:
    """Return a list of strings, or refuse what is none."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise PolicyError(f"{where}: {key} must be a list of texts in quotes", f'{key} = ["01234", "NO"]')
    return values


def numbers(where: str, key: str, values: object) -> list[float]:
    """Return a list of numbers, or refuse what is none."""
    if not isinstance(values, list) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    ):
        raise PolicyError(f"{where}: {key} must be a list of numbers")
    return [float(value) for value in values]


def member(kind: type[_Member], where: str, key: str, value: object) -> _Member:
    """Return a value of an enumeration, or refuse it with the closest one as a hint."""
    try:
        return kind(str(value))
    except ValueError:
        raise PolicyError(f"{where}: {key} has an unknown value", did_you_mean(str(value), list(kind))) from None


def named_lines(where: str, key: str, raw: object) -> tuple[str, ...]:
    """Return a table of strings as lines `"name" = text`, or refuse what is none."""
    if not isinstance(raw, dict) or not all(isinstance(text, str) for text in raw.values()):
        raise PolicyError(f"{where}: {key} must be a table of texts in quotes", f'[{key}] stay = "mean(days) by ward"')
    return tuple('"' + name.replace('"', '""') + f'" = {text}' for name, text in raw.items())
