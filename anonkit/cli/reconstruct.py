# SPDX-License-Identifier: Apache-2.0
"""`anonkit reconstruct`: train and score a receiver's model on a release with noise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from anonkit.cli.boundary import one_line
from anonkit.cli.options import force_option, json_option, quiet_option, reading_options
from anonkit.cli.outcome import Outcome

if TYPE_CHECKING:
    from anonkit.consumers.reconstruction import Reconstruction, RegressionScores, Scores

ESTIMATORS = ("likelihood", "moment", "published")
_ESTIMATORS = {
    "likelihood": "likelihood: the shares under which these answers are likeliest",
    "moment": "moment: unbiased shares, moved to the nearest that add up to 1",
    "published": "published: unbiased shares as the paper has them, nothing put right",
}


@click.command(name="reconstruct")
@click.argument("release", metavar="OUT")
@click.option("--test", metavar="TABLE", help="True values to predict from; scored when they hold the target.")
@reading_options
@click.option("--predictions", metavar="FILE", help="Write class, or number, and probabilities of each test row there.")
@click.option("--model", metavar="FILE", help="Write the model there, as JSON.")
@click.option(
    "--estimator",
    type=click.Choice(ESTIMATORS),
    help="Shares of naive Bayes: the likeliest (the default), the unbiased, or as the paper has them.",
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
    estimator: str | None,
    force: bool,
    quiet: bool,
) -> Outcome:
    """Learn a model from a release with noise.

    \b
    anonkit reconstruct out.parquet
    anonkit reconstruct out.parquet --test test.csv --predictions predictions.parquet
    anonkit reconstruct out.parquet --model model.json --json

    OUT is the Parquet file of a release by rr, errph, trr, ppnb or dp-nb (the model is naive Bayes) or by a tree method
    such as edprf (the model is its forest); its params.json stands beside it, and nothing else is needed. Learning from
    a release costs no privacy.
    """
    from anonkit.consumers.reconstruction import reconstruct
    from anonkit.engines.snapshots.whole_tables import whole_table

    table = None if test is None else whole_table(test, **how)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reconstruction = reconstruct(
            release, test=table, predictions=predictions, model=model, estimator=estimator, force=force
        )
        document = reconstruction.to_dict()
    notes = list(
        dict.fromkeys(str(warning.message) for warning in caught if warning.category.__module__.startswith("anonkit"))
    )
    return Outcome(
        text=_text(release, reconstruction, predictions, model),
        document={**document, "predictions": predictions, "model": model, "notes": notes},
        notes=notes,
        quiet=quiet,
    )


def _text(release: str, reconstruction: Reconstruction, predictions: str | None, model: str | None) -> str:
    from anonkit.report.wording import number, percent

    document = reconstruction.to_dict()
    # what a release with counts stands for is an estimate, and need not be the number of rows in its file
    rows = "" if document["rows"] is None else f", which stands for {number(document['rows'])} rows"
    head = f"Learned {document['target']} from {release}{rows}"
    lines = [click.style(one_line(head), bold=True)]
    shares = ", ".join(f"{name} {percent(share['share'])}" for name, share in document["classes"].items())
    lines.append(one_line(f"{'Bins' if reconstruction.is_regression else 'Classes':11}{shares}"))
    lines += [] if reconstruction.estimator is None else [f"Estimator  {_ESTIMATORS[reconstruction.estimator]}"]
    lines += [] if reconstruction.scores is None else _score_lines(reconstruction.scores, list(document["classes"]))
    lines += [f"Written    {path}" for path in (predictions, model) if path is not None]
    return "\n".join(lines)


def _score_lines(scores: Scores | RegressionScores, classes: list[str]) -> list[str]:
    from anonkit.consumers.reconstruction import RegressionScores
    from anonkit.report.wording import number, percent

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
