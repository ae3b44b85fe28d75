# SPDX-License-Identifier: Apache-2.0
"""Disk space reserved for the files of a release before noise is drawn: a disk that is full then costs no budget.

Whatever fails once noise was drawn is charged, since it may follow from the noise. So space is looked for before, and
where little is free it is taken by files without a name, which go with their process, until the real ones are written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from anonkit.errors import EngineError

try:
    import resource
except ImportError:  # Windows has no limit of a file's size
    resource = None  # type: ignore[assignment]

MEGABYTE = 1_000_000
_AMPLE = 16
"""Times the requested space that are free where none is taken: nobody fills as much while noise is drawn."""


class ReservedSpace:
    """Space on the disks of some folders, for files that will be written into them.

    Parameters
    ----------
    folders : iterable of Path
        Folders that files will be written into; they need not exist. Two on one disk share what is free there.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = list(dict.fromkeys(map(_standing, folders)))
        self._taken: dict[Path, IO[bytes]] = {}
        self._size = 0

    def take(self, size: int) -> None:
        """Reserve space in each folder; nothing happens where as much is reserved already.

        Parameters
        ----------
        size : int
            Bytes for each folder, from 0.

        Raises
        ------
        EngineError
            Less is free, or a file of this size is not allowed; nothing is reserved then.

        Privacy
        -------
        The refusal is an output: a size that follows from private rows discloses them.
        """
        if size <= self._size:
            return
        self.give_back()
        try:
            for folder in self._folders:
                self._take_in(folder, size)
        except EngineError:
            self.give_back()
            raise
        self._size = size

    def give_back(self, folder: Path | None = None) -> None:
        """Let what is reserved be used, right before files are written: in one folder, or in all."""
        for each in list(self._taken) if folder is None else [_standing(folder)]:
            if each in self._taken:
                self._taken.pop(each).close()
        if folder is None:
            self._size = 0

    def close(self) -> None:
        """Let all be used."""
        self.give_back()

    def _take_in(self, folder: Path, size: int) -> None:
        if _largest_file() < size:
            raise _refusal(folder, size, "files of this process may not be as large")
        free = _free(folder)
        if free is None:
            return
        if free < size:
            raise _refusal(folder, size, f"{free / MEGABYTE:.0f} MB are free")
        if free >= _AMPLE * size or not hasattr(os, "posix_fallocate"):
            return
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - kept until it is given back
        except OSError as error:
            raise _refusal(folder, size, error.strerror or "no file can be made") from None
        self._taken[folder] = file
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise _refusal(folder, size, error.strerror or "it is not given") from None


def _refusal(folder: Path, size: int, reason: str) -> EngineError:
    return EngineError(
        f"{size / MEGABYTE:.0f} MB of disk space are wanted in {str(folder)!r} before noise is drawn: {reason}",
        "make room, or name a folder on another disk (OUT, or TMPDIR for temporary files); no budget was charged",
    )


def _standing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())


def _free(folder: Path) -> int | None:
    """Return the bytes that this user may still write; None where the system does not know."""
    with suppress(OSError, AttributeError):
        state = os.statvfs(folder)
        if state.f_blocks:
            return int(state.f_bavail * state.f_frsize)
    return None


def _largest_file() -> float:
    """Return the bytes that a file of this process may have."""
    if resource is None:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else limit
