# SPDX-License-Identifier: Apache-2.0
"""Files of Arrow IPC: read in place, since they neither change nor end while they are read."""

from __future__ import annotations

from anonkit.engines.reading.parquet_tables import FileTable
from anonkit.engines.snapshots.addresses import SourceAddress, compression_of_name
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy


def live_table(address: SourceAddress, policy: Policy) -> FileTable:
    """Return the table in a file of Arrow IPC.

    Raises
    ------
    SourceError
        There is no such file.
    """
    address.refuse(
        "query", "sheet", "header_row", "header", "names", "delimiter", "skip_rows", of="a file of Arrow IPC"
    )
    path = address.file_path
    if not path.is_file():
        raise SourceError(f"{address.shown} does not exist")
    compression = compression_of_name(address.bare)
    return FileTable(paths=[path], format="arrow", named=address.place, compression=compression)
