# SPDX-License-Identifier: Apache-2.0
"""The account of a release: its ledger, dataset and budgets, and the refusal of what these cannot afford.

The maker of the release names the ledger first, then the policy, which belongs to the dataset, then the environment,
which belongs to the machine. Else it is the one beside the output; where there is none, it is the user's, which is
found from every folder.

`refuse_overspent` refuses a release beyond the budget of epsilon or of delta, and a second draw that no budget allows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from anonkit.bundle.release_place import Place
from anonkit.errors import BudgetError, LedgerError, ParameterError, option, spoken
from anonkit.ledger.booked_releases import NO_LIMIT, Allowance, Cost, DatasetState, Entry
from anonkit.ledger.earlier_releases import AppliedRecoding, Pointer, ledger_beside, simulated_ledger_beside
from anonkit.ledger.file_store import key_file
from anonkit.ledger.ledger_place import LedgerPlace, users_ledger
from anonkit.ledger.neighbour_totals import BookedLoss, neighbours_of_budget, total, totals
from anonkit.parameters import check_choice, check_integer, check_number, settle_numbers
from anonkit.policy.bookkeeping import ADJACENCIES, Bookkeeping
from anonkit.promises.guarantee import Neighbours
from anonkit.promises.noise_promises import allowance_words, loss_words
from anonkit.redaction import redacted

VARIABLE = "ANONKIT_LEDGER"
"""Environment variable that names the ledger of releases for which neither caller nor policy names one."""
REQUIRED = "ANONKIT_LEDGER_REQUIRED"
"""Environment variable that asks for a ledger that is there, for every release, as a policy's `ledger_required`."""
_YES, _NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")

_OPEN = ("dataset", "budget", "budget_delta", "budget_neighbours", "budget_unit", "accept_joint_k")
"""Fields of an account that None leaves open."""


