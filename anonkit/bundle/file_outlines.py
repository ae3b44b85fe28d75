# SPDX-License-Identifier: Apache-2.0
"""Outlines of Parquet files: their names, types and numbers of rows replace files whose rows are elsewhere.

A file with nothing but the first and the last bytes of another is read as far as its footer. Whoever looks for a row in
it finds none, and fails: it is never taken for a table without rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from anonkit.bundle.data_files import file_digest

_HEAD = 4
_TAIL = 8
"""Bytes at the end of a Parquet file: the length of its footer, and four letters."""


@dataclass(frozen=True, kw_only=True)
class Outline:
    """Metadata of a file of rows that is elsewhere."""

    size: int
    sha256: str
    head: bytes
    footer: bytes

    def write(self, path: Path) -> None:
        """Write a file of this size that has no row."""
        with path.open("xb") as file:
            file.truncate(self.size)
            file.write(self.head)
            file.seek(self.size - len(self.footer))
            file.write(self.footer)


def outline_of(path: Path) -> Outline:
    """Return size, SHA-256 and the ends of a file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(max(size - _TAIL, 0))
        footer = int.from_bytes(file.read(_TAIL)[:4], "little") + _TAIL
        file.seek(max(size - footer, 0))
        return Outline(size=size, sha256=file_digest(path), head=head, footer=file.read())
