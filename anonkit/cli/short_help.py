# SPDX-License-Identifier: Apache-2.0
"""Help on one screen: what few people need, such as how a table is read, is listed by `--help-all` alone."""

from __future__ import annotations

from typing import Any

import click

HELP_ALL = "anonkit.help_all"
"""Key of a context whose help lists everything."""
_LEFT_OUT = {
    "how a table is read": frozenset(
        ["encoding", "query", "sheet", "header_row", "header", "names", "format", "decimal", "delimiter", "skip_rows"]
    ),
    "where rows are counted": frozenset(["engine", "spark_master", "spark_conf", "search_rows", "part_rows"]),
    "the ledger": frozenset(
        [
            "accept_joint_k",
            "adopt",
            "only_new",
            "released_before",
            "ledger",
            "no_ledger",
            "new_ledger",
            "budget_delta",
            "budget_neighbours",
            "budget_unit",
        ]
    ),
}
"""Options that few people need, by what they are about."""


def _show_all(ctx: click.Context, option: click.Parameter, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class ShortHelp(click.Command):
    """A command whose `--help` leaves out what few people need, and says so; `--help-all` has everything."""

    help_all = "Show every option."
    """Help of `--help-all`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help=self.help_all,
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and how many are left out; all of them, if requested."""
        if ctx.meta.get(HELP_ALL):
            super().format_options(ctx, formatter)
            return
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        left_out = [one for one in options if any(one.name in names for names in _LEFT_OUT.values())]
        records = [one.get_help_record(ctx) for one in options if one not in left_out]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        about = [words for words, names in _LEFT_OUT.items() if any(one.name in names for one in left_out)]
        formatter.write_paragraph()
        formatter.write_text(f"{len(left_out)} more, on {', '.join(about)}: {ctx.command_path} --help-all.")
