# SPDX-License-Identifier: Apache-2.0
"""The owner's ledger: every release of every dataset, and the privacy loss they add up to, in one SQLite file.

A release goes through it in three steps, each durable before the next begins: it is *reserved* (from here on its loss
counts), it is *publishing* (its files are about to be put in place), it is *committed*. Whoever dies on the way leaves
the step behind, and the next reader of the ledger settles it: what was only reserved never reached its place and is
rolled back; what was publishing is committed when its files are there, and counts as spent when nobody can tell.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from anonkit.atomic import recover
from anonkit.bundle import DATA, Place, sha256
from anonkit.errors import LedgerError
from anonkit.ledger.fingerprint import Fingerprint
from anonkit.ledger.liveness import Process
from anonkit.ledger.standing import Claim, Entry, Standing, State

NAME = ".anonkit-ledger.sqlite"
"""The default ledger stands beside the releases under this name."""
_VERSION = 1
_WAIT = 120.0  # seconds to wait for other processes: each holds the file for milliseconds
_SCHEMA = """
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE dataset (name TEXT PRIMARY KEY, budget TEXT);
CREATE TABLE fingerprint (dataset TEXT NOT NULL REFERENCES dataset, n_rows INTEGER NOT NULL, sketch BLOB NOT NULL);
CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset, state TEXT NOT NULL,
    method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT, k INTEGER, redrawn INTEGER NOT NULL,
    created TEXT NOT NULL, output TEXT, data_sha256 TEXT, params BLOB, process TEXT NOT NULL,
    n_rows INTEGER NOT NULL, sketch BLOB NOT NULL);
