# SPDX-License-Identifier: Apache-2.0
"""The owner's ledger: every release of every dataset, and their total privacy loss, in one SQLite file.

A release goes through it in three steps, each durable before the next begins: it is *reserved* (from here on its loss
counts), it is *publishing* (its files are about to be put in place), it is *committed*. Whoever dies on the way leaves
the step behind, and the next reader of the ledger settles it: what was only reserved never reached its place and is
rolled back; of what was publishing its files tell (`anonkit.ledger.settling`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from anonkit.errors import LedgerError, option, spoken
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.liveness import Process
from anonkit.ledger.private_key import (
    VARIABLE,
    close_to_others,
    keep_key,
    key_file,
    key_of,
    missing_key,
    sign_of,
    wrong_key,
)
from anonkit.ledger.recognition import Marks, marks_from
from anonkit.ledger.settling import settled
from anonkit.ledger.standing import Claim, Entry, Standing, State, allowed

NAME = ".anonkit-ledger.sqlite"
"""The default ledger stands beside the releases under this name."""
_VERSION = 3
_FIRST_VERSION, _SECOND_VERSION = 1, 2
"""The first held its key, and knew tables by `first_marks`; the second did not keep what a release was asked for."""
_WAIT = 120.0  # seconds to wait for other processes: each holds the file for milliseconds
_SCHEMA = """
CREATE TABLE key_check (sign BLOB NOT NULL);
CREATE TABLE dataset (name TEXT PRIMARY KEY, budget TEXT);
CREATE TABLE fingerprint (dataset TEXT NOT NULL REFERENCES dataset, n_rows INTEGER NOT NULL, sketch BLOB NOT NULL,
    form INTEGER NOT NULL DEFAULT 1);
CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset, state TEXT NOT NULL,
    method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT, k INTEGER, redrawn INTEGER NOT NULL,
    created TEXT NOT NULL, output TEXT, data_sha256 TEXT, params BLOB, process TEXT NOT NULL,
    n_rows INTEGER NOT NULL, sketch BLOB NOT NULL, form INTEGER NOT NULL DEFAULT 1, request BLOB);
"""
_FROM_SECOND = """
ALTER TABLE release ADD COLUMN request BLOB;
"""
_FROM_FIRST = (
    """
