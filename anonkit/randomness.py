# SPDX-License-Identifier: Apache-2.0
"""The only source of randomness: AES-CTR keyed from the operating system, seeded only when marked.

Privacy noise, the shuffle of released rows and every draw of a differentially private mechanism come from
here. `numpy.random` is a statistical generator: whoever sees enough of its output can continue it.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from anonkit.errors import ParameterError

SECURE = "secure"
SEEDED = "seeded: not for release"

KeyedWords = NDArray[np.unsignedinteger[Any]]
"""Uniform words of 16, 32 or 64 bits, each a function of (key, stream, row number)."""

_BLOCK = 16
_ZEROS = bytes(1 << 18)
_WORD_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def keystream(key: bytes, stream: int, offset: int, n_bytes: int) -> bytes:
    """Return bytes `offset .. offset + n_bytes` of AES-CTR keystream number `stream` under `key`.

    The counter block is 32 bits of stream number and 96 bits of position, so any part can be computed
    on any machine without the parts before it.

    Parameters
    ----------
    key : bytes
        16 or 32 secret bytes.
    stream : int
        Number of the stream, in [0, 2**32).
    offset : int
        First byte wanted; a multiple of 16.
    n_bytes : int
        How many bytes.
    """
    counter = (stream << 96) + offset // _BLOCK
    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(_BLOCK, "big"))).encryptor()
    return encryptor.update(memoryview(_ZEROS)[:n_bytes] if n_bytes <= len(_ZEROS) else bytes(n_bytes))


def word_type(word_bits: int) -> type[np.unsignedinteger[Any]]:
    """Return the numpy type of a word of 16, 32 or 64 bits."""
    try:
        return _WORD_TYPES[word_bits]
    except KeyError:
        raise ParameterError(f"word_bits ({word_bits}) must be one of {sorted(_WORD_TYPES)}") from None


def keyed_words(
    key: bytes, stream: int, first_row: int, n_rows: int, *, word_bits: int = 32, per_row: int = 1
) -> KeyedWords:
    """Return the words of rows `first_row .. first_row + n_rows`, shape (n_rows, per_row).

    A row owns the same words wherever it is computed: a batch of another size, a Spark stage that runs twice, or one
    row alone draw the same noise. One attribute is one stream; two attributes never share one.

    Parameters
    ----------
    key : bytes
        Secret key of the release (`Randomness.key`), 32 bytes.
    stream : int
        Number of the attribute, in [0, 2**32).
    first_row : int
        Global number of the first row, in [0, 2**63).
    n_rows, per_row : int
        How many rows, and how many words each row owns.
    word_bits : int
        16, 32 or 64.

    Privacy
    -------
    Whoever holds the key can undo the noise. A key serves one release with one set of parameters: the same
    words under other parameters would reveal more than either release alone.
    """
    width = word_type(word_bits)
    if not 0 <= stream < 2**32 or not 0 <= first_row < 2**63:
        raise ParameterError("stream must be in [0, 2**32) and the row number in [0, 2**63)")
    row_bytes = per_row * word_bits // 8
    start = first_row * row_bytes
    lead = start % _BLOCK
    raw = keystream(key, stream, start - lead, lead + n_rows * row_bytes)
    little = np.dtype(width).newbyteorder("<")
    words = np.frombuffer(raw, dtype=little, offset=lead, count=n_rows * per_row)
    return words.astype(width, copy=False).reshape(n_rows, per_row)


class Randomness:
    """A stream of random bytes that knows whether it may be used for a release.

    Make one with `Randomness.secure()`, or with `Randomness.seeded(n)` in tests: the mark
    `seeded: not for release` then goes into every file.

    Privacy
    -------
    The key is never written, logged or shown. Two instances never share a key unless both were seeded
    alike. A forked process must make its own instance; `secure()` draws a fresh key each time.
    """

    __slots__ = ("_draw_count", "_key", "_position", "label")

    def __init__(self, key: bytes, label: str, draw_count: list[int] | None = None) -> None:
        self._key = key
        # one count for all children, which know no key but their own
        self._draw_count = [0] if draw_count is None else draw_count
        self._position = 0
        self.label = label

    def __repr__(self) -> str:
        return f"<Randomness {self.label}>"

    @classmethod
    def secure(cls) -> Randomness:
        """Key a new stream from the operating system."""
        return cls(os.urandom(32), SECURE)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """Key a reproducible stream. Whatever it makes is marked as not for release."""
        return cls(hashlib.sha256(f"anonkit test seed {seed}".encode()).digest(), SEEDED)

    def child(self, name: str) -> Randomness:
        """Derive an independent stream for a named purpose; the same name gives the same stream."""
        return Randomness(hashlib.sha256(self._key + b"/" + name.encode()).digest(), self.label, self._draw_count)

    @property
    def draws(self) -> int:
        """Number of draws of words from it or any of its kin, and of keys handed out to draw them with."""
        return self._draw_count[0]

    def key(self, name: str) -> bytes:
        """Derive 32 key bytes for `keystream`, for noise that is a function of (key, row number)."""
        self._draw_count[0] += 1
        return hashlib.sha256(self._key + b"/key/" + name.encode()).digest()

    def bytes(self, n: int) -> bytes:
        """Return the next `n` bytes."""
        self._draw_count[0] += 1
        blocks = -(-n // _BLOCK)
        out = keystream(self._key, 0, self._position, blocks * _BLOCK)
        self._position += blocks * _BLOCK
        return out[:n]

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return `n` uniform 64-bit words, shape (n,)."""
        return np.frombuffer(self.bytes(8 * n), dtype="<u8").astype(np.uint64, copy=False)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a uniform permutation of `range(n)`, shape (n,).

        Rows are ordered by 64-bit words; equal words (probability below n**2 / 2**65) would keep their
        order, so the words are drawn again when any two are equal.
        """
        while True:
            words = self.words(n)
            order = np.argsort(words, kind="stable")
            ranked = words[order]
            if n < 2 or bool(np.all(ranked[1:] != ranked[:-1])):
                return order.astype(np.int64, copy=False)
