# SPDX-License-Identifier: Apache-2.0
"""The tables of a ledger: one text of SQL for a file and for a server, and what both offer to the ledger's rules.

What differs is how a type is spelled. A statement is written once, with `?` for its values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from anonkit.ledger.ledger_place import LedgerPlace

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

    def hold(self, connection: Connection, number: int) -> None:
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