class Where(Enum):
    """The place to look for a ledger when no path is given."""

    FOUND = "where a release finds it"
    """The one of policy or environment, else one beside the output, else the user's."""
    SIMULATED = "beside the output, of simulated people"
    """Beside the output, where one is made, under a name of its own: simulated people are in no ledger of real ones,
    and real ones not in theirs. Nothing is required of it, and it neither leaves a pointer nor heeds one."""
    NOWHERE = "given to nobody"
    """Nothing is handed out, or no real person is in the table: there is nothing to book, whatever is required."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """The account that a release is charged to.

    Raises
    ------
    ParameterError
        The ledger is no place; a budget is not above 0, one of delta not in [0, 1]; a joint k is accepted that is no
        group.
    """

    ledger: str | Path | LedgerPlace | Where | None = field(default=Where.FOUND, repr=False)
    """The file or the server in which releases and their loss are kept; None: none is kept."""
    dataset: str | None = None
    """The owner's name for the data; None: the policy's, else the ledger looks for the same rows."""
    budget: float | None = None
    """Total ε allowed for the dataset from now on, in (0, inf]."""
    budget_delta: float | None = None
    """Total δ allowed for the dataset from now on, in [0, 1]; 0 allows promises without a delta only."""
    budget_neighbours: str | None = None
    """Between which two tables the budget holds: "added or removed" or "replaced"; None: the usual ones."""
    budget_unit: str | None = None
    """Column whose values are the people of these tables; None or "none": they differ in one row."""
    accept_joint_k: int | None = None
    """Smallest group a k-anonymous release may form with earlier ones, 1 or more; None: the policy's own."""
    new_ledger: bool = False
    """True: a release goes on in a ledger that knows nothing of what the pointer of its folder names."""
    was_handed_out: Callable[[Entry], bool] | None = field(default=None, repr=False, compare=False)
    """Callback for the owner: was a release handed out whose files are gone or replaced? None: nobody can answer."""
    only_new: bool = False
    """True: of a table that has grown only the rows of people who are in no earlier release of the dataset."""
    released_before: str | Path | None = None
    """Table whose people were released before, where the ledger does not remember them."""
    disjoint_from: tuple[int, ...] | None = None
    """Earlier releases with which this one has no person in common; set by `pipeline.earlier_batches`."""
    applied: AppliedRecoding | None = None
    """The earlier release whose recoding is applied: the ledger has to know it."""
    is_simulated: bool = False
    """True: the ledger is that of simulated people; set by `found`."""
    displaced: Pointer | None = None
    """Pointer of the folder where another ledger is used knowingly; set by `found`."""
    declared: Allowance = NO_LIMIT
    """The policy's limit in all; set by `found`. It lowers what a ledger remembers, and never raises it: a file
    that lies about may not undo what somebody decided."""

    def __post_init__(self) -> None:
        if self.ledger is not None and not isinstance(self.ledger, Where):
            LedgerPlace.of(self.ledger)
        settle_numbers(self)
        if self.accept_joint_k is not None:
            check_integer("accept_joint_k", self.accept_joint_k, 1, hint="1 accepts every joint view")
        if self.budget is not None:
            hint = "total epsilon allowed for the dataset"
            check_number("budget", self.budget, 0, math.inf, open_low=True, hint=hint)
        if self.budget_delta is not None:
            check_number("budget_delta", self.budget_delta, 0, 1, hint="total delta allowed for the dataset")
        if self.released_before is not None and not self.only_new:
            raise ParameterError(f"{option('released_before')} goes with {option('only_new', True)}")
        if self.budget_neighbours is not None:
            check_choice("budget_neighbours", self.budget_neighbours, ADJACENCIES)
        elif self.budget_unit is not None:
            raise ParameterError(
                f"{option('budget_unit')} goes with {option('budget_neighbours')}",
                option("budget_neighbours", ADJACENCIES[0]),
            )
        # the name is in messages, and in files of the release: what looks like a password in it goes
        object.__setattr__(self, "dataset", None if self.dataset is None else redacted(self.dataset))

    def over(self, other: Account) -> Account:
        """Return the account with what it leaves open taken from another one; the ledger is its own."""
        left_open = {name: getattr(other, name) for name in _OPEN if getattr(self, name) is None}
        return replace(self, **left_open)

    @property
    def place(self) -> LedgerPlace | None:
        """Place of the ledger, once it is known (`found`); None: none is kept."""
        return self.ledger if isinstance(self.ledger, LedgerPlace) else None

    @property
    def given(self) -> Allowance:
        """Limit of the release's maker in all."""
        named = neighbours_of_budget(self.budget_neighbours, self.budget_unit)
        return Allowance(epsilon=self.budget, delta=self.budget_delta, neighbours=named)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the owner on a budget that goes beyond the policy's."""
        pairs = (
            ("budget", self.budget, self.declared.epsilon),
            ("budget of delta", self.budget_delta, self.declared.delta),
        )
        return tuple(
            f"The {name} of {allowance_words(given)} goes beyond the {allowance_words(declared)} that the policy "
            "declares."
            for name, given, declared in pairs
            if given is not None and declared is not None and given > declared
        )

    def found(self, place: Place | None, declared: Bookkeeping | None = None) -> Account:
        """Return the account with its ledger found, in the order of the module's docstring.

        Parameters
        ----------
        place : Place or None
            Of the release, beside which a ledger may be; None: in memory.
        declared : Bookkeeping, optional
            Declaration of the policy.

        Raises
        ------
        ParameterError
            A budget is given and no ledger is kept, or none is to be kept where one is required; earlier releases of
            the folder are in another ledger; the user's ledger would be on a network; no ledger holds the release
            whose recoding is applied.
        LedgerError
            A ledger is required, and it is not there; or it is there and cannot be used.
        """
        declared = Bookkeeping() if declared is None else declared
        named = neighbours_of_budget(declared.budget_neighbours, declared.budget_unit)
        declared_allowance = Allowance(epsilon=declared.budget, delta=declared.budget_delta, neighbours=named)
        if self.ledger is Where.SIMULATED and place is not None and place.store is None:
            beside = LedgerPlace(file=simulated_ledger_beside(place))
            if self.applied is not None:
                self.applied.found(beside, is_named=True)
            return replace(self, ledger=beside, declared=declared_allowance, is_simulated=True)
        if self.ledger in (Where.NOWHERE, Where.SIMULATED):
            if self.given != NO_LIMIT:
                raise _needs_ledger("a budget")
            return replace(self, ledger=None)
        required = _required_by(declared)
        if self.ledger is None and required is not None:
            raise ParameterError(
                f"{required} requires a ledger, and this release is to have none",
                f"leave {spoken(python='ledger=None', typed='--no-ledger')} out",
            )
        ledger = self._place(place, declared)
        if ledger is None:
            if required is not None:
                raise LedgerError(f"{required} requires a ledger, and nothing says where it is", _NAME_IT)
            if self.given != NO_LIMIT or declared_allowance != NO_LIMIT:
                raise _needs_ledger("a budget" if self.given != NO_LIMIT else "the policy's budget")
            return replace(self, ledger=None, declared=declared_allowance)
        if required is not None and not ledger.may_be_there:
            raise LedgerError(
                f"{required} requires a ledger, and {str(ledger)!r} is not there",
                "put it back, or name the one that is kept; anonkit ledger create PLACE makes a new one, which knows "
                "nothing of what was spent",
            )
        if self.applied is not None:
            ledger = self.applied.found(ledger, is_named=not isinstance(self.ledger, Where))
        displaced = self._displaced(place, ledger)
        return replace(self, ledger=ledger, declared=declared_allowance, displaced=displaced)

    def _displaced(self, place: Place | None, ledger: LedgerPlace) -> Pointer | None:
        """Return the pointer of the folder where it names another ledger, which whoever makes the release accepts.

        Raises
        ------
        ParameterError
            Nobody has accepted it.
        """
        pointer = None if place is None else Pointer.beside(place)
        try:
            if pointer is None or pointer.names(ledger):
                return None
        except LedgerError:  # it is there and cannot be used: refused where something is to be booked in it
            return None
        if self.new_ledger:
            return pointer
        if isinstance(self.ledger, Where) or not ledger.may_be_there:
            raise pointer.refusal(ledger)
        return None  # somebody has named another one that is there: that is known

    def _place(self, place: Place | None, declared: Bookkeeping) -> LedgerPlace | None:
        if not isinstance(self.ledger, Where):
            return None if self.ledger is None else LedgerPlace.of(self.ledger)
        named = declared.ledger or os.environ.get(VARIABLE)
        if named:
            return LedgerPlace.of(named)
        if place is None:
            return None
        if place.store is None:
            beside = ledger_beside(place)
            # a key alone says that a ledger was there, which is refused when it is opened
            if beside.exists() or key_file(beside).exists():
                return LedgerPlace(file=beside)
        return users_ledger()


