# SPDX-License-Identifier: Apache-2.0
"""Subsets of a table's columns, by their names alone: a later version that has lost columns has some of them whole.

Each column is in three eighths of the subsets, which a keyed tag of its name says, so that the same columns are in the
same subsets of every table. A subset without the columns that were dropped is there in both versions: of two dropped
columns two fifths of the subsets are. All columns together are a subset, too, and of few columns every two are left out
once. Names are compared without case, accents, blanks and marks.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from anonkit.ledger.keyed_tags import KeyedTags

MOST_DROPPED = 2
"""Columns that each of two versions may have and the other has not."""
_SUBSETS = 24
_LEAST = 2
"""Columns of a subset at least: one alone could be guessed with the key."""
_FEW = 8
"""Columns up to which every two are left out once: of so few columns few subsets are without two of them."""
_IN = 6
"""Of the sixteen values of half a byte those that say that a column is in a subset."""


def folded_name(name: str) -> str:
    """Return the name of a column without case, accents, blanks and marks."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def name_tags(names: Sequence[str], key: bytes) -> tuple[bytes, ...]:
    """Return a keyed tag of the name of each column, 16 bytes each."""
    tags = KeyedTags(key, "name of column").of_texts(pa.array([folded_name(name) for name in names], pa.string()))
    return tuple(tag.tobytes() for tag in tags)


def column_subsets(tags: Sequence[bytes]) -> tuple[tuple[int, ...], ...]:
    """Return the subsets as places in the list of columns, no two with the same columns.

    Parameters
    ----------
    tags : sequence of bytes
        Of the names of all columns (`name_tags`).
    """
    letters = np.array([list(tag) for tag in tags], np.uint8).reshape(len(tags), -1)
    halves = np.concatenate([letters >> 4, letters & 15], axis=1)[:, :_SUBSETS]
    found = [tuple(range(len(tags))), *(tuple(map(int, np.flatnonzero(chosen))) for chosen in (halves < _IN).T)]
    if len(tags) <= _FEW:
        every = range(len(tags))
        found += [tuple(at for at in every if at not in left_out) for left_out in combinations(every, MOST_DROPPED)]
    return tuple(subset for subset in dict.fromkeys(found) if len(subset) >= _LEAST)


def subset_tag(tags: Sequence[bytes]) -> bytes:
    """Return by what a subset is known: a digest of its columns' tags, whatever their order; 8 bytes."""
    return hashlib.blake2b(b"".join(sorted(tags)), digest_size=8, person=b"column subset").digest()
