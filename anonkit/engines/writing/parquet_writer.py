# SPDX-License-Identifier: Apache-2.0
"""One Parquet file, written batch by batch; it is deleted again when anything fails."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.engines.reading.failures import FOREIGN, Explain, shielded
from anonkit.engines.reading.repetition import FOLDED, folded, repeating
from anonkit.errors import EngineError

_TYPES_KEY = "ARROW:schema"  # where Arrow looks for the types that Parquet itself lacks


def write_parquet(pieces: Iterable[pa.Table], schema: pa.Schema, path: Path, metadata: Mapping[str, str]) -> int:
    """Write the pieces of a table, at least one, each into row groups of its own; return the number of rows.

    Raises
    ------
    EngineError
        The file cannot be written.
    """
    file: _File | None = None
    try:
        for piece in pieces:
            file = file or _File(path, schema, metadata, piece)
            file.write(piece)
        assert file is not None  # noqa: S101 - there is at least one piece
        file.close()
    except BaseException:
        if file is not None:
            file.discard()
        raise
    return file.n_rows


class _File:
    """A Parquet file being written.

    Folded columns of strings are read back as strings: the types in the file's metadata are those of `schema`.
    """

    def __init__(self, path: Path, schema: pa.Schema, metadata: Mapping[str, str], first: pa.Table) -> None:
        self._path = path
        self._failed = cannot_write(path)
        self._repeating = repeating(first)
        handed = schema
        for at, column in enumerate(first.columns):
            if at in self._repeating or pa.types.is_dictionary(column.type):
                handed = handed.set(at, schema.field(at).with_type(FOLDED if at in self._repeating else column.type))
        types = schema.with_metadata(dict(metadata)).serialize().to_pybytes()
        self._metadata = {**metadata, _TYPES_KEY: base64.b64encode(types)}
        self._writer: Any = shielded(
            lambda: pq.ParquetWriter(
                path,
                handed,
                compression="zstd",
                version="2.6",
                store_schema=False,
                write_statistics=[field.name for field in handed if not pa.types.is_dictionary(field.type)],
            ),
            self._failed,
        )
        self.n_rows = 0

    def write(self, piece: pa.Table) -> None:
        """Append some rows."""
        if piece.num_rows:
            shielded(lambda: self._writer.write_table(folded(piece, self._repeating)), self._failed)
        self.n_rows += piece.num_rows

    def close(self) -> None:
        """Complete the file."""
        shielded(lambda: self._writer.add_key_value_metadata(self._metadata), self._failed)
        shielded(self._writer.close, self._failed)

    def discard(self) -> None:
        """Delete what was written."""
        with suppress(*FOREIGN):
            self._writer.close()
        self._path.unlink(missing_ok=True)


def cannot_write(path: Path) -> Explain:
    """Return a function that makes an error of ours of one that came while writing a file."""

    def explained(error: Exception) -> EngineError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "the disk may be full"
        return EngineError(f"cannot write {str(path)!r}: {reason}")

    return explained
