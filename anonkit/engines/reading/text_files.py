# SPDX-License-Identifier: Apache-2.0
"""Text files, compressed or not: opening them, sampling their start, and the errors of the file itself."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

import pyarrow as pa

from anonkit.engines.reading.failures import shielded
from anonkit.errors import SourceError


@dataclass(frozen=True)
class TextFile:
    """A file of UTF-8 text, compressed or not. As text it is its path in quotes, for messages."""

    path: str
    compression: str | None

    def __str__(self) -> str:
        return repr(self.path)

    def open(self) -> pa.NativeFile:
        """Open the file at its start, decompressed."""
        return pa.input_stream(self.path, compression=self.compression)

    def head(self, n_bytes: int) -> tuple[str, bool]:
        """Return the first bytes as text, without a byte order mark, and whether they are the whole file.

        Raises
        ------
        SourceError
            The file cannot be read, or is not UTF-8.
        """

        def read() -> tuple[bytes, bool]:
            with self.open() as stream:
                return stream.read(n_bytes), not stream.read(1)

        raw, whole = shielded(read, lambda _: self.unreadable())
        if b"\0" in raw:  # UTF-16, or no text at all
            raise self.not_utf8()
        decoder = codecs.getincrementaldecoder("utf-8-sig")()  # the last character may be cut
        return shielded(lambda: decoder.decode(raw, whole), lambda _: self.not_utf8()), whole

    def unreadable(self) -> SourceError:
        """Say that the file itself is damaged."""
        if self.compression is None:
            return SourceError(f"{self} cannot be read to its end")
        return SourceError(f"{self} is not a whole {self.compression} file", "was it copied to its end?")

    def not_utf8(self) -> SourceError:
        """Say that the file is in another encoding."""
        return SourceError(f"{self} is not UTF-8 text", "convert it, for instance: iconv -f latin1 -t utf-8")
