# SPDX-License-Identifier: Apache-2.0
"""Atomic replacement of several files: either all of them appear or none.

Files are written into a hidden folder beside their place; a mark says that they are complete; then each is renamed into
place. Killed before the mark, nothing has happened; killed after it, `finish` ends the renames.

What is renamed, and what is removed, is in a private record. A release comes from others, hidden folders and all. The
content of a folder beside it does not show where the folder comes from; a record in the user's own folder of state
does, and it says what was prepared, hash by hash. A folder without one is nobody's.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from anonkit.bundle.data_files import file_digest
from anonkit.bundle.liveness import Process
from anonkit.bundle.private_files import is_private_folder, sync_entry, write_private
from anonkit.errors import UNFINISHED_LOG, EngineError

_ITSELF = "."
"""Name of a file that is put in place among the files of that name; those of a folder have paths in it."""


@dataclass(frozen=True, kw_only=True)
class StagingRecord:
    """The notes of this user's processes on one folder."""

    folder: str
    """Real path of the folder."""
    process: Process
    """Process that prepares files in it."""
    put: Mapping[str, Mapping[str, str]] | None = None
    """SHA-256 of every file by path, for each name that is put in place, in this order; None until all are prepared."""
    remove: Sequence[str] = ()
    """Names that must be absent beside them."""
    guarded: Mapping[str, str | None] = field(default_factory=dict)
    """Names that may be another's: the SHA-256 of the only file that is removed or replaced; None: none is."""

    @classmethod
    def begin(cls, folder: Path) -> StagingRecord:
        """Note that this process makes a folder.

        Raises
        ------
        EngineError
            Neither the user's folder of state nor that of temporary files can be written to.
        """
        record = cls(folder=os.path.realpath(folder), process=Process.this())
        record.write()
        return record

    @classmethod
    def of(cls, folder: Path) -> StagingRecord | None:
        """Return the record of a folder; None where there is none that is trusted."""
        real = os.path.realpath(folder)
        return next((record for path in _places(real) if (record := _read(path, real)) is not None), None)

    def write(self) -> None:
        """Write the record, durable and whole or not at all.

        Raises
        ------
        EngineError
            As `begin`.
        """
        text = json.dumps(
            {
                "folder": self.folder,
                "process": self.process.to_text(),
                "put": None if self.put is None else {name: dict(files) for name, files in self.put.items()},
                "remove": list(self.remove),
                "guarded": dict(self.guarded),
            }
        )
        for path in _places(self.folder):
            with suppress(OSError):
                if _make_private(path.parent):
                    write_private(path, text)
                    return
        raise EngineError(
            "no private record of the files can be kept: neither the folder of settings nor TMPDIR can be written to",
            "XDG_STATE_HOME names a folder of your own",
        )

    def forget(self) -> None:
        """Delete the record: of its folder nothing is left."""
        for path in _places(self.folder):
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def fits(self, prepared: Path, target: Path) -> bool:
        """Return True if the files of a folder are those that were prepared, each there or in its place already."""
        for name, files in (self.put or {}).items():
            path = prepared / name
            if os.path.lexists(path):
                if files_of(path) != files:
                    return False
            elif not os.path.lexists(target / name):
                return False
        return self.put is not None

    def is_anothers(self, path: Path) -> bool:
        """Return True if a guarded name has a file that is not the one that may be removed or replaced."""
        if path.name not in self.guarded or not os.path.lexists(path):
            return False
        expected = self.guarded[path.name]
        return expected is None or files_of(path) != {_ITSELF: expected}

    def in_the_way(self, prepared: Path, target: Path) -> list[str]:
        """Return the names of others' files in the places of prepared ones."""
        waiting = [name for name in self.put or () if os.path.lexists(prepared / name)]
        return [name for name in waiting if self.is_anothers(target / name)]


def files_of(path: Path, known: Mapping[str, str] | None = None) -> dict[str, str] | None:
    """Return the SHA-256 of a file, or of every file in a folder, by path in it; None where one is no regular file.

    Parameters
    ----------
    known : mapping, optional
        Of files that were hashed when they were written, by path seen from beside `path`.
    """
    found: dict[str, str] = {}
    for at, inner in _walk(path, _ITSELF):
        if not stat.S_ISREG(inner.lstat().st_mode):
            return None
        named = path.name if at == _ITSELF else f"{path.name}/{at}"
        found[at] = (known or {}).get(named) or file_digest(inner)
    return found


