# SPDX-License-Identifier: Apache-2.0
"""Private records of staging folders: by them alone a reader knows which ones are this user's.

A release comes from others, hidden folders and all. The content of a folder beside it does not show where the folder
comes from; a record in the user's own folder of state does, and it says what was prepared, hash by hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from anonkit.bundle.data_files import file_digest
from anonkit.bundle.liveness import Process
from anonkit.bundle.private_files import write_private
from anonkit.errors import EngineError

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
