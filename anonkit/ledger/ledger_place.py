# SPDX-License-Identifier: Apache-2.0
"""The place of a ledger: a file, or a schema of a PostgreSQL database, named by path or address.

Privacy
-------
An address may hold a password. It is in no string, `repr` or error that this value makes.

The user's ledger: the one in which releases of all folders are booked when nobody names another.

It is in the user's folder of data, whose place the operating system defines. A folder on a network is
refused: SQLite counts on locks that file systems of networks may not keep, and two machines would then spend one
budget twice.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anonkit.errors import ParameterError, option, spoken
from anonkit.redaction import is_address, redacted

_SERVERS = ("postgresql://", "postgres://")
_SCHEMA = "schema="
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HEADER = 100
"""Bytes without which SQLite takes a file for an empty one, or for none of its own."""
SCHEMA = "anonkit"
"""The schema of the tables of a server's ledger, unless its address has `schema=…`."""


@dataclass(frozen=True, kw_only=True)
class LedgerPlace:
    """The place of a ledger: a file or an address, never both."""

    file: Path | None = None
    address: str | None = field(default=None, repr=False)
    """Of a server's database, as libpq reads it, without the schema; it may hold a password."""
    schema: str = SCHEMA
    """Of a server's ledger."""

    @classmethod
    def of(cls, where: str | Path | LedgerPlace) -> LedgerPlace:
        """Return the place that a path or an address names.

        Raises
        ------
        ParameterError
            It is neither a path nor an address; the address is none of a PostgreSQL database, or its schema is no
            plain name.
        """
        if isinstance(where, LedgerPlace):
            return where
        if not isinstance(where, str | Path):
            raise ParameterError(f"a ledger is a path or an address, no {type(where).__name__}", "ledger=None for none")
        if isinstance(where, Path) or not is_address(where):
            return cls(file=Path(where).expanduser())
        if not where.startswith(_SERVERS):
            raise ParameterError(
                f"{where!r} is no place of a ledger", "a path, or postgresql://user@host/database?sslmode=verify-full"
            )
        base, _, parameters = where.partition("?")
        pairs = [pair for pair in parameters.split("&") if pair]
        of_driver = [pair for pair in pairs if not pair.startswith(_SCHEMA)]
        named = [pair.removeprefix(_SCHEMA) for pair in pairs if pair.startswith(_SCHEMA)] or [SCHEMA]
        if not _NAME.fullmatch(named[-1]):
            raise ParameterError("the schema of a ledger is a plain name of small letters, digits and _", "schema=team")
        return cls(address="?".join([base, *(["&".join(of_driver)] if of_driver else [])]), schema=named[-1])

    @property
    def may_be_there(self) -> bool:
        """False when a file is not there, or has been cut to nothing; a server answers when its ledger is opened."""
        return self.file is None or (self.file.exists() and self.file.stat().st_size >= _HEADER)

    def __str__(self) -> str:
        if self.address is None:
            return str(self.file)
        mark = "&" if "?" in self.address else "?"
        return redacted(self.address) + ("" if self.schema == SCHEMA else f"{mark}schema={self.schema}")


USERS_NAME = "ledger.sqlite"
"""Of the file, in the user's folder of data."""
_NETWORKS = frozenset(
    {
        *("nfs", "nfs3", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "afpfs", "webdav", "ncpfs", "coda"),
        *("ceph", "lustre", "gpfs", "beegfs", "glusterfs", "orangefs", "pvfs2", "ocfs2", "gfs2", "panfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.davfs"),
    }
)
"""File systems whose files are on another machine, or on several."""
_MOUNTS = Path("/proc/self/mountinfo")
_REMOTE_DRIVE = 4  # what Windows calls a drive of another machine (DRIVE_REMOTE)
_NAME_IT = f"name one: {option('ledger', 'PLACE')}, ledger in the policy, or ANONKIT_LEDGER"


def users_ledger() -> LedgerPlace:
    """Return the place of the user's ledger, whether it is there or not.

    Raises
    ------
    ParameterError
        The user has no folder of data, or it is on a network.
    """
    import platformdirs

    folder = platformdirs.user_data_path("anonkit", appauthor=False)
    if not folder.is_absolute():  # a user without a home, as in some containers: `~` stays as it is
        raise ParameterError("this user has no home folder for a ledger", _NAME_IT)
    if is_on_network(folder):
        raise ParameterError(
            f"the user's ledger would be on a network ({str(folder)!r}), where two machines could spend one budget "
            "twice",
            f"{_NAME_IT}: a file on this machine's own disk, or a server's database (postgresql://…) that all machines "
            f"share; {spoken(python='ledger=None', typed='--no-ledger')} keeps no record",
        )
    return LedgerPlace(file=folder / USERS_NAME)


def is_on_network(folder: Path) -> bool:
    """Return True if a folder, or where it would be made, is on a network; False where that is unknown."""
    standing = Path(os.path.realpath(folder))
    if sys.platform == "win32":
        return _is_remote_drive(standing)
    if sys.platform == "darwin":
        return _type_at(standing, mounts_of_macos(_mount_table())) in _NETWORKS
    try:
        mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    return _type_at(standing, mounts_of_linux(mounts)) in _NETWORKS


def mounts_of_linux(content: str) -> list[tuple[Path, str]]:
    """Read `/proc/self/mountinfo`: (where, type) of every file system, the latest last."""
    found = []
    for line in content.splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        if len(words) >= 5 and after:
            where = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), words[4])
            found.append((Path(where), after.split()[0]))
    return found


def mounts_of_macos(output: str) -> list[tuple[Path, str]]:
    """Read what `mount` prints on macOS: `DEVICE on PLACE (TYPE, …)`."""
    lines = (re.fullmatch(r".* on (/.*) \((\w+)[,)].*", line) for line in output.splitlines())
    return [(Path(line.group(1)), line.group(2)) for line in lines if line is not None]


def _type_at(path: Path, mounts: Iterable[tuple[Path, str]]) -> str | None:
    """Return the type of the file system that a path is on: the deepest one, and the latest of these."""
    above = [(len(where.parts), at, kind) for at, (where, kind) in enumerate(mounts) if path.is_relative_to(where)]
    return max(above)[2] if above else None


def _mount_table() -> str:
    try:
        return subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _is_remote_drive(path: Path) -> bool:
    if path.drive.startswith("\\\\"):
        return True
    import ctypes

    return bool(ctypes.windll.kernel32.GetDriveTypeW(f"{path.drive}\\") == _REMOTE_DRIVE)  # type: ignore[attr-defined]
