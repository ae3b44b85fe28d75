# SPDX-License-Identifier: Apache-2.0
"""`anonkit release`: from a table to a release that can be handed out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.method_options import MethodCommand, read_parameters
from anonkit.cli.options import (
    budget_option,
    domains_min_people_option,
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
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.cli.progress import progress_bars

if TYPE_CHECKING:
    from anonkit.policy.declaration import Policy

MISSING = ("category", "drop", "error")


@click.command(cls=MethodCommand, name="release")
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT")
@click.option("--method", metavar="NAME", default="rfka", show_default=True, help="How: `anonkit methods` lists them.")
@click.option("--preset", metavar="NAME", help="A named set of parameters, such as paper; options go on top.")
@click.option("--policy", metavar="FILE", help="What the owner declares (TOML); `anonkit init` drafts one.")
@click.option("--target", metavar="COLUMN", help="The class label; default: the last column without a role.")
@click.option("--unit", metavar="COLUMN", help="Which person a row belongs to: k then counts people.")
@click.option("--identifier", metavar="COLUMN", multiple=True, help="Names a person, never released; repeatable.")
@click.option(
    "--sensitive", metavar="COLUMN", multiple=True, help="What must not be learned, maybe the target; repeatable."
)
@click.option(
    "--insensitive", metavar="COLUMN", multiple=True, help="Neither known nor wanted, left as it is; repeatable."
)
@click.option(
    "--missing",
    type=click.Choice(MISSING),
    help="A missing cell is one more value (the default), drops its row, or is refused.",
)
@click.option(
    "--domains-from-data",
    is_flag=True,
    help="Read undeclared categories and bounds from the table: the claim is then conditional on their being public.",
)
@domains_min_people_option
@ledger_options
@budget_option
@engine_option
@spark_master_option
@spark_conf_option
@search_rows_option
@part_rows_option
@dry_run_option
@click.option("--owner-report", metavar="DIR", help="Write the figures that must not be published there.")
@sign_option
@force_option
@click.option("--seed", type=int, metavar="INTEGER", help="Known randomness, for tests; needs --not-for-release.")
@click.option("--not-for-release", is_flag=True, help="With --seed: every file says that it must not be handed out.")
@quiet_option
@json_option
def command(
    source: str,
    output: str,
    *,
    method: str,
    preset: str | None,
    policy: str | None,
    target: str | None,
    unit: str | None,
    identifier: tuple[str, ...],
    sensitive: tuple[str, ...],
    insensitive: tuple[str, ...],
    missing: str | None,
    domains_from_data: bool,
    domains_min_people: int,
    dataset: str | None,
    accept_joint_k: int | None,
    ledger: str | None,
    no_ledger: bool,
    budget: float | None,
    engine: str,
    spark_master: str | None,
    spark_conf: dict[str, str],
    search_rows: int | None,
    part_rows: int | None,
    dry_run: bool,
    owner_report: str | None,
    sign: str | None,
    force: bool,
    seed: int | None,
    not_for_release: bool,
    quiet: bool,
    **given: Any,
) -> Outcome:
    """Release a table under a promise that is checked first.

    \b
    anonkit release --k 10 in.csv out.parquet
    anonkit release --target income --identifier name --sensitive illness --l 2 in.csv out.parquet
    anonkit release --method mondrian --policy policy.toml --dry-run in.parquet out.parquet
    anonkit release --method rr --epsilon 4 --policy policy.toml in.csv out.parquet

    IN is CSV, TSV or JSON Lines (also .gz, .zst), or a Parquet file or folder. OUT ends in .parquet, its sidecars get
    the same stem; or in / for a folder. Columns without a role are quasi-identifiers: known to an attacker.
    """
    if (seed is not None) != not_for_release:
        raise WrongUsage("--seed and --not-for-release go together", "who knows the seed can undo the noise")
    from anonkit.cli.summary import release_document, release_text
    from anonkit.pipeline.release_path import release

    parameters = read_parameters(method, given)
    with progress_bars(quiet) as progress:
        made = release(
            source,
            method=method,
            output=output,
            preset=preset,
            policy=_policy(policy, missing),
            target=target,
            unit=unit,
            identifiers=identifier,
            sensitive=sensitive,
            insensitive=insensitive,
            engine=engine,
            spark_master=spark_master,
            spark_conf=spark_conf,
            search_rows=search_rows,
            part_rows=part_rows,
            sign=sign,
            force=force,
            dry_run=dry_run,
            domains_from_data=domains_from_data,
            domains_min_people=domains_min_people,
            owner_report=owner_report,
            seed=seed,
            ledger=ledger_of(ledger, no_ledger),
            dataset=dataset,
            accept_joint_k=accept_joint_k,
            budget=budget,
            progress=progress,
            **parameters,
        )
    written = None if owner_report is None or dry_run else Path(owner_report) / "owner.report.json"
    return Outcome(
        text=release_text(made, written),
        document=release_document(made, written),
        notes=made.report["notes"],
        quiet=quiet,
    )


def _policy(path: str | None, missing: str | None) -> Policy | None:
    """Return the declared policy with the treatment of missing values from the command line on top."""
    if path is None and missing is None:
        return None
    from anonkit.policy.declaration import Missing, Policy

    declared = Policy() if path is None else Policy.load(path)
    return declared if missing is None else replace(declared, missing=Missing(missing))
