# SPDX-License-Identifier: Apache-2.0
"""Options that mean the same in every command that has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from anonkit.cli.outcome import WrongUsage

if TYPE_CHECKING:
    from pathlib import Path

    from anonkit.ledger.account import Where

_Command = TypeVar("_Command", bound=Callable[..., Any])

json_option = click.option(
    "--json", "as_json", is_flag=True, expose_value=False, help="One JSON object on stdout; errors too."
)
"""Only declared here: the boundary looks for it, since it must know before the other options are understood."""

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show errors only.")

sign_option = click.option(
    "--sign", metavar="KEY", help="Sign all files with this private key: Ed25519, PEM, from `openssl genpkey`."
)

force_option = click.option("--force", is_flag=True, help="Replace what is there already.")

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Do everything except writing; the figures are for the owner's eyes only."
)

engine_option = click.option(
    "--engine", metavar="NAME", default="local", show_default=True, help="What moves and counts the rows: local, spark."
)

spark_master_option = click.option(
    "--spark-master", metavar="URL", help="Where Spark runs; default: its own settings, else all cores of this machine."
)


def _settings(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise click.BadParameter("each must be key=value, such as spark.executor.memory=8g")
    return {key: value for key, _, value in pairs}


spark_conf_option = click.option(
    "--spark-conf", metavar="KEY=VALUE", multiple=True, callback=_settings, help="A setting of Spark; repeatable."
)

search_rows_option = click.option(
    "--search-rows",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Rows held while searching; larger tables are searched on a sample, and counted whole. [default: 500,000]",
)

part_rows_option = click.option(
    "--part-rows",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Write the data as a folder of files of about so many rows; on Spark the executors write them.",
)

domains_min_people_option = click.option(
    "--domains-min-people",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    metavar="INTEGER",
    help="With --domains-from-data: people (rows without a unit) that share a category, or lie beyond a bound.",
)

budget_option = click.option(
    "--budget", type=float, metavar="NUMBER", help="Total epsilon allowed for the dataset, over all its releases."
)


def ledger_options(command: _Command) -> _Command:
    """Add the options that say where releases are booked, and under which name."""
    for option in (
        click.option("--no-ledger", is_flag=True, help="Keep no record: nobody will know what this release adds to."),
        click.option("--ledger", metavar="PATH", help="Where releases are booked; default: a file beside OUT."),
        click.option(
            "--accept-joint-k",
            type=click.IntRange(min=1),
            metavar="N",
            help="Smallest group allowed when combined with earlier k-anonymous releases. [default: joint_k, else k]",
        ),
        click.option("--dataset", metavar="NAME", help="Whose budget is charged; default: the policy's name for it."),
    ):
        command = option(command)
    return command


def ledger_of(ledger: str | None, no_ledger: bool) -> str | Path | Where | None:
    """Return the ledger the options name.

    Raises
    ------
    WrongUsage
        One is named and none is wanted.
    """
    from anonkit.ledger.account import Where

    if ledger is not None and no_ledger:
        raise WrongUsage("--ledger and --no-ledger exclude each other")
    return None if no_ledger else Where.BESIDE if ledger is None else ledger
