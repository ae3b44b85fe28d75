# SPDX-License-Identifier: Apache-2.0
"""New key-value metadata for a Parquet file: row groups are copied unchanged, only the footer is rewritten."""

from __future__ import annotations

import base64
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.bundle.data_files import file_digest
from anonkit.engines.reading.failures import shielded
from anonkit.errors import EngineError

_TYPES_KEY = b"ARROW:schema"  # where Arrow looks for the types that Parquet itself lacks
_TAIL = 8  # a Parquet file ends in the length of its footer, 4 bytes, and 4 letters
_HEAD = 4


def relabelled(source: Path, path: Path, metadata: Mapping[str, str]) -> int:
    """Copy a Parquet file of an engine and give it metadata; return the number of rows.

    Encoding and compressing the rows a second time would take as long as writing them did.

    Raises
    ------
    EngineError
        The file cannot be read or written; the copy is deleted then.
    """
    try:
        rows, footer, start = shielded(lambda: _footer(source, metadata), _failed)
        shielded(lambda: _copy(source, path, start, footer), _failed)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return rows


@dataclass(frozen=True, kw_only=True)
class RelabelInto:
    """Copies files into a folder with metadata, each under another name first: a task may run twice."""

    folder: Path
    metadata: Mapping[str, str]

    def __call__(self, part: Path) -> tuple[int, str]:
        """Return the number of rows of the copy, and the SHA-256 of its file; see `relabelled`."""
        target, aside = self.folder / part.name, self.folder / f".{uuid.uuid4().hex}"
        try:
            n_rows = relabelled(part, aside, self.metadata)
            shielded(partial(os.replace, aside, target), _failed)
        finally:
            aside.unlink(missing_ok=True)
        return n_rows, shielded(partial(file_digest, target), _failed)


def _footer(source: Path, metadata: Mapping[str, str]) -> tuple[int, bytes, int]:
    """Return the number of rows, the new footer with its tail, and where the old one begins."""
    with pq.ParquetFile(source) as file:
        old, plain = file.metadata, file.schema.to_arrow_schema().remove_metadata()
    labels: dict[Any, Any] = dict(metadata)
    types = (old.metadata or {}).get(_TYPES_KEY)
    if types is not None:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(types)))
        labels[_TYPES_KEY] = base64.b64encode(schema.with_metadata(dict(metadata)).serialize().to_pybytes())
    empty, written = pa.BufferOutputStream(), pa.BufferOutputStream()
    with pq.ParquetWriter(empty, plain, compression="zstd", version="2.6", store_schema=False) as writer:
        writer.add_key_value_metadata(labels)
    new = pq.read_metadata(pa.BufferReader(empty.getvalue()))
    new.append_row_groups(old)
    new.write_metadata_file(written)
    with source.open("rb") as raw:
        size = raw.seek(-_TAIL, 2) + _TAIL
        length = int.from_bytes(raw.read(4), "little")
    return new.num_rows, written.getvalue().to_pybytes()[_HEAD:], size - _TAIL - length


def _copy(source: Path, path: Path, n_bytes: int, footer: bytes) -> None:
    """Copy the first bytes of a file and append a footer."""
    with source.open("rb") as raw, path.open("wb") as copy:
        shutil.copyfileobj(raw, copy, 1 << 20)
        copy.truncate(n_bytes)
        copy.seek(n_bytes)
        copy.write(footer)


def _failed(error: Exception) -> EngineError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "the disk may be full"
    return EngineError(f"cannot copy the checked rows to their place: {reason}")