"""


class Ledger:
    """One ledger file.

    Parameters
    ----------
    path : path
        Made, readable by its owner only, when it is not there.

    Raises
    ------
    LedgerError
        It cannot be read or written, or is no ledger of this version. Nothing may be released then.

    Privacy
    -------
    No cell of any table is in it, but keyed fingerprints together with their key, methods, promises and paths: it is
    the owner's private file and never a part of a release.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise self._refusal(os.strerror(error.errno or 0)) from None
        with self._transaction() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                connection.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            elif version != _VERSION:
                raise LedgerError(f"{str(self.path)!r} is a ledger of version {version}", f"this is version {_VERSION}")
            self.key: bytes = connection.execute("SELECT key FROM secret").fetchone()[0]

    def datasets(self) -> list[Standing]:
        """Return where every dataset stands, by name, after settling what dead processes left."""
        with self._transaction() as connection:
            _settle_all(connection)
            names = [row[0] for row in connection.execute("SELECT name FROM dataset ORDER BY name")]
            return [_standing(connection, name) for name in names]

    def standing(self, dataset: str) -> Standing:
        """Return where one dataset stands."""
        return next((one for one in self.datasets() if one.dataset == dataset), _unknown(dataset))

    def known_as(self, found: Fingerprint) -> list[tuple[str, float]]:
        """Return the datasets that share rows with a table: (name, share of rows), closest first."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT dataset, n_rows, sketch FROM fingerprint").fetchall()
        shares: dict[str, float] = {}
        for name, n_rows, sketch in rows:
            shares[name] = max(shares.get(name, 0.0), found.overlap(Fingerprint.from_bytes(n_rows, sketch)))
        return sorted(((name, share) for name, share in shares.items() if share > 0), key=lambda pair: -pair[1])

    def reserve(self, claim: Claim, check: Callable[[Standing], None], *, budget: float | None = None) -> int:
        """Count a release from now on, if the check allows it, and return its number.

        Parameters
        ----------
        claim : Claim
        check : callable
            Given where the dataset stands (with the budget given here, if any), under a lock that no other process
            passes; raises to refuse.
        budget : float, optional
            Total ε allowed for the dataset from now on.
        """
        with self._transaction() as connection:
            _settle_all(connection)
            before = _standing(connection, claim.dataset)
            check(before if budget is None else replace(before, budget=budget))
            connection.execute("INSERT OR IGNORE INTO dataset VALUES (?, NULL)", (claim.dataset,))
            if budget is not None:
                connection.execute("UPDATE dataset SET budget = ? WHERE name = ?", (repr(budget), claim.dataset))
            _remember(connection, claim)
            made = connection.execute(
                "INSERT INTO release (dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, "
                "params, process, n_rows, sketch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
                ),
            )
            return int(made.lastrowid or 0)

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
            found = _entries(connection, "id = ?", number)
            if not found or not found[0].counts:
                raise LedgerError(f"the ledger has no release {number} that counts", "anonkit ledger lists them")
            if found[0].epsilon is not None:
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
            "--ledger PATH names another; --no-ledger releases without a record",
        )


def _unknown(dataset: str) -> Standing:
    return Standing(dataset=dataset, budget=None, entries=())


def _standing(connection: sqlite3.Connection, dataset: str) -> Standing:
    row = connection.execute("SELECT budget FROM dataset WHERE name = ?", (dataset,)).fetchone()
    budget = None if row is None else _number(row[0])
    return Standing(dataset=dataset, budget=budget, entries=_entries(connection, "dataset = ?", dataset))


def _entries(connection: sqlite3.Connection, where: str, *values: object) -> list[Entry]:
    rows = connection.execute(
        "SELECT id, dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, params, n_rows, sketch "
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
            fingerprint=Fingerprint.from_bytes(row[12], row[13]),
        )
        for row in rows
    ]


def _remember(connection: sqlite3.Connection, claim: Claim) -> None:
    known = connection.execute("SELECT n_rows, sketch FROM fingerprint WHERE dataset = ?", (claim.dataset,)).fetchall()
    if not any(claim.fingerprint.same_rows(Fingerprint.from_bytes(*each)) for each in known):
        connection.execute(
            "INSERT INTO fingerprint VALUES (?, ?, ?)",
            (claim.dataset, claim.fingerprint.rows, claim.fingerprint.to_bytes()),
        )


# --- what dead processes left --------------------------------------------------------------------------------


def _settle_all(connection: sqlite3.Connection) -> None:
    open_ones = _entries(connection, "state IN (?, ?)", State.RESERVED, State.PUBLISHING)
    for entry in open_ones:
        text = connection.execute("SELECT process FROM release WHERE id = ?", (entry.number,)).fetchone()[0]
        if Process.from_text(text).is_surely_dead():
            _settle(connection, entry)


def _settle(connection: sqlite3.Connection, entry: Entry, *, ended_here: bool = False) -> None:
    """Commit, roll back or leave a release on which its process works no more.

    What a process saw itself when it failed (`ended_here`) is believed: its files are not there. After a dead process
    they may have been there, and have been carried away since.
    """
    state = entry.state
    if state is State.RESERVED:  # `publishing` is durable before the first file is put in place
        state = State.ROLLED_BACK
    elif state is State.PUBLISHING and entry.output is not None:
        wanted = connection.execute("SELECT data_sha256 FROM release WHERE id = ?", (entry.number,)).fetchone()[0]
        there = _stands_there(Path(entry.output), wanted)
        if there:
            state = State.COMMITTED
        elif there is False and ended_here:
            state = State.ROLLED_BACK
    connection.execute("UPDATE release SET state = ? WHERE id = ?", (state, entry.number))


def _stands_there(output: Path, data_sha256: str) -> bool | None:
    """Tell whether a data file is in its place, interrupted renames finished; None when that cannot be known."""
    place = Place.of(output)
    try:
        recover(place.folder, place.stem)
        return place.file(DATA).exists() and sha256(place.file(DATA)) == data_sha256
    except OSError:
        return None


def _text(loss: float | None) -> str | None:
    return None if loss is None else repr(float(loss))


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
