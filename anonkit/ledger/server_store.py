# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger in a schema of a PostgreSQL database, with the guarantees of the file.

Every transaction begins with one lock of the whole ledger, so that what it reads is what holds when it commits. A
reservation has a lock of the session that made it: when the process ends, or loses its connection, the server
lets go, and others may give the reservation up. Who comes back too late is refused before a file is put in place.

The last release that this machine has seen in a server's ledger: a restored backup, which forgets it, is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from anonkit.bundle.atomic import reason_of
from anonkit.bundle.liveness import Process, when_started
from anonkit.bundle.private_files import write_private
from anonkit.errors import LedgerError, MissingDependencyError, ParameterError
from anonkit.ledger.file_store import keep_key, key_of, private_folder, sign_of
from anonkit.ledger.ledger_lines import (
    FROM_THIRD,
    TABLES,
    VERSION,
    Connection,
    StatementRows,
    digest_older_params,
    from_fourth,
    tables,
)
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.redaction import HIDDEN, redacted

SUFFIX = ".seen"


def seen_file(key_file: Path) -> Path:
    """Return the file of the mark: beside the key, or where the key would be."""
    return key_file.with_name(key_file.name + SUFFIX)


def remember_seen(key_file: Path, number: int, digest: str) -> None:
    """Keep the number and the digest of a release, unless a later one is kept.

    On a machine that keeps no files (a folder that cannot be written) nothing is kept, and nothing will be noticed.
    """
    known = last_seen(key_file)
    if known is None or known[0] < number:
        with suppress(OSError):
            write_private(seen_file(key_file), json.dumps({"release": number, "digest": digest}))


