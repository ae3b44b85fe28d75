# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in one SQLite file, private to its owner, and brought up to this version when it is opened.

The ledger's key for fingerprints: in a private file or in the environment, never inside, never on a server.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock

from anonkit.bundle.liveness import Process
from anonkit.bundle.private_files import write_private
from anonkit.errors import LedgerError, option, spoken
from anonkit.ledger.ledger_lines import FROM_THIRD, VERSION, Connection, digest_older_params, from_fourth, tables
from anonkit.ledger.ledger_place import LedgerPlace

VARIABLE = "ANONKIT_LEDGER_KEY"
"""Environment variable that holds the key, before any file."""
FILE_VARIABLE = "ANONKIT_LEDGER_KEY_FILE"
"""Environment variable that names the file of the key, before its usual place."""
SUFFIX = ".key"
"""Suffix of the key's file, after the name of the ledger."""
SIZE = 32
"""Bytes of a key, written as 64 hexadecimal digits."""

_DIGITS = re.compile(rf"[0-9a-fA-F]{{{2 * SIZE}}}")
_HOW = f"{2 * SIZE} hexadecimal digits: openssl rand -hex {SIZE}"


def key_file(ledger: Path) -> Path:
    """Return the file of the key of a ledger when the environment has none."""
    return ledger.with_name(ledger.name + SUFFIX)


def private_folder() -> Path:
    """Return the folder of the keys of servers' ledgers: the owner's folder of settings."""
    settings = os.environ.get("XDG_CONFIG_HOME")
    if settings:
        return Path(settings) / "anonkit"
    try:
        return Path.home() / ".config" / "anonkit"
    except RuntimeError:  # a user without a home, as in some containers, has no private files: nothing is found there
        return Path(os.devnull) / "anonkit"


def key_place(beside: Path) -> str:
    """Return the place of a key, in words: an environment variable, the file that one names, or its own file."""
    return VARIABLE if VARIABLE in os.environ else str(_named(beside))


def _named(beside: Path) -> Path:
    given = os.environ.get(FILE_VARIABLE)
    return Path(given).expanduser() if given else beside


def key_of(beside: Path) -> bytes | None:
    """Return the key of a ledger, 32 bytes; None where there is none.

    Parameters
    ----------
    beside : Path
        The file of the key when the environment names none.

    Raises
    ------
    LedgerError
        The file is no key, or cannot be read. It is not shown.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        return _read(given, f"the environment variable {VARIABLE}")
    path = _named(beside)
    try:
        close_to_others(path)
        return _read(path.read_text(encoding="ascii"), f"the key file {str(path)!r}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        return _read("", f"the key file {str(path)!r}")
    except OSError as error:
        raise LedgerError(f"the key file {str(path)!r} cannot be read: {os.strerror(error.errno or 0)}") from None


def keep_key(beside: Path, key: bytes | None = None) -> bytes:
    """Write the key of a ledger into its private file, mode 0600, durable and whole or not at all; return it.

    Parameters
    ----------
    key : bytes, optional
        A new one by default.
    """
    stored = secrets.token_bytes(SIZE) if key is None else key
    path = _named(beside)
    try:
        write_private(path, stored.hex() + "\n")
    except OSError as error:
        raise LedgerError(f"the key file {str(path)!r} cannot be written: {os.strerror(error.errno or 0)}") from None
    return stored


def drop_key(beside: Path, key: bytes) -> None:
    """Delete the private file of a key that nothing was signed with; one with another key stays."""
    path = _named(beside)
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="ascii").strip() == key.hex():
            path.unlink()


def close_to_others(path: Path) -> None:
    """Take back what others may do with a private file, where it is ours.

    Raises
    ------
    OSError
        It is not there.
    """
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        with suppress(PermissionError):  # somebody else's file is not ours to close
            path.chmod(0o600)


def sign_of(key: bytes) -> bytes:
    """Return the sign by which a ledger distinguishes its key from any other, 16 bytes; it recognizes nothing else."""
    return hashlib.blake2b(b"the key of this ledger", key=key, digest_size=16, person=b"key check").digest()


def missing_key(ledger: str, beside: Path) -> LedgerError:
    """Return the error for a ledger whose key is gone."""
    return LedgerError(
        f"the ledger {ledger!r} has lost its key: neither {str(_named(beside))!r} nor {VARIABLE} is there, so "
        "that no table is known again",
        f"put the key back, from a backup, or into {VARIABLE}; anonkit ledger shows the budgets without it",
    )


def wrong_key(ledger: str, beside: Path) -> LedgerError:
    """Return the error for a key that is another ledger's."""
    return LedgerError(
        f"the key in {key_place(beside)} is not that of the ledger {ledger!r}: no table would be known again",
        f"each ledger has its own; it was made with the ledger, in {beside.name!r} unless the environment named one",
    )