DROP TABLE secret;
CREATE TABLE key_check (sign BLOB NOT NULL);
ALTER TABLE fingerprint ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
ALTER TABLE release ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
"""
    + _FROM_SECOND
)

Naming = Callable[[Sequence[tuple[str, Marks]], Sequence[str]], str]
"""Says under which name a release is booked, from the marks of (dataset, table) and the names in the ledger."""


class Ledger:
    """One ledger file.

    Parameters
    ----------
    path : path or LedgerPlace
        Made, readable by its owner only, when it is not there.

    Raises
    ------
    LedgerError
        It cannot be read or written, or is no ledger of this version. Nothing may be released then.

    Privacy
    -------
    No cell of any table is in it, but methods, promises, paths, and keyed fingerprints, which say nothing without their
    key. The key stands in a private file beside the ledger, or in the environment. Both are their owner's, and never a
    part of a release.
    """

    def __init__(self, path: str | Path | LedgerPlace) -> None:
        place = LedgerPlace.of(path)
        if place.file is None:
            raise LedgerError(f"{str(place)!r} is on a server")
        self.place = place
        self.path = place.file
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # made before SQLite opens it, which would make it with the permissions of the umask
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            close_to_others(self.path)
        except OSError as error:
            raise self._refusal(os.strerror(error.errno or 0)) from None
        with self._transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                _run(connection, _SCHEMA)
                _sign(connection, key_of(self.path) or keep_key(self.path))
            elif version == _FIRST_VERSION:
                self._take_the_key_out(connection)
            elif version == _SECOND_VERSION:
                _run(connection, _FROM_SECOND)
            elif version != _VERSION:
                raise LedgerError(f"{str(self.path)!r} is a ledger of version {version}", f"this is version {_VERSION}")
            self._sign: bytes = connection.execute("SELECT sign FROM key_check").fetchone()[0]

    @classmethod
    def create(cls, where: str | Path | LedgerPlace) -> Ledger:
        """Make a ledger where none is.

        Raises
        ------
        LedgerError
            There is one, or something else; nothing is changed then.
        """
        place = LedgerPlace.of(where)
        if place.file is not None:
            try:
                place.file.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(place.file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            except FileExistsError:
                raise LedgerError(f"{str(place)!r} is there already", "anonkit ledger shows what is in it") from None
            except OSError as error:
                raise LedgerError(f"{str(place)!r} cannot be made: {os.strerror(error.errno or 0)}") from None
        return cls(place)

    @property
    def key_place(self) -> str:
        """Where the key is kept: a file, or the environment variable."""
        return VARIABLE if VARIABLE in os.environ else str(key_file(self.path))

    def _take_the_key_out(self, connection: sqlite3.Connection) -> None:
        """Bring a ledger of version 1 to this one: its key goes to the private file first, then out of the ledger."""
        key: bytes = connection.execute("SELECT key FROM secret").fetchone()[0]
        beside = key_file(self.path)
        if not beside.exists():
            keep_key(self.path, key)
        elif beside.read_text(encoding="ascii", errors="replace").strip() != key.hex():
            raise LedgerError(
                f"{str(beside)!r} is not the key of the ledger {str(self.path)!r}, which still holds its own",
                "move that file away; the ledger's key is then written there",
            )
        _run(connection, _FROM_FIRST)  # freed pages are overwritten: PRAGMA secure_delete
        _sign(connection, key)

    @property
    def key(self) -> bytes:
        """The key under which tables are known again, 32 bytes.

        Raises
        ------
        LedgerError
            It is not there, or is another ledger's: nothing may be booked then.
        """
        stored_key = key_of(self.path)
        if stored_key is None:
            raise missing_key(self.path)
        if sign_of(stored_key) != self._sign:
            raise wrong_key(self.path)
        return stored_key

    def datasets(self) -> list[Standing]:
        """Return where every dataset stands, by name, after settling what dead processes left."""
        with self._transaction() as connection:
            _settle_all(connection)
            return [_standing(connection, name) for name in _names(connection)]

    def standing(self, dataset: str) -> Standing:
        """Return where one dataset stands."""
        return next((standing for standing in self.datasets() if standing.dataset == dataset), _unknown(dataset))

    def marks(self) -> list[tuple[str, Marks]]:
        """Return by what the tables of every dataset are known: (dataset, marks)."""
        with self._transaction() as connection:
            return _marks(connection)

    def reserve(
        self,
        claim: Claim,
        check: Callable[[Standing], None],
        *,
        budget: float | None = None,
        declared: float | None = None,
        naming: Naming | None = None,
    ) -> int:
        """Count a release from now on, if the check allows it, and return its number.

        Parameters
        ----------
        claim : Claim
            Its dataset is replaced by what `naming` says.
        check : callable
            Given where the dataset stands (with the budget given here, if any), under a lock that no other process
            passes; raises to refuse.
        budget : float, optional
            Total ε allowed for the dataset from now on.
        declared : float, optional
            The same from the policy, which lowers a budget that is remembered and never raises it.
        naming : callable, optional
            Given the marks and the names of all datasets under the same lock, so that two releases of one table at once
            do not become two datasets; returns the dataset, or raises to refuse.
        """
        with self._transaction() as connection:
            _settle_all(connection)
            if naming is not None:
                claim = replace(claim, dataset=naming(_marks(connection), _names(connection)))
            # read under the lock: two releases at once cannot both fit into the rest of one budget
            before = _standing(connection, claim.dataset)
            budget = allowed(before.budget, given=budget, declared=declared)
            check(replace(before, budget=budget))
            connection.execute("INSERT OR IGNORE INTO dataset VALUES (?, NULL)", (claim.dataset,))
            connection.execute("UPDATE dataset SET budget = ? WHERE name = ?", (_text(budget), claim.dataset))
            _remember(connection, claim)
            inserted = connection.execute(
                "INSERT INTO release (dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, "
                "params, process, n_rows, sketch, form, request) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    claim.dataset,
                    State.RESERVED,
                    claim.method,
                    claim.kind,
                    _text(claim.epsilon),
                    _text(claim.delta),
                    claim.k,
                    claim.redrawn,
                    datetime.now(UTC).replace(microsecond=0).isoformat(),
                    claim.output,
                    claim.params,
                    Process.this().to_text(),
                    claim.fingerprint.rows,
                    claim.fingerprint.to_bytes(),
                    claim.fingerprint.form,
                    claim.request,
                ),
            )
            return int(inserted.lastrowid or 0)

    def publishing(self, number: int, data_sha256: str) -> None:
        """Say that the files of a release are about to be put in place; `data_sha256` tells them from any others."""
        self._set(number, State.PUBLISHING, "data_sha256 = ?", data_sha256)

    def commit(self, number: int) -> None:
        """Say that a release is published."""
        self._set(number, State.COMMITTED)

    def give_up(self, number: int) -> None:
        """Settle a release that failed in this process: rolled back unless its files are there."""
        with self._transaction() as connection:
            _settle(connection, _entries(connection, "id = ?", number)[0], ended_here=True)

    def withdraw(self, number: int) -> None:
        """Take the owner's word that a k-anonymous release was never handed out.

        Raises
        ------
        LedgerError
            There is no such release, or it has an epsilon: what was drawn from the data stays spent.
        """
        with self._transaction() as connection:
            entries = _entries(connection, "id = ?", number)
            if not entries or not entries[0].counts:
                raise LedgerError(f"the ledger has no release {number} that counts", "anonkit ledger lists them")
            if entries[0].epsilon is not None:
                raise LedgerError(f"release {number} has spent epsilon, which cannot be taken back")
            connection.execute("UPDATE release SET state = ? WHERE id = ?", (State.WITHDRAWN, number))

    def _set(self, number: int, state: State, more: str = "", *values: str) -> None:
        with self._transaction() as connection:
            assignment = f"state = ?{', ' if more else ''}{more}"
            connection.execute(f"UPDATE release SET {assignment} WHERE id = ?", (state, *values, number))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file alone; all that is done inside is durable afterwards, or never happened."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._refusal(type(error).__name__) from None

    def _refusal(self, why: str) -> LedgerError:
        return LedgerError(
            f"the ledger {str(self.path)!r} cannot be used: {why}",
            f"{option('ledger', 'PLACE')} names another; "
            f"{spoken(python='ledger=None', typed='--no-ledger')} releases without a record",
        )


def _unknown(dataset: str) -> Standing:
    return Standing(dataset=dataset, budget=None, entries=())


def _standing(connection: sqlite3.Connection, dataset: str) -> Standing:
    row = connection.execute("SELECT budget FROM dataset WHERE name = ?", (dataset,)).fetchone()
    budget = None if row is None else _number(row[0])
    return Standing(dataset=dataset, budget=budget, entries=_entries(connection, "dataset = ?", dataset))


def _entries(connection: sqlite3.Connection, where: str, *values: object) -> list[Entry]:
    rows = connection.execute(
        "SELECT id, dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, params, n_rows, sketch, "
        "form, request, data_sha256 "
        f"FROM release WHERE {where} ORDER BY id",
        values,
    )
    return [
        Entry(
            number=row[0],
            dataset=row[1],
            state=State(row[2]),
            method=row[3],
            kind=row[4],
            epsilon=_number(row[5]),
            delta=_number(row[6]),
            k=row[7],
            redrawn=bool(row[8]),
            created=row[9],
            output=row[10],
            params=row[11],
            fingerprint=marks_from(*row[12:15]),
            request=row[15],
            data_sha256=row[16],
        )
        for row in rows
    ]


def _remember(connection: sqlite3.Connection, claim: Claim) -> None:
    known = [marks for dataset, marks in _marks(connection) if dataset == claim.dataset]
    if not any(claim.fingerprint.is_same_as(digest) for digest in known):
        connection.execute(
            "INSERT INTO fingerprint VALUES (?, ?, ?, ?)",
            (claim.dataset, claim.fingerprint.rows, claim.fingerprint.to_bytes(), claim.fingerprint.form),
        )


def _marks(connection: sqlite3.Connection) -> list[tuple[str, Marks]]:
    rows = connection.execute("SELECT dataset, n_rows, sketch, form FROM fingerprint ORDER BY dataset, rowid")
    return [(row[0], marks_from(*row[1:])) for row in rows]


def _names(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT name FROM dataset ORDER BY name")]


def _run(connection: sqlite3.Connection, statements: str) -> None:
    for statement in filter(str.strip, statements.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _sign(connection: sqlite3.Connection, key: bytes) -> None:
    connection.execute("INSERT INTO key_check VALUES (?)", (sign_of(key),))


# --- what dead processes left --------------------------------------------------------------------------------


def _settle_all(connection: sqlite3.Connection) -> None:
    open_ones = _entries(connection, "state IN (?, ?)", State.RESERVED, State.PUBLISHING)
    for entry in open_ones:
        text = connection.execute("SELECT process FROM release WHERE id = ?", (entry.number,)).fetchone()[0]
        if Process.from_text(text).is_surely_dead():
            _settle(connection, entry)


def _settle(connection: sqlite3.Connection, entry: Entry, *, ended_here: bool = False) -> None:
    """Commit, roll back or leave a release on which its process works no more."""
    state = settled(entry, ended_here=ended_here)
    connection.execute("UPDATE release SET state = ? WHERE id = ?", (state, entry.number))


def _text(loss: float | None) -> str | None:
    return None if loss is None else repr(float(loss))


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
