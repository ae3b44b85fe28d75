# SPDX-License-Identifier: Apache-2.0
"""Atomic replacement of several files: either all of them appear or none.

Files are written into a hidden folder beside their place; a mark says that they are complete; then each is
renamed into place. Killed before the mark, nothing has happened; killed after it, `finish` ends the renames.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from anonkit.bundle.data_files import file_digest
from anonkit.errors import EngineError, ReleaseFormatError

_MARK = "COMPLETE"
_REPLACED = "replaced-"
_PROBE = ".anonkit-probe-"
_NO_RENAME = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)
"""What a file system answers that renames nothing."""


class Staging:
    """A hidden folder in which the files of one release are prepared.

    Parameters
    ----------
    folder : Path
        Where the files will stand.
    stem : str
        What their names begin with.
    """

    def __init__(self, folder: Path, stem: str) -> None:
        self.target = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            recover(folder, stem)
            self.folder = folder / f"{_prefix(stem)}{os.getpid()}-{secrets.token_hex(4)}"
            self.folder.mkdir(mode=0o700)
        except OSError as error:
            raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None

    def discard(self) -> None:
        """Delete what was prepared; what was interrupted among its renames is brought to its end instead."""
        if (self.folder / _MARK).exists():
            with suppress(OSError):  # left as it is then, for `finish`
                _finish(self.folder, self.target)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def commit(self, names: Sequence[str], *, absent: Sequence[str] = ()) -> None:
        """Put the files in place, in the order given, after what must not stand beside them has been removed.

        Parameters
        ----------
        names : sequence of str
            Files that were prepared.
        absent : sequence of str
            Files of an earlier generation that the new one does not have, such as a signature of the old files.
        """
        try:
            for name in names:
                # contents reach the disk before the mark: a power cut must not leave a mark over empty files
                _sync(self.folder / name)
            mark = self.folder / f"{_MARK}.new"
            mark.write_text(json.dumps({"put": list(names), "remove": list(absent)}), encoding="utf-8")
            _sync(mark)
            # a rename is atomic: the mark is either absent or whole, never half a list of names
            mark.rename(self.folder / _MARK)
            sync_entry(self.folder)
            _finish(self.folder, self.target)
        except OSError as error:
            raise EngineError(f"cannot write to {str(self.target)!r}: {reason_of(error)}") from None


def refuse_without_renames(folder: Path) -> None:
    """Refuse a folder in which no file can be renamed, such as a bucket that is mounted as a file system.

    Raises
    ------
    EngineError
        Files could not appear there together; or it cannot be written to.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=_PROBE, dir=folder)
        os.close(descriptor)
        probe = Path(name)
        try:
            probe = probe.rename(probe.with_name(f"{probe.name}-renamed"))
        except OSError as error:
            if error.errno not in _NO_RENAME:
                raise
            raise EngineError(
                f"no file can be renamed in {str(folder)!r}: the files of a release cannot appear there together",
                "name a folder on another file system; or the bucket itself, s3://BUCKET/out.parquet",
            ) from None
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None


def put_folder(made: Path, place: Path, digests: Mapping[str, str]) -> None:
    """Put a folder of files in a place where nothing stands: by a rename, else file by file.

    Parameters
    ----------
    digests : mapping
        The SHA-256 of every file, by its name in the folder.

    Raises
    ------
    EngineError
        It cannot be written, or a copy is not what was made.
    """
    try:
        os.rename(made, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        place.mkdir()  # another file system: bytes are copied, and looked at once more
        for name, digest in digests.items():
            shutil.copyfile(made / name, place / name)
            if file_digest(place / name) != digest:
                raise EngineError(
                    f"{str(place / name)!r} was not copied as it was made", "nothing was written; check the disk"
                ) from None


def finish(folder: Path, stem: str) -> None:
    """Finish the renames of a process that was killed among them, for whoever reads the files; nothing else is touched.

    What a dead process left without a mark stays: by it the ledger sees that nothing was put in place.
    """
    for staged in sorted(folder.glob(f"{_prefix(stem)}*")):
        if (staged / _MARK).exists():
            _finish(staged, folder)


def recover(folder: Path, stem: str) -> None:
    """Finish the renames, and delete what dead processes left unfinished: for whoever writes, the ledger settled."""
    finish(folder, stem)
    for staged in unmarked(folder, stem):
        # without a mark, and its process may still be writing: only the folders of dead processes are deleted
        if not is_alive(staged.name.removeprefix(_prefix(stem)).split("-")[0]):
            shutil.rmtree(staged, ignore_errors=True)


def unmarked(folder: Path, stem: str) -> list[Path]:
    """Return the folders in which files were prepared that are not marked complete: none of them was put in place."""
    return [staged for staged in sorted(folder.glob(f"{_prefix(stem)}*")) if not (staged / _MARK).exists()]


def _finish(staged: Path, target: Path) -> None:
    put, remove = _steps(staged)
    for name in remove:
        (target / name).unlink(missing_ok=True)
    for name in put:
        # absent when an interrupted run had renamed it already: every step may be repeated
        if (staged / name).exists():
            _replace(staged / name, target / name)
    sync_entry(target)
    shutil.rmtree(staged, ignore_errors=True)


def _steps(staged: Path) -> tuple[list[str], list[str]]:
    """Read which files are put in place, and which removed.

    A release comes from others, hidden folders and all: what stands in a mark must not reach beyond its own files.
    """
    stem = staged.name.removeprefix(".").rpartition(".anonkit-")[0]
    try:
        steps = json.loads((staged / _MARK).read_text(encoding="utf-8"))
        put, remove = ([str(name) for name in steps[what]] for what in ("put", "remove"))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _damaged(staged) from None
    if any(Path(name).name != name or not name.startswith(stem) for name in (*put, *remove)):
        raise _damaged(staged)
    return put, remove


def _damaged(staged: Path) -> ReleaseFormatError:
    return ReleaseFormatError(
        f"{str(staged)!r} is not a folder that anonkit has left", "delete it; it may come from whoever sent the release"
    )


def _replace(new: Path, old: Path) -> None:
    """Put a file or a folder in the place of another; a folder in the way goes aside first, and then with `new`'s."""
    if old.exists() and (old.is_dir() or new.is_dir()):
        os.replace(old, new.with_name(f"{_REPLACED}{old.name}"))
    os.replace(new, old)


def reason_of(error: OSError) -> str:
    """Return why the system refused, without what it was asked."""
    return os.strerror(error.errno) if error.errno is not None else "the system gives no reason"


def _prefix(stem: str) -> str:
    return f".{stem}.anonkit-"


def _sync(path: Path) -> None:
    """See that a file, or a folder with all that is in it, is on the disk."""
    for inner in path.iterdir() if path.is_dir() else ():
        _sync(inner)
    sync_entry(path)


def sync_entry(path: Path) -> None:
    """See that a file, or the list of a folder's files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_alive(pid: str) -> bool:
    """Tell whether a process of this number runs on this machine."""
    if not pid.isdigit():
        return False
    try:
        # signal 0 is never delivered: it only asks whether the process exists
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    # the process exists and belongs to somebody else
    except PermissionError:
        return True
    return True
