# SPDX-License-Identifier: Apache-2.0
"""The command line: one small module per command, imported on first use, and one boundary for all errors.

A command parses its options, builds the library's values, calls one public function and hands back an outcome. No
command computes, and none prints or exits: the boundary does.

``boundary``, ``outcome``, ``progress``, ``summary``
    Results, errors, exit codes and progress bars, once for all commands.
``options``, ``method_options``, ``files``
    Options shared by commands, those of every method, and text files that commands write.
``release``, ``apply``, ``run``, ``demo``, ``init``
    Commands that make a release or a policy.
``validate``, ``audit``, ``compare``, ``reconstruct``, ``report``, ``ledger``, ``methods``
    Commands that read: a release, a table, the ledger, the list of methods.
``export``
    A release in another form.
``completion``, ``precommit``
    Shell completion and hooks for pre-commit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import NoReturn

import click

from anonkit import __version__
from anonkit.cli.boundary import run
from anonkit.cli.outcome import WrongUsage
from anonkit.errors import did_you_mean
from anonkit.estimators.learning_process import learning_beside

COMMANDS = {
    "release": "Release a table under a promise that is checked first.",
    "reconstruct": "Learn a model from a release with noise.",
    "validate": "Recount a release and compare it with its promise.",
    "audit": "Attack a release, for its owner's eyes only.",
    "compare": "Compare methods by risk and by what models keep.",
    "report": "Show the privacy report of a release.",
    "export": "Write a verified release in another form, or into a database.",
    "init": "Draft a policy.toml to read and correct.",
    "apply": "Recode the next batch as an earlier release was.",
    "run": "Make the release or the experiment of a recipe.",
    "ledger": "Show releases and budget of every dataset; create a ledger.",
    "methods": "List the methods, or all about one.",
    "demo": "Try it without data: simulated customers, end to end.",
    "completion": "Print the completion script of a shell.",
}
"""Names of the commands, in the order of the work, with the first line of their help: the list of commands is shown
without importing any. Each is a module here with the click command `command`."""


class _Commands(click.Group):
    """The commands, each imported when it is asked for."""

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
    """Hand out sensitive tables with a promise that was checked.

    \b
    anonkit demo                                  # no data needed: from a table to its report
    anonkit release --k 10 in.csv out.parquet     # a k-anonymous release, verified before it appears
    anonkit validate out.parquet                  # does it still keep its promise?

    A release is a Parquet file with sidecars: parameters for its consumers, a privacy report to sign, a
    descriptor with the hash of every file.

    Exit codes: 0 done; 1 a promise is not met (nothing written); 2 wrong usage; 3 could not do or check it;
    4 an optional part is not installed; 130 interrupted.
    """


def main() -> NoReturn:
    """Run the command line of this process."""
    args = sys.argv[1:] or ["--help"]
    with _forests_beside(args):
        code = run(anonkit, args, "anonkit")
    sys.exit(code)


_GUIDED_BY_FORESTS = ("rfka", "mondrian")
_FORESTS = ("sklearn.tree", "sklearn.model_selection", "sklearn.ensemble", "pyarrow.compute")
"""What a release that trains forests imports for it, and nothing else of it does."""


def _forests_beside(args: Sequence[str]) -> AbstractContextManager[None]:
    """Have a process ready for the forests of a k-anonymous release, before anything about it has been imported.

    What the words say is a guess: no release needs the process, and one that has it for nothing ends it.
    """
    words = [part for arg in args for part in arg.split("=", 1)]
    forests = "--k" in words or any(method in words for method in _GUIDED_BY_FORESTS)
    asked = args[0] == "release" and forests and not {"--help", "-h"} & set(words)
    return learning_beside(_FORESTS) if asked else nullcontext()
