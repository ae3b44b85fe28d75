# SPDX-License-Identifier: Apache-2.0
"""The steps of a release through the ledger: checked before the work, reserved before publishing, then committed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from anonkit.bundle.release_place import Place
from anonkit.errors import DatasetError, LedgerError, with_note
from anonkit.k_anonymity.class_means import KEY as MEANS
from anonkit.ledger.account import Account, refuse_overspent
from anonkit.ledger.booked_releases import (
    Cost,
    DatasetState,
    Entry,
    PlaceTakenError,
    PlannedSpending,
    data_path,
    digest_of_packed,
    is_in_place,
    pack,
    refuse_other_target,
    unpacked,
)
from anonkit.ledger.earlier_releases import (
    Earlier,
    RequestForm,
    knows_requests,
    leave_pointer,
    never_again,
    request_digest,
    sealed,
    wait_for,
)
from anonkit.ledger.intersection_check import JointFloor, SourceRows, numbers
from anonkit.ledger.neighbour_totals import neighbours_json, totals, totals_words
from anonkit.ledger.recognition import Known, Recognition, Sighting, recognised
from anonkit.ledger.store import Ledger
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check, Guarantee, loss_json
from anonkit.redaction import is_address

BOOKED = "noise had been drawn, so its privacy loss is booked in the ledger"
"""Fact added to a failure that is charged."""
CHARGED = "charged"
"""State of a release whose loss is booked."""


@dataclass(frozen=True, kw_only=True)
class Position:
    """The position of a release among those of its dataset."""

    number: int | None = None
    """Its number in the ledger; None when none is kept."""
    public: Mapping[str, Any] = field(default_factory=dict)
    """Entries of the report."""
    owner: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    owner_notes: tuple[str, ...] = ()
    """Notes on the rows: for the owner, in no file of the release."""


def may_know_requests(account: Account) -> bool:
    """Return True if a release may be known again by the ledger of an account; what dead processes left is settled.

    A ledger that cannot be opened knows nothing; it is refused where something is to be booked in it.

    Parameters
    ----------
    account : Account
        With its ledger found.
    """
    if account.place is None or not account.place.may_be_there:
        return False
    try:
        return knows_requests(Ledger(account.place))
    except LedgerError:
        return False


class Spending:
    """One release on its way through the ledger.

    Parameters
    ----------
    account : Account
        With its ledger found.
    promise : Guarantee
        Its loss is what is spent.
    rows : SourceRows
        Of the source.
    name : str
        What the dataset is called when nobody named it and the ledger does not know its rows.
    request_form : callable
        Given the rows of the source: the request, in its canonical form; None: the release is not known again.
    """

    def __init__(
        self, account: Account, promise: Guarantee, rows: SourceRows, name: str, request_form: RequestForm = never_again
    ) -> None:
        self._account = account
        self._request_form = request_form
        self._promise = promise
        self._rows = rows
        self._name = name

    @property
    def booked_as(self) -> str | None:
        """State of a release in the ledger: "charged", or "booked" where it has no loss; None: no ledger."""
        if self._account.place is None:
            return None
        return "booked" if self._promise.loss() is None else CHARGED

    @property
    def _is_booked(self) -> bool:
        """True when there is a ledger that knows something already."""
        return self._account.place is not None and self._account.place.may_be_there

    def earlier(self, place: Place) -> Earlier | None:
        """Return the ledger's entries on this request and of the place of its release; None where it knows nothing.

        Raises
        ------
        PlaceTakenError
            Somebody else is making a release in this place, and is not done after a while.
        """
        if not may_know_requests(self._account):
            return None
        ledger = self._ledger()
        if (refusal := ledger.forgotten) is not None:
            raise refusal
        return Earlier.of(ledger, self._request_form, self._rows.table.n_rows, self._rows.spelled, place)

    def settle_try_outs(self, place: Place, *, force: bool) -> None:
        """Ask the owner of k-anonymous releases that were made here or of these rows, and whose files are gone.

        And of one that is replaced. What was not handed out is withdrawn, so that a try-out does not block
        of the next one.
        """
        was_handed_out = self._account.was_handed_out
        if was_handed_out is None or not self._is_booked or self._classes is None:
            return
        ledger, output = self._ledger(), data_path(place)
        try:
            dataset = self._recognised(ledger).dataset
        except DatasetError:  # the dataset is not known yet: the owner answers for the release that was in this place
            dataset = None
        for standing in ledger.datasets():
            for entry in standing.counted:
                is_here = is_in_place(entry, output)
                if entry.epsilon is not None or entry.output is None or not (is_here or standing.dataset == dataset):
                    continue
                is_gone = not is_address(entry.output) and not os.path.exists(entry.output)
                if (is_gone or (is_here and force)) and not was_handed_out(entry):
                    ledger.withdraw(entry.number)

    def wait_for(self, place: Place) -> None:
        """Wait for whoever is making a release in a place, where a ledger records one.

        Raises
        ------
        PlaceTakenError
            They are not done after a while.
        """
        if self._is_booked:
            wait_for(self._ledger(), place)

    def look(self) -> None:
        """Refuse what would be refused, before any work is done; nothing is written.

        Raises
        ------
        BudgetError
            The dataset has not enough budget left, or its rows were randomized before.
        DatasetError
            Nobody named the dataset, and the table looks like one that the ledger knows.
        """
        if not self._is_booked:
            if self._account.place is not None:
                self._refuse_overspent(self._with_allowance(DatasetState(dataset="", entries=())))
            return
        ledger = self._ledger()
        known = self._standing(ledger, self._recognised(ledger).dataset)
        self._refuse_overspent(known)

    def rehearsed(self, params: Mapping[str, Any]) -> Position:
        """Return the position of a release that is not made: refused like one that is, and booked nowhere."""
        if self._account.place is None:
            return Position()
        if not self._is_booked:
            return Position(public={"booked": True, **self._accepted})
        ledger = self._ledger()
        seen = self._recognised(ledger)
        standing = self._standing(ledger, seen.dataset)
        self._refuse_overspent(standing)
        return self._published(self._position(None, standing, params), seen)

    def spend(self, method: str) -> bool:
        """Book draws that end in a refusal: nothing is published but the refusal, which may disclose something of them.

        It is no answer about the rows with which another draw could be averaged, so that it blocks none.

        Returns
        -------
        bool
            True when it is booked; a promise without a loss has nothing to book, and some releases no ledger.

        Raises
        ------
        BudgetError, DatasetError
            As `look`; nothing was disclosed then.
        """
        if self._account.place is None or self._promise.loss() is None:
            return False
        with self._reserved(method, {}, None, redrawn=False):
            return True

    @contextmanager
    def reserved(
        self, method: str, params: Mapping[str, Any], place: Place | None, staging: Path
    ) -> Iterator[tuple[Position, Any]]:
        """Reserve the loss of a release, and commit it, or settle it with what fails inside.

        Under a privacy loss a failure is charged, and states so: what is drawn decides how large files become, and so
        whether a disk is full. An interrupt comes from outside, and so does it that somebody else took the place.

        Parameters
        ----------
        method : str
        params : mapping
        place : Place, optional
        staging : Path
            Folder in which its files are prepared: what a killed process leaves there goes before the loss is given
            back.

        Yields
        ------
        Position
            The position of the release.
        callable
            To be called with the data file's SHA-256 right before files are put in place.

        Raises
        ------
        BudgetError, DatasetError
            As `look`.
        GuaranteeError
            The joint view with earlier releases has smaller groups than allowed, or cannot be counted.
        PlaceTakenError
            Somebody else is making a release in this place.
        """
        redrawn = self._promise.redraw_costs
        with self._reserved(method, params, place, redrawn=redrawn, staging=staging) as reservation:
            yield reservation

    @contextmanager
    def _reserved(
        self,
        method: str,
        params: Mapping[str, Any],
        place: Place | None,
        *,
        redrawn: bool,
        staging: Path | None = None,
    ) -> Iterator[tuple[Position, Any]]:
        """Do what `reserved` says; `redrawn`: it is a draw after which a second one is refused."""
        if self._account.place is None:
            yield Position(), _nothing
            return
        ledger = self._ledger()
        if self._account.applied is not None:
            self._account.applied.adopted_by(ledger)
        sighting = self._seen(ledger)
        recognitions: list[Recognition] = []

        def naming(known: Sequence[tuple[str, Known]], taken: Sequence[str]) -> str:
            recognitions.append(self._named_by(sighting, known, taken))
            return recognitions[-1].dataset

        prepared_in = None if staging is None else str(staging.absolute())
        claim = replace(self._claim(sighting, method, params, place), redrawn=redrawn, staging=prepared_in)
        key, rows = ledger.key, sighting.found
        if place is not None:  # what is in memory only is not there to be handed out again
            claim = replace(claim, request=request_digest(key, self._request_form(rows.rows)))
        # the loss counts from here on; if this process is killed, the ledger settles it by whether the files are there
        number = ledger.reserve(
            claim,
            self._refuse_overspent,
            budget=self._account.given,
            declared=self._account.declared,
            naming=naming,
        )
        try:
            position = self._position(number, ledger.standing(recognitions[-1].dataset), params)

            def publishing(digest: str) -> None:
                ledger.publishing(number, digest, sealed(key, claim.request, rows.spelled, digest))
                if place is not None and not self._account.is_simulated:
                    leave_pointer(place, ledger)

            yield self._published(position, recognitions[-1]), publishing
        except PlaceTakenError:
            _settled(ledger, number)
            raise
        except Exception as failure:
            has_loss = self._promise.loss() is not None
            counts = _settled(ledger, number, charged=has_loss)
            noted = with_note(failure, BOOKED) if has_loss and counts else failure
            if noted is failure:
                raise
            raise noted.with_traceback(failure.__traceback__) from None
        except BaseException:  # an interrupt must settle the reservation, too
            _settled(ledger, number)
            raise
        ledger.commit(number)

    def _ledger(self) -> Ledger:
        assert self._account.place is not None  # noqa: S101 - not called where none is kept
        return Ledger(self._account.place)

    # --- whose release it is -----------------------------------------------------------------------------------

    def _seen(self, ledger: Ledger) -> Sighting:
        """Return the tags of the rows under the key of the ledger."""
        key = ledger.key  # a key that is gone is reported before anything is read
        if (refusal := ledger.forgotten) is not None:
            raise refusal
        return self._rows.sighting(key, ledger.marks())

    def _recognised(self, ledger: Ledger) -> Recognition:
        sighting = self._seen(ledger)
        return self._named_by(sighting, ledger.marks(), [standing.dataset for standing in ledger.datasets()])

    def _named_by(self, sighting: Sighting, known: Sequence[tuple[str, Known]], taken: Sequence[str]) -> Recognition:
        return recognised(sighting, known, taken, named=self._named, fallback=self._name)

    def _standing(self, ledger: Ledger, dataset: str) -> DatasetState:
        return self._with_allowance(ledger.standing(dataset))

    def _with_allowance(self, standing: DatasetState) -> DatasetState:
        return standing.allowing(self._account.given, self._account.declared, self._cost)

    @property
    def _cost(self) -> Cost:
        """Privacy loss of the release, and its neighbours."""
        loss = self._promise.loss()
        return Cost(
            epsilon=None if loss is None else loss.epsilon,
            delta=None if loss is None or not loss.delta else loss.delta,
            redrawn=self._promise.redraw_costs,
            neighbours=None if loss is None else loss.neighbours,
            people=self._rows.policy.unit,
            cap=None if loss is None else loss.cap,
        )

    @property
    def _classes(self) -> KAnonymity | None:
        """Promise to compare with earlier classes of the dataset; None where a loss bounds the disclosure."""
        return self._promise.counted_classes if self._promise.loss() is None else None

    def _claim(
        self, sighting: Sighting, method: str, params: Mapping[str, Any], place: Place | None
    ) -> PlannedSpending:
        classes, packed, displaced = self._classes, pack(params), self._account.displaced
        return PlannedSpending(
            dataset=self._named or self._name,
            method=method,
            kind=self._promise.kind,
            **{one.name: getattr(self._cost, one.name) for one in fields(Cost)},
            k=None if classes is None else classes.k,
            output=None if place is None else data_path(place),
            params=packed,
            fingerprint=sighting.found,
            remembered=sighting.people if self._remembers else (),
            params_digest=None if packed is None else digest_of_packed(packed),
            remark=None if displaced is None else f"new ledger, instead of {displaced.place}",
        )

    def _refuse_overspent(self, standing: DatasetState) -> None:
        disjoint = self._account.disjoint_from
        if disjoint is not None and tuple(entry.number for entry in standing.counted) != disjoint:
            raise LedgerError(
                f"a release of dataset {standing.dataset!r} was booked meanwhile, whose people are not known here",
                "run it again",
            )
        refuse_overspent(standing, self._cost, self._account.declared)
        refuse_other_target(standing, self._rows.policy)

    # --- the position ----------------------------------------------------------------------------------------

    @property
    def _named(self) -> str | None:
        """The owner's name of the dataset."""
        return self._account.dataset or self._rows.policy.dataset

    @property
    def _accepted(self) -> dict[str, Any]:
        """Published facts that the owner accepts: joint views, and that earlier releases are not known."""
        floor = self._floor
        accepted = {} if floor is None or floor.accepted is None else {"joint_k_accepted": floor.accepted}
        accepted |= {} if self._account.displaced is None else {"new_ledger": True}
        return accepted if self._remembers else {**accepted, "people_remembered": False}

    @property
    def _remembers(self) -> bool:
        """Return True if the people of the table are to be known again."""
        return self._rows.policy.bookkeeping.remember_people

    @property
    def _floor(self) -> JointFloor | None:
        classes = self._classes
        if classes is None:
            return None
        given = self._account.accept_joint_k
        return JointFloor(k=classes.k, requested=self._rows.policy.joint_k if given is None else given)

    def _published(self, position: Position, seen: Recognition) -> Position:
        """Keep from the report what only the rows disclose: that a table without a name is one the ledger knows.

        No promise covers that. Of a release without a name it says that it is booked, and no more.
        """
        public = {"booked": True, **self._accepted}
        if self._named is not None:
            notes = [*position.owner_notes, *seen.notes, *self._account.notes]
            owner = {**position.owner.get("ledger", {}), "notes": notes}
            more = {"ledger": owner} if owner["notes"] else {}
            return replace(position, public={**public, **position.public}, owner={**position.owner, **more})
        private = {
            "dataset": seen.dataset,
            **position.public,
            "notes": [*position.notes, *position.owner_notes, *seen.notes, *self._account.notes],
        }
        return replace(position, public=public, notes=(), checks=(), owner={**position.owner, "ledger": private})

    def _position(self, number: int | None, standing: DatasetState, params: Mapping[str, Any]) -> Position:
        notes: list[str] = []
        earlier = [entry for entry in standing.counted if number is None or entry.number < number]
        public: dict[str, Any] = {"release_of_dataset": len(earlier) + 1}
        if earlier:
            public["previous_release"] = _described(earlier[-1])
        losses, mine = [entry.loss for entry in earlier if entry.loss is not None], self._cost.loss
        if mine is not None or losses:
            together = totals([*losses, *([] if mine is None else [mine])])
            public["totals"] = [one.to_dict() for one in together]
            if mine is not None and losses:
                notes = [*notes, f"Together with the earlier releases of this dataset: {totals_words(together)}."]
            if standing.allowance.is_set:
                neighbours = standing.allowance.neighbours
                public["budget_neighbours"] = None if neighbours is None else neighbours_json(neighbours)
            if standing.budget is not None:
                public["epsilon_budget"] = loss_json(standing.budget)
            if standing.budget_delta is not None:
                public["delta_budget"] = standing.budget_delta
        if self._floor is None:
            return Position(number=number, public=public, notes=tuple(notes))
        if any(entry.epsilon for entry in earlier):
            notes = [*notes, "No epsilon bounds what this release shows: the dataset's epsilon covers the others only."]
        position = Position(number=number, public=public, notes=tuple(notes))
        before = [entry for entry in earlier if entry.params is not None and self._account.disjoint_from is None]
        return self._beside(position, self._floor, before, params) if before else position

    def _beside(
        self, position: Position, floor: JointFloor, before: Sequence[Entry], params: Mapping[str, Any]
    ) -> Position:
        """Hold a k-anonymous release against earlier ones of its dataset."""
        changed = [entry.number for entry in before if not self._rows.is_same_table(entry)]
        self._check_means(params, before, changed)  # first: what it refuses no acceptance lets out
        floor.check_countable(changed)
        view = self._rows.joint_view(params, before)
        floor.check(view)
        notes = list(position.notes)
        if floor.accepted is not None:
            notes.append(f"Joint view accepted at {floor.accepted}: {_accepted_words(floor.accepted)}")
        return replace(
            position,
            owner={} if view is None else {"joint_view": view.to_dict()},
            checks=floor.checks(),
            notes=tuple(notes),
            owner_notes=_joint_notes(view is not None, changed),
        )

    def _check_means(self, params: Mapping[str, Any], before: Sequence[Entry], changed: Sequence[int]) -> None:
        """Hold a release with means against earlier ones with means, whatever joint k the owner accepts.

        Raises
        ------
        GuaranteeError
            Their groups differ by fewer people than the larger k, or nobody can count by how many.
        """
        if not _shows_means(params) or self._classes is None:
            return
        shown = [entry for entry in before if entry.params is not None and _shows_means(unpacked(entry.params))]
        if not shown:
            return
        floor = JointFloor(k=max([self._classes.k, *(entry.k or 1 for entry in shown)]), means=True)
        floor.check_countable([entry.number for entry in shown if entry.number in changed])
        floor.check(self._rows.joint_view(params, shown))