def _read(text: str, where: str) -> bytes:
    if not _DIGITS.fullmatch(text.strip()):
        raise LedgerError(f"{where} holds no key", _HOW)
    return bytes.fromhex(text.strip())


_MAKING = Lock()
_FIRST_VERSION, _SECOND_VERSION, _THIRD_VERSION, _FOURTH_VERSION = 1, 2, 3, 4
_WAIT = 120.0  # seconds to wait for other processes: each holds the file for milliseconds
_SPELLING = {
    "bytes": "BLOB",
    "integer": "INTEGER",
    "number": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "row_number": "",
}
_WORDS = {
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_FULL: "there is no room for it",
    sqlite3.SQLITE_IOERR: "it cannot be read or written; is its disk full, or are files limited in size?",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_NOTADB: "it is not a database",
    sqlite3.SQLITE_READONLY: "it cannot be written to",
}
"""Words for the primary codes of SQLite; its own words may quote what is booked."""
_NAMED = "CREATE TABLE ledger (name TEXT NOT NULL)"
_FROM_SECOND = ("ALTER TABLE release ADD COLUMN request BLOB", *FROM_THIRD)
_FROM_FIRST = (
    "DROP TABLE secret",
    "CREATE TABLE key_check (sign BLOB NOT NULL)",
    "ALTER TABLE fingerprint ADD COLUMN form INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE release ADD COLUMN form INTEGER NOT NULL DEFAULT 1",
    *_FROM_SECOND,
)


