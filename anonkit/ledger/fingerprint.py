# SPDX-License-Identifier: Apache-2.0
"""The fingerprint of a table: rows and columns by content, without their names, under the ledger's key.

Every cell becomes a keyed tag of what it spells (`anonkit.domains.cell_values`: 12, 12.0 and 1.2e1 are one cell). A
row is the *sum* of its cells' tags (so the order of the columns and their names do not matter) under a second keyed
function, and a table the sum of its rows (so their order does not, and a row that occurs twice counts twice).
Beside this sum of whole rows there is one for each column left out: of what remains of the rows without it. They
recognize a table with a column more, less or other, and rows whose cells were exchanged between columns, which the sum
of whole rows cannot. Another sum has every cell under its column's name: it is the same for the same table only. The
last one is that again with cells as they are spelled, where 1, 1.0 and 01 are three strings: it recognizes the very
rows that an earlier release was made of. Sums are integers of 4 times 32 bits that do not wrap around: two different
multisets have the same one with probability 2**-128.

The tags of the rows are counted into the bins of sketches, of which one bit a bin is kept (`anonkit.ledger.sketch`). So
are those of the rows in subsets of the columns (`anonkit.ledger.fingerprint`): a version of the table that has lost
two of them is known by what is left.

Subsets of a table's columns, by their names alone: a later version that has lost columns has some of them whole.

Each column is in three eighths of the subsets, which a keyed tag of its name says, so that the same columns are in the
same subsets of every table. A subset without the columns that were dropped is there in both versions: of two dropped
columns two fifths of the subsets are. All columns together are a subset, too, and of few columns every two are left out
once. Names are compared without case, accents, blanks and marks.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.documents import ParamsPart
from anonkit.domains.cell_values import cell_keys
from anonkit.ledger.sketch import BINS, LANES, KeyedTags, Sketch, Tags, binned, sketch_of

if TYPE_CHECKING:
    from anonkit.protocols import Engine, Source


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


_DIGEST = 16
_ROWS_AT_ONCE = 1 << 12
_PART = LANES + BINS
"""Sums that rows, or parts of rows, give: their tags, their bins."""
_LEAST_COLUMNS = 2
"""Columns of which a mark of a part of the rows is made at least: one alone could be guessed with the key."""
_LEAST_ALIKE = 2
"""Columns of nearly unique values that two tables must share, when their rows are not alike."""


class Likeness(Enum):
    """The resemblance of two tables, closest first."""

    SAME = "the same table"
    RENAMED = "the same rows under other names of columns"
    ONE_COLUMN = "the same rows with one column more, less or other"
    ROWS = "rows in common"
    PARTS = "rows in common, in part of the columns"
    PEOPLE = "people in common"
    COLUMNS = "columns in common"
    NONE = "nothing that can be seen"

    @property
    def is_same(self) -> bool:
        """True when every row is the same, names of columns apart."""
        return self in (Likeness.SAME, Likeness.RENAMED)


_NOT_IN_OLDER: Mapping[str, Any] = {"spelled": "", "names": [], "subset_sketches": {}}
"""Keys that entries of older versions lack."""


@dataclass(frozen=True, kw_only=True)
class Fingerprint(ParamsPart):
    """The marks by which a table is recognized.

    Privacy
    -------
    Without the key all of it is random numbers. Who has file and key can test a guess of the *whole* table, or of the
    whole table without one column. Of rows and columns there is one bit a bin only, set by all rows that fall into it:
    for a row that can be spelled out in full it gives next to no evidence in tables of some hundred rows or more.
    Single columns have a sketch only when nearly all their values are different; columns of few values have no mark of
    their own.
    """

    form: ClassVar[int] = 2
    """As which the ledger keeps it."""
    rows: int
    exact: bytes
    """Rows with the names of their columns, 16 bytes."""
    whole: bytes
    """Rows, names apart, 16 bytes."""
    without: tuple[bytes, ...] = ()
    """Rows without one column each, names apart, sorted, 16 bytes each."""
    named_sketch: Sketch | None = None
    """Of the rows with the names of their columns; None in tables of few rows."""
    row_sketches: tuple[Sketch, ...] = ()
    """Of the rows, and of the rows without one column each, names apart."""
    column_sketches: tuple[Sketch, ...] = ()
    """Sketches of the columns whose values are nearly all different, in an order that discloses none."""
    spelled: bytes = b""
    """Rows with the names of their columns, cells as they are spelled, 16 bytes; empty in entries of older versions."""
    names: frozenset[bytes] = frozenset()
    """Keyed tags of the columns' names, 16 bytes each; none in entries of older versions."""
    subset_sketches: Mapping[bytes, Sketch] = field(default_factory=dict)
    """Of the rows in subsets of the columns, by the tag of the subset; none of subsets with a column whose values are
    nearly all different, and none in entries of older versions."""

    def to_bytes(self) -> bytes:
        """Return its bytes in the ledger, which has the number of rows beside them."""
        document = self.to_params()
        del document["rows"]
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, rows: int, raw: bytes) -> Fingerprint:
        """Read it back."""
        return cls.from_params({"rows": rows, **_NOT_IN_OLDER, **json.loads(raw)})

    def is_same_as(self, other: object) -> bool:
        """Return True if both are of the same table: rows, and names of columns."""
        return isinstance(other, Fingerprint) and self.exact == other.exact

    def likeness(self, other: Fingerprint) -> Likeness:
        """Return the resemblance of two tables; the same from either side."""
        if self.exact == other.exact:
            return Likeness.SAME
        if self.whole == other.whole and self.without == other.without:
            return Likeness.RENAMED
        # With the same whole rows but other parts, cells were exchanged between columns.
        mine, others = {self.whole, *self.without}, {other.whole, *other.without}
        if mine & others:
            return Likeness.ONE_COLUMN
        named = [(self.named_sketch, other.named_sketch)] if self.named_sketch and other.named_sketch else []
        if any(first.is_like(two) for first, two in [*named, *product(self.row_sketches, other.row_sketches)]):
            return Likeness.ROWS
        if self._is_like_in_part(other):
            return Likeness.PARTS
        shared = sum(any(first.is_like(two) for two in other.column_sketches) for first in self.column_sketches)
        back = sum(any(first.is_like(two) for two in self.column_sketches) for first in other.column_sketches)
        return Likeness.COLUMNS if min(shared, back) >= _LEAST_ALIKE else Likeness.NONE

    def _is_like_in_part(self, other: Fingerprint) -> bool:
        """Return True if both have the same columns up to two on either side, and rows in common in some of them."""
        if max(len(self.names - other.names), len(other.names - self.names)) > MOST_DROPPED:
            return False
        both = self.subset_sketches.keys() & other.subset_sketches.keys()
        return any(self.subset_sketches[tag].is_like(other.subset_sketches[tag]) for tag in both)


