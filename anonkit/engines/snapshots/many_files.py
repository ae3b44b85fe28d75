# SPDX-License-Identifier: Apache-2.0
"""Many files as one table: a pattern of paths, or a folder of text files, whose columns agree by name.

Files are taken in the order of their names. Those of text are copied once; those of Parquet are read in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from anonkit.bundle.header_lines import refuse_record
from anonkit.engines.reading.delimited import CellTexts, TextFile, cell_texts_of, first_rows
from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.parquet_tables import FileTable, data_files, refuse_lake_table
from anonkit.engines.reading.preambles import GivenLayout
from anonkit.engines.snapshots.addresses import (
    TEXT_FORMATS,
    SourceAddress,
    compression_of_name,
    files_found,
    format_of_name,
)
from anonkit.engines.snapshots.private_copies import new_file, text_copy
from anonkit.errors import SourceError, did_you_mean
from anonkit.policy.declaration import Policy
from anonkit.policy.side_files import UTF8, encoding_named

_PART = 1 << 20  # bytes copied at a time
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ONE_FORMAT = "a folder or pattern is of one format: CSV, TSV, JSON Lines or Parquet"


def live_table(address: SourceAddress, policy: Policy) -> ManyFiles | FileTable:
    """Return the table that the files make together.

    Raises
    ------
    SourceError
        There is no such file, or they are of different formats.
    """
    address.refuse("query", "sheet", "header_row", of="files of text or Parquet")
    folder = Path(address.place)
    found = shielded(
        lambda: data_files(folder) if folder.is_dir() else files_found(address.place),
        lambda _: SourceError(f"{address.shown} cannot be examined"),
    )
    if not found:
        raise SourceError(f"{address.shown} matches no file")
    kinds = [address.format or format_of_name(path.name) for path in found]
    kind = kinds[0]
    odd = next((path for path, other in zip(found, kinds, strict=True) if other != kind), None)
    if odd is not None:
        raise SourceError(f"{str(odd)!r} is of another format than {str(found[0])!r}", _ONE_FORMAT)
    if kind == "parquet":
        address.refuse("header", "names", "delimiter", "skip_rows", of="files of Parquet")
        for path in found:
            refuse_lake_table(path)
        return FileTable(paths=found, format=kind, named=address.place)
    if kind not in TEXT_FORMATS:
        raise SourceError(f"files such as {str(found[0])!r} are not read together", _ONE_FORMAT)
    if folder.is_dir() and any("=" in part for path in found for part in path.relative_to(folder).parts[:-1]):
        raise SourceError(
            f"the text files of {address.shown} have keys in their paths", "write the keys into the files"
        )
    encoding = encoding_named(policy.encoding)
    files = [TextFile(str(path), compression_of_name(path.name), encoding) for path in found]
    if kind == "jsonl":
        address.refuse("header", "names", "delimiter", "skip_rows", of="files of JSON Lines")
    return ManyFiles(address=address, format=kind, files=files, policy=policy)


@dataclass(frozen=True, kw_only=True)
class ManyFiles:
    """Text files of one format, in order."""

    address: SourceAddress
    format: str
    files: Sequence[TextFile]
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy the rows of all files. See `anonkit.engines.snapshots.dispatch.LiveTable`."""
        if self.format == "jsonl":
            return self._lines(folder)
        found = self._cells_among_names()
        opened = [cell_texts_of(file, self.format, self._layout) for file in self.files]
        names = opened[0].names
        for file, texts in zip(self.files, opened, strict=True):
            _refuse_other_columns(file, texts.names, self.files[0], names)
        copy = text_copy(folder, list(names), _rows(opened, names), self.address.place)
        return replace(copy, points=False, cells_among_names=found)

    @property
    def _layout(self) -> GivenLayout:
        address, policy = self.address, self.policy
        return GivenLayout(
            has_header=address.has_header,
            names=address.given_names,
            delimiter=address.delimiter,
            skip_rows=address.skip_rows,
            declared=frozenset(policy.columns),
            by_shape=policy.cell_by_cell,
        )

    def _cells_among_names(self) -> int:
        """Refuse files of which the first one begins with a record: the names of the others are compared with it."""
        if not self.address.is_looked_at:
            return 0
        names, columns, _ = first_rows(self.files[0], self.format, self._layout)
        return refuse_record(
            names,
            columns,
            shown=str(self.files[0]),
            cell_by_cell=self.policy.cell_by_cell,
            declared=frozenset(self.policy.columns),
        )

    def _lines(self, folder: Path) -> FileTable:
        path = new_file(folder, "rows.jsonl")
        with path.open("wb") as out:
            for file in self.files:
                for part in _parts(file):
                    out.write(part)
        return FileTable(paths=[path], format=self.format, named=self.address.place, encoding=UTF8)


def _rows(opened: Sequence[CellTexts], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for texts in opened:
        for batch in texts.batches():
            yield batch.select(list(names))


def _refuse_other_columns(file: TextFile, names: Sequence[str], first: TextFile, wanted: Sequence[str]) -> None:
    """Refuse a file whose columns are not those of the first one, in whatever order.

    Raises
    ------
    SourceError
        Names the file and one of the columns.
    """
    lacking = next((name for name in wanted if name not in names), None)
    if lacking is not None:
        raise SourceError(f"{file} lacks column {lacking!r}, which {first} has", did_you_mean(lacking, names))
    added = next((name for name in names if name not in wanted), None)
    if added is not None:
        raise SourceError(f"{file} has column {added!r}, which {first} lacks", did_you_mean(added, wanted))


def _parts(file: TextFile) -> Iterator[bytes]:
    """Yield the bytes of a file in UTF-8, with a line end after its last line."""
    last = b"\n"
    with shielded(file.open, file.broken) as stream:
        start = True
        while part := shielded(lambda: stream.read(_PART), file.broken):
            yield part.removeprefix(_BYTE_ORDER_MARK) if start else part
            start, last = False, part[-1:]
    if last != b"\n":
        yield b"\n"
