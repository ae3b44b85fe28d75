# SPDX-License-Identifier: Apache-2.0
"""People by their keys: tags under which a ledger knows again who was in an earlier table of a dataset.

Of every person there is a tag of 64 bits under the ledger's key, 32 bits that change when any of their rows does, and 8
bits of each of a few other columns in which all their rows agree. Two tables hold the same people when enough tags are
in both and something besides the keys says so: the columns are called the same, or one of those other columns agrees in
more people than chance makes it. Numbers that count up from anywhere are in every table, so that their name says
nothing: of them another column has to agree in nearly everybody.

Of more than ten million rows a fixed part of all keys is kept, which is the same part in every table.

Privacy
-------
Without the key all of it is random numbers. Who has file and key can ask whether a person whose key they know was in a
table, whether their rows have changed since, and test a guess of the other columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from anonkit.domains.cell_values import cell_keys
from anonkit.ledger.fingerprint import cells_of, folded_name, named_sums
from anonkit.ledger.sketch import KeyedTags
from anonkit.protocols import Engine, Source

MOST = 10_000_000
"""Rows of which every person is remembered; of more a fixed part is."""
LEAST = 30
"""People that two tables share at least, when they are called the same."""
_SHARE = 0.1
"""Of the people of the smaller table, that they share at least."""
_TRAITS = 8
"""Columns beside the key that are kept, 8 bits each."""
_LOOKED_AT = 32
"""Columns among which these are chosen."""
_SURE = 6.0
"""Standard deviations by which a column must agree beyond chance."""
_NEARLY_ALL = 0.8
"""Share of people in whom a column must agree where keys are serial numbers."""
_WEAK_EVIDENCE = 0.95
"""Agreement by chance from which a column is no evidence."""
_DENSE = 2
"""Numbers between the lowest and the highest of a key for each of its values, at most, in serial numbers."""
_NO_NUMBER = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleMarks:
    """The people of one table, by one column that names them."""

    column: bytes
    """Tag of the column's name, without case, accents, blanks and marks; 8 bytes."""
    is_serial: bool
    """True when the keys are numbers that count up."""
    exponent: int
    """Of 2 ** `exponent` keys one is kept."""
    tags: NDArray[np.uint64]
    """Ascending, one a person, shape (n,)."""
    contents: NDArray[np.uint32]
    """Hash that changes with any row of the person, shape (n,)."""
    traits: NDArray[np.uint8]
    """Other columns, shape (n, n_traits); 0 where the rows of a person differ, or a cell is missing."""

    @property
    def people(self) -> int:
        """Number of people, estimated where only a part is kept."""
        return self.tags.size << self.exponent

    def to_bytes(self) -> bytes:
        """Return the bytes of the marks in the ledger."""
        head = {
            "column": self.column.hex(),
            "serial": self.is_serial,
            "exponent": self.exponent,
            "n": int(self.tags.size),
            "traits": int(self.traits.shape[1]),
        }
        arrays = (self.tags.astype("<u8"), self.contents.astype("<u4"), np.ascontiguousarray(self.traits))
        return json.dumps(head).encode() + b"\n" + b"".join(array.tobytes() for array in arrays)

    @classmethod
    def from_bytes(cls, raw: bytes) -> PeopleMarks:
        """Read them back."""
        line, _, arrays = bytes(raw).partition(b"\n")
        head = json.loads(line)
        n = int(head["n"])
        return cls(
            column=bytes.fromhex(head["column"]),
            is_serial=bool(head["serial"]),
            exponent=int(head["exponent"]),
            tags=np.frombuffer(arrays, "<u8", n).astype(np.uint64),
            contents=np.frombuffer(arrays, "<u4", n, 8 * n).astype(np.uint32),
            traits=np.frombuffer(arrays, np.uint8, n * int(head["traits"]), 12 * n).reshape(n, int(head["traits"])),
        )

    def is_like(self, other: PeopleMarks) -> bool:
        """Return True if both tables hold the same people, in part, beyond what keys alone can show."""
        exponent = max(self.exponent, other.exponent)
        mine, theirs = (_in_sample(marks.tags, exponent) for marks in (self, other))
        shared, of_mine, of_theirs = np.intersect1d(
            self.tags[mine], other.tags[theirs], assume_unique=True, return_indices=True
        )
        enough = max(LEAST, _SHARE * min(self.people, other.people))
        if shared.size < LEAST or shared.size << exponent < enough:
            return False
        is_serial = self.is_serial or other.is_serial
        if not is_serial and self.column == other.column:
            return True
        return _agree(self.traits[mine][of_mine], other.traits[theirs][of_theirs], nearly_all=is_serial)


