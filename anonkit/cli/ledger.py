# SPDX-License-Identifier: Apache-2.0
"""`anonkit ledger`: the releases of every dataset and their total privacy loss."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.options import json_option
from anonkit.cli.outcome import Outcome
from anonkit.errors import LedgerError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from anonkit.ledger.standing import Entry, Standing


@click.command(name="ledger")
@click.argument("where", metavar="[WHERE]", required=False)
@click.option("--ledger", metavar="PATH", help="The ledger's file, as an option; the same as WHERE.")
@click.option("--dataset", metavar="NAME", help="Show this dataset only.")
@click.option(
    "--withdraw",
    type=int,
    metavar="NUMBER",
    help="Take the owner's word that this k-anonymous release was never handed out.",
)
@json_option
def command(*, where: str | None, ledger: str | None, dataset: str | None, withdraw: int | None) -> Outcome:
    """Show the releases and the budget of every dataset.

    \b
    anonkit ledger
    anonkit ledger out.parquet --dataset adult
    anonkit ledger --ledger /srv/private/ledger.sqlite --json

    WHERE is a ledger, a folder, or a release beside which one stands; default: this folder. A release counts from the
    moment it is reserved; one whose process died counts until it is certain that nothing was published.
    """
    from anonkit.ledger import Ledger

    path = _path(where if ledger is None else ledger)
    if not path.exists():
        raise LedgerError(f"{str(path)!r} does not exist", "anonkit ledger WHERE: a ledger, a folder or a release")
    opened = Ledger(path)
    if withdraw is not None:
        opened.withdraw(withdraw)
    datasets = opened.datasets()
    if dataset is not None:
        names = [standing.dataset for standing in datasets]
        if dataset not in names:
            raise ParameterError(f"dataset {dataset!r} is not in the ledger", did_you_mean(dataset, names))
        datasets = [standing for standing in datasets if standing.dataset == dataset]
    text = "\n\n".join(_dataset_text(standing) for standing in datasets) or "Nothing was released yet."
    return Outcome(
        text=text, document={"ledger": str(path), "datasets": [_document(standing) for standing in datasets]}
    )


def _path(where: str | None) -> Path:
    """Return the ledger that an argument means."""
    from anonkit.bundle.stored_release import Place
    from anonkit.ledger import NAME
    from anonkit.ledger.account import ledger_beside

    path = Path(where or ".")
    if path.is_dir():
        inside = path / NAME
        return inside if inside.exists() or where is None else _first_existing(inside, ledger_beside(Place.of(path)))
    try:
        return path if path.suffix == ".sqlite" else ledger_beside(Place.of(path))
    except ParameterError:
        return path


def _first_existing(*paths: Path) -> Path:
    return next((path for path in paths if path.exists()), paths[0])


# --- for people ----------------------------------------------------------------------------------------------


def _dataset_text(standing: Standing) -> str:
    rows: list[tuple[str, ...]] = [("release", "made", "method", "promise", "epsilon", "state", "output")]
    rows += [_row(entry) for entry in standing.entries]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = click.style(f"{one_line(standing.dataset)}: {_spent(standing)}", bold=True)
    return "\n".join([head, *(f"  {line}" for line in lines)])


def _spent(standing: Standing) -> str:
    spent = f"epsilon {_figure(standing.epsilon)} spent"
    spent += f", delta {standing.delta:g}" if standing.delta else ""
    if standing.budget is None:
        return f"{spent}, no budget set"
    left = max(0.0, standing.budget - standing.epsilon) if math.isfinite(standing.budget) else math.inf
    return f"{spent} of {_figure(standing.budget)}, {_figure(left)} left"


def _row(entry: Entry) -> tuple[str, ...]:
    promise = entry.kind if entry.k is None else f"{entry.kind}, k = {entry.k}"
    promise += f", delta = {entry.delta:g}" if entry.delta else ""
    state = str(entry.state) if entry.state != "publishing" else "interrupted: counted as spent"
    output = "in memory" if entry.output is None else one_line(entry.output)
    epsilon = "–" if entry.epsilon is None else _figure(entry.epsilon)
    return str(entry.number), entry.created[:16].replace("T", " "), entry.method, promise, epsilon, state, output


def _figure(loss: float) -> str:
    return "without bound" if math.isinf(loss) else f"{math.ceil(loss * 1e4) / 1e4:g}"


# --- for machines --------------------------------------------------------------------------------------------


def _document(standing: Standing) -> dict[str, Any]:
    from anonkit.promises.guarantee import loss_json

    left = None if standing.budget is None else max(0.0, standing.budget - standing.epsilon)
    return {
        "dataset": standing.dataset,
        "budget": None if standing.budget is None else loss_json(standing.budget),
        "epsilon": loss_json(standing.epsilon),
        "delta": standing.delta,
        "left": None if left is None or math.isnan(left) else loss_json(left),
        "releases": [
            {
                "number": entry.number,
                "created": entry.created,
                "method": entry.method,
                "promise": entry.kind,
                "k": entry.k,
                "epsilon": None if entry.epsilon is None else loss_json(entry.epsilon),
                "delta": entry.delta,
                "state": str(entry.state),
                "counts": entry.counts,
                "output": entry.output,
            }
            for entry in standing.entries
        ],
    }
