# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of version-1 ledgers, kept so that their entries are still matched.

A row became a 64-bit keyed hash of its cells, columns in the order of their names; a table was known by the lowest
hashes of its first 65,536 rows (a bottom-k sketch, Broder 1997). Nothing is booked under such marks any more: a table
that is known by them gets a `Fingerprint` with its next release.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

    from anonkit.protocols import Source

LOOKED_AT = 1 << 16
"""Leading rows that were hashed."""
KEPT = 256
"""Hashes of a sketch; an overlap is known within about 1/sqrt(KEPT)."""
_CELL, _MISSING = "\x1f", "\x00"


@dataclass(frozen=True, kw_only=True)
class LegacyFingerprint:
    """The marks by which a table is recognized.

    Privacy
    -------
    Without the key the hashes are random numbers. Who has the key can test whether a row that they can spell out in
    full is among those kept, so key and fingerprints stay in the owner's ledger.
    """

    form: ClassVar[int] = 1
    """As which the ledger keeps them."""
    rows: int
    """Rows of the table."""
    lowest: NDArray[np.uint64]
    """The lowest hashes of these rows, ascending."""

    @classmethod
    def from_bytes(cls, rows: int, raw: bytes) -> LegacyFingerprint:
        """Read a sketch back."""
        return cls(rows=rows, lowest=np.frombuffer(raw, dtype="<u8").astype(np.uint64))

    def to_bytes(self) -> bytes:
        """Return the bytes of the marks in the ledger."""
        return self.lowest.astype("<u8").tobytes()

    def is_same_as(self, other: object) -> bool:
        """Return True if both are of the same rows, as far as was looked."""
        return (
            isinstance(other, LegacyFingerprint)
            and self.rows == other.rows
            and np.array_equal(self.lowest, other.lowest)
        )

    def overlap(self, other: LegacyFingerprint) -> float:
        """Estimate the share of the rows of the one that the other has too (Jaccard), in [0, 1]."""
        union = np.unique(np.concatenate([self.lowest, other.lowest]))
        if union.size == 0:
            return 1.0
        # Beyond the point to which a full sketch reaches, nothing is known about its table.
        reach = [marks.lowest[-1] for marks in (self, other) if marks.lowest.size == KEPT]
        known = union[union <= min(reach)] if reach else union
        both = np.isin(known, self.lowest) & np.isin(known, other.lowest)
        return float(both.mean())


def legacy_fingerprint(table: Source, key: bytes) -> LegacyFingerprint:
    """Return the marks of a table.

    Parameters
    ----------
    table : Source
        Canonical rows; the first 65,536 are hashed.
    key : bytes
        Secret, 16 to 64 bytes.
    """
    names = sorted(table.schema.names)
    hashes: list[NDArray[np.uint64]] = []
    left = LOOKED_AT
    for batch in table.batches(names):
        head = batch.slice(0, left)
        hashes.append(_hashes(_texts(head), key))
        left -= head.num_rows
        if left <= 0:
            break
    distinct = np.unique(np.concatenate(hashes)) if hashes else np.zeros(0, dtype=np.uint64)
    return LegacyFingerprint(rows=table.n_rows, lowest=distinct[:KEPT])


def _texts(batch: pa.RecordBatch) -> Iterable[str]:
    """Return each row as one string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = []
    for column in batch.columns:
        plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
        cells.append(pc.fill_null(_as_text(plain), _MISSING))
    if not cells:
        return []
    rows: list[str] = pc.binary_join_element_wise(*cells, _CELL).to_pylist()
    return rows


def _as_text(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        return pa.array([None if value is None else repr(value) for value in column.to_pylist()], pa.string())


def _hashes(rows: Iterable[str], key: bytes) -> NDArray[np.uint64]:
    digests = b"".join(
        hashlib.blake2b(row.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest() for row in rows
    )
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
