# SPDX-License-Identifier: Apache-2.0
"""Delta Lake, Apache Hudi and Apache Iceberg tables: refused as plain Parquet, since their files hold deleted rows.

Such a table is what its log says, not what its Parquet files hold. Read as plain Parquet it would release people who
were deleted from it, and some of them twice. `anonkit.engines.snapshots.lake_tables` reads Delta and Iceberg tables by
their logs; no engine opens their files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from anonkit.errors import SourceError

LOGS = {"_delta_log": "Delta Lake", ".hoodie": "Apache Hudi"}
"""Folder in which a table keeps its log, and whose table that is."""
_ICEBERG = "metadata"
_HINT = "let the tool that keeps the table write a snapshot of it as plain Parquet, and release that"


def refuse_lake_table(path: Path) -> None:
    """Refuse a file or folder that is a lake table, is a part of one, or has one below it.

    Parameters
    ----------
    path : Path
        A Parquet file, or a folder of them.

    Raises
    ------
    SourceError
        It is; says whose table it is.
    """
    whole = path.resolve()
    for folder in (whole, *whole.parents):
        kind = kind_of_folder(folder)
        if kind is not None:
            raise lake_table(str(path), kind, "is" if folder == whole else "is a part of")
    for below in whole.rglob("*") if whole.is_dir() else ():
        kind = kind_of_folder(below) if below.is_dir() else None
        if kind is not None:
            raise lake_table(str(path), kind, "holds")


def kind_of_folder(folder: Path) -> str | None:
    """Return the format of the lake table in a folder; None for an ordinary one."""
    for log, kind in LOGS.items():
        if (folder / log).is_dir():
            return kind
    if any((folder / _ICEBERG).glob("*.metadata.json")):
        return "Apache Iceberg"
    return None


def refuse_lake_place(place: str, has: Callable[[str], bool]) -> None:
    """Refuse a place that only an engine can see, when it has the log of a lake table in it.

    Parameters
    ----------
    place : str
        Such as `s3a://bucket/people`.
    has : callable
        Returns whether there is something at a place.

    Raises
    ------
    SourceError
        It is a lake table.
    """
    for log, kind in {**LOGS, f"{_ICEBERG}/*.metadata.json": "Apache Iceberg"}.items():
        if has(f"{place.rstrip('/')}/{log}"):
            raise lake_table(place, kind, "is")


def lake_table(place: str, kind: str, how: str) -> SourceError:
    """Return the refusal of a lake table."""
    return SourceError(
        f"{place!r} {how} a table of {kind}: its files hold rows that were deleted or replaced since", _HINT
    )
