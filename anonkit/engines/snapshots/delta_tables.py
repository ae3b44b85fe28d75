# SPDX-License-Identifier: Apache-2.0
"""Delta Lake tables: the rows of one version, read by `deltalake`, without those that were deleted or replaced.

Deletion vectors and renamed columns are honoured. A table that asks its readers for anything else is refused: what a
reader does not know may be what marks a row as deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable
from anonkit.engines.snapshots.private_copies import written_copy
from anonkit.errors import MissingDependencyError, SourceError

_FEATURES = frozenset({"columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Reader features (Delta transaction log protocol) that the tests read by; `columnMapping` is that of readers of 2."""
_LISTED_SINCE = 3
"""Version of the reader protocol from which a table lists its features by name."""


def lake_table_at(folder: Path | str, named: str, version: int | None) -> DeltaFolder:
    """Return the table of a folder, or of a place in an object store, in one version: None for the latest."""
    return DeltaFolder(folder=str(folder), named=named, version=version)


@dataclass(frozen=True, kw_only=True, repr=False)
class DeltaFolder:
    """A Delta table; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    folder: str
    named: str
    version: int | None

    def copy(self, folder: Path) -> FileTable:
        """Read the rows of one version; later ones are not seen.

        Raises
        ------
        SourceError
            There is no such version, a file of it is missing, or it asks for what the library does not read.
        MissingDependencyError
            The library is not installed.
        """
        try:
            import deltalake
            from deltalake.exceptions import DeltaError
        except ImportError:
            raise MissingDependencyError.of_extra("the reader of Delta Lake", "lake") from None
        foreign = (DeltaError, *FOREIGN)
        table = shielded(lambda: deltalake.DeltaTable(self.folder, version=self.version), self._absent, foreign)
        self._refuse_unknown(shielded(table.protocol, self._absent, foreign))
        reader: Any = shielded(lambda: pa.RecordBatchReader.from_stream(table.scan()), self._broken, foreign)

        def batches() -> Iterator[pa.RecordBatch]:
            while (batch := shielded(lambda: next(reader, None), self._broken, foreign)) is not None:
                yield batch

        return written_copy(batches(), reader.schema, folder, self.named)

    def _refuse_unknown(self, protocol: Any) -> None:
        needed = set(protocol.reader_features or ())
        unknown = sorted(needed - _FEATURES) if protocol.min_reader_version >= _LISTED_SINCE else []
        if unknown or protocol.min_reader_version > _LISTED_SINCE:
            features = ", ".join(unknown) or f"version {protocol.min_reader_version} of the reader protocol"
            raise SourceError(
                f"{self.named!r} asks its readers for {features}, which is not read here",
                "let the tool that keeps the table write a snapshot of it as plain Parquet, and release that",
            )

    def _absent(self, error: Exception) -> SourceError:
        which = "a readable table" if self.version is None else f"a version {self.version} that can be read"
        return SourceError(f"{self.named!r} has no {which[2:]}", _hint(error))

    def _broken(self, error: Exception) -> SourceError:
        return SourceError(f"{self.named!r} cannot be read to its last row", _hint(error))


def _hint(error: Exception) -> str:
    words = str(error).lower()
    if "not found" in words or "no such file" in words:
        return "were files of it removed (vacuum)?"
    if any(word in words for word in ("denied", "forbidden", "credential", "unauthorized", "signature")):
        return "may you read its files, and the store behind them?"
    return "the tool that keeps the table tells more"
