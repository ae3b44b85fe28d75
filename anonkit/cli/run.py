# SPDX-License-Identifier: Apache-2.0
"""`anonkit run`: a whole release described in one file."""

from __future__ import annotations

import click

from anonkit.cli.options import (
    budget_option,
    dry_run_option,
    force_option,
    json_option,
    ledger_of,
    ledger_options,
    quiet_option,
    sign_option,
)
from anonkit.cli.outcome import Outcome
from anonkit.cli.progress import progress_bars


@click.command(name="run")
@click.argument("recipe", metavar="RECIPE")
@click.option("--output", metavar="OUT", help="Where the release goes instead of where the recipe says.")
@ledger_options
@budget_option
@dry_run_option
@sign_option
@force_option
@quiet_option
@json_option
def command(
    recipe: str,
    *,
    output: str | None,
    dataset: str | None,
    accept_joint_k: int | None,
    ledger: str | None,
    no_ledger: bool,
    budget: float | None,
    dry_run: bool,
    sign: str | None,
    force: bool,
    quiet: bool,
) -> Outcome:
    """Make the release a recipe describes.

    \b
    anonkit run recipes/bank-rfka.toml
    anonkit run recipes/adult-rfka.toml --output /tmp/adult.parquet --force

    A recipe is a TOML file with method, input (or simulate), output, policy and parameters; its paths are relative
    to its own folder.
    """
    from anonkit.cli.summary import release_document, release_text
    from anonkit.pipeline.recipe import Recipe

    with progress_bars(quiet) as progress:
        made = Recipe.load(recipe).run(
            output=output,
            sign=sign,
            force=force,
            dry_run=dry_run,
            ledger=ledger_of(ledger, no_ledger),
            dataset=dataset,
            accept_joint_k=accept_joint_k,
            budget=budget,
            progress=progress,
        )
    return Outcome(text=release_text(made), document=release_document(made), notes=made.report["notes"], quiet=quiet)
