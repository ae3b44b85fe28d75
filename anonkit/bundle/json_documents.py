# SPDX-License-Identifier: Apache-2.0
"""JSON documents of a release: written one way, and read as documents that somebody may have forged.

Files of others, looked at before they are read: regular files, of a size that such a file can have.

Workbooks before they are unpacked: 1 MB may become gigabytes.

The one table of sizes: what the files of a release may be, for those who write them and for those who read them.

A release comes from others. What a receiver spends on it is in proportion to what was sent: no file is read beyond its
size, no document makes a multiple of its bytes, no array is made by a size that a document merely states.
"""

from __future__ import annotations

import functools
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from anonkit.errors import EngineError, ReleaseFormatError, SourceError

_MEGABYTE = 1 << 20

LARGEST_FILES: Mapping[str, int] = {
    ".params.json": 1024 * _MEGABYTE,
    ".report.json": 64 * _MEGABYTE,
    ".report.html": 64 * _MEGABYTE,
    ".datapackage.json": 16 * _MEGABYTE,
    ".signature.json": 64 * _MEGABYTE,
    ".croissant.json": 64 * _MEGABYTE,
    ".registry.yaml": 64 * _MEGABYTE,
}
"""Bytes of a file of a release, by its suffix. A table has no limit: it is read in parts."""
LARGEST_DOCUMENT = max(LARGEST_FILES.values())
"""Bytes of any other JSON document, such as an audit."""
MOST_PARSED = 4096 * _MEGABYTE
"""Bytes of memory that a document may take once it is parsed, by the number of its brackets, commas and colons."""
PARSED_BY_SIGN: Mapping[bytes, int] = {b"[": 72, b"{": 72, b":": 130, b",": 40}
"""Bytes of memory behind each sign of a JSON document, generously: a list or an object, a named value, a value."""

MOST_CELLS = 1 << 20
"""Cells of a grid over bounds, places of a band among them."""
MOST_CODES = 1 << 24
"""Codes of an attribute, or of several that are answered as one."""
STATED_SIZES: Mapping[str, int] = {
    "cells": MOST_CELLS,
    "fine": MOST_CELLS,
    "bins": MOST_CELLS,
    "band": MOST_CELLS,
    "categories": MOST_CODES,
}
"""Largest integers that documents state as a size, by their key."""

MOST_UNPACKED = 512 * _MEGABYTE
"""Most bytes of a member of a workbook that is read into memory whole."""
MOST_OF_WORKBOOK = 4096 * _MEGABYTE
"""Bytes that a workbook may have when it is unpacked."""
MOST_PACKING = 200
"""Most growth of a workbook by being unpacked, beyond the first megabytes: tables of text grow twentyfold."""
FREELY_UNPACKED = 64 * _MEGABYTE


_SENT = "ask the sender for the files of the release, and for nothing else"


def refuse_irregular(path: Path, largest: int | None = None) -> None:
    """Refuse what is no regular file, or larger than it can be; what is not there is passed over.

    A pipe is waited for without end, and a device has none: neither is opened.

    Parameters
    ----------
    path : Path
        A link is followed: what it leads to must be a regular file.
    largest : int, optional
        Most bytes; None: no limit.

    Raises
    ------
    ReleaseFormatError
    """
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError:  # a link to itself, a folder that may not be looked into
        raise ReleaseFormatError(f"{str(path)!r} cannot be read") from None
    if not stat.S_ISREG(found.st_mode):
        raise ReleaseFormatError(f"{str(path)!r} is not a regular file", _SENT)
    if largest is not None and found.st_size > largest:
        raise ReleaseFormatError(
            f"{str(path)!r} has {found.st_size:,} bytes, and such a file has at most {largest:,}", _SENT
        )


def largest_of(path: Path) -> int:
    """Return the limit of a document's bytes, by its name."""
    return next((most for suffix, most in LARGEST_FILES.items() if path.name.endswith(suffix)), LARGEST_DOCUMENT)


def read_capped(path: Path) -> bytes:
    """Return the bytes of a document of others.

    Raises
    ------
    FileNotFoundError
    ReleaseFormatError
        It is no regular file, or larger than such a document can be.
    """
    largest = largest_of(path)
    refuse_irregular(path, largest)
    # not blocking: what was put there since must not be waited for
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ReleaseFormatError(f"{str(path)!r} is not a regular file", _SENT)
        # by its size: memory for the largest such document would be allocated at once
        content = file.read(min(found.st_size, largest) + 1)
    if len(content) > largest:
        raise ReleaseFormatError(f"{str(path)!r} has more than {largest:,} bytes", _SENT)
    return content


