# SPDX-License-Identifier: Apache-2.0
"""Private files: the scratch folder for raw rows, deleted at the end and swept after a crash, and files that stay."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from pathlib import Path

from anonkit.errors import EngineError

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