_NAME_IT = f"{option('ledger', 'PLACE')}, ledger in the policy, or {VARIABLE}"


def _needs_ledger(what: str) -> ParameterError:
    return ParameterError(
        f"{what} needs a ledger", f"{option('ledger', 'PLACE')}, or an output beside which one can be kept"
    )


def _required_by(declared: Bookkeeping) -> str | None:
    """Return the setting that requires a ledger; None where nothing does.

    Raises
    ------
    ParameterError
        The environment says neither yes nor no: what was meant is not guessed.
    """
    setting = os.environ.get(REQUIRED, "").strip().lower()
    if setting not in _YES + _NO:
        raise ParameterError(f"{REQUIRED} must be 1 or 0")
    if declared.required:
        return "the policy (ledger_required)"
    return REQUIRED if setting in _YES else None


_NO_BOUND = (
    "its loss has no bound, since it publishes values as they are or by a transformation; no finite budget covers it"
)


def refuse_overspent(standing: DatasetState, cost: Cost, declared: Allowance) -> None:
    """Refuse a release beyond the budget of its dataset; a promise without a loss spends none.

    Parameters
    ----------
    standing : Standing
        Of the dataset before the release, with what is allowed now.
    cost : Cost
        Of the release: how much, and whom; whether a second draw costs.
    declared : Allowance
        Limit of the policy, for the hint.

    Raises
    ------
    BudgetError
        Epsilon or delta of all releases would go beyond what is allowed, or has no bound that could be compared with
        it; or rows were randomized before and no budget allows a second draw.
    """
    loss = cost.loss
    if loss is None:
        return
    allowance = standing.allowance
    losses = [*standing.losses, loss]
    if allowance.is_set and not _is_free(allowance):
        if allowance.neighbours is None and any(one.neighbours is None for one in standing.losses):
            raise BudgetError(
                f"the budget of dataset {standing.dataset!r} was set before the ledger kept whose loss is meant: what "
                f"is spent, epsilon {loss_words(total(one.epsilon for one in standing.losses))}, is of unknown "
                "neighbours",
                f"say it anew: {option('budget', 'NUMBER')}; earlier releases are counted by their bare numbers then",
            )
        if math.isinf(loss.epsilon):
            if allowance.epsilon is not None and not math.isinf(allowance.epsilon):
                raise BudgetError(
                    f"this release does not fit into the budget of {allowance_words(allowance.epsilon)}: {_NO_BOUND}",
                    "method rr keeps to an epsilon",
                )
        else:
            for kind in _kinds(allowance, losses):
                _refuse_beyond(replace(standing, allowance=replace(allowance, neighbours=kind)), loss, kind, declared)
    # without a budget nobody has agreed to a second draw: independent answers about the same rows average out
    earlier = [entry for entry in standing.counted if entry.redrawn]
    if standing.budget is None and cost.redrawn and earlier:
        raise BudgetError(*_second_draw(standing, earlier[-1].number, _after(standing, loss, standing.neighbours)[0]))


