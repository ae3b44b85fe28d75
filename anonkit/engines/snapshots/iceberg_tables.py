# SPDX-License-Identifier: Apache-2.0
"""Apache Iceberg tables: the rows of one snapshot, read by `pyiceberg`, without those that were deleted or replaced.

Position deletes and deletion vectors are honoured; equality deletes, which the library does not apply, are refused.
A folder has no catalog that records the state of its table: it is read at its newest metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from anonkit.engines.reading.failures import FOREIGN, shielded
from anonkit.engines.reading.parquet_tables import FileTable
from anonkit.engines.snapshots.private_copies import written_copy
from anonkit.errors import MissingDependencyError, SourceError

_METADATA = "metadata"
_NAME = re.compile(r"(?:v(?P<of_folder>\d+)|(?P<of_catalog>\d+)-[^/]+?)(?:\.gz)?\.metadata\.json")
_PLAIN = "let the tool that keeps the table write a snapshot of it as plain Parquet, and release that"


def lake_table_at(folder: Path, named: str, snapshot: int | None) -> IcebergFolder:
    """Return the table of a folder in one snapshot: None for the current one."""
    return IcebergFolder(folder=folder, named=named, snapshot=snapshot)


@dataclass(frozen=True, kw_only=True, repr=False)
class IcebergFolder:
    """An Iceberg table; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    folder: Path
    named: str
    snapshot: int | None

    def copy(self, folder: Path) -> FileTable:
        """Read the rows of one snapshot; later ones are not seen.

        Raises
        ------
        SourceError
            There is no such snapshot, a file of it is missing, or it has deletes that the library does not apply.
        MissingDependencyError
            The library is not installed.
        """
        try:
            from pyiceberg.exceptions import ValidationError
            from pyiceberg.io import pyarrow as reading
            from pyiceberg.table import StaticTable
        except ImportError:
            raise MissingDependencyError.of_extra("the reader of Apache Iceberg", "lake") from None
        foreign = (ValidationError, NotImplementedError, AssertionError, *FOREIGN)
        path = shielded(self._newest_metadata, self._broken, foreign)
        table: Any = shielded(lambda: StaticTable.from_metadata(str(path)), self._broken, foreign)
        self._refuse_moved(table.metadata.location)
        if self.snapshot is not None and table.snapshot_by_id(self.snapshot) is None:
            raise SourceError(f"{self.named!r} has no snapshot {self.snapshot}", "leave it out for the current one")
        scan = table.scan(snapshot_id=self.snapshot)
        tasks = shielded(lambda: list(scan.plan_files()), self._broken, foreign)
        deletes = shielded(lambda: reading._read_all_delete_files(table.io, tasks), self._broken, foreign)
        self._refuse_unmatched([task.file.file_path for task in tasks], deletes)
        projected = scan.projection()
        rows = reading.ArrowScan(scan.table_metadata, table.io, projected, scan.row_filter)

        def batches() -> Iterator[pa.RecordBatch]:
            # the public way holds all batches of several files at once
            stream = rows._record_batches_from_scan_tasks_and_deletes(tasks, deletes)
            while (batch := shielded(lambda: next(stream, None), self._broken, foreign)) is not None:
                yield batch

        schema = shielded(lambda: reading.schema_to_pyarrow(projected, include_field_ids=False), self._broken, foreign)
        return written_copy(batches(), schema, folder, self.named)

    def _newest_metadata(self) -> Path:
        """Return the metadata of the highest number: `v3.metadata.json`, or `00003-….metadata.json` of a catalog."""
        numbered: dict[int, list[Path]] = {}
        for path in (self.folder / _METADATA).glob("*.metadata.json"):
            name = _NAME.fullmatch(path.name)
            if name is None:
                raise SourceError(f"{self.named!r} has metadata whose number is not in its name", _PLAIN)
            numbered.setdefault(int(name["of_folder"] or name["of_catalog"]), []).append(path)
        newest = numbered[max(numbered)]
        if len(newest) > 1:
            raise SourceError(
                f"{self.named!r} has {len(newest)} newest states: two programs wrote at once, and a catalog knows whose"
                " rows count",
                _PLAIN,
            )
        return newest[0]

    def _refuse_moved(self, location: str) -> None:
        """Refuse a copy of a table: its metadata names its files where they were, which may be others by now."""
        place = _local(location)
        if place is None or Path(place).resolve() != self.folder.resolve():
            raise SourceError(f"{self.named!r} was moved or copied: its metadata looks for its files elsewhere", _PLAIN)

    def _refuse_unmatched(self, files: list[str], deletes: Mapping[str, object]) -> None:
        """Refuse deletes that name a data file in other words than the table does: they would not be applied."""
        names = {_local(file) or file for file in files}
        exact = set(files)
        if any(name not in exact and (_local(name) or name) in names for name in deletes):
            raise SourceError(f"{self.named!r} has deletes that cannot be matched with its files", _PLAIN)

    def _broken(self, error: Exception) -> SourceError:
        words = str(error).lower()
        if "equality delete" in words:
            return SourceError(f"{self.named!r} has equality deletes, which pyiceberg does not apply", _PLAIN)
        return SourceError(
            f"{self.named!r} cannot be read to its last row", "were files of it removed, or is it newer than pyiceberg?"
        )


def _local(place: str) -> str | None:
    """Return the path of a place on this machine, however it is spelled; None elsewhere."""
    if "://" not in place and not place.startswith("file:"):
        return place
    parts = urlsplit(place)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None
