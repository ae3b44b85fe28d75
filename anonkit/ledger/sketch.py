# SPDX-License-Identifier: Apache-2.0
"""Coarse set sketches: enough to see that two tables share many rows, too little to reveal any one of them.

Every thing falls into one bin of each of 8 blocks, with a sign, by its keyed tag; a bin adds up the signs (a count
sketch: Charikar, Chen, Farach-Colton 2002), and only the sign of each sum is kept. Bits of two sketches agree with
probability 1 - angle / pi, the angle that between the counts of the two tables (Charikar 2002): three quarters of them
when the one holds half of the other's things, half of them when nothing is shared.

Two samples of different people agree in more, where things repeat: in what everybody has. How much a table repeats
itself is known from the sums (their squares estimate the second moment: Alon, Matias, Szegedy 1996), so two sketches
are only called alike when they agree in more than two samples of one population would.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.ledger.keyed_tags import Tags

_BLOCKS, _WIDTH = 8, 64
BINS = _BLOCKS * _WIDTH
"""Bins, and bits, of a sketch."""
LEAST = 32
"""Things of which there is a sketch: fewer could be found in it one by one."""
_SURE = 6.0
"""Standard deviations by which two sketches must agree beyond chance: once in a billion pairs by accident."""
_NEARLY_UNIQUE = 1.5
"""Second moment, in counts: 1 when every thing is different, 2 when each occurs twice."""


@dataclass(frozen=True)
class Sketch:
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

    def to_list(self) -> list[Any]:
        """Return it for JSON."""
        return [self.bits.hex(), self.things, self.repetition]

    @classmethod
    def from_list(cls, raw: list[Any]) -> Sketch:
        """Read it back."""
        return cls(bytes.fromhex(raw[0]), int(raw[1]), float(raw[2]))

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
