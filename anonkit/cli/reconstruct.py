# SPDX-License-Identifier: Apache-2.0
"""`anonkit reconstruct`: train and score a receiver's model on a release with noise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line, progress_line
from anonkit.cli.commands import ShortHelp
from anonkit.cli.options import force_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.consumers.reconstruction import Reconstruction
    from anonkit.utility.consumer_models import RegressionScores, Scores

_SHOWN = 40
"""Cells of a table that the terminal shows."""
VOTES = ("pooled", "majority", "sum")
_VOTES = {
    "pooled": "pooled: the counts of the trees' leaves, added up",
    "majority": "majority: the commonest class of each tree's leaf",
    "sum": "sum: the class probabilities of the trees' leaves, added up",
}
LEARNERS = ("dtpd", "dtcrd")
ESTIMATORS = ("shrunken", "likelihood", "moment", "published")
_ESTIMATORS = {
    "shrunken": "shrunken: shares behind randomized answers are shrunken towards no effect of the class by their noise",
    "likelihood": "likelihood: the shares under which these answers are likeliest",
    "moment": "moment: unbiased shares, moved to the nearest that add up to 1",
    "published": "published: unbiased shares as the paper has them, nothing put right",
}


@click.command(cls=ShortHelp, name="reconstruct")
@click.argument("release", metavar="OUT")
@click.option("--test", metavar="TABLE", help="True values to predict from; scored when they hold the target.")
@reading_options
@click.option("--predictions", metavar="FILE", help="Write class, or number, and probabilities of each test row there.")
@click.option("--model", metavar="FILE", help="Write the model there, as JSON.")
@click.option(
    "--learner",
    type=click.Choice(LEARNERS),
    help="A decision tree in place of naive Bayes: dtpd of categories and bins, dtcrd of numbers by trr --center.",
)
@click.option(
    "--estimator",
    type=click.Choice(ESTIMATORS),
    help="Shares of naive Bayes: shrunken by their noise (the default), likeliest, unbiased, or the paper's.",
)
@click.option(
    "--vote",
    type=click.Choice(VOTES),
    help="How a forest's trees decide together: counts, votes or probabilities added up. Default: as released.",
)
@click.option("--target", metavar="COLUMN", help="dp-marginals: the column to predict. Default: the declared target.")
@click.option("--draw", metavar="FILE", help="dp-marginals: write rows there, sampled from the mixture.")
@click.option("--rows", type=click.IntRange(0), metavar="N", help="How many. Default: as many as the mixture has.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="The same rows for the same number.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="COLUMNS",
    help='dp-marginals: count rows by one to three columns, "age, sex", with intervals. May be repeated. A name with a '
    "comma, = or outer spaces goes in double quotes, here and in --given.",
)
@click.option(
    "--given",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Draw and count rows with this value alone, with none after = missing ones; repeated for one column: any of "
    "them. For numbers low..high: the bins whose middles lie there; a single number for its bin.",
)
@force_option
@quiet_option
@json_option
def command(
    release: str,
    *,
    test: str | None,
    how: Mapping[str, Any],
    predictions: str | None,
    model: str | None,
    learner: str | None,
    estimator: str | None,
    vote: str | None,
    target: str | None,
    draw: str | None,
    rows: int | None,
    seed: int | None,
    tables: tuple[str, ...],
    given: tuple[str, ...],
    force: bool,
    quiet: bool,
) -> Outcome:
    """Learn a model from a release with noise.

    \b
    anonkit reconstruct out.parquet
    anonkit reconstruct out.parquet --test test.csv --predictions predictions.parquet
    anonkit reconstruct out.parquet --model model.json --json
    anonkit reconstruct out.parquet --draw more.parquet --rows 1000000
    anonkit reconstruct out.parquet --table "age, sex" --given region=north

    OUT is the Parquet file of a release by rr, errph, trr, ppnb or dp-nb (the model is naive Bayes, or a tree), by a
    tree method such as edprf (the model is its forest), or by dp-marginals (the model is its mixture, which predicts
    any column, draws rows and counts them); its params.json is beside it, and nothing else is needed. Learning from a
    release costs no privacy.
    """
    from anonkit.bundle.signing import refuse_replacing
    from anonkit.consumers.published_classifiers import MixtureQuestions, conditions_typed, tables_typed
    from anonkit.consumers.reconstruction import RECONSTRUCTION_STEPS, reconstruct
    from anonkit.engines.snapshots.addresses import files_of
    from anonkit.engines.snapshots.whole_tables import whole_table

    refuse_replacing([Path(path) for path in (predictions, model, draw) if path is not None], files_of(test))
    table = None if test is None else whole_table(test, **how)
    questions = MixtureQuestions(
        target=target,
        draw=draw,
        rows=rows,
        seed=seed,
        tables=tables_typed(tables),
        given=conditions_typed(given),
    )
    with warnings.catch_warnings(record=True) as caught, progress_line(quiet, steps=RECONSTRUCTION_STEPS) as progress:
        warnings.simplefilter("always")
        reconstruction = reconstruct(
            release,
            test=table,
            predictions=predictions,
            model=model,
            learner=learner,
            estimator=estimator,
            vote=vote,
            questions=questions,
            force=force,
            progress=progress,
        )
        document = reconstruction.to_dict()
    notes = list(
        dict.fromkeys(str(warning.message) for warning in caught if warning.category.__module__.startswith("anonkit"))
    )
    return Outcome(
        text=_text(release, reconstruction, (predictions, model, draw)),
        document={
            **document,
            "predictions": predictions,
            "model": model,
            **({} if draw is None else {"draw": draw}),
            "notes": notes,
        },
        notes=notes,
        quiet=quiet,
    )


def _text(release: str, reconstruction: Reconstruction, written: Sequence[str | None]) -> str:
    from anonkit.report.wording import number, percent

    document = reconstruction.to_dict()
    # the number of rows of a release with counts is an estimate, and need not be the number of rows in its file
    rows = "" if document["rows"] is None else f", which represents {number(document['rows'])} rows"
    if reconstruction.described is None:
        lines = [click.style(one_line(f"Read the mixture of {release}{rows}"), bold=True)]
        lines.append(one_line(f"Columns    {', '.join(document['columns'])}"))
        return "\n".join([*lines, *_pair_lines(reconstruction), *_requested_lines(reconstruction, written)])
    head = f"Learned {document['target']} from {release}{rows}"
    lines = [click.style(one_line(head), bold=True)]
    shares = ", ".join(f"{name} {percent(share['share'])}" for name, share in document["classes"].items())
    lines.append(one_line(f"{'Bins' if reconstruction.is_regression else 'Classes':11}{shares}"))
    if document["model"].startswith("decision tree"):
        lines.append(f"Model      {document['model']} on {', '.join(document['attributes'])}")
    lines += [] if reconstruction.estimator is None else [f"Estimator  {_ESTIMATORS[reconstruction.estimator]}"]
    lines += [] if reconstruction.vote is None else [f"Vote       {_VOTES[reconstruction.vote]}"]
    lines += _pair_lines(reconstruction)
    lines += [] if reconstruction.scores is None else _score_lines(reconstruction.scores, list(document["classes"]))
    return "\n".join([*lines, *_requested_lines(reconstruction, written)])


def _pair_lines(reconstruction: Reconstruction) -> list[str]:
    """Return the measurements of pairs of columns, for a mixture."""
    from anonkit.report.wording import pairs_words

    mixture = reconstruction.mixture
    if mixture is None:
        return []
    anchored = mixture.mixtures.anchored
    columns = len(mixture.columns) - anchored
    text = pairs_words(columns, len(mixture.pairs), anchored=anchored, triple=mixture.triple)
    return [f"Pairs      {text}"] if text else []


def _requested_lines(reconstruction: Reconstruction, written: Sequence[str | None]) -> list[str]:
    """Return the requested tables, and the files that were written."""
    from anonkit.report.wording import number

    lines = [
        one_line(f"{'Given' if at == 0 else '':11}{condition.name}: {condition.words}")
        for at, condition in enumerate(reconstruction.given)
    ]
    for table in reconstruction.tables:
        cells = table.to_dict()["cells"]
        lines.append(one_line(f"Table      {', '.join(table.names)}: rows, {100 * table.level:g} % interval, by what"))
        for cell in cells[:_SHOWN]:
            values = ", ".join("missing" if value is None else f"{value}" for value in cell["values"])
            ends = "" if cell["lower"] is None else f" ({cell['lower']:,.0f} to {cell['upper']:,.0f})"
            lines.append(one_line(f"           {values}: {cell['estimate']:,.0f}{ends}, {cell['basis']}"))
        if len(cells) > _SHOWN:
            lines.append(f"           and {number(len(cells) - _SHOWN)} more: --json has all")
    lines += [] if reconstruction.drawn is None else [f"Drawn      {number(reconstruction.drawn)} rows"]
    return lines + [f"Written    {path}" for path in written if path is not None]


def _score_lines(scores: Scores | RegressionScores, classes: list[str]) -> list[str]:
    from anonkit.report.wording import number, percent
    from anonkit.utility.consumer_models import RegressionScores

    if isinstance(scores, RegressionScores):
        return _number_lines(scores)
    area = "–" if scores.auc is None else f"{scores.auc:.3f}"
    lines = [
        f"Accuracy   {percent(scores.accuracy)} of {number(scores.n)} rows "
        f"(the commonest class alone: {percent(scores.majority)})",
        f"Balanced   {percent(scores.balanced_accuracy)}, AUC {area}",
        "Confusion  rows of the true class, predicted as " + one_line(", ".join(classes)),
    ]
    table = zip(classes, scores.confusion, strict=True)
    return lines + [one_line(f"           {name}: {', '.join(number(count) for count in row)}") for name, row in table]


def _number_lines(scores: RegressionScores) -> list[str]:
    from anonkit.report.wording import number

    def within(measure: str) -> str:
        interval = scores.intervals.get(measure)
        return "" if interval is None else f" (95 %: {interval[0]:.4g} to {interval[1]:.4g})"

    return [
        f"R²         {scores.r2:.4g}{within('r2')} on {number(scores.n)} rows (their mean alone: 0)",
        f"Error      {scores.mae:.4g} on average{within('mae')} (their mean alone: {scores.mean_mae:.4g})",
    ]