def _shows_means(params: Mapping[str, Any]) -> bool:
    """Return True if rows of a release show means of classes or groups."""
    return MEANS in params or "centroids" in params["recoding"]


def _settled(ledger: Ledger, number: int, *, charged: bool = False) -> bool:
    """Settle a release that failed; return whether it is known that its loss counts."""
    try:
        return ledger.give_up(number, charged=charged)
    except LedgerError:  # the next reader settles it: charged by one of this process, rolled back when that is dead
        return False


def _described(entry: Entry) -> dict[str, Any]:
    """Return the public part of an earlier release."""
    facts: dict[str, Any] = {"method": entry.method, "kind": entry.kind, "created": entry.created}
    if entry.k is not None:
        facts["k"] = entry.k
    if entry.epsilon is not None:
        facts["epsilon"] = loss_json(entry.epsilon)
    if entry.delta:
        facts["delta"] = entry.delta
    return facts


def _accepted_words(k: int) -> str:
    return f"anyone who combines it with other releases of the dataset may form groups of {k} or more, smaller than k."


def _joint_notes(counted: bool, changed: Sequence[int]) -> tuple[str, ...]:
    """Return notes for the owner on the table of earlier releases."""
    if not counted:
        return (
            "An earlier release of this dataset cannot be compared: the columns of the table have changed since, or "
            "too many of its classes are small.",
        )
    if changed:
        return (f"The table has changed since {numbers(changed)}: the joint view counts the rows of today.",)
    return ()


def _nothing(digest: str) -> None:
    """No ledger is kept: nobody has to know that files are about to be put in place."""
