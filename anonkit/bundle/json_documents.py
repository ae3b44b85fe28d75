# SPDX-License-Identifier: Apache-2.0
"""JSON documents of a release: written one way, and read as documents that somebody may have forged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anonkit.bundle.capped_files import largest_of, read_capped
from anonkit.bundle.size_limits import HELD_BY_SIGN, MOST_HELD, STATED_SIZES
from anonkit.errors import EngineError, ReleaseFormatError


def read_json(path: Path) -> dict[str, Any]:
    """Read a sidecar.

    Raises
    ------
    ReleaseFormatError
        It is no JSON object, or lacks the `format` key.
    """
    try:
        content = read_capped(path)
    except FileNotFoundError:
        raise ReleaseFormatError(f"{str(path)!r} does not exist") from None
    raw = parse_json(content, repr(str(path)))
    if not isinstance(raw, dict) or not str(raw.get("format", "")).startswith("anonkit-"):
        raise ReleaseFormatError(f"{str(path)!r} is not a file of an anonkit release")
    return raw


def parse_json(content: bytes, what: str) -> Any:
    """Read JSON that somebody may have forged: each key once, no NaN or infinity, no deeper than Python reads.

    Parameters
    ----------
    content : bytes
    what : str
        What it is called when it is refused.

    Raises
    ------
    ReleaseFormatError
        It is no such JSON.
    """
    if _held(content) > MOST_HELD:
        raise ReleaseFormatError(f"{what} has more values than a file of anonkit can have")
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_number)
    except _TooLargeError as error:
        raise ReleaseFormatError(f"{what} {error}") from None
    except RecursionError:
        raise ReleaseFormatError(f"{what} is nested too deeply for a file of anonkit") from None
    except ValueError:  # also a number of thousands of digits, and bytes that are no text
        raise ReleaseFormatError(f"{what} is not JSON that anonkit writes") from None


def _held(content: bytes) -> int:
    """Return an upper bound of the bytes of memory that a document takes once it is parsed."""
    return sum(content.count(sign) * held for sign, held in HELD_BY_SIGN.items()) + len(content)


def refuse_unreadable(name: str, content: bytes) -> None:
    """Refuse to publish a document that its readers would refuse for its size.

    Raises
    ------
    EngineError
    """
    largest = largest_of(Path(name))
    if len(content) > largest or (name.endswith(".json") and _held(content) > MOST_HELD):
        raise EngineError(
            f"{name!r} would have {len(content):,} bytes, more than readers take",
            "ask for less detail: a larger k, fewer columns, fewer or smaller trees",
        )


_SIZES = frozenset(STATED_SIZES)


class _TooLargeError(ValueError):
    """A document states a size that nothing in a release has."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that occurs twice: one reader would take the first, another the last."""
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key appears twice")
    if _SIZES.isdisjoint(mapping):  # of nearly all objects: a set of their keys would take half of the time of reading
        return mapping
    for key in _SIZES & mapping.keys():
        # no array is made by a size that a document states: 4,000 letters would take gigabytes
        if isinstance(mapping[key], int) and mapping[key] > STATED_SIZES[key]:
            raise _TooLargeError(f"states {key} beyond {STATED_SIZES[key]:,}, which nothing in a release has")
    return mapping


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def to_json(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of a sidecar: UTF-8, two spaces, keys in order, no NaN."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
