# SPDX-License-Identifier: Apache-2.0
"""`anonkit ledger`: the releases of every dataset, their total privacy loss, and what is left of their budgets."""

from __future__ import annotations

import math
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.options import json_option
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import LedgerError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from anonkit.ledger import Ledger
    from anonkit.ledger.booked_releases import DatasetState, Entry, ReleaseState
    from anonkit.ledger.ledger_place import LedgerPlace

_CREATE = "create"
"""First word of the other form of the command; `./create` is a folder of that name."""


@click.command(name="ledger")
@click.argument("where", metavar="[WHERE | create PLACE]", nargs=-1)
@click.option("--ledger", metavar="PLACE", help="The ledger's file or address, as an option; the same as WHERE.")
@click.option("--policy", metavar="FILE", help="Show the ledger that this policy names.")
@click.option("--dataset", metavar="NAME", help="Show this dataset only.")
@click.option(
    "--withdraw",
    type=int,
    metavar="NUMBER",
    help="Take the owner's word that this k-anonymous release was never handed out.",
)
@click.option(
    "--forget",
    metavar="DATASET",
    help="Delete the tags of the people of this dataset, and keep its totals: they are not known again.",
)
@click.option(
    "--settle",
    is_flag=True,
    help="Settle releases of other hosts too: they have ended, and the folders that they wrote into are seen here.",
)
@json_option
def command(
    *,
    where: tuple[str, ...],
    ledger: str | None,
    policy: str | None,
    dataset: str | None,
    withdraw: int | None,
    forget: str | None,
    settle: bool,
) -> Outcome:
    """Show releases and budget of every dataset; create a ledger.

    \b
    anonkit ledger
    anonkit ledger out.parquet --dataset adult
    anonkit ledger --ledger /srv/private/ledger.sqlite --json
    anonkit ledger create postgresql://owner@db.example.org/ledger?sslmode=verify-full

    WHERE is a ledger (a file, or postgresql://…), or a folder or a release: the ledger beside it, or the one in which
    it was booked. Default: that of ANONKIT_LEDGER, else this folder's, else yours. A release counts from the moment it
    is reserved. If its process died, it counts until it is certain that nothing was published.
    """
    from anonkit.ledger import Ledger

    if where[:1] == (_CREATE,):
        if len(where) != 2 or any(given is not None for given in (ledger, policy, dataset, withdraw, forget)):
            raise WrongUsage("create needs one place and nothing else", "anonkit ledger create PLACE")
        return _created(where[1])
    if len([*where, *(given for given in (ledger, policy) if given is not None)]) > 1:
        raise WrongUsage("one ledger is shown at a time", "WHERE, --ledger PLACE or --policy FILE")
    place = _place(where[0] if where else ledger, policy)
    if not place.may_be_there:
        raise _not_there(place, where[0] if where else None, withdraw)
    opened = Ledger(place)
    if dataset is not None:  # before anything is changed
        names = [standing.dataset for standing in opened.datasets()]
        if dataset not in names:
            raise ParameterError(f"dataset {dataset!r} is not in the ledger", did_you_mean(dataset, names))
    if withdraw is not None:
        if dataset is not None:
            _refuse_another(withdraw, dataset, opened)
        opened.withdraw(withdraw)
    if forget is not None:
        opened.forget(forget)
    ended = [_ended(entry, state) for entry, state in opened.settle()] if settle else []
    datasets = [standing for standing in opened.datasets() if dataset in (None, standing.dataset)]
    text = "\n\n".join(_dataset_text(standing) for standing in datasets) or "Nothing was released yet."
    forgotten = opened.forgotten
    return Outcome(
        text=text,
        document={
            "ledger": str(place),
            "datasets": [_document(standing) for standing in datasets],
            **({} if forgotten is None else {"forgotten": forgotten.message}),
        },
        notes=[*ended, *([] if forgotten is None else [f"{forgotten.message}. {forgotten.hint}"])],
    )


