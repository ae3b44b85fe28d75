# SPDX-License-Identifier: Apache-2.0
"""`anonkit run`: carry out the release that a recipe file describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.options import account_options, json_option, other_output_options, owner_option, quiet_option
from anonkit.cli.outcome import Outcome
from anonkit.cli.progress import notes_at_once, progress_bars

if TYPE_CHECKING:
    from anonkit.ledger.account import Account


@click.command(name="run")
@click.argument("recipe", metavar="RECIPE")
@other_output_options
@account_options
@owner_option
@quiet_option
@json_option
def command(recipe: str, *, output: Mapping[str, Any], account: Account, owner: bool, quiet: bool) -> Outcome:
    """Make the release a recipe describes.

    \b
    anonkit run recipes/bank-rfka.toml
    anonkit run recipes/adult-rfka.toml --output /tmp/adult.parquet --force

    A recipe is a TOML file with method, input (or simulate, or several tables), output, policy and parameters; its
    paths are relative to its own folder.
    """
    from anonkit.cli.summary import notes_of, release_document, release_text
    from anonkit.pipeline.recipe import Recipe

    with progress_bars(quiet) as progress, notes_at_once(quiet):
        release = Recipe.load(recipe).run(**output, account=account, progress=progress)
    return Outcome(
        text=release_text(release, owner=owner),
        document=release_document(release, owner=owner),
        notes=notes_of(release, owner=owner),
        quiet=quiet,
    )
