"""Lake tables of the tests: written by their own libraries, and by hand where these do not write a form they read."""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def delta_with_vector(
    folder: Path, rows: pa.Table, deleted: Sequence[int], *features: str, renamed: bool = False
) -> Path:
    """Write a Delta table whose only file has an inline deletion vector (Delta transaction log protocol).

    With `renamed` its columns are called otherwise in the file (column mapping by name).
    """
    (folder / "_delta_log").mkdir(parents=True)
    stored = [f"column-{at}" for at in range(rows.num_columns)] if renamed else rows.column_names
    pq.write_table(rows.rename_columns(stored), folder / "part.parquet")
    vector = _bitmap_array(deleted)
    fields = [
        {
            "name": name,
            "type": "long",
            "nullable": True,
            "metadata": {_MAPPED + "id": at, _MAPPED + "physicalName": stored[at]} if renamed else {},
        }
        for at, name in enumerate(rows.column_names)
    ]
    listed = ["deletionVectors", *(["columnMapping"] if renamed else []), *features]
    mapping = {_MAPPED + "mode": "name", _MAPPED + "maxColumnId": str(len(stored))} if renamed else {}
    actions: list[dict[str, Any]] = [
        {"protocol": {**_VERSIONS, "readerFeatures": listed, "writerFeatures": listed}},
        {
            "metaData": {
                "id": str(uuid.uuid4()),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": [],
                "configuration": {"delta.enableDeletionVectors": "true", **mapping},
                "createdTime": 0,
            }
        },
        {
            "add": {
                "path": "part.parquet",
                "partitionValues": {},
                "modificationTime": 0,
                "dataChange": True,
                "size": (folder / "part.parquet").stat().st_size,
                "stats": json.dumps({"numRecords": rows.num_rows}),
                "deletionVector": {
                    "storageType": "i",
                    "pathOrInlineDv": _z85(vector),
                    "sizeInBytes": len(vector),
                    "cardinality": len(deleted),
                },
            }
        },
    ]
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text("\n".join(json.dumps(action) for action in actions), encoding="utf-8")
    return folder


_MAPPED = "delta.columnMapping."
_VERSIONS = {"minReaderVersion": 3, "minWriterVersion": 7}


def bitmap(rows: Sequence[int]) -> bytes:
    """Return row numbers below 65,536 as one Roaring bitmap in its portable form."""
    head = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    return head + b"".join(struct.pack("<H", row) for row in rows)


def _bitmap_array(rows: Sequence[int]) -> bytes:
    return struct.pack("<IQI", 1681511377, 1, 0) + bitmap(rows)


def _z85(raw: bytes) -> str:
    raw += b"\0" * (-len(raw) % 4)
    out = []
    for at in range(0, len(raw), 4):
        word = int.from_bytes(raw[at : at + 4], "big")
        out.append("".join(_Z85[word // 85**power % 85] for power in (4, 3, 2, 1, 0)))
    return "".join(out)


def puffin_of(rows: Sequence[int], data_file: str) -> bytes:
    """Return a Puffin file with the deletion vector of a data file (Iceberg specification, version 3)."""
    vector = struct.pack("<QI", 1, 0) + bitmap(rows)
    framed = b"\xd1\xd3\x39\x64" + vector
    blob = struct.pack(">I", len(framed)) + framed + struct.pack(">I", zlib.crc32(framed))
    footer = json.dumps(
        {
            "blobs": [
                {
                    "type": "deletion-vector-v1",
                    "fields": [],
                    "snapshot-id": -1,
                    "sequence-number": -1,
                    "offset": 4,
                    "length": len(blob),
                    "properties": {"referenced-data-file": data_file, "cardinality": str(len(rows))},
                }
            ]
        }
    ).encode()
    return b"PFA1" + blob + b"PFA1" + footer + struct.pack("<I", len(footer)) + b"\0\0\0\0" + b"PFA1"
