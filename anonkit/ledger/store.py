# SPDX-License-Identifier: Apache-2.0
"""The owner's ledger: every release of every dataset, and their total privacy loss, in a file or on a server.

A release goes through it in three steps, each durable before the next begins: it is *reserved* (from here on its loss
counts), it is *publishing* (its files are about to be put in place), it is *committed*. Whoever dies on the way leaves
the step behind, and the next reader of the ledger settles it: what was only reserved never reached its place and is
rolled back; of what was publishing its files decide (`anonkit.ledger.booked_releases`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path

from anonkit.bundle.liveness import Process
from anonkit.errors import LedgerError
from anonkit.ledger.booked_releases import (
    NO_LIMIT,
    Allowance,
    DatasetState,
    Entry,
    PlannedSpending,
    ReleaseState,
    refuse_taken,
    settled,
)
from anonkit.ledger.file_store import FileStore, key_of, key_place, missing_key, sign_of, wrong_key
from anonkit.ledger.ledger_lines import (
    Backend,
    Connection,
    digest_in,
    entries_in,
    forget_people,
    insert_charged,
    insert_reserved,
    known_in,
    names_in,
    people_of,
    set_state,
    standing_in,
)
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.people_marks import PeopleMarks
from anonkit.ledger.recognition import Known
from anonkit.ledger.server_store import forgotten

NAME = ".anonkit-ledger.sqlite"
"""Of a ledger beside releases."""


class _Ended(Enum):
    """The end of the work on a release in this process."""

    IN_PLACE = auto()
    FAILED = auto()
    """Of what was drawn nothing can follow from that."""
    FAILED_CHARGED = auto()
    """That it failed may follow from what was drawn."""


_UNTOLD: dict[LedgerPlace, dict[int, _Ended]] = {}

Naming = Callable[[Sequence[tuple[str, Known]], Sequence[str]], str]
"""Returns the name under which a release is booked, from the marks of (dataset, table) and the names in the ledger."""


class Ledger:
    """One ledger.

    Parameters
    ----------
    where : path, address or LedgerPlace
        A file, made, readable by its owner only, when it is not there; or a database of a server, which must have one.

    Raises
    ------
    LedgerError
        It cannot be read or written, or is no ledger of this version. Nothing may be released then.
    MissingDependencyError
        It is on a server, and the driver is not installed.

    Privacy
    -------
    No cell of any table is in it, but methods, promises, paths, and keyed fingerprints, which say nothing without their
    key. The key is in a private file, beside the ledger or in the owner's folder of settings, or in the
    environment, and never on a server. Both are their owner's, and never a part of a release.
    """

    def __init__(self, where: str | Path | LedgerPlace) -> None:
        self._backend = _opened(LedgerPlace.of(where), create=False)

    @classmethod
    def create(cls, where: str | Path | LedgerPlace) -> Ledger:
        """Make a ledger, and its key, where none is.

        Raises
        ------
        LedgerError
            There is one, or something else; nothing is changed then.
        """
        made = cls.__new__(cls)
        made._backend = _opened(LedgerPlace.of(where), create=True)
        return made

    @property
    def _untold(self) -> dict[int, _Ended]:
        """Releases whose end could not be written to the ledger, and their end.

        Its process is alive, so that nobody else settles them.
        """
        return _UNTOLD.setdefault(self.place, {})

    @property
    def place(self) -> LedgerPlace:
        """Place of the ledger."""
        return self._backend.place

    @property
    def name(self) -> str:
        """Its random id, wherever it is moved."""
        return self._backend.name

    @property
    def key_place(self) -> str:
        """Place of its key: a file, or an environment variable."""
        return key_place(self._backend.key_file)

    @property
    def key(self) -> bytes:
        """The key under which tables are known again, 32 bytes.

        Raises
        ------
        LedgerError
            It is not there, or is another ledger's: nothing may be booked then.
        """
        place, beside = str(self.place), self._backend.key_file
        stored_key = key_of(beside)
        if stored_key is None:
            raise missing_key(place, beside)
        if sign_of(stored_key) != self._backend.sign:
            raise wrong_key(place, beside)
        return stored_key

    @property
    def forgotten(self) -> LedgerError | None:
        """Error for a ledger that lacks what this machine has seen in it; None where nothing is missing.

        A backup that is put back forgets what was spent since it was made.
        """
        seen = self._backend.seen()
        if seen is None:
            return None
        with self._backend.transaction() as connection:
            known = digest_in(connection, seen[0])
        return None if known == seen[1] else forgotten(str(self.place), self._backend.key_file, seen[0])

    def datasets(self) -> list[DatasetState]:
        """Return the state of every dataset, by name, after settling what dead processes left."""
        with self._backend.transaction() as connection:
            if self._backend.may_write(connection):
                self._settle_all(connection)
            return [standing_in(connection, name) for name in names_in(connection)]

    def standing(self, dataset: str) -> DatasetState:
        """Return the state of one dataset."""
        return next((standing for standing in self.datasets() if standing.dataset == dataset), _unknown(dataset))

    def holds(self, params_digest: bytes) -> bool:
        """Return True if a release is known whose params have this digest (`packed_params`)."""
        with self._backend.transaction() as connection:
            never = ReleaseState.ROLLED_BACK.value
            return bool(entries_in(connection, "params_digest = ? AND state <> ?", params_digest, never))

    def adopt(self, claim: PlannedSpending) -> int:
        """Book a release that was handed out before, without a budget or a place to be taken; return its number."""
        with self._backend.transaction() as connection:
            allowance = standing_in(connection, claim.dataset).allowance
            number = insert_reserved(connection, claim, allowance)
            set_state(connection, number, ReleaseState.COMMITTED)
            digest = digest_in(connection, number)
        if digest is not None:
            self._backend.remember(number, digest)
        return number

    def marks(self) -> list[tuple[str, Known]]:
        """Return by what the tables of every dataset are known, their people with them: (dataset, marks)."""
        with self._backend.transaction() as connection:
            return known_in(connection)

    def people(self, number: int) -> list[PeopleMarks]:
        """Return the people that are remembered of a release."""
        with self._backend.transaction() as connection:
            return people_of(connection, number)

    def forget(self, dataset: str) -> int:
        """Delete the people that are remembered of a dataset, and keep its totals; return of how many tables.

        Raises
        ------
        LedgerError
            There is no such dataset.
        """
        with self._backend.transaction() as connection:
            if dataset not in names_in(connection):
                raise LedgerError(f"the ledger has no dataset {dataset!r}", "anonkit ledger lists them")
            return forget_people(connection, dataset)

    def reserve(
        self,
        claim: PlannedSpending,
        check: Callable[[DatasetState], None],
        *,
        budget: Allowance = NO_LIMIT,
        declared: Allowance = NO_LIMIT,
        naming: Naming | None = None,
    ) -> int:
        """Count a release from now on, if the check allows it, and return its number.

        Parameters
        ----------
        claim : Claim
            Its dataset is replaced by what `naming` says.
        check : callable
            Called with the state of the dataset (with the budget given here, if any), under a lock that no other
            process passes; raises to refuse.
        budget : Allowance
            Total ε and total δ allowed for the dataset from now on.
        declared : Allowance
            The same from the policy, which lowers a budget that is remembered and never raises it.
        naming : callable, optional
            Given the marks and the names of all datasets under the same lock, so that two releases of one table at once
            do not become two datasets; returns the dataset, or raises to refuse.

        Raises
        ------
        PlaceTakenError
            Somebody else is making a release in the same place.
        """
        if (refusal := self.forgotten) is not None:
            raise refusal
        with self._backend.transaction() as connection:
            self._settle_all(connection)
            if naming is not None:
                claim = replace(claim, dataset=naming(known_in(connection), names_in(connection)))
            open_ones = entries_in(
                connection, "state IN (?, ?)", ReleaseState.RESERVED.value, ReleaseState.PUBLISHING.value
            )
            # checkouts on other machines often have one path: that of another dataset is not this place
            refuse_taken(claim.output, [entry for entry in open_ones if _may_share_files(entry, claim)])
            # read under the lock: two releases at once cannot both fit into the rest of one budget
            before = standing_in(connection, claim.dataset).allowing(budget, declared, claim)
            check(before)
            number = insert_reserved(connection, claim, before.allowance)
            self._backend.lock_reservation(connection, number)
            digest = digest_in(connection, number)
        if digest is not None:
            self._backend.remember(number, digest)
        return number

    def publishing(self, number: int, data_sha256: str, request: bytes | None = None) -> None:
        """Record that the files of a release are about to be put in place; `data_sha256` identifies its data.

        Parameters
        ----------
        number : int
        data_sha256 : str
        request : bytes, optional
            The request, sealed together with these data (`repeated_requests.sealed`); None: not known again.

        Raises
        ------
        LedgerError
            Others took this process for gone and gave the reservation up, so that it does not count: nothing may be put
            in place.
        """
        with self._backend.transaction() as connection:
            changed = connection.execute(
                "UPDATE release SET state = ?, data_sha256 = ?, request = ? WHERE id = ? AND state = ?",
                (ReleaseState.PUBLISHING.value, data_sha256, request, number, ReleaseState.RESERVED.value),
            )
            if changed.rowcount != 1:
                raise LedgerError(
                    f"release {number} was given up in the ledger while it was made: its process seemed to have ended",
                    "nothing was published, and nothing is spent; try again",
                )

    def commit(self, number: int) -> None:
        """Record that a release is published: tried twice, since it is, whatever the ledger can record.

        Raises
        ------
        LedgerError
            The ledger cannot be written. The release is in place, and counts.
        """
        try:
            self._set(number, ReleaseState.COMMITTED)
        except LedgerError:
            try:
                self._set(number, ReleaseState.COMMITTED)
            except LedgerError as error:
                self._untold[number] = _Ended.IN_PLACE
                raise LedgerError(
                    f"release {number} is in place and counts as spent, and the ledger could not record that it is "
                    f"complete: {error.message}",
                    "keep the files; the next release or anonkit ledger on this machine records it",
                ) from None

    def give_up(self, number: int, *, charged: bool = False) -> bool:
        """Settle a release that failed in this process: rolled back unless its files are there.

        Parameters
        ----------
        number : int
        charged : bool
            True: its loss goes on counting, in a line of its own that has no files. That it failed may follow from
            what was drawn.

        Returns
        -------
        bool
            Whether it counts now: it is charged, or its files are there.

        Raises
        ------
        LedgerError
            The ledger cannot be written now; the next reader in this process, or after its end, does.
        """
        ended = _Ended.FAILED_CHARGED if charged else _Ended.FAILED
        try:
            with self._backend.transaction() as connection:
                last = _end(connection, number, ended)
                counts = entries_in(connection, "id = ?", last)[0].counts
                digest = digest_in(connection, last)
        except LedgerError:
            self._untold[number] = ended
            raise
        if digest is not None and last != number:
            self._backend.remember(last, digest)
        return counts

    def withdraw(self, number: int) -> None:
        """Take the owner's word that a k-anonymous release was never handed out.

        Raises
        ------
        LedgerError
            There is no such release, or it has an epsilon: what was drawn from the data stays spent.
        """
        with self._backend.transaction() as connection:
            entries = entries_in(connection, "id = ?", number)
            if not entries or not entries[0].counts:
                raise LedgerError(f"the ledger has no release {number} that counts", "anonkit ledger lists them")
            if entries[0].epsilon is not None:
                raise LedgerError(f"release {number} has spent epsilon, which cannot be taken back")
            set_state(connection, number, ReleaseState.WITHDRAWN)

    def settle(self) -> list[tuple[Entry, ReleaseState]]:
        """Take the owner's word that no other machine is at work, and that its folders are those seen from here.

        A container has another name each time: nobody else can say that one has ended.

        Returns
        -------
        list of (Entry, State)
            Each release that was open, and what it is now.
        """
        with self._backend.transaction() as connection:
            self._settle_all(connection)
            found = []
            for entry in entries_in(
                connection, "state IN (?, ?)", ReleaseState.RESERVED.value, ReleaseState.PUBLISHING.value
            ):
                is_here = Process.from_text(entry.process).is_on_this_machine
                found.append((entry, entry.state if is_here else _settle(connection, entry)))
            return found

    def _set(self, number: int, state: ReleaseState) -> None:
        with self._backend.transaction() as connection:
            set_state(connection, number, state)

    # --- what dead processes left ------------------------------------------------------------------------------

    def _settle_all(self, connection: Connection) -> None:
        rows = connection.execute(
            "SELECT id, state, process FROM release WHERE state IN (?, ?)",
            (ReleaseState.RESERVED.value, ReleaseState.PUBLISHING.value),
        )
        for number, state, process in list(rows):
            if number in self._untold:
                _end(connection, number, self._untold[number])
            # files are looked for where the process ran, and nowhere else
            elif self._backend.is_abandoned(connection, number, process, has_files=state != ReleaseState.RESERVED):
                (entry,) = entries_in(connection, "id = ?", number)
                # a session that is lost says nothing of the process, nor of what it prepares
                if entry.staging is None or Process.from_text(process).is_surely_dead():
                    _settle(connection, entry)


def _opened(place: LedgerPlace, *, create: bool) -> Backend:
    if place.file is not None:
        return FileStore.create(place.file) if create else FileStore(place.file)
    from anonkit.ledger.server_store import ServerStore

    return ServerStore(place, create=create)


def _unknown(dataset: str) -> DatasetState:
    return DatasetState(dataset=dataset, entries=())


def _may_share_files(entry: Entry, claim: PlannedSpending) -> bool:
    """Return True if one path of both may be one place: on this machine, or for the same dataset on a shared disk."""
    return entry.dataset == claim.dataset or Process.from_text(entry.process).is_on_this_machine


def _settle(connection: Connection, entry: Entry, *, ended_here: bool = False) -> ReleaseState:
    """Commit, roll back or leave a release on which its process works no more; return what became of it."""
    state = settled(entry, ended_here=ended_here)
    set_state(connection, entry.number, state)
    return state


def _end(connection: Connection, number: int, ended: _Ended) -> int:
    """Settle a release whose work ended in this process; return the number under which it counts, if it does.

    One that is charged without files gets a line of its own: it has no place and no data, nothing can be handed out
    again, and it is no first draw with which a second one could be averaged. The budget was checked when it was
    reserved.
    """
    (entry,) = entries_in(connection, "id = ?", number)
    was_open = entry.state in (ReleaseState.RESERVED, ReleaseState.PUBLISHING)
    state = _settle(connection, entry, ended_here=ended is not _Ended.IN_PLACE)
    if ended is not _Ended.FAILED_CHARGED or not was_open or state is not ReleaseState.ROLLED_BACK:
        return number
    return insert_charged(connection, number)
