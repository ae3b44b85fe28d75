# SPDX-License-Identifier: Apache-2.0
"""One release's way through the ledger: looked at before the work, reserved before publishing, committed after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from anonkit.bundle import DATA, Place
from anonkit.errors import BudgetError, GuaranteeError
from anonkit.guarantee import Check, Guarantee, KAnonymity, NoGuarantee
from anonkit.ledger.account import Account
from anonkit.ledger.fingerprint import Fingerprint, fingerprint
from anonkit.ledger.joint_view import JointView, joint_view, pack
from anonkit.ledger.standing import Claim, Entry, Standing, total
from anonkit.ledger.store import Ledger
from anonkit.local_dp import LocalDP, loss_json
from anonkit.policy import Policy
from anonkit.protocols import Engine, Source

SAME_ROWS = 0.5
"""Share of common rows from which a table without a name is taken for a dataset the ledger knows."""
_NO_BOUND = (
    "its loss has no bound, since it publishes values as they are or by a transformation; no finite budget covers it"
)


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a release stands among those of its dataset."""

    number: int | None = None
    """Its number in the ledger; None when none is kept."""
    public: Mapping[str, Any] = field(default_factory=dict)
    """What the report says of it."""
    owner: Mapping[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()


class Spending:
    """One release on its way through the ledger.

    Parameters
    ----------
    account : Account
    promise : Guarantee
        Its `epsilon` and `delta`, where it has them, are what is spent.
    table : Source
        The source, opened.
    policy : Policy
        Resolved.
    name : str
        What the dataset is called when nobody named it and the ledger does not know its rows.
    """

    def __init__(self, account: Account, promise: Guarantee, table: Source, policy: Policy, name: str) -> None:
        self._account = account
        self._promise = promise
        self._table = table
        self._policy = policy
        self._name = name

    @property
    def _epsilon(self) -> float | None:
        found: float | None = getattr(self._promise, "epsilon", None)
        return math.inf if found is None and self._promise.kind == NoGuarantee.kind else found

    @property
    def _redrawn(self) -> bool:
        return self._promise.kind in (LocalDP.kind, NoGuarantee.kind)

    def look(self) -> None:
        """Refuse what would be refused, before any work is done; nothing is written.

        Raises
        ------
        BudgetError
            The dataset has not enough budget left, or its rows were randomized before.
        """
        path = self._account.path
        if path is None or self._epsilon is None:
            return
        if not path.exists():
            self._refuse_overspent(Standing(dataset="", budget=self._account.budget, entries=()))
            return
        ledger = Ledger(path)
        known = ledger.standing(self._dataset(ledger, fingerprint(self._table, ledger.key))[0])
        budget = self._account.budget if self._account.budget is not None else known.budget
        self._refuse_overspent(Standing(dataset=known.dataset, budget=budget, entries=known.entries))

    @contextmanager
    def reserved(
        self, method: str, params: Mapping[str, Any], place: Place | None, engine: Engine
    ) -> Iterator[tuple[Position, Any]]:
        """Reserve the loss of a release, and commit or roll it back with what happens inside.

        Yields
        ------
        Position
            Where the release stands.
        callable
            To be called with the data file's SHA-256 right before files are put in place.

        Raises
        ------
        BudgetError, GuaranteeError
            As `look`; or the joint view with earlier releases is below the policy's floor.
        """
        if self._account.path is None:
            yield Position(), _nothing
            return
        ledger = Ledger(self._account.path)
        found = fingerprint(self._table, ledger.key)
        dataset, seen = self._dataset(ledger, found)
        claim = self._claim(dataset, found, method, params, place)
        number = ledger.reserve(claim, self._refuse_overspent, budget=self._account.budget)
        try:
            position = self._position(number, ledger.standing(dataset), found, params, engine)
            yield self._told(position, seen), lambda digest: ledger.publishing(number, digest)
        except BaseException:
            ledger.give_up(number)
            raise
        ledger.commit(number)

    def _claim(
        self, dataset: str, found: Fingerprint, method: str, params: Mapping[str, Any], place: Place | None
    ) -> Claim:
        return Claim(
            dataset=dataset,
            method=method,
            kind=self._promise.kind,
            epsilon=self._epsilon,
            delta=getattr(self._promise, "delta", None),
            k=self._promise.k if isinstance(self._promise, KAnonymity) else None,
            redrawn=self._redrawn,
            output=None if place is None else str(place.file(DATA).absolute()),
            params=pack(params),
            fingerprint=found,
        )

    def _dataset(self, ledger: Ledger, found: Fingerprint) -> tuple[str, list[str]]:
        """Return the name the release is booked under, and what the rows tell the owner about it."""
        known = [(name, share) for name, share in ledger.known_as(found) if share >= SAME_ROWS]
        name = self._named
        if name is None and known:
            return known[0][0], []
        if name is not None:
            others = [other for other, _ in known if other != name]
            return name, [
                f"The same rows stand in the ledger as dataset {other!r} too: the losses of both add up, and neither "
                "budget sees the other."
                for other in others
            ]
        taken = {standing.dataset for standing in ledger.datasets()}
        names = (self._name, *(f"{self._name}-{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken), []

    # --- what is refused ---------------------------------------------------------------------------------------

    def _refuse_overspent(self, standing: Standing) -> None:
        epsilon, budget = self._epsilon, standing.budget
        if epsilon is None:
            return
        after = total([standing.epsilon, epsilon])
        if budget is not None and after > budget:
            raise BudgetError(*_overspent(standing, epsilon, budget))
        earlier = [entry for entry in standing.counted if entry.redrawn]
        if budget is None and self._redrawn and earlier:
            raise BudgetError(*_second_draw(standing, earlier[-1].number, after))

    # --- where it stands ---------------------------------------------------------------------------------------

    @property
    def _named(self) -> str | None:
        """What the owner calls the dataset."""
        return self._account.dataset or self._policy.dataset

    def _told(self, position: Position, seen: Sequence[str]) -> Position:
        """Keep from the report what only the rows told: that a table without a name is one the ledger knows.

        No epsilon covers that; a k-anonymous release may say it.
        """
        if self._named is not None or isinstance(self._promise, KAnonymity):
            owner = {"ledger": {"notes": list(seen)}} if seen else {}
            return replace(position, owner={**position.owner, **owner})
        told = {**position.public, **({"notes": list(position.notes)} if position.notes else {})}
        return replace(position, public={}, notes=(), owner={**position.owner, "ledger": told})

    def _position(
        self, number: int, standing: Standing, found: Fingerprint, params: Mapping[str, Any], engine: Engine
    ) -> Position:
        notes: list[str] = []
        earlier = [entry for entry in standing.counted if entry.number < number]
        public: dict[str, Any] = {"release_of_dataset": len(earlier) + 1}
        if earlier:
            public["previous_release"] = _described(earlier[-1])
        if self._epsilon is not None or standing.epsilon:
            spent = total(entry.epsilon for entry in [*earlier, *(e for e in standing.entries if e.number == number)])
            public["epsilon_of_all_releases"] = loss_json(spent)
            if self._epsilon is not None and any(entry.epsilon for entry in earlier):
                together = "has no bound" if math.isinf(spent) else f"is {math.ceil(spent * 100) / 100:g}"
                notes = [*notes, f"Together with the earlier releases of this dataset epsilon {together}."]
            if standing.budget is not None:
                public["epsilon_budget"] = loss_json(standing.budget)
        if not isinstance(self._promise, KAnonymity):
            return Position(number=number, public=public, notes=tuple(notes))
        if standing.epsilon:
            notes = [*notes, "No epsilon bounds what this release shows: the dataset's epsilon covers the others only."]
        before = [entry for entry in earlier if entry.params is not None]
        if not before:
            return Position(number=number, public=public, notes=tuple(notes))
        view = joint_view(self._table, self._policy, engine, params, before)
        changed = [entry.number for entry in before if not entry.fingerprint.same_rows(found)]
        checks = _floor_checks(view, changed, self._policy.joint_k)
        return Position(
            number=number,
            public=public,
            owner={} if view is None else {"joint_view": view.to_dict()},
            checks=checks,
            notes=(*notes, *_joint_notes(view, changed, self._promise.k)),
        )


def _described(entry: Entry) -> dict[str, Any]:
    """Return what everybody may know of an earlier release."""
    told: dict[str, Any] = {"method": entry.method, "kind": entry.kind, "created": entry.created}
    if entry.k is not None:
        told["k"] = entry.k
    if entry.epsilon is not None:
        told["epsilon"] = loss_json(entry.epsilon)
    return told


def _overspent(standing: Standing, epsilon: float, budget: float) -> tuple[str, str]:
    if math.isinf(epsilon):
        return f"this release does not fit into the budget of {budget:g}: {_NO_BOUND}", "method rr keeps to an epsilon"
    left = max(0.0, total([budget, -standing.epsilon])) if math.isfinite(standing.epsilon) else 0.0
    return (
        f"the budget of the dataset would be overspent: epsilon {standing.epsilon:g} is spent, this release needs "
        f"{epsilon:g}, {budget:g} is allowed in all",
        f"{left:g} is left; hand out an earlier release again, ask for less, or raise --budget knowingly",
    )


def _second_draw(standing: Standing, number: int, after: float) -> tuple[str, str]:
    message = (
        f"the rows of dataset {standing.dataset!r} were randomized before (release {number}): a second draw with fresh "
        "noise lets an attacker average the noise away"
    )
    if math.isinf(after):
        return (
            f"{message}; together the loss has no bound, since values are published as they are or by a transformation",
            "hand out the earlier release again; --budget inf allows a second draw all the same",
        )
    needed = math.ceil(after * 100) / 100
    return f"{message}; together epsilon would be {needed:g}", f"hand out the earlier one again, or --budget {needed:g}"


def _floor_checks(view: JointView | None, changed: list[int], floor: int | None) -> tuple[Check, ...]:
    """Compare the joint view with the policy's floor; what cannot be counted does not pass."""
    if floor is None:
        return ()
    if view is None or changed:
        raise GuaranteeError(
            "the joint view with earlier releases cannot be counted, and the policy asks for it: the table has changed "
            "since, or too many of its classes are small",
            "if it holds other people, give it a --dataset name of its own",
        )
    if view.k < floor:
        raise GuaranteeError(
            f"together with {_numbers(view.releases)} of this dataset the smallest group has {view.k}, the policy asks "
            f"for {floor} (joint_k)",
            "anonkit apply recodes as the earlier release did; coarser steps of the same recoding keep groups together",
        )
    return (Check(name="joint_k", passed=True, observed=view.k, required=floor),)


def _joint_notes(view: JointView | None, changed: list[int], k: int) -> tuple[str, ...]:
    if view is None:
        return (
            "An earlier release of this dataset cannot be compared: the columns of the table have changed since, or "
            "too many of its classes are small.",
        )
    notes = []
    if view.k < k:
        notes.append(
            f"Whoever combines this release with {_numbers(view.releases)} of the dataset can form groups smaller than "
            "k; the owner's figures say how small. Set joint_k in the policy to refuse that."
        )
    if changed:
        notes.append(f"The table has changed since {_numbers(changed)}: the joint view counts the rows of today.")
    return tuple(notes)


def _numbers(releases: tuple[int, ...] | list[int]) -> str:
    return f"release {', '.join(map(str, releases))}"


def _nothing(digest: str) -> None:
    """No ledger is kept: nobody has to know that files are about to be put in place."""