def fingerprint(table: Source, engine: Engine, key: bytes) -> Fingerprint:
    """Return the fingerprint of a table, from one pass over all rows.

    Parameters
    ----------
    table : Source
        Canonical rows.
    engine : Engine
        Whose table it is: executors add up what their rows give.
    key : bytes
        Secret, 32 bytes.
    """
    names = table.schema.names
    tags = name_tags(names, key)
    subsets = column_subsets(tags)
    marks = RowMarks(key=key, names=tuple(names), subsets=subsets)
    sums = engine.add_up(table, marks, names, marks.size)
    n_rows = int(sums[0])
    of_rows, of_columns, spelled = np.split(sums[1:], [marks.n_row_parts * _PART, marks.size - 1 - LANES])
    named, whole, *parts = of_rows.reshape(-1, _PART)
    parts, of_subsets = parts[: len(parts) - len(subsets)], parts[len(parts) - len(subsets) :]
    # sorted by digest, so that the order of the columns leaves no trace
    without = sorted(((_digest(key, n_rows, part), at) for at, part in enumerate(parts)))
    sketches = [sketch_of(part[LANES:], n_rows) for part in (named, whole, *(parts[at] for _, at in without))]
    in_columns = [sketch_of(counts[1:], int(counts[0])) for counts in of_columns.reshape(-1, 1 + BINS)]
    # numbers of rows are in every table: with them, rows of different people would agree in any column of few values
    in_subsets = {
        subset_tag([tags[at] for at in subset]): sketch_of(part[LANES:], n_rows)
        for subset, part in zip(subsets, of_subsets, strict=True)
        if not any((portion := in_columns[at]) is not None and portion.is_nearly_unique for at in subset)
    }
    unique = [portion for portion in in_columns if portion is not None and portion.is_nearly_unique]
    return Fingerprint(
        rows=n_rows,
        exact=_digest(key, n_rows, named, _every_name(names)),
        whole=_digest(key, n_rows, whole),
        without=tuple(mark for mark, _ in without),
        named_sketch=sketches[0],
        row_sketches=tuple(portion for portion in sketches[1:] if portion is not None),
        column_sketches=tuple(sorted(unique, key=lambda portion: portion.bits)),
        spelled=_spelled_digest(key, n_rows, spelled, names),
        names=frozenset(tags),
        subset_sketches={tag: portion for tag, portion in sorted(in_subsets.items()) if portion is not None},
    )


