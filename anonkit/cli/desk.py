# SPDX-License-Identifier: Apache-2.0
"""`anonkit desk`: a page on this machine on which a release is decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from anonkit.cli.commands import ShortHelp
from anonkit.cli.options import (
    not_for_release_option,
    quiet_option,
    reading_options,
    refuse_seed_alone,
    seed_option,
)
from anonkit.cli.outcome import Outcome, WrongUsage


@click.command(cls=ShortHelp, name="desk")
@click.argument("source", metavar="IN")
@click.option("--policy", metavar="FILE", help="A policy to begin with; it is read and stays as it is.")
@click.option(
    "--output",
    metavar="DIR",
    default="desk",
    show_default=True,
    help="Folder of the session and of the release: the one place that the page can write into.",
)
@click.option("--sign", metavar="KEY", help="Private key (Ed25519, PEM) that signs the release.")
@click.option(
    "--population", metavar="FILE", help="A file of the population, a row a person: risk is looked for in it."
)
@click.option("--noise", is_flag=True, help="Answer the first question: differential privacy; no cell is shown.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="Port of this machine; default: a free one."
)
@click.option("--no-browser", is_flag=True, help="Open no browser; the address is on stdout.")
@click.option(
    "--idle",
    type=click.FloatRange(min=0, min_open=True),
    default=60,
    show_default=True,
    metavar="MINUTES",
    help="End after so long without a request.",
)
@click.option(
    "--host-name",
    metavar="NAME:PORT",
    help="One more name by which a browser may ask, such as localhost:8899 of a port that ssh forwards.",
)
@reading_options
@seed_option
@not_for_release_option
@quiet_option
def command(
    source: str,
    *,
    policy: str | None,
    output: str,
    sign: str | None,
    population: str | None,
    noise: bool,
    port: int,
    no_browser: bool,
    idle: float,
    host_name: str | None,
    how: Mapping[str, Any],
    seed: int | None,
    not_for_release: bool,
    quiet: bool,
) -> Outcome:
    """Decide on a release in a page on this machine.

    \b
    anonkit desk people.csv
    anonkit desk people.csv --policy policy.toml --output out --sign owner.pem
    anonkit desk people.csv --noise --port 8899 --no-browser

    Five stations lead from the table to its release: Table, Roles, Promise, Compare, Decide. The page writes
    policy.toml, recipe.toml and a history into DIR; each station shows the command that does the same. It is served on
    this machine alone, and ends with Ctrl-C.

    The address opens one browser, once. Needs the extra `desk`.
    """
    refuse_seed_alone(seed, not_for_release)
    if seed is not None and sign is not None:
        raise WrongUsage("--sign and --seed exclude each other", "a rehearsal is never signed")
    if noise and population is not None:
        raise WrongUsage(
            "--population is about classes: noise has no groups to look for in it", "leave one of them out"
        )
    from anonkit.desk.desk_server import allowed_name, refuse_without_extra, serve

    refuse_without_extra()
    name = None if host_name is None else allowed_name(host_name)
    from anonkit.desk.decided_release import check_source
    from anonkit.desk.release_desk import Desk

    check_source(source, None if sign is None else Path(sign), how, population)
    changed: list[Callable[[], None]] = []

    def notify() -> None:
        for each in changed:
            each()

    desk = Desk(
        source,
        Path(output),
        policy=None if policy is None else Path(policy),
        approach="noise" if noise else "",
        sign=None if sign is None else Path(sign),
        seed=seed,
        population=population,
        how=how,
        changed=notify,
        shown_folder=output,
    )
    with closing(desk):
        was_idle = serve(
            desk,
            port,
            host_name=name,
            idle=60 * idle,
            opened=lambda address: _opened(address, browser=not no_browser),
            connect=changed.append,
        )
    ended = f"Nobody used the page for {idle:g} minutes: the desk is closed. What was decided is in {output}."
    return Outcome(text=ended if was_idle else "", document={}, quiet=quiet)


def _opened(address: str, *, browser: bool) -> None:
    """Show the address, on a line of its own, and let a browser open it."""
    click.echo(address)
    if browser:
        import webbrowser

        webbrowser.open(address)