def _walk(path: Path, at: str) -> Iterator[tuple[str, Path]]:
    if path.is_symlink() or not path.is_dir():
        yield at, path
        return
    for inner in sorted(path.iterdir()):
        yield from _walk(inner, inner.name if at == _ITSELF else f"{at}/{inner.name}")


def sweep_records() -> None:
    """Delete the records of folders that are gone, and whose processes are."""
    for home in _homes():
        with suppress(OSError):
            for path in list(home.iterdir()):
                record = _read(path, None)
                if record is not None and not os.path.lexists(record.folder) and record.process.is_surely_dead():
                    path.unlink(missing_ok=True)


# --- the place of records ------------------------------------------------------------------------------------------


def _homes() -> list[Path]:
    """Return the folders for records, the best first."""
    homes = []
    state = os.environ.get("XDG_STATE_HOME")
    if state:
        homes.append(Path(state) / "anonkit" / "staging")
    with suppress(RuntimeError):  # a user without a home, as in some containers
        homes.append(Path.home() / ".local" / "state" / "anonkit" / "staging")
    user = os.geteuid() if hasattr(os, "geteuid") else "user"
    homes.append(Path(tempfile.gettempdir()) / f"anonkit-state-{user}")
    return homes


def _places(folder: str) -> list[Path]:
    name = hashlib.blake2b(os.fsencode(folder), digest_size=16, person=b"anonkit staging").hexdigest()
    return [home / f"{name}.json" for home in _homes()]


def _make_private(folder: Path) -> bool:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _is_private(folder, stat.S_ISDIR)


def _is_private(path: Path, is_kind: object) -> bool:
    """Return True if something is this user's own, and closed to others: what they can write is not believed."""
    found = path.lstat()
    if not is_kind(found.st_mode):  # type: ignore[operator]
        return False
    return not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def _read(path: Path, folder: str | None) -> StagingRecord | None:
    try:
        if not _is_private(path.parent, stat.S_ISDIR) or not _is_private(path, stat.S_ISREG):
            return None
        raw = json.loads(path.read_text(encoding="utf-8"))
        record = StagingRecord(
            folder=raw["folder"],
            process=Process.from_text(raw["process"]),
            put=raw["put"],
            remove=raw["remove"],
            guarded=dict(raw.get("guarded", {})),  # records of earlier versions guard nothing
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if folder in (None, record.folder) else None


_LOG = logging.getLogger(UNFINISHED_LOG)
_MARK = "COMPLETE"
_DONE = ".done"
_FORM = re.compile(r"\..*\.anonkit-[0-9]+-[0-9a-f]{8}", re.DOTALL)
_OWN: set[str] = set()
"""Real paths of the folders in which this process is at work."""
_LOGGED: set[tuple[str, str]] = set()
_TURN, _TURNS = 0.05, 60
"""Seconds between two looks at a process that is putting files in place, and how often it is looked at."""
_REPLACED = "replaced-"
_PROBE = ".anonkit-probe-"
_NO_RENAME = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)
"""Errors of a file system that renames nothing."""


