# SPDX-License-Identifier: Apache-2.0
"""Recognition of the dataset a table belongs to: by the owner's name for it first, else by its fingerprint.

Privacy
-------
That a table is known again is a fact about its rows which no epsilon covers: it goes to the owner and is in no
file of a release.

Fingerprints of version-1 ledgers, kept so that their entries are still matched.

A row became a 64-bit keyed hash of its cells, columns in the order of their names; a table was known by the lowest
hashes of its first 65,536 rows (a bottom-k sketch, Broder 1997). Nothing is booked under such marks any more: a table
that is known by them gets a `Fingerprint` with its next release.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonkit.errors import DatasetError, option
from anonkit.ledger.fingerprint import Fingerprint, Likeness, closest, fingerprint
from anonkit.ledger.people_marks import PeopleMarks, people_marks
from anonkit.protocols import Engine, Source

if TYPE_CHECKING:
    import pyarrow as pa


LOOKED_AT = 1 << 16
"""Leading rows that were hashed."""
SKETCH_SIZE = 256
"""Hashes of a sketch; an overlap is known within about 1/sqrt(SKETCH_SIZE)."""
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
        reach = [marks.lowest[-1] for marks in (self, other) if marks.lowest.size == SKETCH_SIZE]
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
    return LegacyFingerprint(rows=table.n_rows, lowest=distinct[:SKETCH_SIZE])


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


Marks = Fingerprint | LegacyFingerprint
"""The stored marks of a table."""
Known = Marks | PeopleMarks
"""The marks by which a ledger knows a dataset: its tables, and their people."""

_HALF = 0.5
"""Share of common rows from which marks of version 1 look alike."""


def marks_from(rows: int, raw: bytes, form: int) -> Marks:
    """Read the marks of a table back."""
    return (
        LegacyFingerprint.from_bytes(rows, raw) if form == LegacyFingerprint.form else Fingerprint.from_bytes(rows, raw)
    )


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A table under the key of a ledger."""

    found: Fingerprint
    first: LegacyFingerprint | None = None
    """As a ledger of version 1 would have marked it; None when nothing is known by such marks."""
    people: tuple[PeopleMarks, ...] = ()
    """Its people, by each column that names them."""

    @classmethod
    def of(
        cls,
        table: Source,
        engine: Engine,
        key: bytes,
        known: Sequence[tuple[str, Known]],
        people: Source | None = None,
        keys: Sequence[str] = (),
    ) -> Sighting:
        """Look at a table, and in the old way too where something is known by it.

        Parameters
        ----------
        people : Source, optional
            The same table with all columns that name people.
        keys : sequence of str
            These columns.
        """
        old = any(isinstance(marks, LegacyFingerprint) for _, marks in known)
        traits = [name for name in table.schema.names if name not in keys]
        found = [] if people is None else [people_marks(people, engine, key, column, traits) for column in keys]
        return cls(
            found=fingerprint(table, engine, key),
            first=legacy_fingerprint(table, key) if old else None,
            people=tuple(marks for marks in found if marks is not None),
        )

    def likeness(self, marks: Known) -> Likeness:
        """Return the resemblance of the table to one that a ledger knows."""
        if isinstance(marks, PeopleMarks):
            return Likeness.PEOPLE if any(one.is_like(marks) for one in self.people) else Likeness.NONE
        if isinstance(marks, Fingerprint):
            return self.found.likeness(marks)
        if self.first is None:
            return Likeness.NONE
        if self.first.is_same_as(marks):
            return Likeness.SAME
        return Likeness.ROWS if self.first.overlap(marks) >= _HALF else Likeness.NONE


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The dataset of a release, and the facts about its rows that only the owner gets."""

    dataset: str
    notes: tuple[str, ...] = field(default=())


def recognised(
    sighting: Sighting, known: Sequence[tuple[str, Known]], taken: Sequence[str], *, named: str | None, fallback: str
) -> Recognition:
    """Return the dataset of a table.

    Parameters
    ----------
    sighting : Sighting
    known : sequence of (str, marks)
        The tables of every dataset.
    taken : sequence of str
        All names.
    named : str, optional
        What the owner calls the dataset; it wins. Names that Unicode takes for the same (NFC) are one, as are blanks
        at their ends.
    fallback : str
        What a dataset is called that nobody named and nothing is known of.

    Raises
    ------
    DatasetError
        Nobody named it, and it looks like a dataset that is known without being the same, or is the same as several; or
        its name differs from one in the ledger by case, blanks, or letters that look alike in print only.
    """
    if named is not None:
        named = _known_name(named, taken)
    likenesses = {
        name: closest([sighting.likeness(marks) for dataset, marks in known if dataset == name])
        for name in dict.fromkeys(dataset for dataset, _ in known)
    }
    alike = {name: likeness for name, likeness in likenesses.items() if likeness is not Likeness.NONE}
    if named is not None:
        others = {name: likeness for name, likeness in alike.items() if name != named}
        return Recognition(dataset=named, notes=tuple(_also(name, likeness) for name, likeness in others.items()))
    same = [name for name, likeness in alike.items() if likeness.is_same]
    if len(same) == 1:
        return Recognition(dataset=same[0])
    if same:
        raise DatasetError(
            f"the table is in the ledger as the datasets {_listed(same)}: which one's budget is spent?",
            f"{option('dataset', 'NAME')}, or dataset = {same[0]!r} in the policy",
        )
    if alike:
        name = min(alike, key=lambda candidate: list(Likeness).index(alike[candidate]))
        raise DatasetError(
            f"the table looks like dataset {name!r} of the ledger ({alike[name].value}) and is not the same: without a "
            "name its release would be counted apart",
            f"{option('dataset', name)} when it holds the same people, {option('dataset')} with a new "
            "name when it does not",
        )
    names = (fallback, *(f"{fallback}-{number}" for number in range(2, len(taken) + 3)))
    return Recognition(dataset=next(candidate for candidate in names if candidate not in taken))


def _known_name(named: str, taken: Sequence[str]) -> str:
    """Return the name in the ledger that a name is, else the name in its one form.

    Raises
    ------
    DatasetError
        A name in the ledger reads the same and is spelled otherwise: the same people would have two budgets.
    """
    same = [name for name in taken if _one_form(name) == _one_form(named)]
    if same:
        return named if named in same else same[0]
    alike = [name for name in taken if _read_aloud(name) == _read_aloud(named)]
    if alike:
        raise DatasetError(
            f"dataset {named!r} is spelled {alike[0]!r} in the ledger: spelled otherwise the same people would have "
            "a second budget",
            f"{option('dataset', alike[0])}, or a name that nobody takes for it",
        )
    return _one_form(named)


def _one_form(name: str) -> str:
    """Return a name in composed characters: keyboards and file systems differ in how they write the same letter."""
    return unicodedata.normalize("NFC", name).strip() or name


def _read_aloud(name: str) -> str:
    """Return a name without case, without blanks at its ends or twice, without characters that cannot be seen."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", " ".join(seen.casefold().split()))


def _also(name: str, likeness: Likeness) -> str:
    apart = "the losses of both add up, and neither budget sees the other."
    if likeness.is_same:
        return f"The same rows are in the ledger as dataset {name!r} too: {apart}"
    return (
        f"The table looks like dataset {name!r} of the ledger too ({likeness.value}): where people are in both, {apart}"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
