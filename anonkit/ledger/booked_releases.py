# SPDX-License-Identifier: Apache-2.0
"""Releases in the ledger: their loss and state, the state of a dataset, and how an interrupted release ends.

A release whose process is gone is committed, rolled back, or counted as spent where its state is unknown. Files are
prepared aside, then the ledger gets the state `publishing`, then they are marked complete, then each is put in place,
the data last. So whoever died before the mark has published nothing, and the prepared data are still aside to show it;
whoever died after it is brought to the end. Only when the data are neither aside nor in place the state is unknown:
they may have been in place, and have been carried away.

Of several who release to one place at a time one is let in (`refuse_taken`): the others wait, and look at what it made.

Of a k-anonymous release the ledger stores the public parameters, compressed (`pack`); their digest recognizes it. A
target that nobody named is refused where it differs from that of the dataset's last k-anonymous release
(`refuse_other_target`): two releases that leave different columns unchanged show more together than either.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Any

from anonkit.bundle.atomic import cleared, finish, is_marked, recover, unmarked
from anonkit.bundle.data_files import sha256
from anonkit.bundle.liveness import Process
from anonkit.bundle.release_place import DATA, Place
from anonkit.errors import AnonkitError, ChoiceError, LedgerError, ReleaseFormatError, option
from anonkit.ledger.neighbour_totals import BookedLoss, Total, total, totals, usual_neighbours
from anonkit.ledger.people_marks import PeopleMarks
from anonkit.ledger.recognition import Marks
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import Neighbours
from anonkit.redaction import is_address

_STORED_KEYS = (
    "method", "earlier_method", "target", "unit", "missing_values", "model", "max_suppression", "columns", "recoding",
    "rows_of_people", "independent_rows", "candidates", "keys", "weight", "households", "means", "surrogate",
)  # fmt: skip
_DIGEST = 16


def pack(params: Mapping[str, Any]) -> bytes | None:
    """Return the part of a release's public parameters that the ledger stores; None when it has no recoding."""
    if "recoding" not in params or "model" not in params:
        return None
    return zlib.compress(json.dumps({key: params[key] for key in _STORED_KEYS if key in params}).encode())


def unpacked(packed: bytes) -> dict[str, Any]:
    """Return the parameters that `pack` kept."""
    params: dict[str, Any] = json.loads(zlib.decompress(packed))
    return params


def digest_of_packed(packed: bytes) -> bytes:
    """Return by what a release is known again, 16 bytes, wherever its files are copied to: what was kept of it.

    Two releases with the same digest recode and leave out the same: what the one shows of a row the other does, too.
    """
    text = json.dumps(unpacked(packed), sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST, person=b"release params").digest()


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
        allowance = allowed(self.allowance, given=given, declared=declared)
        if given.is_set and given.neighbours is None:
            losses = [*self.losses, *([] if cost.loss is None else [cost.loss])]
            usual = usual_neighbours(losses, [*(entry.people for entry in self.counted), cost.people])
            allowance = replace(allowance, neighbours=usual)
        return replace(self, allowance=allowance)


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


def refuse_other_target(standing: DatasetState, policy: Policy) -> None:
    """Refuse a guessed target that is not that of the dataset's last k-anonymous release, which may have had none.

    Raises
    ------
    ChoiceError
        It is another one.
    """
    earlier = [entry for entry in standing.counted if entry.params is not None]
    if not earlier or policy.target is None or policy.target_is_declared or policy.cell_by_cell:
        return
    before = unpacked(earlier[-1].params or b"")["target"]
    if before == policy.target:
        return
    had = "had none" if before is None else f"had {before!r}"
    same = option("no_target", True) if before is None else option("target", before)
    raise ChoiceError(
        f"no target was named, {policy.target!r} would be guessed, and the last release of this dataset {had}",
        f"{same} for the same again, {option('target', policy.target)} for another",
    )


_OPEN = (ReleaseState.RESERVED, ReleaseState.PUBLISHING)
_PATIENCE = timedelta(minutes=2)
"""For how long a release of another machine is believed to be at work: whether it lives cannot be seen from here."""


class PlaceTakenError(LedgerError):
    """Somebody else is making a release in the same place."""