class Staging:
    """A hidden folder in which the files of one release are prepared.

    Parameters
    ----------
    folder : Path
        Final place of the files.
    stem : str
        What their names begin with.
    private : bool
        True: the folder is this process's own and goes with it, so that nobody has to know the files again.
    clears : bool
        False: what dead processes left there stays until `recover`, since a ledger may have to look at it first.
    """

    def __init__(self, folder: Path, stem: str, *, private: bool = False, clears: bool = True) -> None:
        self.target = folder
        self._record: StagingRecord | None = None
        self._made = [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not private:
                if clears:
                    recover(folder, stem)
                sweep_records()
            self.folder = folder / f"{_prefix(stem)}{os.getpid()}-{secrets.token_hex(4)}"
            if not private:  # before the folder: one without a record would be nobody's
                _OWN.add(os.path.realpath(self.folder))
                self._record = StagingRecord.begin(self.folder)
            self.folder.mkdir(mode=0o700)
        except OSError as error:
            if self._record is not None:
                self._record.forget()
            raise EngineError(f"cannot write to {str(folder)!r}: {reason_of(error)}") from None

    def discard(self) -> None:
        """Delete what was prepared; what was interrupted among its renames is brought to its end instead."""
        record = None if self._record is None else StagingRecord.of(self.folder)
        if record is not None and (self.folder / _MARK).exists():
            with suppress(OSError):  # left as it is then, for `finish`
                _finish(self.folder, self.target, record)
        else:
            _delete(self.folder, self._record)
            for made in self._made:  # folders that were made for nothing
                with suppress(OSError):
                    made.rmdir()
        _OWN.discard(os.path.realpath(self.folder))

    def commit(
        self,
        names: Sequence[str],
        *,
        absent: Sequence[str] = (),
        digests: Mapping[str, str] | None = None,
        guarded: Mapping[str, str | None] | None = None,
    ) -> None:
        """Put the files in place, in the order given, after the names that must be absent have been removed.

        Parameters
        ----------
        names : sequence of str
            Files that were prepared.
        absent : sequence of str
            Files of an earlier generation that the new one does not have, such as a signature of the old files.
        digests : mapping, optional
            SHA-256 of files that were hashed when they were written, by path: they are not read once more.
        guarded : mapping, optional
            Names that may be another's: the SHA-256 of the only file that is removed or replaced; None: none is.

        Raises
        ------
        EngineError
            It cannot be written, or another's file has a guarded name; nothing was put in place then.
        """
        assert self._record is not None  # noqa: S101 - what is private is put in no place
        try:
            for name in names:
                # contents reach the disk before the mark: a power cut must not leave a mark over empty files
                _sync(self.folder / name)
            put = {name: files_of(self.folder / name, digests) or {} for name in names}
            # before the mark: a mark without a record is nobody's
            record = replace(self._record, put=put, remove=tuple(absent), guarded=dict(guarded or {}))
            if others := record.in_the_way(self.folder, self.target):
                raise EngineError(
                    f"{str(self.target / others[0])!r} is no file of a release, and is not replaced",
                    "move it away, or choose another name",
                )
            record.write()
            mark = self.folder / f"{_MARK}.new"
            mark.touch()
            # a rename is atomic: the mark is there or it is not
            mark.rename(self.folder / _MARK)
            sync_entry(self.folder)
            _finish(self.folder, self.target, record)
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
    """Put a folder of files in an empty place: by a rename, else file by file.

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
    """Finish the renames of a process of this user that was killed among them, for whoever reads the files.

    Nothing else is touched, and what is found is logged. What a dead process left without a mark stays: by it the
    ledger sees that nothing was put in place. What no record of this user vouches for stays too: others may have sent
    it.
    """
    for staged in _staged(folder, stem):
        record = StagingRecord.of(staged)
        if record is None:
            _log_once(staged, "was left alone: no record of this user on this machine says that anonkit made it")
        elif _is_at_work(record, staged):
            if is_marked(staged):
                _log_once(staged, "was left alone: the process that puts its files in place may still be at work")
        elif not is_marked(staged):
            _log_once(
                staged, "is of an interrupted run and was never put in place; the next release there clears it away"
            )
        elif record.in_the_way(staged, folder):
            _log_once(
                staged, "was left alone: a file that does not belong to a release is where one of its files would go"
            )
        elif not record.fits(staged, folder):
            _log_once(staged, "was left alone: its files are not those that an interrupted run had prepared")
        else:
            _finish(staged, folder, record)
            _log_once(staged, "was finished: an interrupted run had prepared these files and was putting them in place")
    for done in _staged(folder, stem, more=_DONE):
        record = StagingRecord.of(done.with_name(done.name.removesuffix(_DONE)))
        if record is not None and not _is_at_work(record, done):
            _delete_done(done, record)


def recover(folder: Path, stem: str) -> None:
    """Finish the renames, and delete what dead processes left unfinished: for whoever writes, the ledger settled."""
    finish(folder, stem)
    for staged in unmarked(folder, stem):
        record = StagingRecord.of(staged)
        # another machine's folder has no record here, and its process may still be writing
        if record is not None and not _is_at_work(record, staged):
            _delete(staged, record)


def cleared(staged: Path) -> bool:
    """Delete what was prepared in a folder and never put in place; return whether nothing of it is left.

    The empty folder stays, with its record: it shows that nothing was put in place until the ledger has its entry.
    `recover` takes it away.

    Parameters
    ----------
    staged : Path
        A folder of `Staging`, of a process that works no more.
    """
    if _FORM.fullmatch(staged.name) is None or staged.is_symlink():
        return False
    if not os.path.lexists(staged):
        # a disk that is not there cannot be looked at; the private folder of a process goes with it
        return staged.parent.is_dir() or (is_private_folder(staged.parent) and staged.parent.parent.is_dir())
    try:
        for path in list(staged.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        sync_entry(staged)
    except OSError:
        return False
    return True


def is_marked(staged: Path) -> bool:
    """Return True if the files of a folder were all prepared, and were about to be put in place."""
    return os.path.lexists(staged / _MARK)


def is_waiting(folder: Path, stem: str, name: str) -> bool:
    """Return True if a run of this user was interrupted before it had put a file of this name in its place."""
    records = (StagingRecord.of(staged) for staged in _staged(folder, stem) if is_marked(staged))
    return any(name in (record.put or ()) for record in records if record is not None)


def unmarked(folder: Path, stem: str) -> list[Path]:
    """Return the folders in which files were prepared that are not marked complete: none of them was put in place."""
    return [staged for staged in _staged(folder, stem) if not is_marked(staged)]


def _staged(folder: Path, stem: str, *, more: str = "") -> list[Path]:
    """Return the folders in which files of this stem are prepared; a name is compared as it is, never as a pattern."""
    form = re.compile(rf"{re.escape(_prefix(stem))}[0-9]+-[0-9a-f]{{8}}{re.escape(more)}")
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if form.fullmatch(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = [folder / name for name in names]
    return [path for path in paths if not path.is_symlink() and path.is_dir()]


def _is_at_work(record: StagingRecord, staged: Path) -> bool:
    """Return True if files are still being prepared or put in place; whoever is putting them is waited for."""
    for _ in range(_TURNS):
        is_own = record.process == Process.this()
        is_at_work = record.folder in _OWN if is_own else not record.process.is_surely_dead()
        if not is_at_work or not is_marked(staged):
            return is_at_work
        time.sleep(_TURN)
    return True


def _log_once(staged: Path, what: str) -> None:
    """Log once in a process what was found beside a release."""
    message = (str(staged), what)
    if message not in _LOGGED:
        _LOGGED.add(message)
        _LOG.warning("%r beside the release %s.", staged.name, what)


def _finish(staged: Path, target: Path, record: StagingRecord) -> None:
    if record.in_the_way(staged, target):
        raise FileExistsError(errno.EEXIST, "a file of others is in the way")
    for name in record.remove:
        if not record.is_anothers(target / name):
            (target / name).unlink(missing_ok=True)
    for name in record.put or ():
        # absent when an interrupted run had renamed it already: every step may be repeated
        if (staged / name).exists():
            _replace(staged / name, target / name)
    sync_entry(target)
    # what has no mark was never put in place: this one gets another name before its mark goes
    done = staged.with_name(staged.name + _DONE)
    os.rename(staged, done)
    _delete_done(done, record)


def _delete_done(done: Path, record: StagingRecord) -> None:
    shutil.rmtree(done, ignore_errors=True)
    if not done.exists():
        record.forget()


def _delete(staged: Path, record: StagingRecord | None) -> None:
    """Delete what was prepared and not put in place, its record last."""
    shutil.rmtree(staged, ignore_errors=True)
    if record is not None and not staged.exists():
        record.forget()


def _replace(new: Path, old: Path) -> None:
    """Put a file or a folder in the place of another; a folder in the way goes aside first, and then with `new`'s."""
    if old.exists() and (old.is_dir() or new.is_dir()):
        os.replace(old, new.with_name(f"{_REPLACED}{old.name}"))
    os.replace(new, old)


def reason_of(error: OSError) -> str:
    """Return the reason why the system refused, without the arguments of the call."""
    return os.strerror(error.errno) if error.errno is not None else "the system gives no reason"


def _prefix(stem: str) -> str:
    return f".{stem}.anonkit-"


def _sync(path: Path) -> None:
    """See that a file, or a folder with all that is in it, is on the disk."""
    for inner in path.iterdir() if path.is_dir() else ():
        _sync(inner)
    sync_entry(path)
