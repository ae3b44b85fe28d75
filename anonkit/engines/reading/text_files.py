# SPDX-License-Identifier: Apache-2.0
"""Text files, compressed or not: opening them, sampling their start, and the errors of the file itself."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from anonkit.engines.reading.failures import shielded
from anonkit.errors import SourceError, spoken
from anonkit.policy.encodings import UTF8

_CONTROLS = bytes({*range(1, 32), 127} - set(b"\t\n\r\f"))
_WITH_NUL = "NUL"
_PART = 8 << 20  # bytes looked at a time


@dataclass(frozen=True)
class TextFile:
    """A file of text, compressed or not, read as UTF-8. Its string is its name in messages: its path in quotes."""

    path: str
    compression: str | None
    encoding: str = UTF8
    """Encoding of the file, one of `anonkit.policy.encodings.ENCODINGS`."""
    shown: str | None = None
    """Name in messages, where it is a private copy of something else."""

    def __str__(self) -> str:
        return repr(self.path) if self.shown is None else self.shown

    def open(self) -> pa.NativeFile:
        """Open the file at its start, decompressed, as UTF-8."""
        stream = self._raw()
        return stream if self.encoding == UTF8 else pa.transcoding_input_stream(stream, self.encoding, UTF8)

    def _raw(self) -> pa.NativeFile:
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

        raw, whole = shielded(read, self.broken)
        if b"\0" in raw:  # UTF-16, or no text at all
            raise self.not_utf8()
        decoder = codecs.getincrementaldecoder("utf-8-sig")()  # the last character may be cut
        return shielded(lambda: decoder.decode(raw, whole), lambda _: self.not_utf8()), whole

    def unreadable(self) -> SourceError:
        """Return the error for a damaged file."""
        if self.compression is None:
            return SourceError(f"{self} cannot be read to its end")
        return SourceError(f"{self} is not a whole {self.compression} file", "was it copied to its end?")

    def broken(self, error: Exception) -> SourceError:
        """Return the error for a file that cannot be read on."""
        return self.not_utf8() if isinstance(error, UnicodeError) else self.unreadable()

    def not_utf8(self) -> SourceError:
        """Return the error for a file in another encoding, with that encoding as far as its bytes show it."""
        fitting = shielded(self._fitting, lambda _: self.unreadable())
        if fitting == _WITH_NUL:
            return SourceError(
                f"{self} has NUL characters in its text", "take them out: no cell of a text file has any"
            )
        if fitting is None:
            hint = "is it a text file?"
        elif fitting == self.encoding:
            hint = "it begins as such a text does: is it damaged?"
        else:
            hint = f'{spoken(python="", typed=f"--encoding {fitting}, or ")}encoding = "{fitting}" in the policy'
        return SourceError(f"{self} is not {'UTF-8' if self.encoding == UTF8 else self.encoding} text", hint)

    def _fitting(self) -> str | None:
        """Return the encoding that the whole file fits; None where it is no text, `_WITH_NUL` with NUL.

        UTF-16 is recognized by its mark, or by zeros in every second byte, as Western strings have. Almost any bytes
        are text of one byte a character: a file with none of the five bytes that cp1252 lacks is proposed to be that.
        """
        start, zeros, fits, controls = b"", [0, 0], {UTF8: True, "cp1252": True}, 0
        utf8 = codecs.getincrementaldecoder(UTF8)()
        at = 0
        with self._raw() as stream:
            while part := stream.read(_PART):
                start = start or part[:2]
                zeros[at % 2] += part[::2].count(0)
                zeros[1 - at % 2] += part[1::2].count(0)
                at += len(part)
                controls += len(part) - len(part.translate(None, _CONTROLS))
                for name, decode in ((UTF8, utf8.decode), ("cp1252", lambda raw: raw.decode("cp1252"))):
                    fits[name] = fits[name] and _decodes(decode, part)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        if any(zeros):
            even, odd = zeros
            most = max(even, odd) > at / 4 and min(even, odd) < max(even, odd) / 16
            if most:
                return "utf-16-le" if odd > even else "utf-16-be"
            return _WITH_NUL if fits[UTF8] and not controls else None
        if self.encoding != UTF8 and fits[UTF8]:
            return UTF8
        return "cp1252" if fits["cp1252"] else "latin-1"


def _decodes(decode: Callable[[bytes], str], part: bytes) -> bool:
    try:
        decode(part)
    except UnicodeDecodeError:
        return False
    return True
