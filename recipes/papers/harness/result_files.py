# SPDX-License-Identifier: Apache-2.0
"""Table, plot and verdict of an experiment, written together."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np

from anonkit.bundle.atomic import Staging
from papers.harness.claims import ClaimVerdict, MeasuredConfiguration
from papers.harness.experiment_recipe import Experiment
from papers.harness.panels import plot_svg
from papers.harness.verdict_page import verdict_markdown, verdict_page


def write_results(
    experiment: Experiment,
    measured: Sequence[MeasuredConfiguration],
    verdicts: Sequence[ClaimVerdict],
    folder: Path,
    *,
    plot: bool,
) -> tuple[Path, ...]:
    """Write all files of an experiment: `NAME.csv`, `NAME.svg`, `NAME.md` and `NAME.html`.

    Raises
    ------
    EngineError
        The folder cannot be written.
    """
    name = experiment.name
    drawing = None
    if plot:
        titles = {key: system.title for key, system in experiment.systems.items()}
        names = {key: spec.title for key, spec in experiment.data.items()}
        drawing = plot_svg(experiment.panels, measured, titles, names)
    contents = {f"{name}.csv": table_csv(experiment, measured)}
    if drawing is not None:
        contents[f"{name}.svg"] = drawing
    contents[f"{name}.md"] = verdict_markdown(experiment, measured, verdicts, plotted=drawing is not None)
    contents[f"{name}.html"] = verdict_page(experiment, measured, verdicts, drawing)
    staging = Staging(folder, name)
    try:
        for file, text in contents.items():
            (staging.folder / file).write_text(text, encoding="utf-8")
        staging.commit(list(contents), absent=[] if plot else [f"{name}.svg"])
    finally:
        staging.discard()
    return tuple(folder / file for file in contents)


def table_csv(experiment: Experiment, measured: Sequence[MeasuredConfiguration]) -> str:
    """Return the tidy table: one line a configuration, mean, standard deviation and number of every measure.

    A cell is empty where there is nothing: an axis along which a system does not vary, a measure it does not have.
    `promise` and `epsilon_true` are what its report promises, `epsilon_claimed` is what the paper states.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    figures = [f"{measure}_{part}" for measure in experiment.measures for part in ("mean", "sd", "n")]
    writer.writerow(["data", "system", *experiment.axes, "promise", "epsilon_claimed", "epsilon_true", *figures])
    for one in measured:
        cells = [shown(one.point.get(axis)) for axis in experiment.axes]
        for measure in experiment.measures:
            values = np.array(list(one.values(measure).values()))
            mean = float(values.mean()) if values.size else None
            spread = float(values.std(ddof=1)) if values.size > 1 and np.isfinite(values).all() else None
            cells += [shown(mean), shown(spread), str(values.size)]
        writer.writerow([one.data, one.system, *cells[: len(experiment.axes)], one.promise, shown(one.claimed),
                         shown(one.epsilon), *cells[len(experiment.axes) :]])  # fmt: skip
    return text.getvalue()


def shown(value: object) -> str:
    """Return a cell: numbers with six digits, nothing for None."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
