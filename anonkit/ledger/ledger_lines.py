# SPDX-License-Identifier: Apache-2.0
"""Lines of a ledger, read from its tables and written into them inside a transaction of whoever holds the ledger.

Which line is written when, and what is refused, are rules of `anonkit.ledger.store`.

The tables of a ledger: one text of SQL for a file and for a server, and what both offer to the ledger's rules.

What differs is how a type is spelled. A statement is written once, with `?` for its values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from anonkit.bundle.liveness import Process
from anonkit.errors import LedgerError, ReleaseFormatError
from anonkit.ledger.booked_releases import (
    COUNTED,
    NO_LIMIT,
    Allowance,
    DatasetState,
    Entry,
    PlannedSpending,
    ReleaseState,
    digest_of_packed,
)
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.neighbour_totals import adjacency_words, neighbours_named
from anonkit.ledger.people_marks import PeopleMarks
from anonkit.ledger.recognition import Known, Marks, marks_from
from anonkit.promises.guarantee import Neighbours

VERSION = 5
"""Of the tables. The first held the key, and knew tables by `legacy_fingerprint`; the second did not store requests,
the third no budget of delta, the fourth neither neighbours nor people, and a file had no id."""

FROM_THIRD = ("ALTER TABLE dataset ADD COLUMN budget_delta TEXT",)
"""SQL from the third version of the tables to the fourth, in a file and on a server."""

_TABLES = """
CREATE TABLE key_check (sign {bytes} NOT NULL);
CREATE TABLE dataset (name TEXT PRIMARY KEY, budget TEXT, budget_delta TEXT, budget_neighbours TEXT, budget_unit TEXT);
CREATE TABLE fingerprint ({row_number}dataset TEXT NOT NULL REFERENCES dataset, n_rows {integer} NOT NULL,
    sketch {bytes} NOT NULL, form {integer} NOT NULL DEFAULT 1);
CREATE TABLE release (
    id {number}, dataset TEXT NOT NULL REFERENCES dataset, state TEXT NOT NULL,
    method TEXT NOT NULL, kind TEXT NOT NULL, epsilon TEXT, delta TEXT, k {integer}, redrawn {integer} NOT NULL,
    created TEXT NOT NULL, output TEXT, data_sha256 TEXT, params {bytes}, process TEXT NOT NULL,
    n_rows {integer} NOT NULL, sketch {bytes} NOT NULL, form {integer} NOT NULL DEFAULT 1, request {bytes},
    params_digest {bytes}, remark TEXT, neighbours TEXT, unit TEXT, people TEXT, cap {integer});
"""
_PEOPLE = (
    "CREATE TABLE people (id {number}, dataset TEXT NOT NULL REFERENCES dataset, digest {bytes} NOT NULL, "
    "marks {bytes} NOT NULL)",
    "CREATE TABLE release_people (release {integer} NOT NULL, people {integer} NOT NULL)",
)
_FROM_FOURTH = (
    "ALTER TABLE release ADD COLUMN params_digest {bytes}",
    "ALTER TABLE release ADD COLUMN remark TEXT",
    "ALTER TABLE release ADD COLUMN neighbours TEXT",
    "ALTER TABLE release ADD COLUMN unit TEXT",
    "ALTER TABLE release ADD COLUMN people TEXT",
    "ALTER TABLE release ADD COLUMN cap {integer}",
    "ALTER TABLE dataset ADD COLUMN budget_neighbours TEXT",
    "ALTER TABLE dataset ADD COLUMN budget_unit TEXT",
    *_PEOPLE,
)
TABLES = ("dataset", "fingerprint", "release")
"""Tables of which a copy is kept when a ledger on a server is brought to this version."""


def tables(**spelling: str) -> Iterator[str]:
    """Return the statements that make the tables.

    Parameters
    ----------
    **spelling
        How `bytes`, `integer`, `number` (a primary key that counts up) and `row_number` (a column that does, where rows
        have no numbers of themselves) are spelled.
    """
    statements = (*_TABLES.split(";"), *_PEOPLE)
    return (statement.format(**spelling) for statement in statements if statement.strip())


def from_fourth(**spelling: str) -> Iterator[str]:
    """Return the statements that bring the tables of the fourth version to this one; spelling as for `tables`."""
    return (statement.format(**spelling) for statement in _FROM_FOURTH)


class StatementRows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """Number of changed rows."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def __iter__(self) -> Iterator[Any]:
        """Go through the rows."""


