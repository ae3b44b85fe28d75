# SPDX-License-Identifier: Apache-2.0
"""`anonkit demo`: simulated customers, from the raw table to the report."""

from __future__ import annotations

from pathlib import Path

import click

from anonkit.cli.boundary import progress_line
from anonkit.cli.files import refuse_existing, write_text
from anonkit.cli.options import force_option, json_option, quiet_option
from anonkit.cli.outcome import Outcome
from anonkit.cli.typed_commands import typed

TABLE, POLICY, RELEASE = "customers.csv", "policy.toml", "release.parquet"


@click.command(name="demo")
@click.option("--folder", metavar="DIR", default="anonkit-demo", show_default=True, help="Where to write.")
@click.option(
    "--rows",
    type=click.IntRange(min=100),
    metavar="INTEGER",
    default=10_000,
    show_default=True,
    help="How many customers.",
)
@force_option
@quiet_option
@json_option
def command(*, folder: str, rows: int, force: bool, quiet: bool) -> Outcome:
    """Try it without data: simulated customers, end to end.

    \b
    anonkit demo
    anonkit demo --folder /tmp/demo --rows 5000

    No data needed: an identifier, eight quasi-identifiers, two sensitive attributes and a class label are drawn, with
    the policy that declares them.
    """
    place = Path(folder)
    table, policy, output = place / TABLE, place / POLICY, place / RELEASE
    for path in (table, policy):
        refuse_existing(path, force)
    from anonkit.cli.summary import notes_of, release_document, release_text
    from anonkit.ledger.account import Where
    from anonkit.methods import default_method, make_method
    from anonkit.pipeline.python_calls import release
    from anonkit.pipeline.repeated_release import release_steps

    place.mkdir(parents=True, exist_ok=True)
    _simulate(table, policy, rows)
    _withdraw_earlier(output, policy)
    steps = release_steps(make_method(default_method([], without_target=False), {}))
    with progress_line(quiet, steps=steps) as progress:
        released = release(table, policy=policy, output=output, force=force, ledger=Where.SIMULATED, progress=progress)
    assert released.place is not None  # noqa: S101 - it was written
    page = released.place.by_role()["page"]
    return Outcome(
        text="\n".join(
            [
                f"Simulated {rows:,} customers: {table}, policy: {policy}",
                "",
                release_text(released),
                "",
                *_next(place, page),
            ]
        ),
        document={"table": str(table), "policy": str(policy), **release_document(released)},
        notes=notes_of(released),
        quiet=quiet,
    )


def _simulate(table: Path, policy: Path, rows: int) -> None:
    """Write the table and its policy."""
    import pyarrow.csv

    from anonkit.pipeline.recipe_sources import customers_to_show

    customers, declared = customers_to_show(rows)
    pyarrow.csv.write_csv(customers, table)
    write_text(policy, declared, force=True)


def _withdraw_earlier(output: Path, policy: Path) -> None:
    """Withdraw what an earlier demo has booked beside the output: its customers were simulated, too, and are gone."""
    from anonkit.bundle.release_place import Place
    from anonkit.ledger import Ledger
    from anonkit.ledger.earlier_releases import simulated_ledger_beside
    from anonkit.policy.declaration import Policy

    place, dataset = simulated_ledger_beside(Place.of(output)), Policy.load(policy).dataset
    if dataset is not None and place.exists():
        ledger = Ledger(place)
        for entry in ledger.standing(dataset).counted:
            if entry.epsilon is None:
                ledger.withdraw(entry.number)


def _next(folder: Path, page: Path) -> list[str]:
    release, table, policy = folder / RELEASE, folder / TABLE, folder / POLICY
    return [
        click.style(f"The report to sign: {page}", bold=True),
        "Try next:",
        f"  anonkit report {typed(release)}",
        f"  anonkit validate {typed(release)} --k 10",
        f"  anonkit release --k 50 --l 2 --no-ledger --policy {typed(policy, table, folder / 'stricter.parquet')}",
        f"  anonkit apply --no-ledger {typed(folder / 'release.params.json', table, folder / 'again.parquet')}",
        "  anonkit methods",
    ]
