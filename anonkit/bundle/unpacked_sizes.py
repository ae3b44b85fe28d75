# SPDX-License-Identifier: Apache-2.0
"""Workbooks before they are unpacked: 1 MB may become gigabytes."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

from anonkit.bundle.size_limits import FREELY_UNPACKED, MOST_OF_WORKBOOK, MOST_PACKING, MOST_UNPACKED
from anonkit.errors import SourceError

_HELD = ("sharedstrings", "styles", "workbook", "content.xml", "[content_types]")
"""Members that readers hold whole, by a part of their names in small letters; rows of a sheet they stream."""


def refuse_unpacked(path: Path, shown: str) -> None:
    """Refuse a workbook that unpacks into more than a table can be; one that is no archive is passed over.

    What an archive states of its members is believed: whoever unpacks one stops there, and finds it damaged if it is
    longer.

    Parameters
    ----------
    path : Path
    shown : str
        What it is called when it is refused.

    Raises
    ------
    SourceError
    """
    if not is_zipfile(path):
        return
    try:
        with ZipFile(path) as archive:
            members = {member.filename.lower(): member.file_size for member in archive.infolist()}
    except (BadZipFile, OSError, ValueError, NotImplementedError):  # whoever reads it says so
        return
    packed, unpacked = path.stat().st_size, sum(members.values())
    held = max((size for name, size in members.items() if any(part in name for part in _HELD)), default=0)
    if unpacked > MOST_OF_WORKBOOK or held > MOST_UNPACKED or unpacked > FREELY_UNPACKED + MOST_PACKING * packed:
        raise SourceError(
            f"{shown} unpacks from {packed:,} bytes into {unpacked:,}, which no workbook of a table does",
            "save it as CSV, or in parts, if it is yours",
        )
