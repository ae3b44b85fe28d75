"""Arrow IPC: files, streams and Feather, compressed in any way, give the table that was written; damage is reported."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

from anonkit.errors import SourceError

TABLE = pa.table(
    {
        "age": pa.array([31, None, 53], pa.int64()),
        "zip": pa.array(["01234", "MARK", None]),
        "sex": pa.array(["f", "m", "f"]).dictionary_encode(),
        "seen": pa.array([1, 2, None], pa.timestamp("us")),
    }
)


def _written(path: Path, kind: str, compression: str | None) -> Path:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, make(file, TABLE.schema, options=options) as writer:
        for start in range(TABLE.num_rows):
            writer.write_table(TABLE.slice(start, 1))
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_file_or_a_stream_gives_what_was_written(
    tmp_path: Path, read: Any, kind: str, compression: str | None, packed: bool
) -> None:
    """Types, categories and missing cells come back, with buffers compressed or not, and the whole file too."""
    path = _written(tmp_path / "in.arrow", kind, compression)
    if packed:
        raw, path = path.read_bytes(), tmp_path / "in.arrow.gz"
        path.write_bytes(gzip.compress(raw))
    table = read(path)

    assert table.to_pydict() == TABLE.to_pydict()
    assert [str(field.type) for field in table.schema][::3] == ["int64", "timestamp[us]"]
    assert pa.types.is_dictionary(table.schema.field("sex").type)


def test_feather_is_read_and_its_first_version_refused(tmp_path: Path, read: Any) -> None:
    """Feather of version 2 is Arrow IPC; version 1 is refused with what to do."""
    path = tmp_path / "in.feather"
    pyarrow.feather.write_feather(TABLE, str(path))
    assert read(path).to_pydict() == TABLE.to_pydict()
    path.write_bytes(b"FEA1" + bytes(100))
    with pytest.raises(SourceError, match="version 1"):
        read(path)


@pytest.mark.parametrize("kind", ["file", "stream"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_a_file_cut_short_is_reported_without_its_cells(tmp_path: Path, read: Any, kind: str, share: float) -> None:
    """Lost batches are no smaller table."""
    path = _written(tmp_path / "in.arrow", kind, None)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SourceError, match="not a whole file of Arrow IPC") as refused:
        read(path)

    assert "MARK" not in repr(vars(refused.value)) + str(refused.value)


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_cut_between_two_batches_is_no_smaller_table(tmp_path: Path, read: Any, packed: bool) -> None:
    """A sender that dies after a whole batch leaves no mark of the end, and the table is refused."""
    path = _written(tmp_path / "in.arrow", "stream", None)
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        stream.read_next_batch()
        end = file.tell()
    raw = path.read_bytes()[:end]
    if packed:
        path = tmp_path / "in.arrow.gz"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with pytest.raises(SourceError, match="not a whole file of Arrow IPC"):
        read(path)


def test_a_nested_column_is_refused_by_name(tmp_path: Path, read: Any) -> None:
    """As in every other format."""
    path = tmp_path / "in.feather"
    pyarrow.feather.write_feather(pa.table({"q": [[1, 2]]}), str(path))
    with pytest.raises(SourceError, match="'q'"):
        read(path)
