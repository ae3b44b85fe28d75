# SPDX-License-Identifier: Apache-2.0
"""Guards against writing over what is read: sources, batches, test tables, releases, ledgers; and one file twice."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from anonkit.errors import ParameterError

_HINT = "name another output"
_UNREAD = (".", "_")  # beginnings of names in a folder of data that are not read as data
_WILD = re.compile(r"[*?[]")


def refuse_replacing(written: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse, before any work is done, to put a file where it would take the place of what is read.

    Two names of one file are one file, and a folder is all that lies in it: what is put into a folder that is read
    whole would be read as a part of it the next time, and so would be what a pattern finds then.

    Parameters
    ----------
    written : iterable of Path
        Files, and folders of files, that would be put in place; they need not be there.
    read : iterable of Path
        Files, folders of files, and patterns: names with wildcards under which there is nothing.

    Raises
    ------
    ParameterError
        One of the first is one of the second, or lies in it or is found by it, or the other way round.
    """
    kept = [(path, _real(path), is_pattern(path)) for path in read]
    for path in written:
        for named, place, is_wild in kept:
            if is_wild and _is_found(_real(path).parts, place.parts):
                raise ParameterError(f"{str(path)!r} would be read by {str(named)!r} the next time", _HINT)
            if not _is_touched(_real(path), place):
                continue
            if not os.path.exists(path) and place in _real(path).parents:
                raise ParameterError(f"{str(path)!r} would be in {str(named)!r}, which is read whole", _HINT)
            same = "" if path == named else f" as {str(named)!r}"
            raise ParameterError(f"{str(path)!r} is read{same}, and is not written over", _HINT)


def refuse_one_place(written: Sequence[Path]) -> None:
    """Refuse, before any work is done, two outputs of which one would take the place of the other, or lie in it.

    Raises
    ------
    ParameterError
        Two names are of one file, however they are spelt, or one is of a folder above the other.
    """
    for at, path in enumerate(written):
        for other in written[:at]:
            place, taken = _real(path), _real(other)
            if place == taken or _are_one_file(place, taken):
                same = "" if path == other else f" (as {str(other)!r} too)"
                raise ParameterError(f"{str(path)!r} would be written twice{same}, and one of both lost", _HINT)
            if place in taken.parents or taken in place.parents:
                raise ParameterError(f"{str(path)!r} and {str(other)!r} cannot both be written", _HINT)


def _is_touched(written: Path, read: Path) -> bool:
    if written == read or _are_one_file(written, read):
        return True
    if os.path.isdir(written) and written in read.parents:
        return True
    if not os.path.isdir(read) or read not in written.parents:
        return False
    return not any(part.startswith(_UNREAD) for part in written.relative_to(read).parts)


def is_pattern(path: str | Path) -> bool:
    """Return True if it is a pattern of paths; a file of that very name goes first."""
    return _WILD.search(str(path)) is not None and not os.path.lexists(path)


def _is_found(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a pattern finds a path once there is one, by their parts; wildcards match no hidden name."""
    if not pattern or not path:
        return not path and set(pattern) <= {"**"}
    first, name = pattern[0], path[0]
    if name.startswith(".") and not first.startswith("."):
        return False
    if first == "**":
        return _is_found(path, pattern[1:]) or _is_found(path[1:], pattern)
    return (name == first or fnmatchcase(name, first)) and _is_found(path[1:], pattern[1:])


def _are_one_file(path: Path, other: Path) -> bool:
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)
    return False


def _real(path: Path) -> Path:
    """Return a path without links; one that is none stays as it is, and whoever reads or writes there says so."""
    with suppress(OSError, ValueError):
        return Path(os.path.realpath(path))
    return path
