# SPDX-License-Identifier: Apache-2.0
"""`anonkit run`: carry out the release, or the experiment, that a recipe file describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from anonkit.cli.boundary import notes_at_once, one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.options import (
    account_options,
    json_option,
    not_for_release_option,
    option_group,
    other_output_options,
    owner_option,
    quiet_option,
    refuse_seed_alone,
    seed_option,
)
from anonkit.cli.outcome import Outcome, WrongUsage
from anonkit.errors import AnonkitError

if TYPE_CHECKING:
    from papers.harness.claims import ClaimVerdict
    from papers.harness.experiment_runner import ExperimentReport

    from anonkit.cli.options import OwnerAsReader
    from anonkit.ledger.account import Account
    from anonkit.pipeline.changed_defaults import Change

_experiment_options = option_group(
    "experiment",
    dict,
    click.option("--data", metavar="DIR", help="Of an experiment: where its public tables are."),
    click.option("--out", metavar="DIR", help="Of an experiment: where table, plot and verdict go."),
    click.option("--quick", is_flag=True, help="Of an experiment: its quick form."),
    click.option("--no-plot", is_flag=True, help="Of an experiment: no plot, so that matplotlib is not needed."),
)


@click.command(cls=ShortHelp, name="run")
@click.argument("recipes", metavar="RECIPE", nargs=-1, required=True)
@click.option(
    "--check",
    is_flag=True,
    help="Run nothing: say which of these recipes behave otherwise under the defaults of 0.2, and what restores it.",
)
@other_output_options
@_experiment_options
@account_options
@seed_option
@not_for_release_option
@owner_option
@quiet_option
@json_option
def command(
    recipes: tuple[str, ...],
    *,
    check: bool,
    output: Mapping[str, Any],
    experiment: Mapping[str, Any],
    account: Account,
    seed: int | None,
    not_for_release: bool,
    reader: OwnerAsReader,
    quiet: bool,
) -> Outcome:
    """Make the release or the experiment of a recipe.

    \b
    anonkit run recipes/bank-rfka.toml
    anonkit run recipes/adult-rfka.toml --output /tmp/adult.parquet --force
    anonkit run recipes/papers/004-ppnb.toml --quick --out /tmp/ppnb
    anonkit run --check recipes/*.toml

    A recipe is a TOML file with method, input (or simulate, or several tables), output, policy and parameters; its
    paths are relative to its own folder. One with a table [experiment] is an experiment. It runs every system at every
    point of its grid, and makes a table, a plot and a verdict on the claims of a paper. It runs in a
    checkout of the repository alone. An interrupted experiment goes on where it was; --force begins anew. It touches no
    ledger but the one that --ledger names.

    --check takes several recipes, opens no table and no ledger, and ends with exit code 0 where all could be read.
    """
    refuse_seed_alone(seed, not_for_release)
    if check:
        _refuse_beside_check()
        return _check(recipes, quiet)
    if len(recipes) > 1:
        raise WrongUsage("one recipe at a time; --check takes several", "anonkit run --help")
    (recipe,) = recipes
    from anonkit.cli.experiments import is_experiment

    if is_experiment(recipe):
        _refuse_given(
            {**output, "owner": reader.is_declared, "seed": seed is not None},
            ("force",),
            "an experiment makes no release that could have",
        )
        return _experiment(recipe, output, experiment, account, quiet)
    _refuse_given(experiment, (), "this recipe describes a release; only an experiment has")
    from anonkit.cli.summary import foresees, release_outcome
    from anonkit.pipeline.recipe import Recipe
    from anonkit.pipeline.validating import without_pandas

    without_pandas()
    made = Recipe.load(recipe)
    measured = reader.has_it_measured(quiet=quiet, dry_run=output["dry_run"], method=made.method)
    how = {**output, "for_owner": measured, "previews": measured, "foresees": foresees(dry_run=output["dry_run"])}
    with progress_line(quiet, steps=made.steps) as progress, notes_at_once(quiet):
        release = made.run(**how, account=account, seed=seed, progress=progress)
    return release_outcome(release, reader, quiet=quiet)


def _refuse_beside_check() -> None:
    """Refuse every option that is about a run."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in ("recipes", "check", "quiet", "as_json", "help"):
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise WrongUsage(f"--check runs nothing, and has no {parameter.opts[-1]}", "anonkit run --help")


def _check(paths: Sequence[str], quiet: bool) -> Outcome:
    """Return the differences of each recipe under the defaults of 0.2."""
    from anonkit.cli.experiments import is_experiment
    from anonkit.pipeline.changed_defaults import changes_of
    from anonkit.pipeline.recipe import Recipe
    from anonkit.pipeline.validating import without_pandas

    without_pandas()
    lines: list[str] = []
    entries: list[dict[str, Any]] = []
    failure: AnonkitError | None = None
    for path in paths:
        lines.append(click.style(one_line(path), bold=True))
        entry: dict[str, Any] = {"recipe": path}
        entries.append(entry)
        if is_experiment(path):
            lines.append("  an experiment: it makes no release")
            entry |= {"method": None, "changes": []}
            continue
        try:
            recipe = Recipe.load(path)
            changes = changes_of(recipe)
        except AnonkitError as error:
            lines.append(f"  cannot be read: {one_line(str(error))}")
            entry |= {"method": None, "changes": None, "message": str(error)}
            failure = failure or error
            continue
        entry |= {"method": recipe.method, "changes": [change.to_dict() for change in changes]}
        lines += [line for change in changes for line in _change_lines(change)] or ["  nothing changed"]
    return Outcome(text="\n".join(lines), document={"recipes": entries}, quiet=quiet, failure=failure)


def _change_lines(change: Change) -> list[str]:
    certain = click.style("differs", fg="yellow") if change.is_certain else "may differ"
    about = f" ({one_line(', '.join(change.columns))})" if change.columns else ""
    return [f"  {certain}: {change.seen}{about}", f"    as before: {change.restored_by}"]


def _experiment(
    recipe: str, output: Mapping[str, Any], given: Mapping[str, Any], account: Account, quiet: bool
) -> Outcome:
    from anonkit.cli.experiments import harness

    runner = harness("experiment_runner")
    steps = runner.experiment_steps(recipe, quick=given["quick"])
    with progress_line(quiet, steps=steps) as progress, notes_at_once(quiet):
        report: ExperimentReport = runner.run_experiment(
            recipe,
            data=given["data"],
            out=given["out"],
            quick=given["quick"],
            plot=not given["no_plot"],
            force=output["force"],
            account=account,
            progress=progress,
        )
    return Outcome(text=_text(report), document=_document(report), quiet=quiet)


def _refuse_given(options: Mapping[str, Any], allowed: tuple[str, ...], why: str) -> None:
    """Refuse options that are for the other kind of recipe."""
    for name, value in options.items():
        if value and name not in allowed:
            raise WrongUsage(f"{why} --{name.replace('_', '-')}", "anonkit run --help")


def _text(report: ExperimentReport) -> str:
    experiment = report.experiment
    done = f", {report.runs_done_before:,} of them kept from before" if report.runs_done_before else ""
    lines = [click.style(experiment.title, bold=True), experiment.paper]
    lines.append(f"{len(report.measured):,} configurations, {report.runs:,} runs{done}")
    if report.verdicts:
        lines += ["", *(line for one in report.verdicts for line in _verdict_lines(one))]
    return "\n".join([*lines, "", *(f"Wrote {path}" for path in report.files)])


def _verdict_lines(one: ClaimVerdict) -> list[str]:
    colour = {"held": "green", "not held": "red"}.get(one.word, "yellow")
    return [f"{click.style(one.word.ljust(14), fg=colour)} {one.claim.says}", f"{'':14} {one.seen}"]


def _document(report: ExperimentReport) -> dict[str, Any]:
    return {
        "experiment": report.experiment.name,
        "quick": report.experiment.quick,
        "configurations": len(report.measured),
        "runs": report.runs,
        "runs_done_before": report.runs_done_before,
        "claims": [{"says": one.claim.says, "verdict": one.word, "seen": one.seen} for one in report.verdicts],
        "files": [str(Path(path)) for path in report.files],
    }