def _is_free(allowance: Allowance) -> bool:
    """Return True if every loss fits into a budget, bounded or not."""
    return allowance.epsilon == math.inf and allowance.delta is None


def _kinds(allowance: Allowance, losses: Sequence[BookedLoss]) -> list[Neighbours]:
    """Return the neighbours for which a budget holds: those that it names, else all for which there is a bound.

    Raises
    ------
    BudgetError
        There are none.
    """
    if allowance.neighbours is not None:
        return [allowance.neighbours]
    bounded = [one.neighbours for one in totals(losses) if one.neighbours is not None and one.is_bounded]
    if not bounded:
        raise BudgetError(
            "the budget holds for nobody: between no two tables have all releases of the dataset a bound together",
            _SAME_WHOSE,
        )
    return bounded


_SAME_WHOSE = (
    f"declare the same {option('unit', 'NAME')} and neighbours in every release of the dataset; "
    f"{option('budget', math.inf)} goes on without a bound"
)


def _after(standing: DatasetState, loss: BookedLoss, kind: Neighbours) -> tuple[float, float]:
    """Return the composed loss of all releases with this one, for a kind of neighbours."""
    spent = replace(standing, allowance=replace(standing.allowance, neighbours=kind))
    epsilon, delta = (loss.epsilon, loss.delta) if loss.neighbours is None else loss.of(kind)
    return total([spent.epsilon, epsilon]), total([spent.delta, delta])


def _refuse_beyond(standing: DatasetState, loss: BookedLoss, kind: Neighbours, declared: Allowance) -> None:
    after, uncovered = _after(standing, loss, kind)
    if math.isinf(after):
        raise BudgetError(
            f"the budget holds for {kind.in_short}, and {_who_is_unbounded(standing, loss, kind)} no bound for that",
            _SAME_WHOSE,
        )
    needed, more = (loss.epsilon, loss.delta) if loss.neighbours is None else loss.of(kind)
    whose = f", for {kind.in_short}"
    if standing.budget is not None and after > standing.budget:
        raise BudgetError(
            f"the budget of the dataset would be overspent: epsilon {loss_words(standing.epsilon)} is spent, this "
            f"release needs {loss_words(needed)}, {allowance_words(standing.budget)} is allowed in all{whose}",
            _more(standing.left, "budget", standing.budget, declared.epsilon),
        )
    budget_delta = standing.budget_delta
    if budget_delta is not None and uncovered > budget_delta:
        raise BudgetError(
            f"the budget of delta of the dataset would be overspent: delta {loss_words(standing.delta)} is spent, this "
            f"release needs {loss_words(more)}, {allowance_words(budget_delta)} is allowed in all{whose}",
            _more(standing.left_delta, "budget_delta", budget_delta, declared.delta),
        )


def _who_is_unbounded(standing: DatasetState, loss: BookedLoss, kind: Neighbours) -> str:
    if loss.neighbours is not None and math.isinf(loss.of(kind)[0]):
        return "this release has"
    first = next(one.number for one in standing.counted if one.loss is not None and _is_unbounded(one.loss, kind))
    return f"release {first} has"


def _is_unbounded(loss: BookedLoss, kind: Neighbours) -> bool:
    return math.isinf(loss.epsilon if loss.neighbours is None else loss.of(kind)[0])


def _more(left: float | None, name: str, budget: float, declared: float | None) -> str:
    """Return the remedies for a budget that is spent."""
    hint = (
        f"{allowance_words(left or 0.0)} is left; hand out an earlier release again, ask for less, or raise "
        f"{option(name)} knowingly"
    )
    if declared is None or declared <= budget:
        return hint
    return f"{hint}: the policy's {allowance_words(declared)} does not raise it"


def _second_draw(standing: DatasetState, number: int, after: float) -> tuple[str, str]:
    message = (
        f"the rows of dataset {standing.dataset!r} were randomized before (release {number}): a second draw with fresh "
        "noise lets an attacker average the noise away"
    )
    if math.isinf(after):
        return (
            f"{message}; together the loss has no bound, since values are published as they are or by a transformation",
            f"hand out the earlier release again; {option('budget', math.inf)} allows a second draw all the same",
        )
    needed = loss_words(after)
    return (
        f"{message}; together epsilon would be {needed}",
        f"hand out the earlier one again, or {option('budget', float(needed))}",
    )
