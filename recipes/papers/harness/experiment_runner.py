# SPDX-License-Identifier: Apache-2.0
"""The runs of an experiment: each configuration, repeat and fold that is not done yet, then the files of results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anonkit
from anonkit.ledger.account import Account, Where
from anonkit.protocols import Progress, no_progress
from papers.harness.claims import ClaimVerdict, MeasuredConfiguration, Sample
from papers.harness.experiment_recipe import Configuration, Experiment
from papers.harness.experiment_tables import LearningTask
from papers.harness.kept_runs import KeptRuns, run_key
from papers.harness.panels import refuse_without_matplotlib
from papers.harness.result_files import write_results
from papers.harness.systems import RunOutcome


@dataclass(frozen=True, kw_only=True, eq=False)
class ExperimentReport:
    """The result of an experiment."""

    experiment: Experiment
    measured: tuple[MeasuredConfiguration, ...]
    verdicts: tuple[ClaimVerdict, ...]
    files: tuple[Path, ...]
    runs: int
    """Runs of the experiment."""
    runs_done_before: int
    """Of these, found in the file of an earlier call."""


def run_experiment(
    recipe: str | Path,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    quick: bool = False,
    plot: bool = True,
    force: bool = False,
    account: Account | None = None,
    progress: Progress = no_progress,
) -> ExperimentReport:
    """Run the experiment that a recipe describes, and write its table, plot and verdict.

    Parameters
    ----------
    recipe : path
    data : path, optional
        Folder of the public tables instead of the one that the recipe names.
    out : path, optional
        Folder of the results; default `out/NAME` beside the recipe (`out/NAME-quick` of its quick form).
    quick : bool
        The quick form: what the table `quick` of the recipe says over the rest.
    plot : bool
        Whether the plot is drawn, which needs matplotlib.
    force : bool
        Run everything again; else runs that an earlier call finished are taken as they are.
    account : Account, optional
        Whom releases are booked to. Without a ledger in it, none is touched: neither the one that the environment
        names nor one beside the results.
    progress : callable
        Called with the table that is worked on and the share done.

    Raises
    ------
    PolicyError, ParameterError
        The recipe is not one of an experiment, or names what there is not.
    SourceError
        A table is not there, or is another one than the recipe means.
    MissingDependencyError
        The plot needs matplotlib.

    Privacy
    -------
    Experiments are for public and simulated tables. Their releases are seeded, which every report of one states ("not
    for release"), made in memory, and gone when they are scored. The figures are computed from the rows as they are.
    """
    experiment = Experiment.load(recipe, quick=quick)
    if plot and experiment.panels:
        refuse_without_matplotlib()
    tables = Path(data) if data is not None else experiment.folder / experiment.tables
    for spec in experiment.data.values():
        for file in (spec.train, spec.test):
            if file is not None:
                file.checked(tables)
    name = experiment.name
    folder = Path(out) if out is not None else experiment.folder / "out" / (f"{name}-quick" if quick else name)
    booked = Account(ledger=Where.NOWHERE)
    if account is not None and account.ledger is not Where.FOUND and account.ledger is not None:
        booked = account
    with closing(KeptRuns(folder / f"{name}.runs.jsonl", anew=force)) as kept:
        work = _Work(experiment, tables, kept, booked, progress)
        work.finish()
        measured = work.measured()
    verdicts = tuple(claim.judged(measured) for claim in experiment.claims)
    files = write_results(experiment, measured, verdicts, folder, plot=plot and bool(experiment.panels))
    return ExperimentReport(
        experiment=experiment,
        measured=measured,
        verdicts=verdicts,
        files=(*files, kept.path),
        runs=work.runs,
        runs_done_before=work.found,
    )


def experiment_steps(recipe: str | Path, *, quick: bool = False) -> tuple[str, ...]:
    """Return the names of the steps of an experiment, in order: one a table."""
    return tuple(spec.title for spec in Experiment.load(recipe, quick=quick).data.values())


class _Work:
    """The runs of one experiment."""

    def __init__(
        self, experiment: Experiment, tables: Path, kept: KeptRuns, account: Account, progress: Progress
    ) -> None:
        self.experiment = experiment
        self.tables = tables
        self.kept = kept
        self.account = account
        self.progress = progress
        self._keys: dict[tuple[int, int, int], str] = {}
        """By number of the configuration, repeat and fold."""
        self._seeds: dict[str, int] = {}
        """By key; two systems that ask for the same release, and use it differently, get the same."""
        for number, one in enumerate(experiment.configurations):
            spec = experiment.data[one.data]
            release, use = experiment.systems[one.system].identity(one.point)
            drawn = {"data": {"name": spec.name, **spec.described}, "release": release, "seed": experiment.seed}
            for repeat in range(spec.repeats or experiment.repeats):
                for fold in range(spec.folds or 1):
                    which = {**drawn, "repeat": repeat, "fold": fold}
                    key = run_key({**which, "use": use, "version": anonkit.__version__})
                    self._keys[number, repeat, fold] = key
                    self._seeds[key] = int(run_key(which)[:12], 16)
        self.runs = len(self._keys)
        self.found = sum(key in kept for key in self._keys.values())

    def finish(self) -> None:
        """Carry out what is not done; rows are opened once a repeat, and not at all where nothing is left."""
        done = self.found
        for name, spec in self.experiment.data.items():
            self.progress(spec.title, done / self.runs)
            for repeat in range(spec.repeats or self.experiment.repeats):
                ours = [(at, one) for at, one in enumerate(self.experiment.configurations) if one.data == name]
                if all(self._keys[at, repeat, fold] in self.kept for at, _ in ours for fold in range(spec.folds or 1)):
                    continue
                for fold, task in spec.tasks(self.tables, repeat, self.experiment.seed):
                    for key, one in self._left(ours, repeat, fold):
                        self.kept.keep(key, self._outcome(one, task, key))
                        done += 1
                        self.progress(spec.title, done / self.runs)

    def _left(
        self, ours: Sequence[tuple[int, Configuration]], repeat: int, fold: int
    ) -> Iterator[tuple[str, Configuration]]:
        for number, one in ours:
            key = self._keys[number, repeat, fold]
            if key not in self.kept:
                yield key, one

    def _outcome(self, one: Configuration, task: LearningTask, key: str) -> RunOutcome:
        return self.experiment.systems[one.system].run(task, one.point, self._seeds[key], self.account)

    def measured(self) -> tuple[MeasuredConfiguration, ...]:
        """Return every configuration with what its runs gave."""
        return tuple(self._measured(number, one) for number, one in enumerate(self.experiment.configurations))

    def _measured(self, number: int, one: Configuration) -> MeasuredConfiguration:
        experiment, spec = self.experiment, self.experiment.data[one.data]
        samples: dict[Sample, dict[str, float]] = {}
        outcomes = []
        for repeat in range(spec.repeats or experiment.repeats):
            for fold in range(spec.folds or 1):
                outcome = self.kept[self._keys[number, repeat, fold]]
                outcomes.append(outcome)
                for inner, sample in enumerate(outcome.samples):
                    wanted = {name: value for name, value in sample.items() if name in experiment.measures}
                    samples[repeat, fold + inner] = wanted
        losses = [outcome.epsilon for outcome in outcomes if outcome.epsilon is not None]
        refused = next((outcome.refused for outcome in outcomes if outcome.refused is not None), None)
        promises = [outcome.promise for outcome in outcomes if outcome.refused is None]
        return MeasuredConfiguration(
            data=one.data,
            system=one.system,
            point=one.point,
            samples=samples,
            overlap=spec.overlap(spec.repeats or experiment.repeats),
            promise=promises[0] if promises else "none",
            epsilon=max(losses) if losses else None,
            claimed=experiment.systems[one.system].claimed_epsilon(one.point),
            refused=refused,
        )
