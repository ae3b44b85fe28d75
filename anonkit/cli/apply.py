# SPDX-License-Identifier: Apache-2.0
"""`anonkit apply`: the recoding of an earlier release on the next batch, its promise counted anew."""

from __future__ import annotations

import click

from anonkit.cli.options import (
    dry_run_option,
    engine_option,
    force_option,
    json_option,
    ledger_of,
    ledger_options,
    part_rows_option,
    quiet_option,
    search_rows_option,
    sign_option,
    spark_conf_option,
    spark_master_option,
)
from anonkit.cli.outcome import Outcome
from anonkit.cli.progress import progress_bars


@click.command(name="apply")
@click.argument("params", metavar="PARAMS")
@click.argument("source", metavar="NEW")
@click.argument("output", metavar="OUT")
@click.option(
    "--max-suppression",
    type=float,
    metavar="NUMBER",
    help="Largest share of rows that may be left out, in [0, 1]; default: the earlier release's.",
)
@ledger_options
@engine_option
@spark_master_option
@spark_conf_option
@search_rows_option
@part_rows_option
@dry_run_option
@sign_option
@force_option
@quiet_option
@json_option
def command(
    params: str,
    source: str,
    output: str,
    *,
    max_suppression: float | None,
    dataset: str | None,
    accept_joint_k: int | None,
    ledger: str | None,
    no_ledger: bool,
    engine: str,
    spark_master: str | None,
    spark_conf: dict[str, str],
    search_rows: int | None,
    part_rows: int | None,
    dry_run: bool,
    sign: str | None,
    force: bool,
    quiet: bool,
) -> Outcome:
    """Recode the next batch as an earlier release was.

    \b
    anonkit apply out.params.json new.csv new.parquet
    anonkit apply out.params.json new.csv new.parquet --max-suppression 0.05 --dry-run

    PARAMS is the params.json of the earlier release, NEW a table with the same columns. k is counted in the new
    batch alone: batches of the same people can be combined.
    """
    from anonkit.cli.summary import release_document, release_text
    from anonkit.pipeline.release_path import apply

    with progress_bars(quiet) as progress:
        made = apply(
            params,
            source,
            output=output,
            max_suppression=max_suppression,
            engine=engine,
            spark_master=spark_master,
            spark_conf=spark_conf,
            search_rows=search_rows,
            part_rows=part_rows,
            sign=sign,
            force=force,
            dry_run=dry_run,
            ledger=ledger_of(ledger, no_ledger),
            dataset=dataset,
            accept_joint_k=accept_joint_k,
            progress=progress,
        )
    return Outcome(text=release_text(made), document=release_document(made), notes=made.report["notes"], quiet=quiet)