class FileStore:
    """A ledger in a file, made when it is not there; see `anonkit.ledger.ledger_lines.Backend`.

    Raises
    ------
    LedgerError
        It cannot be read or written, or is no ledger of a version that is known.
    """

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self.place = LedgerPlace(file=path)
        self._path = path
        had_key = not is_new and self.key_file.exists()  # looked for first: whoever makes a ledger makes its file first
        try:
            with suppress(FileExistsError):
                _make(path)
                is_new = True
                if had_key:
                    path.unlink()
                    raise LedgerError(
                        f"the ledger {str(path)!r} is not there, and its key is: it was deleted, or moved",
                        f"put it back: what was spent is not known here; to begin anew, delete {str(self.key_file)!r}",
                    )
            close_to_others(path)
        except OSError as error:
            raise self._refusal(os.strerror(error.errno or 0)) from None
        with self._without_a_key_alone(), self.transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != 0:
                self._refuse_damaged(connection)
            if version == 0:
                if not is_new and self.key_file.exists():  # a ledger that is made has no key before its tables
                    raise LedgerError(
                        f"the ledger {str(path)!r} is empty, and its key is beside it: it was cut",
                        "put a backup back: what was spent is not known here; to begin anew, delete both files",
                    )
                _run(connection, *tables(**_SPELLING), _NAMED)
                _name(connection)
                _sign(connection, key_of(self.key_file) or self._keep_new_key())
            elif version < VERSION:
                self._bring_up(connection, version)
            elif version != VERSION:
                raise LedgerError(f"{str(path)!r} is a ledger of version {version}", f"this is version {VERSION}")
            self.sign: bytes = connection.execute("SELECT sign FROM key_check").fetchone()[0]
            self.name: str = connection.execute("SELECT name FROM ledger").fetchone()[0]

    @contextmanager
    def _without_a_key_alone(self) -> Iterator[None]:
        """Take a key that was written back where its tables could not be: an empty file with a key is one that was cut.

        Nobody else has used it: whoever finds a key beside an empty file refuses.
        """
        self._new_key: bytes | None = None
        try:
            yield
        except BaseException:
            if self._new_key is not None:
                drop_key(self.key_file, self._new_key)
            raise

    def _keep_new_key(self) -> bytes:
        self._new_key = keep_key(self.key_file)
        return self._new_key

    @classmethod
    def create(cls, path: Path) -> FileStore:
        """Make a ledger where no file is.

        Raises
        ------
        LedgerError
            There is one, or it cannot be made; nothing is changed then.
        """
        try:
            _make(path)
        except FileExistsError:
            raise LedgerError(f"{str(path)!r} is there already", "anonkit ledger shows what is in it") from None
        except OSError as error:
            raise LedgerError(f"{str(path)!r} cannot be made: {os.strerror(error.errno or 0)}") from None
        return cls(path, is_new=True)

    @property
    def key_file(self) -> Path:
        """File of its key when the environment has none: beside it."""
        return key_file(self._path)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Hold the file alone; all that is done inside is durable afterwards, or never happened."""
        try:
            with closing(sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    if connection.in_transaction:  # SQLite itself rolls back on a full disk
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._refusal(
                _WORDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, type(error).__name__)
            ) from None

    def lock_reservation(self, connection: Connection, number: int) -> None:
        """Do nothing: the process itself is seen."""

    def is_abandoned(self, connection: Connection, number: int, process: str, *, has_files: bool) -> bool:
        """Return True if the process that made a reservation has ended; False for another machine's."""
        return Process.from_text(process).is_surely_dead()

    def may_write(self, connection: Connection) -> bool:
        """Return True: each process that can open the file may write."""
        return True

    def remember(self, number: int, digest: str) -> None:
        """Do nothing: who puts a file back puts back what lies beside it, too."""

    def seen(self) -> tuple[int, str] | None:
        """Nothing is remembered."""
        return None

    def _refuse_damaged(self, connection: Connection) -> None:
        """Refuse a file of which a part is gone or overwritten: SQLite reads what is missing as zeros."""
        pages, size = (connection.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size"))
        is_cut = self._path.stat().st_size < pages * size
        if is_cut or connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise LedgerError(
                f"the ledger {str(self._path)!r} is damaged: a part of it is gone or overwritten",
                "put a backup back, with its key; until then nothing can be booked in it",
            )

    def _bring_up(self, connection: Connection, version: int) -> None:
        """Bring an older ledger to this version; what it was stays in a private file beside it."""
        self._keep_copy(version)
        if version == _FIRST_VERSION:
            self._take_the_key_out(connection)
        elif version == _SECOND_VERSION:
            _run(connection, *_FROM_SECOND)
        elif version == _THIRD_VERSION:
            _run(connection, *FROM_THIRD)
        _run(connection, *from_fourth(**_SPELLING), _NAMED)
        _name(connection)
        digest_older_params(connection)

    def _keep_copy(self, version: int) -> None:
        copy = self._path.with_name(f"{self._path.name}.version-{version}")
        aside = copy.with_name(f"{copy.name}.{secrets.token_hex(8)}")
        try:
            _make(aside)
            # read by SQLite: whoever else opens the file and closes it lets go of the locks of this process
            with closing(sqlite3.connect(self._path)) as read, closing(sqlite3.connect(aside)) as written:
                read.backup(written)
            os.replace(aside, copy)
        except OSError as error:
            raise self._refusal(f"no copy can be kept of it: {os.strerror(error.errno or 0)}") from None
        finally:
            aside.unlink(missing_ok=True)

    def _take_the_key_out(self, connection: Connection) -> None:
        """Bring a ledger of version 1 to this one: its key goes to the private file first, then out of the ledger."""
        key: bytes = connection.execute("SELECT key FROM secret").fetchone()[0]
        beside = self.key_file
        if not beside.exists():
            keep_key(beside, key)
        elif beside.read_text(encoding="ascii", errors="replace").strip() != key.hex():
            raise LedgerError(
                f"{str(beside)!r} is not the key of the ledger {str(self._path)!r}, which still holds its own",
                "move that file away; the ledger's key is then written there",
            )
        _run(connection, *_FROM_FIRST)  # freed pages are overwritten: PRAGMA secure_delete
        _sign(connection, key)

    def _refusal(self, why: str) -> LedgerError:
        return LedgerError(
            f"the ledger {str(self._path)!r} cannot be used: {why}",
            f"{option('ledger', 'PLACE')} names another; "
            f"{spoken(python='ledger=None', typed='--no-ledger')} releases without a record",
        )


def _make(path: Path) -> None:
    """Make an empty file that its owner alone reads: SQLite would make it with the permissions of the umask.

    A file that is there is not opened, and none is used before it is closed here: on POSIX, closing any descriptor of a
    file takes away the locks of the whole process on it, those under which another thread is about to commit too.

    Raises
    ------
    OSError
        It is there already (FileExistsError), or cannot be made.
    """
    with _MAKING:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _run(connection: Connection, *statements: str) -> None:
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _name(connection: Connection) -> None:
    connection.execute("INSERT INTO ledger VALUES (?)", (secrets.token_hex(8),))


def _sign(connection: Connection, key: bytes) -> None:
    connection.execute("INSERT INTO key_check VALUES (?)", (sign_of(key),))
