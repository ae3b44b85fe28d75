# SPDX-License-Identifier: Apache-2.0
"""The standing of a dataset in the ledger: its releases, their state, and their total privacy loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from anonkit.ledger.neighbour_totals import BookedLoss, Total, total, totals, usual_neighbours
from anonkit.ledger.people_marks import PeopleMarks
from anonkit.ledger.recognition import Marks
from anonkit.promises.neighbouring_tables import Neighbours


class ReleaseState(StrEnum):
    """The progress of a release."""

    RESERVED = "reserved"
    """Its loss counts; none of its files is in place."""
    PUBLISHING = "publishing"
    """Its files are being put in place, or were when its process died: its loss counts."""
    COMMITTED = "committed"
    """It is published."""
    ROLLED_BACK = "rolled back"
    """It was never published: its loss does not count."""
    WITHDRAWN = "withdrawn"
    """The owner declares that a k-anonymous release was never handed out."""


COUNTED = (ReleaseState.RESERVED, ReleaseState.PUBLISHING, ReleaseState.COMMITTED)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The privacy loss of a release, and its neighbours."""

    epsilon: float | None
    """Privacy loss, possibly infinite; None where the promise has none."""
    delta: float | None
    redrawn: bool
    """True when every row was randomized by itself: a second draw on the same rows averages the noise away."""
    neighbours: Neighbours | None = None
    """Between which two tables its loss holds; None: unknown, or there is no loss."""
    people: str | None = None
    """Unit column."""
    cap: int | None = None
    """Most rows of one person that were used; None: no cap was enforced."""

    @property
    def loss(self) -> BookedLoss | None:
        """The loss that adds up; None where the promise has none."""
        if self.epsilon is None:
            return None
        return BookedLoss(
            epsilon=self.epsilon,
            delta=self.delta or 0.0,
            neighbours=self.neighbours,
            people=self.people,
            cap=self.cap,
        )


@dataclass(frozen=True, kw_only=True)
class PlannedSpending(Cost):
    """The planned spending of a release."""

    dataset: str
    method: str
    kind: str
    """Kind of its promise, such as local-dp."""
    k: int | None
    output: str | None
    """The data file's path; None for a release in memory."""
    params: bytes | None
    """Public parameters of a k-anonymous release that the joint view needs, compressed."""
    fingerprint: Marks
    remembered: tuple[PeopleMarks, ...] = ()
    """The people of its table, by the columns that name them; none where they are not to be remembered."""
    request: bytes | None = None
    """Request, under the ledger's key: the rows apart until there are data, then sealed with rows and data
    (`repeated_requests.sealed`); None when it is not known again."""
    params_digest: bytes | None = None
    """By what a k-anonymous release is known again, wherever its params are copied to (`packed_params`)."""
    staging: str | None = None
    """Folder in which its files are prepared; None where nothing is written."""
    remark: str | None = None
    """Remark on how it was booked: that it was adopted, or begins a ledger where a folder named another."""