def _in_sample(tags: NDArray[np.uint64], exponent: int) -> NDArray[np.bool_]:
    """Return a mask of the tags in the part that is stored of so many people."""
    rest: NDArray[np.uint64] = tags & np.uint64((1 << exponent) - 1)
    return np.equal(rest, 0)


def _agree(first: NDArray[np.uint8], two: NDArray[np.uint8], *, nearly_all: bool) -> bool:
    """Return True if a column of the one agrees with a column of the other in more people than by chance."""
    for one in first.T:
        for other in two.T:
            known = (one > 0) & (other > 0)
            n = int(known.sum())
            if n < LEAST:
                continue
            same = float((one[known] == other[known]).mean())
            of_one, of_other = (np.bincount(column[known], minlength=256) / n for column in (one, other))
            chance = float(of_one @ of_other)
            beyond = chance + _SURE * math.sqrt(chance * (1 - chance) / n)
            if chance < _WEAK_EVIDENCE and same > beyond and (same >= _NEARLY_ALL or not nearly_all):
                return True
    return False


@dataclass(frozen=True, kw_only=True)
class PeopleTags:
    """Maps rows to the tags of their people: pure and picklable, a function of the cells alone."""

    key: bytes = field(repr=False)
    column: str
    """That names the person."""
    names: tuple[str, ...]
    """Columns whose cells show that a row has changed."""
    traits: tuple[str, ...]
    exponent: int

    @property
    def schema(self) -> pa.Schema:
        """A row of it is a row of the table that names a person."""
        fields: list[tuple[str, pa.DataType]] = [("tag", pa.uint64()), ("content", pa.uint64()), ("number", pa.int64())]
        return pa.schema([*fields, *((f"trait {at}", pa.uint8()) for at in range(len(self.traits)))])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the tags of the rows whose person is among those that are kept."""
        texts = cell_keys(batch.column(self.column)).dictionary_encode()
        tags = tags_of(texts.dictionary, self.key)
        codes = texts.indices.fill_null(0).to_numpy(zero_copy_only=False)
        present = texts.indices.is_valid().to_numpy(zero_copy_only=False)
        numbers = _numbers(texts.dictionary)
        of_row = tags[codes] if tags.size else np.zeros(batch.num_rows, np.uint64)
        in_sample = present & _in_sample(of_row, self.exponent)
        some = batch.filter(pa.array(in_sample))
        named, otherwise = named_sums(cells_of(some, self.names, self.key), self.names, self.key, some.num_rows)
        content = KeyedTags(self.key, "named row").of_sums(named if otherwise is None else named + otherwise)
        arrays = [
            pa.array(of_row[in_sample]),
            pa.array(content[:, 0].astype(np.uint64)),
            pa.array(numbers[codes][in_sample] if numbers.size else np.zeros(0, np.int64)),
        ]
        of_traits = KeyedTags(self.key, "trait of people")
        for name in self.traits:
            cells = cell_keys(some.column(name)).dictionary_encode()
            letters = 1 + of_traits.of_texts(cells.dictionary)[:, 0] % 255 if len(cells.dictionary) else np.zeros(1)
            at = cells.indices.fill_null(0).to_numpy(zero_copy_only=False)
            valid = cells.indices.is_valid().to_numpy(zero_copy_only=False)
            arrays.append(pa.array((letters[at] * valid).astype(np.uint8)))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def tags_of(keys: pa.StringArray, key: bytes) -> NDArray[np.uint64]:
    """Return the tags of people by the keys of their cells, shape (n,)."""
    lanes = KeyedTags(key, "person").of_texts(keys)[:, :2].astype(np.uint64)
    return lanes[:, 0] << np.uint64(32) | lanes[:, 1]


def _numbers(texts: pa.StringArray) -> NDArray[np.int64]:
    """Return the one number in each string, whatever is before and after it; -1 where there is not one."""
    found = pc.extract_regex(texts, r"^[^0-9]*(?P<number>[0-9]{1,15})[^0-9]*$")
    if not len(texts):
        return np.zeros(0, np.int64)
    numbers = pc.struct_field(found, "number").cast(pa.int64()).fill_null(_NO_NUMBER)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)


def exponent_of(n_rows: int) -> int:
    """Return of how many keys one is kept, as a power of two, in a table of so many rows."""
    return max(0, math.ceil(math.log2(n_rows / MOST))) if n_rows > MOST else 0


def people_marks(table: Source, engine: Engine, key: bytes, column: str, traits: Sequence[str]) -> PeopleMarks | None:
    """Return the marks of the people of a table; None where it has none.

    Parameters
    ----------
    table : Source
        Rows as they were read.
    engine : Engine
        Whose table it is.
    key : bytes
        Of the ledger, 32 bytes.
    column : str
        That names the person.
    traits : sequence of str
        Other columns, the likeliest to stay the same first.
    """
    looked_at = tuple(name for name in traits if name != column)[:_LOOKED_AT]
    exponent = exponent_of(table.n_rows)
    names = tuple(table.schema.names)
    function = PeopleTags(key=key, column=column, names=names, traits=looked_at, exponent=exponent)
    found = pa.Table.from_batches(engine.map_batches(table, function, function.schema).batches(), function.schema)
    rows = found.combine_chunks()
    tags, at = np.unique(rows["tag"].to_numpy(), return_inverse=True)
    if not tags.size:
        return None
    contents = np.zeros(tags.size, np.uint64)
    np.add.at(contents, at, rows["content"].to_numpy())
    traits_of_people = _constant(rows, at, tags.size, len(looked_at))
    return PeopleMarks(
        column=_name_tag(column, key),
        is_serial=_counts_up(rows["number"].to_numpy(), tags.size << exponent),
        exponent=exponent,
        tags=tags,
        contents=(contents & np.uint64(0xFFFFFFFF)).astype(np.uint32),
        traits=traits_of_people,
    )


def _name_tag(column: str, key: bytes) -> bytes:
    return bytes(KeyedTags(key, "name of key").of_texts(pa.array([folded_name(column)]))[0].tobytes()[:8])


def _counts_up(numbers: NDArray[np.int64], people: int) -> bool:
    """Return True if keys are numbers close together."""
    found = numbers[numbers != _NO_NUMBER]
    if not found.size:
        return False
    return bool(found.size >= 0.95 * numbers.size and int(found.max()) - int(found.min()) < _DENSE * people)


def _constant(rows: pa.Table, at: NDArray[np.int64], people: int, n_traits: int) -> NDArray[np.uint8]:
    """Return the columns that are the same in all rows of a person, the most distinguishing first."""
    chosen: list[tuple[float, NDArray[np.uint8]]] = []
    for number in range(n_traits):
        cells = rows[f"trait {number}"].to_numpy()
        lowest, highest = np.full(people, 255, np.uint8), np.zeros(people, np.uint8)
        np.minimum.at(lowest, at, cells)
        np.maximum.at(highest, at, cells)
        one = np.where(lowest == highest, highest, 0).astype(np.uint8)
        shares = np.bincount(one[one > 0], minlength=256) / people
        if shares.sum() >= 0.5 and shares.max() < _WEAK_EVIDENCE:
            chosen.append((float(shares @ shares), one))
    best = sorted(chosen, key=lambda pair: pair[0])[:_TRAITS]
    return np.stack([one for _, one in best], axis=1) if best else np.zeros((people, 0), np.uint8)


@dataclass(frozen=True, kw_only=True)
class OfNewPeople:
    """Keeps the rows of people who are not among those seen: pure and picklable."""

    key: bytes = field(repr=False)
    unit: str
    seen: NDArray[np.uint64] = field(repr=False)
    """Their tags, ascending."""

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows of new people; a row that names nobody is of none."""
        keys = cell_keys(batch.column(self.unit))
        named = keys.is_valid().to_numpy(zero_copy_only=False)
        known = np.isin(tags_of(keys, self.key), self.seen)
        return batch.filter(pa.array(named & ~known))
