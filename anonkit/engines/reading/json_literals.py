# SPDX-License-Identifier: Apache-2.0
"""JSON objects whose numbers keep their spelling: 9007199254740993 is not rounded because another row holds 4.5."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from anonkit.domains.exact_decimals import exact_decimal

_BLANKS = " \t\r\n"
_CONSTANTS = {"NaN": None, "Infinity": "inf", "-Infinity": "-inf"}


class _Literal(str):
    """A number as it is spelled."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    parse_float=_Literal, parse_int=_Literal, parse_constant=_CONSTANTS.__getitem__, strict=False
)

Object = Mapping[str, Any]


def objects_of(block: bytes) -> list[Object]:
    """Parse objects that follow each other; of a key that occurs twice in one the last value counts.

    Raises
    ------
    ValueError
        The text is not a sequence of JSON objects, or not UTF-8; the error holds cells of it and must not be shown.
    """
    return list(_objects(block.decode("utf-8-sig")))


def _objects(text: str) -> Iterator[Object]:
    at = _after_blanks(text, 0)
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(value, dict):
            raise ValueError("not an object")
        yield value
        at = _after_blanks(text, at)


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


def literal_column(objects: Sequence[Object], name: str) -> pa.StringArray:
    """Return the values of a key as strings: numbers as exact decimals, lists and objects as JSON."""
    return pa.array([_literal(record.get(name)) for record in objects], pa.string())


def _literal(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Literal):
        return exact_decimal(value) or str(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()  # halves of surrogate pairs are no characters


def without(objects: Sequence[Object], names: Sequence[str]) -> bytes:
    """Return objects as JSON Lines without some keys, numbers as they were spelled."""
    left_out = set(names)
    return _lines({key: value for key, value in record.items() if key not in left_out} for record in objects)


def without_texts(objects: Sequence[Object], missing: Sequence[str]) -> bytes:
    """Return objects as JSON Lines, some strings missing under the keys that have other values than strings as well."""
    listed = set(missing)
    mixed = {key for record in objects for key, value in record.items() if not (value is None or _is_text(value))}
    return _lines(
        {key: None if key in mixed and _is_text(value) and value in listed else value for key, value in record.items()}
        for record in objects
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, _Literal)


def _lines(objects: Iterable[Object]) -> bytes:
    lines = (",".join(f"{json.dumps(key)}:{_spelled(value)}" for key, value in record.items()) for record in objects)
    return "".join(f"{{{line}}}\n" for line in lines).encode()


def _spelled(value: object) -> str:
    return str(value) if isinstance(value, _Literal) else json.dumps(value)
