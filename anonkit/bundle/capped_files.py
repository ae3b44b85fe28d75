# SPDX-License-Identifier: Apache-2.0
"""Files of others, looked at before they are read: regular files, of a size that such a file can have."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from anonkit.bundle.size_limits import LARGEST_DOCUMENT, LARGEST_FILES
from anonkit.errors import ReleaseFormatError

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