def last_seen(key_file: Path) -> tuple[int, str] | None:
    """Return the number and the digest of the last release that is remembered; None when none is.

    Raises
    ------
    LedgerError
        The file cannot be read, or is no mark.
    """
    path = seen_file(key_file)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return int(stored["release"]), str(stored["digest"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LedgerError(f"{str(path)!r} cannot be read: {reason_of(error)}") from None
    except (ValueError, KeyError, TypeError):
        raise LedgerError(f"{str(path)!r} is damaged", "it says which release of the ledger was seen last") from None


def forgotten(place: str, key_file: Path, number: int) -> LedgerError:
    """Return the error for a ledger that lacks a release which this machine has seen."""
    return LedgerError(
        f"the ledger {place!r} has forgotten release {number}, which this machine has seen in it: a backup was put "
        "back, and what was spent since does not count there",
        f"lower the budgets by what was spent since, then delete {str(seen_file(key_file))!r}",
    )


WAIT = 120
"""Seconds to wait for other sessions: each holds the ledger for milliseconds."""
_PATIENCE = {
    "connect_timeout": "15",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
    "application_name": "anonkit",
}
"""Defaults of libpq where the address sets none: a server that is gone is noticed within about a minute."""
_SESSION = (
    "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3; "
    f"SET idle_in_transaction_session_timeout = '{WAIT}s'; SET client_encoding = 'UTF8'"
)
"""The same from the server's side: it lets go of the locks of a machine that is gone."""
_SPELLING = {
    "bytes": "BYTEA",
    "integer": "BIGINT",
    "number": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    "row_number": "rowid BIGINT GENERATED ALWAYS AS IDENTITY, ",
}
_THIRD_VERSION, _FOURTH_VERSION = 3, 4
_HOW = "anonkit ledger create PLACE makes one"


class _Session:
    """One connection of one process, closed when nobody needs it any more."""

    def __init__(self, driver: ModuleType, settings: dict[str, str]) -> None:
        self.driver = driver
        self.connection = when_started(
            lambda: driver.connect(**settings, autocommit=True, prepare_threshold=None), (driver.OperationalError,)
        )
        self.process = os.getpid()
        self.locked: set[int] = set()
        """Reservations that this session holds: to itself its own locks are free."""
        weakref.finalize(self, _close, self.connection, self.process)
        self.connection.execute(_SESSION)

    @property
    def is_between_transactions(self) -> bool:
        """Return True if the last transaction has ended; an interrupt may have left one open."""
        return bool(self.connection.info.transaction_status == self.driver.pq.TransactionStatus.IDLE)

    @property
    def is_usable(self) -> bool:
        """False in a child of the process that opened it, and after the connection was lost."""
        return self.process == os.getpid() and not self.connection.closed

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> StatementRows:
        """Carry out a statement of the ledger's rules; see `anonkit.ledger.ledger_lines.Connection`."""
        found: StatementRows = self.connection.execute(statement.replace("?", "%s"), values)
        return found

    def roll_back(self) -> None:
        """End a transaction that failed; of one whose connection is lost the server forgets all by itself."""
        with suppress(self.driver.Error):
            self.connection.execute("ROLLBACK")


def _close(connection: Any, process: int) -> None:
    if os.getpid() == process:  # a child that was forked would end the session of its parent
        connection.close()


class ServerStore:
    """A ledger on a server; see `anonkit.ledger.ledger_lines.Backend`.

    Parameters
    ----------
    place : LedgerPlace
    create : bool
        True: the tables are made, where none are, and the key, which stays here.

    Raises
    ------
    LedgerError
        The server cannot be reached, there is no ledger of this version (or there is one to be made already), or what
        it commits may be lost. Nothing is changed then.
    MissingDependencyError
        The driver is not installed.
    ParameterError
        The address is none.

    Privacy
    -------
    The key never reaches the server. The address may hold a password: no error that is raised here shows it.
    """

    def __init__(self, place: LedgerPlace, *, create: bool = False) -> None:
        self.place = place
        self._driver = _driver()
        self._settings = _settings(self._driver, place)
        self._session: _Session | None = None
        self._one_thread = Lock()  # threads that share a ledger share its session, not their transactions
        self._turn = _turn_of(place.schema)
        if not create:
            self._read()
        else:
            self._make()

    def _read(self) -> None:
        place = self.place
        with self.transaction() as connection:
            if connection.execute("SELECT to_regclass(?)", (f"{place.schema}.ledger",)).fetchone()[0] is None:
                raise LedgerError(f"there is no ledger at {str(place)!r}", _HOW)
            version, self.name = connection.execute("SELECT version, name FROM ledger").fetchone()
            if version in (_THIRD_VERSION, _FOURTH_VERSION):
                self._bring_up(connection, version)
            elif version != VERSION:
                raise LedgerError(f"{str(place)!r} is a ledger of version {version}", f"this is version {VERSION}")
            self.sign = bytes(connection.execute("SELECT sign FROM key_check").fetchone()[0])

    def _bring_up(self, connection: Connection, version: int) -> None:
        """Bring an older ledger to this version, and keep a copy of its tables; roles keep what they may do."""
        owned = "SELECT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE oid = 'dataset'::regclass"
        if not connection.execute(owned).fetchone()[0]:
            raise LedgerError(
                f"{str(self.place)!r} is a ledger of version {version}, and this is version {VERSION}",
                "anonkit ledger PLACE brings it to this version, in the role that made it",
            )
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table}_version_{version} AS TABLE {table}")
        for statement in (*(FROM_THIRD if version == _THIRD_VERSION else ()), *from_fourth(**_SPELLING)):
            connection.execute(statement)
        if version == _THIRD_VERSION:
            self._grant_as_before(connection, "budget", "budget_delta")
        for column in ("budget_neighbours", "budget_unit"):
            self._grant_as_before(connection, "budget", column)
        for table in ("people", "release_people"):
            self._grant_as_table(connection, "fingerprint", table)
        digest_older_params(connection)
        connection.execute("UPDATE ledger SET version = ?", (VERSION,))

    def _grant_as_before(self, connection: Connection, old: str, new: str) -> None:
        """Let whoever may change a column of `dataset` change a new one, too."""
        self._grant_again(
            connection,
            f"UPDATE ({new}) ON dataset",
            "column_privileges WHERE table_schema = ? AND table_name = 'dataset' AND column_name = ? "
            "AND privilege_type = 'UPDATE'",
            old,
        )

    def _grant_as_table(self, connection: Connection, old: str, new: str) -> None:
        """Let whoever may read or add to a table read or add to a new one, too."""
        for privilege in ("SELECT", "INSERT"):
            self._grant_again(
                connection,
                f"{privilege} ON {new}",
                f"role_table_grants WHERE table_schema = ? AND table_name = ? AND privilege_type = '{privilege}'",
                old,
            )

    def _grant_again(self, connection: Connection, privilege: str, grants_view: str, old: str) -> None:
        grants = (
            f"SELECT DISTINCT 'GRANT {privilege} TO ' || "
            "CASE grantee WHEN 'PUBLIC' THEN grantee ELSE quote_ident(grantee) END "
            f"FROM information_schema.{grants_view} AND grantee <> current_user"
        )
        for (grant,) in list(connection.execute(grants, (self.place.schema, old))):
            connection.execute(grant)

    def _make(self) -> None:
        place, self.name = self.place, secrets.token_hex(8)
        with self.transaction() as connection:
            if connection.execute("SELECT to_regclass(?)", (f"{place.schema}.ledger",)).fetchone()[0] is not None:
                raise LedgerError(f"{str(place)!r} is there already", "anonkit ledger shows what is in it")
            if connection.execute("SELECT to_regnamespace(?)", (place.schema,)).fetchone()[0] is None:
                connection.execute(f'CREATE SCHEMA "{place.schema}"')
            connection.execute("CREATE TABLE ledger (version BIGINT NOT NULL, name TEXT NOT NULL)")
            connection.execute("INSERT INTO ledger VALUES (?, ?)", (VERSION, self.name))
            for statement in tables(**_SPELLING):
                connection.execute(statement)
            self.sign = sign_of(key_of(self.key_file) or keep_key(self.key_file))
            connection.execute("INSERT INTO key_check VALUES (?)", (self.sign,))

    @property
    def key_file(self) -> Path:
        """File of its key when the environment has none: in the owner's folder of settings."""
        return private_folder() / f"ledger-{self.name}.key"

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Hold the ledger alone; all that is done inside is durable afterwards, or never happened."""
        with self._one_thread:
            try:
                session = self._begun()
                try:
                    yield session
                except BaseException:
                    session.roll_back()
                    raise
                # a server answers ROLLBACK, and no error, where something inside had failed
                if session.connection.execute("COMMIT").statusmessage != "COMMIT":
                    raise LedgerError(f"the ledger {str(self.place)!r} did not commit")
            except self._driver.Error as error:
                raise self._refusal(error) from None

    def lock_reservation(self, connection: Connection, number: int) -> None:
        """Lock a reservation for as long as the session lasts."""
        connection.execute("SELECT pg_try_advisory_lock(?, ?)", (self._turn, number))
        if self._session is not None:
            self._session.locked.add(number)

    def is_abandoned(self, connection: Connection, number: int, process: str, *, has_files: bool) -> bool:
        """Return True if the session that made a reservation is gone; of one with files, whether the process is."""
        if self._session is not None and number in self._session.locked:
            return False
        if has_files or Process.from_text(process).has_ended():
            return Process.from_text(process).has_ended()
        found = connection.execute("SELECT pg_try_advisory_xact_lock(?, ?)", (self._turn, number)).fetchone()
        return bool(found[0])

    def may_write(self, connection: Connection) -> bool:
        """Return True if the role may book, not only look."""
        found = connection.execute("SELECT has_column_privilege('release', 'state', 'UPDATE')").fetchone()
        return bool(found[0])

    def remember(self, number: int, digest: str) -> None:
        """Keep beside the key that the ledger has this release."""
        remember_seen(self.key_file, number, digest)

    def seen(self) -> tuple[int, str] | None:
        """Return the last release that this machine remembers."""
        return last_seen(self.key_file)

    # --- the connection ----------------------------------------------------------------------------------------

    def _begun(self) -> _Session:
        """Return a session in a new transaction that holds the ledger.

        What was lost since the last transaction is opened again, once: nothing was sent yet that could be done twice.
        """
        if self._session is not None and self._session.is_usable:
            if not self._session.is_between_transactions:
                self._session.roll_back()
            try:
                return self._begin(self._session)
            except self._driver.OperationalError:
                if not self._session.connection.closed:
                    raise
        self._session = self._connected()
        return self._begin(self._session)

    def _begin(self, session: _Session) -> _Session:
        try:
            session.connection.execute(self._opening)
        except BaseException:
            session.roll_back()
            raise
        return session

    @property
    def _opening(self) -> str:
        return (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
            f'SET LOCAL search_path TO "{self.place.schema}", pg_temp; '
            f"SET LOCAL lock_timeout = '{WAIT}s'; "
            # a commit is on the disk before it is confirmed, whatever the database's own setting
            "SELECT set_config('synchronous_commit', 'on', true) "
            "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply'); "
            f"SELECT pg_advisory_xact_lock({self._turn}, 0)"
        )

    def _connected(self) -> _Session:
        try:
            session = _Session(self._driver, self._settings)
        except self._driver.Error as error:
            raise LedgerError(f"the ledger {str(self.place)!r} cannot be reached: {self._words(error)}") from None
        if session.connection.execute("SELECT current_setting('fsync')").fetchone()[0] != "on":
            raise LedgerError(
                f"the server of the ledger {str(self.place)!r} does not bring commits to the disk (fsync is off)",
                "what is spent would be forgotten with the next power cut; switch it on",
            )
        return session

    def _refusal(self, error: Exception) -> LedgerError:
        """Return the error for a failure of the server; its own words may quote what it was sent."""
        errors, shown = self._driver.errors, f"the ledger {str(self.place)!r}"
        if isinstance(error, errors.InsufficientPrivilege):
            return LedgerError(f"{shown} does not allow this to its role", "its owner grants what is needed")
        if isinstance(error, errors.LockNotAvailable):
            return LedgerError(f"{shown} was locked by others for {WAIT} s", "try again; pg_locks tells who holds it")
        if isinstance(error, self._driver.OperationalError) and (
            self._session is None or self._session.connection.closed
        ):
            return LedgerError(
                f"the connection to {shown} was lost", "try again: what was reserved and not published is given up"
            )
        state = getattr(error, "sqlstate", None)
        return LedgerError(f"{shown} cannot be used: {type(error).__name__}{f' ({state})' if state else ''}")

    def _words(self, error: Exception) -> str:
        """Return the reason why there is no connection, as libpq says it, without what is secret."""
        text = " ".join(str(error).split())
        for secret in (self._settings.get("password"), self._settings.get("sslpassword"), os.environ.get("PGPASSWORD")):
            text = text.replace(secret, HIDDEN) if secret else text
        return redacted(text)


def _driver() -> ModuleType:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise MissingDependencyError.of_extra("psycopg, which a ledger on a server needs,", "postgres") from None
    driver: ModuleType = psycopg
    return driver


def _settings(driver: ModuleType, place: LedgerPlace) -> dict[str, str]:
    """Return the settings for libpq, the parameters of TLS and all others of the address as they are."""
    try:
        given = driver.conninfo.conninfo_to_dict(place.address)
    except driver.Error:
        raise ParameterError(
            f"{str(place)!r} is no address of a database", "postgresql://user@host/database?sslmode=verify-full"
        ) from None
    return {**_PATIENCE, **{key: str(value) for key, value in given.items()}}


def _turn_of(schema: str) -> int:
    """Return the number of the ledger's locks in its database: 32 bits with a sign, of the schema's name."""
    digest = hashlib.blake2b(schema.encode(), digest_size=4, person=b"anonkit ledger").digest()
    return int.from_bytes(digest, "big", signed=True)