def _not_there(place: LedgerPlace, where: str | None, withdraw: int | None) -> LedgerError:
    """Return the error for a place without a ledger; where it is the name of a dataset, it says how to name one."""
    from anonkit.ledger import Ledger

    usual = _place(None, None)
    if where is not None and usual.may_be_there:
        known = {standing.dataset for standing in Ledger(usual).datasets()}
        if where in known:
            more = "" if withdraw is None else f" --withdraw {withdraw}"
            return LedgerError(
                f"{where!r} is no ledger, folder or release: it is a dataset of the ledger {str(usual)!r}",
                f"anonkit ledger --dataset {shlex.quote(where)}{more}",
            )
    return LedgerError(
        f"{str(place)!r} does not exist",
        "anonkit ledger WHERE: a ledger, a folder or a release; --dataset NAME is one dataset of it",
    )


def _refuse_another(number: int, dataset: str, opened: Ledger) -> None:
    """Refuse to withdraw a release of another dataset than the one that is named."""
    of = {entry.number: standing.dataset for standing in opened.datasets() for entry in standing.entries}
    if number in of and of[number] != dataset:
        raise LedgerError(
            f"release {number} is one of dataset {of[number]!r}, not of {dataset!r}",
            f"anonkit ledger --dataset {shlex.quote(of[number])} --withdraw {number}",
        )


def _ended(entry: Entry, state: ReleaseState) -> str:
    """Return the end of a release that was open, in words."""
    from anonkit.ledger.booked_releases import ReleaseState

    words = {
        ReleaseState.ROLLED_BACK: "is rolled back: nothing of it was put in place, and what it had prepared is gone",
        ReleaseState.COMMITTED: "is in place, and committed",
    }
    what = "counts as spent: its process works, or its folder cannot be read, or its files may have been in place"
    return f"release {entry.number} {words.get(state, what)}"


def _created(where: str) -> Outcome:
    from anonkit.ledger import Ledger
    from anonkit.ledger.ledger_place import LedgerPlace

    made = Ledger.create(LedgerPlace.of(where))
    return Outcome(
        text=f"A ledger that knows nothing yet: {made.place}\nIts key: {made.key_place}",
        document={"ledger": str(made.place), "key": made.key_place, "datasets": []},
    )


def _place(where: str | None, policy: str | None) -> LedgerPlace:
    """Return the ledger that an argument, a policy or the environment means."""
    from anonkit.ledger.account import VARIABLE
    from anonkit.ledger.ledger_place import LedgerPlace, users_ledger
    from anonkit.redaction import is_address

    if policy is not None:
        from anonkit.policy.declaration import Policy

        named = Policy.load(policy).bookkeeping.ledger
        if named is None:
            raise ParameterError(f"policy file {policy!r} names no ledger", 'ledger = "…" at its top')
        return LedgerPlace.of(named)
    if where is None and os.environ.get(VARIABLE):
        return LedgerPlace.of(os.environ[VARIABLE])
    if where is not None and is_address(where):
        return LedgerPlace.of(where)
    named = Path(where or ".")
    if where is not None and named.suffix == ".sqlite":
        return LedgerPlace(file=named)
    if where is None:
        return _beside(named) or users_ledger()
    return _beside(named, or_simulated=True) or LedgerPlace(file=named)


def _beside(path: Path, *, or_simulated: bool = False) -> LedgerPlace | None:
    """Return the ledger of a folder or a release: one beside it, or the one that its pointer names.

    Parameters
    ----------
    or_simulated : bool
        Where neither is there, that of simulated people: no release of real ones is in it.
    """
    from anonkit.bundle.release_place import Place
    from anonkit.ledger import NAME
    from anonkit.ledger.earlier_releases import POINTER, SIMULATED_NAME, Pointer, ledger_beside
    from anonkit.ledger.ledger_place import LedgerPlace

    candidates = [path / NAME] if path.is_dir() else []
    try:
        candidates.append(ledger_beside(Place.of(path)))
    except ParameterError:  # neither a folder nor a release: a ledger by another name
        return None
    for candidate in candidates:
        if candidate.exists():
            return LedgerPlace(file=candidate)
    for candidate in candidates:
        pointer = Pointer.read(candidate.with_name(POINTER))
        if pointer is not None:
            known = pointer.opened()
            if known is None:
                raise LedgerError(
                    f"the ledger {pointer.place!r}, in which this was booked, cannot be opened",
                    "anonkit ledger --ledger PLACE shows the one that is kept",
                )
            return known.place
    simulated = [candidate.with_name(SIMULATED_NAME) for candidate in candidates]
    return next((LedgerPlace(file=path) for path in simulated if or_simulated and path.exists()), None)


