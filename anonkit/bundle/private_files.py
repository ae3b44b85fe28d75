# SPDX-License-Identifier: Apache-2.0
"""Private files: the scratch folder for raw rows, deleted at the end and swept after a crash, and files that stay.

Disk space reserved for the files of a release before noise is drawn: a disk that is full then costs no budget.

Whatever fails once noise was drawn is charged, since it may follow from the noise. So space is looked for before, and
where little is free it is taken by files without a name, which go with their process, until the real ones are written.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
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


try:
    import fcntl
except ImportError:  # Windows: folders of killed processes stay until someone deletes them
    fcntl = None  # type: ignore[assignment]

_PREFIX = "anonkit-raw-"
_NAMED_BY = ("TMPDIR", "TEMP", "TMP")
_NEW = "anonkit-new-"
_LOCK = "owner.lock"


class PrivateFolder:
    """A temporary folder of mode 0700, made at its first use.

    Parameters
    ----------
    parent : Path, optional
        Where it is made, instead of among the temporary files of this machine.

    Privacy
    -------
    It holds source rows. `close` deletes it, and so does the end of the process when nobody closed it. After a
    killed process, the next one to make a folder deletes what that process left: the owner of a folder holds a
    lock on a file in it, and the operating system drops the lock with the process.
    """

    __slots__ = ("__weakref__", "_delete", "_parent", "_path")

    def __init__(self, parent: Path | None = None) -> None:
        self._parent = parent
        self._path: Path | None = None
        self._delete: weakref.finalize[[Path, int, int], PrivateFolder] | None = None

    @property
    def path(self) -> Path:
        """The folder, made now if it was not there.

        Raises
        ------
        EngineError
            The temporary folder of this machine cannot be written to, or another one is named than can be.
        """
        if self._path is None:
            if self._parent is None:
                _refuse_another_place()
            sweep(self._parent)
            self._path, lock = _make(self._parent)
            self._delete = weakref.finalize(self, _remove, self._path, lock, os.getpid())
        return self._path

    def close(self) -> None:
        """Delete the folder and all in it."""
        if self._delete is not None:
            self._delete()
        self._path = self._delete = None


def is_private_folder(path: Path) -> bool:
    """Return True if a path has the form of a private folder, which goes with its process."""
    return path.name.startswith(_PREFIX)


def _refuse_another_place() -> None:
    """Refuse a folder for temporary files that is named and of no use: Python would take another without a word."""
    try:
        usual = tempfile.gettempdir()
    except FileNotFoundError:  # it has tried to write in each
        usual = None
    if usual is None:
        raise EngineError("no folder for temporary files can be written to", "TMPDIR names one; is its disk full?")
    name = next((name for name in _NAMED_BY if os.environ.get(name)), None)
    if name is None or os.path.abspath(os.environ[name]) == usual:
        return
    try:
        os.rmdir(tempfile.mkdtemp(prefix=_NEW, dir=os.environ[name]))
    except OSError as error:
        refusal = EngineError(
            f"{name} is {os.environ[name]!r}, where no temporary file can be made: {error.strerror}",
            "let it name a folder of yours with room, or unset it",
        )
    else:
        return
    raise refusal


def _make(parent: Path | None) -> tuple[Path, int]:
    try:
        return _locked(parent)
    except OSError as error:
        reason = error.strerror
    if parent is not None:
        raise EngineError(f"no private folder can be made in {str(parent)!r}: {reason}", "name another folder")
    raise EngineError(f"no private folder can be made among temporary files: {reason}", "TMPDIR names their folder")


def _locked(parent: Path | None) -> tuple[Path, int]:
    """Make a folder and lock it; it gets its final name only when locked, so that no sweep takes it for a left one."""
    fresh = Path(tempfile.mkdtemp(prefix=_NEW, dir=parent))
    lock = os.open(fresh / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    if fcntl is None:
        return fresh, lock
    fcntl.flock(lock, fcntl.LOCK_EX)
    return fresh.rename(fresh.with_name(_PREFIX + fresh.name.removeprefix(_NEW))), lock


def _remove(folder: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not delete what its parent still reads
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path | None = None) -> None:
    """Delete the folders of processes of this user that are no more."""
    if fcntl is None:
        return
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue  # another process deletes it at this moment
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its owner lives
        else:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)


def write_private(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write a file that its owner alone reads, durable and whole or not at all.

    Raises
    ------
    OSError
        It cannot be written; nothing is left of it then.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding=encoding) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
        sync_entry(path.parent)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def sync_entry(path: Path) -> None:
    """See that a file, or the list of a folder's files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