SpelledRows = Callable[[bytes], bytes]
"""Given the key of a ledger: `Fingerprint.spelled` of a table."""


def spelled_rows(table: Source, engine: Engine, key: bytes) -> bytes:
    """Return `Fingerprint.spelled` of a table alone, for a fraction of the work; parameters as for `fingerprint`."""
    names = table.schema.names
    sums = engine.add_up(table, SpelledMarks(key=key, names=tuple(names)), names, 1 + LANES)
    return _spelled_digest(key, int(sums[0]), sums[1:], names)


def _spelled_digest(key: bytes, n_rows: int, spelled: NDArray[np.int64], names: Sequence[str]) -> bytes:
    return _digest(key, n_rows, spelled, f"spelled\n{_every_name(names)}")


def _every_name(names: Sequence[str]) -> str:
    """Return the names of all columns, in an order of their own."""
    return "\n".join(sorted(map(repr, names)))


def _digest(key: bytes, n_rows: int, part: NDArray[np.int64], names: str = "") -> bytes:
    """Return the digest of a sum."""
    text = json.dumps([n_rows, [int(lane) for lane in part[:LANES]], names])
    return hashlib.blake2b(text.encode(), key=key, digest_size=_DIGEST, person=b"table").digest()


@dataclass(frozen=True, kw_only=True)
class RowMarks:
    """Contribution of the rows of a batch to the fingerprint: pure and picklable, a function of the cells alone.

    The sums are: rows; for rows with the names of their columns, for rows, for rows without each column, and for rows
    in each subset of the columns: tags and bins; for each column: cells that are not missing, bins; for rows with the
    names of their columns, cells as they are spelled: tags.
    """

    key: bytes = field(repr=False)
    names: tuple[str, ...]
    subsets: tuple[tuple[int, ...], ...] = ()
    """Places of the columns of each."""

    @property
    def n_row_parts(self) -> int:
        """Rows with names, rows without, rows without each column where enough others are left, rows in each subset."""
        return 2 + (len(self.names) if len(self.names) > _LEAST_COLUMNS else 0) + len(self.subsets)

    @property
    def size(self) -> int:
        """Sums of a fingerprint."""
        return 1 + self.n_row_parts * _PART + len(self.names) * (1 + BINS) + LANES

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the sums over a batch, shape (size,)."""
        of_rows, of_named_rows = KeyedTags(self.key, "row"), KeyedTags(self.key, "named row")
        n_rows, cells = batch.num_rows, cells_of(batch, self.names, self.key)
        whole: NDArray[np.uint64] = np.zeros((n_rows, LANES), dtype=np.uint64)
        for column in cells:
            whole += column.tags[column.codes]
        named, otherwise = named_sums(cells, self.names, self.key, n_rows)
        of_named_row = of_named_rows.of_sums(named)
        sums = [np.array([n_rows]), *_marked(of_named_row), *_marked(of_rows.of_sums(whole))]
        if len(cells) > _LEAST_COLUMNS:
            for column in cells:
                sums += _marked(of_rows.of_sums(whole - column.tags[column.codes]))
        sums += self._of_subsets(cells, n_rows)
        for column in cells:
            sums += column.marked()
        # most tables spell every cell in its one form: then these are the rows that are known already
        spelled = of_named_row if otherwise is None else of_named_rows.of_sums(named + otherwise)
        sums.append(spelled.sum(axis=0, dtype=np.int64))
        return np.concatenate(sums).astype(np.int64)

    def _of_subsets(self, cells: Sequence[_TaggedCells], n_rows: int) -> list[NDArray[np.int64]]:
        """Return the sums of the rows in each subset, a few rows at a time: what is added up stays near."""
        of_parts, sums = KeyedTags(self.key, "part of row"), [np.zeros(LANES + BINS, np.int64) for _ in self.subsets]
        for start in range(0, n_rows if self.subsets else 0, _ROWS_AT_ONCE):
            tags = np.stack([column.tags[column.codes[start : start + _ROWS_AT_ONCE]] for column in cells])
            for at, subset in enumerate(self.subsets):
                # modulo 2**32: of a row there are far fewer cells than it takes to come around to the same sum
                in_part = tags[list(subset)].sum(axis=0, dtype=np.uint32)
                sums[at] += np.concatenate(_marked(of_parts.of_tags(in_part)))
        return sums


@dataclass(frozen=True, kw_only=True)
class SpelledMarks:
    """Contribution of a batch's rows to `Fingerprint.spelled`: the first and the last of the sums of `RowMarks`."""

    key: bytes = field(repr=False)
    names: tuple[str, ...]

    def __call__(self, batch: pa.RecordBatch, row: int) -> NDArray[np.int64]:
        """Return the sums over a batch, shape (1 + LANES,): rows, and the tags of rows as they are spelled."""
        cells = cells_of(batch, self.names, self.key)
        named, otherwise = named_sums(cells, self.names, self.key, batch.num_rows)
        spelled = KeyedTags(self.key, "named row").of_sums(named if otherwise is None else named + otherwise)
        return np.concatenate([[batch.num_rows], spelled.sum(axis=0, dtype=np.int64)]).astype(np.int64)