# --- for people ----------------------------------------------------------------------------------------------


def _dataset_text(standing: DatasetState) -> str:
    rows: list[tuple[str, ...]] = [("release", "made", "method", "promise", "epsilon", "state", "output")]
    rows += [_row(entry) for entry in standing.entries]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = click.style(f"{one_line(standing.dataset)}: {_spent(standing)}", bold=True)
    return "\n".join([head, *(f"  {line}" for line in lines)])


def _spent(standing: DatasetState) -> str:
    from anonkit.ledger.neighbour_totals import totals_words

    words = _part("epsilon", standing.epsilon, standing.budget, standing.left)
    if standing.delta or standing.budget_delta is not None:
        words = f"{words}; {_part('delta', standing.delta, standing.budget_delta, standing.left_delta)}"
    if standing.totals:
        others = [one for one in standing.totals if one.neighbours != standing.neighbours]
        words = f"{words}, for {standing.neighbours.in_short}"
        words = f"{words}; {totals_words(others)}" if others else words
    return words


def _part(name: str, loss: float, budget: float | None, left: float | None) -> str:
    from anonkit.promises.noise_promises import allowance_words, loss_words

    spent = f"no bound on {name}" if math.isinf(loss) else f"{name} {loss_words(loss)} spent"
    if budget is None or left is None:
        return f"{spent}, no budget set"
    if math.isinf(budget):
        return f"{spent}, the budget has no bound"
    return f"{spent} of {allowance_words(budget)}, {allowance_words(left)} left"


def _state(entry: Entry) -> str:
    """Return the progress of a release; of one that is open on another host only --settle there can say more."""
    from anonkit.bundle.liveness import Process
    from anonkit.ledger.booked_releases import ReleaseState

    if entry.state not in (ReleaseState.RESERVED, ReleaseState.PUBLISHING):
        return str(entry.state)
    process = Process.from_text(entry.process)
    if not process.is_on_this_machine:
        return f"at work or interrupted on {one_line(process.host)}: counted as spent"
    if entry.state is ReleaseState.PUBLISHING:
        return "interrupted: counted as spent"
    return "at work" if not process.is_surely_dead() else "interrupted, its folder cannot be read: counted as spent"


def _row(entry: Entry) -> tuple[str, ...]:
    from anonkit.promises.noise_promises import loss_words

    promise = entry.kind if entry.k is None else f"{entry.kind}, k = {entry.k}"
    promise += f", delta = {loss_words(entry.delta)}" if entry.delta else ""
    state = _state(entry)
    state = state if entry.remark is None else f"{state}, {one_line(entry.remark)}"
    output = "in memory" if entry.output is None else one_line(entry.output)
    epsilon = "–" if entry.epsilon is None else loss_words(entry.epsilon)
    return str(entry.number), entry.created[:16].replace("T", " "), entry.method, promise, epsilon, state, output


# --- for machines --------------------------------------------------------------------------------------------


def _document(standing: DatasetState) -> dict[str, Any]:
    from anonkit.ledger.neighbour_totals import neighbours_json
    from anonkit.promises.guarantee import loss_json

    neighbours = standing.allowance.neighbours
    return {
        "dataset": standing.dataset,
        "totals": [one.to_dict() for one in standing.totals],
        "budget": None if standing.budget is None else loss_json(standing.budget),
        "budget_neighbours": None if neighbours is None else neighbours_json(neighbours),
        "epsilon": loss_json(standing.epsilon),
        "delta": standing.delta,
        "left": None if standing.left is None else loss_json(standing.left),
        "budget_delta": standing.budget_delta,
        "left_delta": standing.left_delta,
        "releases": [
            {
                "number": entry.number,
                "created": entry.created,
                "method": entry.method,
                "promise": entry.kind,
                "k": entry.k,
                "epsilon": None if entry.epsilon is None else loss_json(entry.epsilon),
                "delta": entry.delta,
                "for": None if entry.neighbours is None else neighbours_json(entry.neighbours),
                "rows_of_one_person": entry.cap,
                "state": str(entry.state),
                "counts": entry.counts,
                "remark": entry.remark,
                "output": entry.output,
            }
            for entry in standing.entries
        ],
    }