class Connection(Protocol):
    """Takes statements, inside one transaction."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> StatementRows:
        """Carry out a statement."""


class Backend(Protocol):
    """The opened tables of one ledger: in a file or on a server."""

    place: LedgerPlace
    name: str
    """Random id of the ledger, wherever it is moved."""
    sign: bytes
    """Sign by which the ledger distinguishes its key from any other."""

    @property
    def key_file(self) -> Path:
        """File of its key when the environment has none."""

    def transaction(self) -> AbstractContextManager[Connection]:
        """Hold the ledger alone; all that is done inside is durable afterwards, or never happened."""

    def lock_reservation(self, connection: Connection, number: int) -> None:
        """Let others see, for as long as this process lives, that a reservation is its own."""

    def is_abandoned(self, connection: Connection, number: int, process: str, *, has_files: bool) -> bool:
        """Return True if whoever made a reservation is gone.

        Before there are files (`has_files`) it may be wrong about a process that cannot be seen from here: `publishing`
        refuses what was given up. Afterwards it may not: who is taken for gone then has its files judged.
        """

    def may_write(self, connection: Connection) -> bool:
        """Return True if the user may book, not only look."""

    def remember(self, number: int, digest: str) -> None:
        """Keep, where a backup of the ledger does not reach, that it has this release."""

    def seen(self) -> tuple[int, str] | None:
        """Return the last release that was remembered; None when this machine remembers none."""


@contextmanager
def _legible() -> Iterator[None]:
    """Refuse lines that are none of a ledger: what was spent is not guessed."""
    try:
        yield
    except (ReleaseFormatError, ValueError, KeyError, TypeError, ArithmeticError):
        raise LedgerError(
            "the ledger is damaged: a line of it cannot be read",
            "put a backup back, with its key; until then nothing can be booked in it",
        ) from None


@_legible()
def standing_in(connection: Connection, dataset: str) -> DatasetState:
    """Return the totals and entries of a dataset.

    Raises
    ------
    LedgerError
        A line is none of a ledger; so do the other functions.
    """
    row = connection.execute(
        "SELECT budget, budget_delta, budget_neighbours, budget_unit FROM dataset WHERE name = ?", (dataset,)
    ).fetchone()
    allowance = NO_LIMIT
    if row is not None:
        allowance = Allowance(epsilon=_number(row[0]), delta=_number(row[1]), neighbours=_neighbours(*row[2:]))
    return DatasetState(dataset=dataset, allowance=allowance, entries=entries_in(connection, "dataset = ?", dataset))


@_legible()
def entries_in(connection: Connection, where: str, *values: object) -> list[Entry]:
    """Return the releases of which a condition holds, by their numbers; `?` in it mean the values."""
    rows = connection.execute(
        "SELECT id, dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, params, n_rows, sketch, "
        "form, request, data_sha256, process, params_digest, remark, "
        "neighbours, unit, people, cap "
        f"FROM release WHERE {where} ORDER BY id",
        values,
    )
    return [
        Entry(
            number=row[0],
            dataset=row[1],
            state=ReleaseState(row[2]),
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
            process=row[17],
            staging=json.loads(row[17]).get("staging"),
            params_digest=row[18],
            remark=row[19],
            neighbours=_neighbours(row[20], row[21]),
            people=row[22],
            cap=row[23],
        )
        for row in rows
    ]


@_legible()
def marks_in(connection: Connection) -> list[tuple[str, Marks]]:
    """Return by what the tables of every dataset are known: (dataset, marks), by dataset."""
    rows = connection.execute("SELECT dataset, n_rows, sketch, form FROM fingerprint ORDER BY rowid")
    # sorted here: databases have orders of their own for strings
    return [(row[0], marks_from(*row[1:])) for row in sorted(rows, key=lambda row: str(row[0]))]


@_legible()
def people_in(connection: Connection, dataset: str | None = None) -> list[tuple[str, PeopleMarks]]:
    """Return the people of every dataset, or of one, that are remembered of releases that count: (dataset, marks)."""
    states = ", ".join(f"'{state.value}'" for state in COUNTED)
    rows = connection.execute(
        "SELECT dataset, marks FROM people WHERE (CAST(? AS TEXT) IS NULL OR dataset = ?) AND EXISTS (SELECT 1 FROM "
        "release_people JOIN release ON release.id = release_people.release WHERE release_people.people = people.id "
        f"AND release.state IN ({states})) ORDER BY id",
        (dataset, dataset),
    )
    return [(row[0], PeopleMarks.from_bytes(row[1])) for row in rows]


def known_in(connection: Connection) -> list[tuple[str, Known]]:
    """Return by what the tables of every dataset are known, their people with them."""
    return [*marks_in(connection), *people_in(connection)]


def people_of(connection: Connection, number: int) -> list[PeopleMarks]:
    """Return the people that are remembered of one release."""
    rows = connection.execute(
        "SELECT marks FROM people JOIN release_people ON people.id = release_people.people WHERE release = ?", (number,)
    )
    return [PeopleMarks.from_bytes(row[0]) for row in rows]


def forget_people(connection: Connection, dataset: str) -> int:
    """Delete the people that are remembered of a dataset; return of how many tables."""
    found = [row[0] for row in connection.execute("SELECT id FROM people WHERE dataset = ?", (dataset,))]
    for number in found:
        connection.execute("DELETE FROM release_people WHERE people = ?", (number,))
    connection.execute("DELETE FROM people WHERE dataset = ?", (dataset,))
    return len(found)


def names_in(connection: Connection) -> list[str]:
    """Return the names of all datasets, in order."""
    return sorted(row[0] for row in connection.execute("SELECT name FROM dataset"))


def digest_in(connection: Connection, number: int) -> str | None:
    """Return a digest that distinguishes a release from any other that may get its number; None without it."""
    row = connection.execute("SELECT created, process, method, dataset FROM release WHERE id = ?", (number,)).fetchone()
    if row is None:
        return None
    return hashlib.blake2b("\0".join(row).encode(), digest_size=16, person=b"release seen").hexdigest()


def insert_reserved(connection: Connection, claim: PlannedSpending, allowance: Allowance) -> int:
    """Write a release that is reserved, the marks of its table and what its dataset may spend; return its number."""
    connection.execute("INSERT INTO dataset (name) VALUES (?) ON CONFLICT DO NOTHING", (claim.dataset,))
    connection.execute(
        "UPDATE dataset SET budget = ?, budget_delta = ?, budget_neighbours = ?, budget_unit = ? WHERE name = ?",
        (_text(allowance.epsilon), _text(allowance.delta), *_named(allowance.neighbours), claim.dataset),
    )
    _remember(connection, claim)
    connection.execute(
        "INSERT INTO release (dataset, state, method, kind, epsilon, delta, k, redrawn, created, output, "
        "params, process, n_rows, sketch, form, request, params_digest, remark, neighbours, "
        "unit, people, cap) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            claim.dataset,
            ReleaseState.RESERVED.value,
            claim.method,
            claim.kind,
            _text(claim.epsilon),
            _text(claim.delta),
            claim.k,
            int(claim.redrawn),
            datetime.now(UTC).replace(microsecond=0).isoformat(),
            claim.output,
            claim.params,
            Process.this().to_text(**({} if claim.staging is None else {"staging": claim.staging})),
            claim.fingerprint.rows,
            claim.fingerprint.to_bytes(),
            claim.fingerprint.form,
            claim.request,
            claim.params_digest,
            claim.remark,
            *_named(claim.neighbours),
            claim.people,
            claim.cap,
        ),
    )
    number = _last(connection)
    _remember_people(connection, claim, number)
    return number


def digest_older_params(connection: Connection) -> None:
    """Write by what recodings are known again into lines of ledgers that did not keep it."""
    for number, params in list(connection.execute("SELECT id, params FROM release WHERE params IS NOT NULL")):
        digest = digest_of_packed(bytes(params))
        connection.execute("UPDATE release SET params_digest = ? WHERE id = ?", (digest, number))


def insert_charged(connection: Connection, number: int) -> int:
    """Write a line that counts the loss of a release and has no files; return its number."""
    connection.execute(
        "INSERT INTO release (dataset, state, method, kind, epsilon, delta, k, redrawn, created, process, n_rows, "
        "sketch, form, neighbours, unit, people, cap) SELECT dataset, ?, method, kind, epsilon, delta, k, 0, created, "
        "process, n_rows, sketch, form, neighbours, unit, people, cap FROM release WHERE id = ?",
        (ReleaseState.COMMITTED.value, number),
    )
    return _last(connection)


def set_state(connection: Connection, number: int, state: ReleaseState) -> None:
    """Write in which state a release is."""
    connection.execute("UPDATE release SET state = ? WHERE id = ?", (state.value, number))


def _remember(connection: Connection, claim: PlannedSpending) -> None:
    known = [marks for dataset, marks in marks_in(connection) if dataset == claim.dataset]
    if not any(claim.fingerprint.is_same_as(digest) for digest in known):
        connection.execute(
            "INSERT INTO fingerprint (dataset, n_rows, sketch, form) VALUES (?, ?, ?, ?)",
            (claim.dataset, claim.fingerprint.rows, claim.fingerprint.to_bytes(), claim.fingerprint.form),
        )


def _remember_people(connection: Connection, claim: PlannedSpending, number: int) -> None:
    """Write the people of a release; those of the same table are kept once."""
    for marks in claim.remembered:
        raw = marks.to_bytes()
        digest = hashlib.blake2b(raw, digest_size=16, person=b"people").digest()
        query = ("SELECT id FROM people WHERE dataset = ? AND digest = ?", (claim.dataset, digest))
        row = connection.execute(*query).fetchone()
        if row is None:
            connection.execute(
                "INSERT INTO people (dataset, digest, marks) VALUES (?, ?, ?)", (claim.dataset, digest, raw)
            )
            row = connection.execute(*query).fetchone()
        connection.execute("INSERT INTO release_people (release, people) VALUES (?, ?)", (number, row[0]))


def _last(connection: Connection) -> int:
    """Return the number of the line that was written last: nobody else has come between, and numbers count up."""
    return int(connection.execute("SELECT max(id) FROM release").fetchone()[0])


def _named(kind: Neighbours | None) -> tuple[str | None, str | None]:
    return (None, None) if kind is None else (adjacency_words(kind), kind.unit)


def _neighbours(adjacency: str | None, unit: str | None) -> Neighbours | None:
    if adjacency is None:
        return None
    kind = neighbours_named(adjacency, unit)
    if kind is None:
        raise ValueError(adjacency)  # reported as a damaged line
    return kind


def _text(loss: float | None) -> str | None:
    return None if loss is None else repr(float(loss))


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)
