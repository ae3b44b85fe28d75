# SPDX-License-Identifier: Apache-2.0
"""Key files as their bytes: never more than a key can have, and no word of them in an error."""

from __future__ import annotations

from pathlib import Path

from anonkit.errors import ReleaseFormatError

_LARGEST = 1 << 16
"""Bytes of a key file that are read."""


def read_key(path: Path, hint: str) -> bytes:
    """Return the bytes of a key file.

    Raises
    ------
    ReleaseFormatError
        It cannot be read; `hint` says how such a key is made.
    """
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError:
        raise ReleaseFormatError(f"the key {str(path)!r} cannot be read", hint) from None
