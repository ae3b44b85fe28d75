# SPDX-License-Identifier: Apache-2.0
"""Coarse set sketches: enough to see that two tables share many rows, too little to reveal any one of them.

Every thing falls into one bin of each of 8 blocks, with a sign, by its keyed tag; a bin adds up the signs (a count
sketch: Charikar, Chen, Farach-Colton 2002), and only the sign of each sum is kept. Bits of two sketches agree with
probability 1 - angle / pi, the angle that between the counts of the two tables (Charikar 2002): three quarters of them
when the one holds half of the other's things, half of them when nothing is shared.

Two samples of different people agree in more, where things repeat: in what everybody has. How much a table repeats
itself is known from the sums (their squares estimate the second moment: Alon, Matias, Szegedy 1996), so two sketches
are only called alike when they agree in more than two samples of one population would.

Keyed 128-bit tags of strings and rows, indistinguishable from random without the key.

A string gets the CBC-MAC under AES of its length and its bytes, a pseudo-random function since no message begins
another (Bellare, Kilian, Rogaway 2000). Tags are four numbers of 32 bits, and are *added* where order must not matter:
as integers that never wrap around, so that a multiset in which everything occurs twice differs from one in which it
occurs once (MSet-Add-Hash, Clarke et al. 2003, with a secret key). All of it is array arithmetic, no loop over cells.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from typing import NamedTuple

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


_BLOCKS, _WIDTH = 8, 64
BINS = _BLOCKS * _WIDTH
"""Bins, and bits, of a sketch."""
LEAST = 32
"""Things of which there is a sketch: fewer could be found in it one by one."""
_SURE = 6.0
"""Standard deviations by which two sketches must agree beyond chance: once in a billion pairs by accident."""
_NEARLY_UNIQUE = 1.5
"""Second moment, in counts: 1 when every thing is different, 2 when each occurs twice."""


class Sketch(NamedTuple):
    """One bit a bin, how many things there were, and how much they repeat themselves.

    Privacy
    -------
    A thing moves each of its 8 bins by one, among `things` / 64 others: who has the key and can spell it out sees the
    difference with 14 / sqrt(things) standard deviations, below one from some 200 things on.
    """

    bits: bytes
    """64 bytes."""
    things: int
    repetition: float
    """Second moment of the counts, over their number, at least 1, to one decimal."""

    @property
    def is_nearly_unique(self) -> bool:
        """True when nearly all things are different."""
        return self.repetition <= _NEARLY_UNIQUE

    def agreement(self, other: Sketch) -> float:
        """Return the share of bits that agree, in [0, 1]."""
        differing = np.frombuffer(self.bits, np.uint8) ^ np.frombuffer(other.bits, np.uint8)
        return 1 - float(np.unpackbits(differing).mean())

    def is_like(self, other: Sketch) -> bool:
        """Return True if both share more things than two samples of different people of one population would."""
        chance = agreement_by_chance(self, other)
        return self.agreement(other) > chance + _SURE * math.sqrt(chance * (1 - chance) / BINS)


def agreement_by_chance(first: Sketch, two: Sketch) -> float:
    """Return the share of bits in which samples of one population agree, in [1/2, 1].

    With n and m things and s the chance that two things of the population are equal, the counts x and y have
    E<x, y> = n m s and E|x|² = n (1 + n s): their angle follows. s is taken from the table that repeats itself more.
    """
    equal = max((sketch.repetition - 1) / sketch.things for sketch in (first, two))
    n, m = first.things, two.things
    cosine = math.sqrt(n * m) * equal / math.sqrt((1 + n * equal) * (1 + m * equal))
    return 1 - math.acos(min(1.0, cosine)) / math.pi


def binned(tags: Tags, counts: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the contribution of things to the bins of a sketch, shape (512,).

    Parameters
    ----------
    tags : array, shape (n, 4)
        Keyed tags of the things.
    counts : array, shape (n,), optional
        Multiplicity of each; 1 by default.
    """
    letters = np.ascontiguousarray(tags).view(np.uint8).reshape(len(tags), tags.shape[1] * 4)[:, :_BLOCKS]
    histograms = np.stack(
        [np.bincount(letters[:, block], weights=counts, minlength=256).astype(np.int64) for block in range(_BLOCKS)]
    )
    signed = histograms.reshape(_BLOCKS, 2, 2, _WIDTH)  # a letter: sign, a bit that is not used, bin
    sums: NDArray[np.int64] = (signed[:, 0] - signed[:, 1]).sum(axis=1).reshape(-1)
    return sums


def sketch_of(sums: NDArray[np.int64], things: int) -> Sketch | None:
    """Return the sketch of the bins of so many things; None when there are too few of them.

    A bin whose signs cancel out, or that is empty, gets a coin's bit, thrown once: that it is empty stays hidden.
    """
    if things < LEAST:
        return None
    coins = np.unpackbits(np.frombuffer(secrets.token_bytes(BINS // 8), np.uint8)).astype(bool)
    bits = np.where(sums == 0, coins, sums > 0)
    moment = float((sums.astype(np.float64) ** 2).reshape(_BLOCKS, _WIDTH).sum(axis=1).mean())
    return Sketch(np.packbits(bits).tobytes(), things, max(1.0, round(moment / things, 1)))
