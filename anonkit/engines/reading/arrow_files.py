# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC: files (Feather, version 2) and streams, each also compressed inside or as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.ipc

from anonkit.engines.reading.batches import sliced
from anonkit.engines.reading.canonical import canonical_batches, canonical_schema
from anonkit.engines.reading.failures import shielded, shielded_iterator
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.reading.frames import CanonicalStream
from anonkit.engines.reading.names import check_names
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

_FILE = b"ARROW1"
_OLD_FEATHER = b"FEA1"
_END = b"\xff\xff\xff\xff\0\0\0\0"
_PART = 1 << 20  # bytes looked at a time


def open_arrow(table: FileTable, policy: Policy) -> CanonicalStream:
    """Open a file of Arrow IPC, which may be a file or a recorded stream.

    Raises
    ------
    SourceError
        It is neither, is damaged, or has a column of a type anonkit does not take.
    """

    def broken(_: Exception) -> SourceError:
        return SourceError(f"{table.shown} is not a whole file of Arrow IPC", "was it copied to its end?")

    start = shielded(lambda: _start(table), broken)
    if start.startswith(_OLD_FEATHER):
        raise SourceError(f"{table.shown} is Feather of version 1", "write it as version 2, which is Arrow IPC")
    if not start.startswith(_FILE) and not shielded(lambda: _is_ended(table), broken):
        raise broken(EOFError())  # between two batches the library takes a cut for the end
    schema = shielded(lambda: next(_batches(table, start)), broken)
    check_names(schema.names)
    wanted = canonical_schema(schema)

    def rows() -> Iterator[pa.RecordBatch]:
        stream = _batches(table, start)
        next(stream)
        yield from stream

    batches = sliced(shielded_iterator(rows(), broken))
    return CanonicalStream(schema=wanted, batches=canonical_batches(batches, wanted, safe=not policy.cell_by_cell))


def _start(table: FileTable) -> bytes:
    with pa.input_stream(str(table.path), compression=table.compression) as stream:
        start: bytes = stream.read(len(_FILE))
        return start


def _is_ended(table: FileTable) -> bool:
    """Return True if a stream ends with the mark that its writer puts there when it is done."""
    end = b""
    with pa.input_stream(str(table.path), compression=table.compression) as stream:
        if table.compression is None:
            stream.seek(max(stream.size() - len(_END), 0))
        while part := stream.read(_PART):
            end = (end + part)[-len(_END) :]
    return end == _END


def _batches(table: FileTable, start: bytes) -> Iterator[pa.Schema | pa.RecordBatch]:
    """Yield the schema, then the batches one by one; a file in a compressed one is read as the stream inside it."""
    if start.startswith(_FILE) and table.compression is None:
        with pa.memory_map(str(table.path)) as source, pa.ipc.open_file(source) as file:
            yield file.schema
            for number in range(file.num_record_batches):
                yield file.get_batch(number)
        return
    with pa.input_stream(str(table.path), compression=table.compression) as source:
        if start.startswith(_FILE):
            source.read(_PADDED)
        with pa.ipc.open_stream(source) as stream:
            yield stream.schema
            yield from stream


_PADDED = 8  # the magic bytes of a file, with what aligns the stream after them