_LOADED_WHOLE = ("sharedstrings", "styles", "workbook", "content.xml", "[content_types]")
"""Members that readers hold whole, by a part of their names in small letters; rows of a sheet they stream."""


def refuse_unpacked(path: Path, shown: str) -> None:
    """Refuse a workbook that unpacks into more than a table can be; one that is no archive is passed over.

    What an archive states of its members is believed: whoever unpacks one stops there, and finds it damaged if it is
    longer.

    Parameters
    ----------
    path : Path
    shown : str
        What it is called when it is refused.

    Raises
    ------
    SourceError
    """
    if not is_zipfile(path):
        return
    try:
        with ZipFile(path) as archive:
            members = {member.filename.lower(): member.file_size for member in archive.infolist()}
    except (BadZipFile, OSError, ValueError, NotImplementedError):  # whoever reads it says so
        return
    packed, unpacked = path.stat().st_size, sum(members.values())
    loaded = max((size for name, size in members.items() if any(part in name for part in _LOADED_WHOLE)), default=0)
    if unpacked > MOST_OF_WORKBOOK or loaded > MOST_UNPACKED or unpacked > FREELY_UNPACKED + MOST_PACKING * packed:
        raise SourceError(
            f"{shown} unpacks from {packed:,} bytes into {unpacked:,}, which no workbook of a table does",
            "save it as CSV, or in parts, if it is yours",
        )


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
    if _parsed_size(content) > MOST_PARSED:
        raise ReleaseFormatError(f"{what} has more values than a file of anonkit can have")
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_number)
    except _TooLargeError as error:
        raise ReleaseFormatError(f"{what} {error}") from None
    except RecursionError:
        raise ReleaseFormatError(f"{what} is nested too deeply for a file of anonkit") from None
    except ValueError:  # also a number of thousands of digits, and bytes that are no text
        raise ReleaseFormatError(f"{what} is not JSON that anonkit writes") from None


def _parsed_size(content: bytes) -> int:
    """Return an upper bound of the bytes of memory that a document takes once it is parsed."""
    return sum(content.count(sign) * size for sign, size in PARSED_BY_SIGN.items()) + len(content)


def refuse_unreadable(name: str, content: bytes) -> None:
    """Refuse to publish a document that its readers would refuse for its size.

    Raises
    ------
    EngineError
    """
    largest = largest_of(Path(name))
    if len(content) > largest or (name.endswith(".json") and _parsed_size(content) > MOST_PARSED):
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


_PLAIN = frozenset({int, float, str, bool, type(None)})


def to_json(document: Mapping[str, Any]) -> bytes:
    """Return a document as the bytes of a sidecar: UTF-8, two spaces, keys in order, no NaN."""
    return (_indented(document, 1) + "\n").encode()


def _indented(value: Any, level: int) -> str:
    """Return JSON as Python's own encoder indents it, which took a fifth of a release of many counts.

    The fast form of that encoder knows no indent, but any separator: it writes what holds no further list or mapping.
    """
    encode, line = _encoder(level), "\n" + "  " * level
    if not value or not isinstance(value, dict | list | tuple):
        return encode(value)
    inner = value.values() if isinstance(value, dict) else value
    if _PLAIN.issuperset(map(type, inner)):
        text = encode(value)
        return f"{text[0]}{line}{text[1:-1]}{line[:-2]}{text[-1]}"
    parts = [_indented(one, level + 1) for one in inner]
    if not isinstance(value, dict):
        return f"[{line}{f',{line}'.join(parts)}{line[:-2]}]"
    keys = (encode({key: 0})[1:-4] for key in value)
    listed = f",{line}".join(f"{key}: {part}" for key, part in zip(keys, parts, strict=True))
    return f"{{{line}{listed}{line[:-2]}}}"


@functools.cache
def _encoder(level: int) -> Callable[[Any], str]:
    """Return the encoder of values of a depth, 1 for those of the document itself."""
    between = ",\n" + "  " * level
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(between, ": ")).encode