def data_path(place: Place) -> str:
    """Return by which path the ledger knows a release: that of its data."""
    return str(place.file(DATA).absolute()) if place.store is None else place.shown(DATA)


def is_in_place(entry: Entry, output: str) -> bool:
    """Return True if a release was made in the place of a data file, whatever its path is spelled like."""
    return entry.output is not None and os.path.realpath(entry.output) == os.path.realpath(output)


def at_work(output: str, entries: Iterable[Entry]) -> Entry | None:
    """Return the release that somebody is making in a place now, if anybody is.

    Parameters
    ----------
    output : str
        Path of the data file.
    entries : iterable of Entry
    """
    for entry in entries:
        if entry.state in _OPEN and is_in_place(entry, output):
            process = Process.from_text(entry.process)
            # one from the future was written by a clock that was wrong, and says nothing of now
            is_recent = abs(datetime.now(UTC) - datetime.fromisoformat(entry.created)) < _PATIENCE
            if not process.is_surely_dead() and (process.is_on_this_machine or is_recent):
                return entry
    return None


def refuse_taken(output: str | None, entries: Iterable[Entry]) -> None:
    """Refuse to make a release in a place where somebody else is making one.

    Raises
    ------
    PlaceTakenError
        Two at once would both be charged, and the files of one would replace those of the other.
    """
    entry = None if output is None else at_work(output, entries)
    if entry is not None:
        raise PlaceTakenError(
            f"release {entry.number} is being made in {output!r} by another process", "run it again when that is done"
        )


def settled(entry: Entry, *, ended_here: bool = False) -> ReleaseState:
    """Return the state of a release on which its process works no more; files that it left halfway are settled too.

    Parameters
    ----------
    entry : Entry
    ended_here : bool
        True: this process failed to put the files in place and saw so itself, which is believed. After a dead process
        they may have been there.
    """
    staged = None if entry.staging is None else Path(entry.staging)
    if entry.state is ReleaseState.RESERVED:
        # `publishing` is durable before the first file is put in place; but what was prepared is a whole release
        return ReleaseState.ROLLED_BACK if staged is None or cleared(staged) else entry.state
    if entry.state is not ReleaseState.PUBLISHING or entry.output is None or entry.data_sha256 is None:
        return entry.state
    if is_address(entry.output):
        # files on their way into a store may have been seen there before their descriptor: they count in any case
        return ReleaseState.COMMITTED if ended_here or _is_in_store(entry.output, entry.data_sha256) else entry.state
    data = _whereabouts(Path(entry.output), entry.data_sha256, staged)
    if data is _Data.IN_PLACE:
        return ReleaseState.COMMITTED
    never = data is _Data.ASIDE or (data is _Data.ELSEWHERE and ended_here)
    return ReleaseState.ROLLED_BACK if never else entry.state


class _Data(Enum):
    """The place of the data file of a release."""

    IN_PLACE = auto()
    ASIDE = auto()
    """It was prepared and never put in place; it is gone now."""
    ELSEWHERE = auto()
    """It is not there: it never was, or was carried away or replaced."""
    UNKNOWN = auto()
    """Its folder cannot be read."""


def _is_in_store(output: str, data_sha256: str) -> bool:
    """Return True if the descriptor in a store states these data; False where the store does not answer."""
    try:
        return Place.of(output).data_digest() == data_sha256
    except AnonkitError:
        return False


def _whereabouts(output: Path, data_sha256: str, staged: Path | None) -> _Data:
    """Look for a data file; interrupted renames are finished, and what was not complete is deleted."""
    place = Place.of(output)
    try:
        if staged is None:  # a ledger of an earlier version does not say where the files were prepared
            prepared = [folder / place.name(DATA) for folder in unmarked(place.folder, place.stem)]
            is_aside = any(data.exists() and sha256(data) == data_sha256 for data in prepared)
            recover(place.folder, place.stem)
        else:
            finish(place.folder, place.stem)
            is_aside = staged.is_dir() and not is_marked(staged)
            if is_aside and not cleared(staged):
                return _Data.UNKNOWN
        if place.file(DATA).exists() and sha256(place.file(DATA)) == data_sha256:
            return _Data.IN_PLACE
    except (OSError, ReleaseFormatError):
        return _Data.UNKNOWN
    return _Data.ASIDE if is_aside else _Data.ELSEWHERE