@dataclass(frozen=True, kw_only=True)
class Entry(PlannedSpending):
    """A release in the ledger."""

    number: int
    state: ReleaseState
    created: str
    data_sha256: str | None = None
    """Of the data file, once the files were about to be put in place; None before, and for a release in memory."""
    process: str
    """Process that makes it, or made it (`anonkit.bundle.liveness`)."""

    @property
    def counts(self) -> bool:
        """True when its loss counts."""
        return self.state in COUNTED


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The limit of all releases of a dataset together; None: no limit."""

    epsilon: float | None = None
    """In (0, inf]."""
    delta: float | None = None
    """In [0, 1]; 0 allows promises without a delta only."""
    neighbours: Neighbours | None = None
    """Between which two tables; None: between any two for which all releases have a bound."""

    @property
    def is_set(self) -> bool:
        """True when it limits anything."""
        return self.epsilon is not None or self.delta is not None


NO_LIMIT = Allowance()
"""Of a dataset for which nobody has set a budget."""


@dataclass(frozen=True, kw_only=True)
class DatasetState:
    """The state of a dataset: its releases, losses and limit."""

    dataset: str
    allowance: Allowance = NO_LIMIT
    """Limit of its releases in all."""
    entries: Sequence[Entry]

    @property
    def budget(self) -> float | None:
        """Total ε allowed; None when none was set."""
        return self.allowance.epsilon

    @property
    def budget_delta(self) -> float | None:
        """Total δ allowed; None when none was set."""
        return self.allowance.delta

    @property
    def counted(self) -> list[Entry]:
        """The releases whose loss counts."""
        return [entry for entry in self.entries if entry.counts]

    @property
    def losses(self) -> list[BookedLoss]:
        """Losses of the releases that count."""
        return [entry.loss for entry in self.counted if entry.loss is not None]

    @property
    def totals(self) -> list[Total]:
        """Composed losses, for every kind of neighbours that one of them states."""
        return totals(self.losses)

    @property
    def neighbours(self) -> Neighbours:
        """Between which two tables the budget holds; the usual ones where it names none."""
        return self.allowance.neighbours or usual_neighbours(self.losses, [entry.people for entry in self.counted])

    @property
    def epsilon(self) -> float:
        """Loss that counts against the budget; releases of unknown neighbours by their bare number."""
        return total(_counted(loss, self.neighbours)[0] for loss in self.losses)

    @property
    def delta(self) -> float:
        """The same of δ."""
        return total(_counted(loss, self.neighbours)[1] for loss in self.losses)

    @property
    def left(self) -> float | None:
        """Loss that the budget still allows, 0 or more, never above what it is; None without a budget."""
        return _left(self.budget, self.epsilon)

    @property
    def left_delta(self) -> float | None:
        """The same of δ; None without a budget of δ."""
        return _left(self.budget_delta, self.delta)

    def allowing(self, given: Allowance, declared: Allowance, cost: Cost) -> DatasetState:
        """Return the state of the dataset with the limit of a new release, which is given or declared for it.

        A budget that is given gets its neighbours when it is given: those that it names, else the usual ones.
        """
        holds = allowed(self.allowance, given=given, declared=declared)
        if given.is_set and given.neighbours is None:
            losses = [*self.losses, *([] if cost.loss is None else [cost.loss])]
            usual = usual_neighbours(losses, [*(entry.people for entry in self.counted), cost.people])
            holds = replace(holds, neighbours=usual)
        return replace(self, allowance=holds)


def _counted(loss: BookedLoss, kind: Neighbours) -> tuple[float, float]:
    return (loss.epsilon, loss.delta) if loss.neighbours is None else loss.of(kind)


def allowed(remembered: Allowance, *, given: Allowance, declared: Allowance) -> Allowance:
    """Return the allowance that holds from now on; each of its figures follows from those of its own kind.

    Parameters
    ----------
    remembered : Allowance
        What the ledger remembers.
    given : Allowance
        What somebody gives for this release, knowingly: it holds, lower or higher.
    declared : Allowance
        Limit of the policy: it lowers what is remembered and never raises it.
    """
    return Allowance(
        epsilon=_allowed(remembered.epsilon, given.epsilon, declared.epsilon),
        delta=_allowed(remembered.delta, given.delta, declared.delta),
        neighbours=given.neighbours or declared.neighbours or remembered.neighbours,
    )


def _allowed(remembered: float | None, given: float | None, declared: float | None) -> float | None:
    if given is not None:
        return given
    return min((budget for budget in (declared, remembered) if budget is not None), default=None)


def _left(budget: float | None, spent: float) -> float | None:
    """Return the remaining budget, 0 or more, rounded down; None without a budget."""
    if budget is None or math.isinf(budget):
        return budget
    if math.isinf(spent):
        return 0.0
    exact = Decimal(repr(budget)) - Decimal(repr(spent))
    near = float(exact)
    return max(0.0, near if Decimal(repr(near)) <= exact else math.nextafter(near, -math.inf))
