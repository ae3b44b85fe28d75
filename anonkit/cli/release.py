# SPDX-License-Identifier: Apache-2.0
"""`anonkit release`: from a table to a release that can be handed out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import notes_at_once, progress_line
from anonkit.cli.commands import Given, MethodCommand, read_parameters
from anonkit.cli.options import (
    account_options,
    engine_options,
    json_option,
    k_map_options,
    not_for_release_option,
    output_options,
    owner_option,
    policy_options,
    quiet_option,
    reading_options,
    refuse_seed_alone,
    seed_option,
    table_domains_options,
)
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.checks.population_risk import AgainstPopulation
    from anonkit.cli.options import OwnerAsReader
    from anonkit.engines import Local, Spark
    from anonkit.ledger.account import Account
    from anonkit.pipeline.release_space import Output
    from anonkit.policy.declaration import Policy


_USUAL = {
    "--k": "k-anonymity: each row shares what its quasi-identifiers show with at least k - 1 others (k people, "
    "with --unit); default 10",
    "--epsilon": "Differential privacy instead, for a table that anyone may download: the privacy loss, in (0, 40]; 1 "
    "is usual",
    "--method": "",
    "--policy": "",
    "--target": "",
    "--no-target": "",
    "--unit": "",
    "--identifier": "",
    "--sensitive": "",
    "--l": "k-anonymity: every group has at least so many values of each sensitive column; default none",
    "--dry-run": "",
    "--force": "",
}
"""Options that `--help` lists, with what it says of parameters of methods."""


@click.command(cls=MethodCommand, name="release", usual=_USUAL)
@click.argument("source", metavar="IN")
@click.option(
    "--method",
    metavar="NAME",
    help="Method; `anonkit methods` helps to choose. Default: rfka; with --epsilon dp-forest, or dp-marginals with "
    "--no-target.",
)
@click.option("--preset", metavar="NAME", help="A named set of parameters, such as paper; options go on top.")
@reading_options
@policy_options
@table_domains_options
@k_map_options
@account_options
@engine_options
@output_options
@click.option("--no-utility", is_flag=True, help="Train no models to say how well the target is predicted: faster.")
@seed_option
@not_for_release_option
@owner_option
@quiet_option
@json_option
def command(
    source: str,
    *,
    method: str | None,
    preset: str | None,
    how: Mapping[str, Any],
    policy: Policy,
    domains_min_people: int | None,
    known: AgainstPopulation,
    account: Account,
    engine: Local | Spark,
    output: Output,
    no_utility: bool,
    seed: int | None,
    not_for_release: bool,
    reader: OwnerAsReader,
    quiet: bool,
    **given: Given | None,
) -> Outcome:
    """Release a table with a privacy guarantee that is checked first.

    \b
    anonkit release --k 10 in.csv out.parquet
    anonkit release --target income --identifier name --sensitive illness --l 2 in.csv out.parquet
    anonkit release --method mondrian --policy policy.toml --dry-run in.parquet out.parquet
    anonkit release --method rr --epsilon 4 --policy policy.toml in.csv out.parquet

    IN is CSV, TSV or JSON Lines (also .gz, .zst), a pattern or folder of them, a Parquet file or folder, a workbook, a
    file of SPSS, SAS or Stata, Arrow IPC, - for standard input, or an address. OUT ends in .parquet, its sidecars get
    the same stem; or in / for a folder; s3://BUCKET/out.parquet is one in an object store. With .csv, .tsv, .xlsx,
    .sav, .dta, .arrow or .sqlite the data are written in that form too. Columns without a role are
    quasi-identifiers: known to an attacker.
    """
    refuse_seed_alone(seed, not_for_release)
    from anonkit.cli.summary import foresees, release_outcome
    from anonkit.engines.snapshots.addresses import source_at
    from anonkit.methods import default_method, make_method
    from anonkit.pipeline.dossier import OWNER_REPORT
    from anonkit.pipeline.release_path import release_table
    from anonkit.pipeline.repeated_release import release_steps
    from anonkit.pipeline.request_form import ReleaseRequest
    from anonkit.pipeline.validating import without_pandas

    without_pandas()
    named = [name for name, value in given.items() if value is not None]
    method = method or default_method(named, without_target=policy.without_target)
    measured = reader.has_it_measured(quiet=quiet, dry_run=output.dry_run, method=method)
    foreseen = foresees(dry_run=output.dry_run, utility=not no_utility)
    made = make_method(method, read_parameters(method, given), preset)
    with progress_line(quiet, steps=release_steps(made)) as progress, notes_at_once(quiet):
        request = ReleaseRequest(
            method=made,
            policy=policy,
            preset=preset,
            domains_min_people=domains_min_people,
            engine=engine,
            output=replace(output, for_owner=measured, previews=measured, foresees=foreseen),
            account=account,
            population=known,
            seed=seed,
            utility=not no_utility,
            progress=progress,
        )
        release = release_table(source_at(source, **how), request)
    folder = None if output.dry_run else output.owner_report
    owner_report = None if folder is None else folder / OWNER_REPORT
    return release_outcome(release, reader, owner_report, quiet=quiet)
