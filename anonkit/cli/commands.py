# SPDX-License-Identifier: Apache-2.0
"""The group of all commands: what `anonkit --help` lists, each imported at its first use."""

from __future__ import annotations

from importlib import import_module

import click

from anonkit import __version__
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import did_you_mean

COMMANDS = {
    "demo": "Try it without data: simulated customers, end to end.",
    "init": "Draft a policy.toml to read and correct.",
    "methods": "List the methods, or all about one.",
    "release": "Release a table with a privacy guarantee that is checked first.",
    "validate": "Recount a release and compare it with its promise.",
    "report": "Show the privacy report of a release.",
    "export": "Write a verified release in another form, or into a database.",
    "compare": "Compare methods by risk and by what models keep.",
    "audit": "Attack a release, for its owner's eyes only.",
    "risk": "Find the columns that make people unique, before any release.",
    "desk": "Decide on a release in a page on this machine.",
    "reconstruct": "Learn a model from a release with noise.",
    "apply": "Recode the next batch as an earlier release was.",
    "run": "Make the release or the experiment of a recipe.",
    "ledger": "Show releases and budget of every dataset; create a ledger.",
    "completion": "Print the completion script of a shell.",
}
"""Names of the commands, in the order of the work, with the first line of their help: the list of commands is shown
without importing any. Each is a module here with the click command `command`."""


class _Commands(click.Group):
    """The commands, each imported at its first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"anonkit.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise WrongUsage(f"no such command: {args[0]}", did_you_mean(args[0], COMMANDS))
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="anonkit")
def anonkit() -> None:
    """Share tables about people with a privacy guarantee that has been checked.

    \b
    anonkit demo                                  # no data needed: from a table to its report
    anonkit release --k 10 in.csv out.parquet     # a k-anonymous release, verified before it appears
    anonkit validate out.parquet                  # does it still keep its promise?

    A release is a Parquet file with sidecars: parameters for its consumers, a privacy report to sign, a
    descriptor with the hash of every file.

    Exit codes: 0 done; 1 a promise is not met (nothing written); 2 wrong usage; 3 could not do or check it;
    4 an optional part is not installed; 130 interrupted.
    """
