# SPDX-License-Identifier: Apache-2.0
"""`anonkit apply`: apply the recoding of an earlier release to the next batch, with its promise recounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import notes_at_once, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.options import (
    account_without_budget_options,
    encoding_option,
    engine_options,
    json_option,
    k_map_options,
    next_output_options,
    owner_option,
    quiet_option,
    reading_options,
    recipients_option,
    release_as_is_option,
)
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.checks.population_risk import AgainstPopulation
    from anonkit.cli.options import OwnerAsReader
    from anonkit.engines import Local, Spark
    from anonkit.ledger.account import Account
    from anonkit.pipeline.release_space import Output


@click.command(cls=ShortHelp, name="apply")
@click.argument("params", metavar="PARAMS")
@click.argument("source", metavar="NEW")
@click.option(
    "--max-suppression",
    type=float,
    metavar="NUMBER",
    help="Largest share of rows that may be left out, in [0, 1]; default: the earlier release's.",
)
@click.option(
    "--utility", is_flag=True, help="Train models to say how well the batch predicts the target; it takes seconds."
)
@release_as_is_option
@recipients_option
@click.option(
    "--policy",
    metavar="FILE",
    help="What the owner declares (TOML); used are ledger, `ledger_required`, `joint_k`, `encoding`, recipients.",
)
@click.option(
    "--adopt",
    is_flag=True,
    help="Where no ledger knows the earlier release, book it as handed out.",
)
@encoding_option
@reading_options
@k_map_options
@account_without_budget_options
@engine_options
@next_output_options
@owner_option
@quiet_option
@json_option
def command(
    params: str,
    source: str,
    *,
    max_suppression: float | None,
    utility: bool,
    release_as_is: tuple[str, ...],
    recipients: tuple[str, ...],
    policy: str | None,
    adopt: bool,
    encoding: str | None,
    how: Mapping[str, Any],
    known: AgainstPopulation,
    account: Account,
    engine: Local | Spark,
    output: Output,
    reader: OwnerAsReader,
    quiet: bool,
) -> Outcome:
    """Recode the next batch as an earlier release was.

    \b
    anonkit apply out.params.json new.csv new.parquet
    anonkit apply out.params.json new.csv new.parquet --max-suppression 0.05 --dry-run

    PARAMS is the params.json of the earlier release, NEW a table with the same columns. k is counted in the new
    batch alone: batches of the same people can be combined, so that a ledger has to know the earlier release.
    """
    from anonkit.cli.summary import release_outcome
    from anonkit.engines.snapshots.addresses import source_at
    from anonkit.pipeline.earlier_batches import applied_recoding, batch_policy, earlier_recoding
    from anonkit.pipeline.release_path import release_table
    from anonkit.pipeline.repeated_release import release_steps
    from anonkit.pipeline.request_form import ReleaseRequest
    from anonkit.pipeline.validating import without_pandas
    from anonkit.policy.declaration import Policy

    without_pandas()
    method = earlier_recoding(params, max_suppression=max_suppression)
    with progress_line(quiet, steps=release_steps(method)) as progress, notes_at_once(quiet):
        declared = batch_policy(method, None if policy is None else Policy.load(policy), encoding)
        request = ReleaseRequest(
            method=method,
            policy=declared.releasing_as_is(release_as_is).meant_for(recipients),
            engine=engine,
            output=replace(output, for_owner=reader.has_it_measured(quiet=quiet, dry_run=output.dry_run)),
            account=replace(account, applied=applied_recoding(params, adopt=adopt)),
            population=known,
            utility=utility,
            progress=progress,
        )
        release = release_table(source_at(source, **how), request)
    return release_outcome(release, reader, quiet=quiet)
