# SPDX-License-Identifier: Apache-2.0
"""Standard input: the bytes that come through a pipe, copied as they are and read as a file of their format."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.file_tables import FileTable
from anonkit.engines.snapshots.addresses import LAKES, SourceAddress
from anonkit.engines.snapshots.dispatch import of_fetched
from anonkit.engines.snapshots.private_copies import new_file
from anonkit.errors import ParameterError, SourceError, option
from anonkit.policy.declaration import Policy

_PART = 1 << 20  # bytes copied at a time


def live_table(address: SourceAddress, policy: Policy) -> StandardInput:
    """Return the table that comes through the pipe.

    Raises
    ------
    ParameterError
        No format was named, or one that is no stream of bytes.
    SourceError
        There is no pipe.
    """
    if address.format is None:
        raise ParameterError("standard input has no name that says its format", option("format", "csv"))
    if address.format in LAKES:
        raise ParameterError(f"a table of format {address.format} is a folder", "give its path")
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise SourceError("nothing comes through standard input", "pipe a table into it, or name a file")
    return StandardInput(address, policy)


@dataclass(frozen=True)
class StandardInput:
    """A pipe, which can be read once."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy all bytes. See `anonkit.engines.snapshots.dispatch.LiveTable`."""
        path = shielded(lambda: self._fetch(folder), lambda _: SourceError("standard input cannot be read to its end"))
        return of_fetched(self.address, path, self.policy)

    def _fetch(self, folder: Path) -> Path:
        path = new_file(folder, "input")
        stream = sys.stdin.buffer
        with path.open("wb") as file:
            while part := stream.read(_PART):
                file.write(part)
        return path
