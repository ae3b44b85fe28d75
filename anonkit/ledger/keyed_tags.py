# SPDX-License-Identifier: Apache-2.0
"""Keyed 128-bit tags of strings and rows, indistinguishable from random without the key.

A string gets the CBC-MAC under AES of its length and its bytes, a pseudo-random function since no message begins
another (Bellare, Kilian, Rogaway 2000). Tags are four numbers of 32 bits, and are *added* where order must not matter:
as integers that never wrap around, so that a multiset in which everything occurs twice differs from one in which it
occurs once (MSet-Add-Hash, Clarke et al. 2003, with a secret key). All of it is array arithmetic, no loop over cells.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

LANES = 4
"""Numbers of 32 bits in a tag."""
Tags = NDArray[np.uint32]
Sums = NDArray[np.uint64]

_BLOCK = 16
_HEAD = 8  # bytes of the first block that hold the length
_AT_ONCE = 1 << 22  # bytes of messages laid out together
_MISSING = (1 << 64) - 1  # a length no text has


class KeyedTags:
    """Tags for one purpose: those of another purpose have nothing to do with them.

    Parameters
    ----------
    key : bytes
        Secret, 16 to 64 bytes.
    purpose : str
        At most 16 letters.
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        derived = hashlib.blake2b(key=key, person=purpose.encode(), digest_size=32).digest()
        # One block at a time is what AES is: ECB here is the permutation that CBC-MAC is made of, not a way to encrypt.
        self._cipher = Cipher(algorithms.AES(derived), modes.ECB())  # noqa: S305

    def of_texts(self, texts: pa.Array) -> Tags:
        """Return the tags of strings, missing ones included, shape (n_texts, 4)."""
        # the length comes first in every message: a CBC-MAC without it could be extended to longer strings
        bounds, data = _raw(texts)
        lengths = bounds[1:] - bounds[:-1]
        blocks = 1 + np.maximum(lengths - _HEAD, 0) // _BLOCK + (np.maximum(lengths - _HEAD, 0) % _BLOCK > 0)
        tags = np.zeros((len(texts), LANES), dtype=np.uint32)
        # strings of equally many blocks go through the cipher together, block after block
        for n_blocks in np.unique(blocks):
            rows = np.flatnonzero(blocks == n_blocks)
            step = max(1, _AT_ONCE // (int(n_blocks) * _BLOCK))
            for first in range(0, rows.size, step):
                some = rows[first : first + step]
                tags[some] = self._macs(_laid_out(data, bounds[some], lengths[some], int(n_blocks)))
        if texts.null_count:
            head = np.zeros((1, _BLOCK), dtype=np.uint8)
            head[0, :_HEAD] = np.frombuffer(_MISSING.to_bytes(_HEAD, "little"), dtype=np.uint8)
            tags[texts.is_null().to_numpy(zero_copy_only=False)] = self._macs(head)
        return tags

    def of_tags(self, tags: Tags) -> Tags:
        """Return the tags of tags, shape (n, 4)."""
        return self._block(np.ascontiguousarray(tags))

    def of_sums(self, sums: Sums) -> Tags:
        """Return the tags of sums of tags, shape (n, 4)."""
        halves = np.ascontiguousarray(sums).view(np.uint32).reshape(-1, 2 * LANES)
        first = self._block(np.ascontiguousarray(halves[:, :LANES]))
        return self._block(first ^ halves[:, LANES:])

    def _macs(self, messages: NDArray[np.uint8]) -> Tags:
        state = np.zeros((len(messages), LANES), dtype=np.uint32)
        for at in range(0, messages.shape[1], _BLOCK):
            block = np.ascontiguousarray(messages[:, at : at + _BLOCK]).view(np.uint32)
            state = self._block(state ^ block)
        return state

    def _block(self, blocks: Tags) -> Tags:
        done = self._cipher.encryptor().update(blocks.data.cast("B") if blocks.size else b"")
        return np.frombuffer(done, dtype=np.uint32).reshape(-1, LANES)


def _raw(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets of the strings, shape (n_texts + 1,), and the bytes of all."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return bounds, np.zeros(0, dtype=np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)


def _laid_out(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], n_blocks: int
) -> NDArray[np.uint8]:
    """Return messages of length and bytes, padded with zeros, shape (n, 16 n_blocks)."""
    width = n_blocks * _BLOCK - _HEAD
    padded = np.concatenate([data, np.zeros(width, dtype=np.uint8)])
    messages = np.empty((starts.size, n_blocks * _BLOCK), dtype=np.uint8)
    messages[:, :_HEAD] = lengths.astype("<u8")[:, None].view(np.uint8)
    messages[:, _HEAD:] = np.lib.stride_tricks.sliding_window_view(padded, width)[starts]
    messages[:, _HEAD:] *= np.arange(width) < lengths[:, None]  # what comes after the text belongs to the next one
    return messages