def cells_of(batch: pa.RecordBatch, names: Sequence[str], key: bytes) -> list[_TaggedCells]:
    """Return the tags of the cells of some columns."""
    of_cells = KeyedTags(key, "cell")
    return [_TaggedCells.of(batch.column(name), of_cells) for name in names]


def named_sums(
    cells: Sequence[_TaggedCells], names: Sequence[str], key: bytes, n_rows: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64] | None]:
    """Return the sums of the rows' cells under the names of their columns, shape (n_rows, LANES).

    And what is added to them where cells are spelled otherwise than in their one form; None where none is.
    """
    of_named = KeyedTags(key, "named cell")
    named: NDArray[np.uint64] = np.zeros((n_rows, LANES), dtype=np.uint64)
    otherwise: NDArray[np.uint64] | None = None
    for column, name in zip(cells, of_named.of_texts(pa.array(names, pa.string())), strict=True):
        of_column = of_named.of_tags(column.tags ^ name)
        named += of_column[column.codes]
        if column.spelled is not None:
            changed = (of_named.of_tags(column.spelled ^ name).astype(np.uint64) - of_column)[column.codes]
            otherwise = changed if otherwise is None else otherwise + changed
    return named, otherwise


@dataclass(frozen=True, kw_only=True, eq=False)
class _TaggedCells:
    """One column of a batch: the tags of its distinct cells, and the index of each row's tag."""

    tags: Tags
    codes: NDArray[np.int64]
    missing: NDArray[np.bool_]
    """True for each tag of a missing cell, shape (n_tags,)."""
    spelled: Tags | None
    """Tags of the cells as they are spelled; None where all are spelled in their one form, as numbers always are."""

    @classmethod
    def of(cls, array: pa.Array, tags: KeyedTags) -> _TaggedCells:
        encoded = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
        values, no_cell = encoded.dictionary, pa.nulls(1, pa.string())
        keys = pa.concat_arrays([cell_keys(values), no_cell])
        texts = pa.concat_arrays([values, no_cell]) if pa.types.is_string(values.type) else keys
        codes = encoded.indices.fill_null(len(keys) - 1).to_numpy(zero_copy_only=False)
        return cls(
            tags=tags.of_texts(keys),
            codes=codes.astype(np.int64),
            missing=keys.is_null().to_numpy(zero_copy_only=False),
            spelled=None if texts.equals(keys) else tags.of_texts(texts),
        )

    def marked(self) -> list[NDArray[np.int64]]:
        """Return the number of cells that are not missing, and their bins."""
        counts = np.bincount(self.codes, minlength=len(self.tags)) * ~self.missing
        return [np.array([counts.sum()]), binned(self.tags, counts)]


def _marked(tags: Tags) -> list[NDArray[np.int64]]:
    """Return the sum of the tags of rows, and their bins."""
    return [tags.sum(axis=0, dtype=np.int64), binned(tags)]


def closest(likenesses: Sequence[Likeness]) -> Likeness:
    """Return the closest of several likenesses."""
    order = list(Likeness)
    return min(likenesses, key=order.index, default=Likeness.NONE)
