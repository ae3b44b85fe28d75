# SPDX-License-Identifier: Apache-2.0
"""Systems that an experiment compares: methods of release with what a receiver makes of them, and comparators."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from keyword import iskeyword
from typing import Any

from anonkit.engines.engine_choice import EngineChoice, Local, Spark, engine_choice
from anonkit.errors import GuaranteeError, ParameterError, PolicyError, did_you_mean
from anonkit.ledger.account import Account
from anonkit.methods import make_method, method_class, method_parameters
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.side_files import expect, optional_text, refuse_unknown, texts
from papers.harness.breach_measures import WIDTHS, breaches_of
from papers.harness.experiment_tables import LearningTask
from papers.harness.receivers import MODELS, samples_of_release
from papers.harness.unprotected_models import COMPARATORS

Value = int | float | str | bool

MEASURES = (
    *("accuracy", "balanced_accuracy", "auc", "kept", "seconds", "total_seconds"),
    *("epsilon", "breach", "guess", *WIDTHS),
)
"""Measures of a run.

`kept` counts released values as yes/no features. `seconds` is CPU time of the release, or of a comparator,
`total_seconds` of the receiver's model too. `epsilon` is the true loss of the release; the others are in
`breach_measures`.
"""
EXACT = ("epsilon", "breach", "guess")
"""Measures that follow from parameters alone: one run gives them without error."""

_KEYS = (
    *("title", "method", "preset", "comparator", "parameters", "axes", "grid", "data", "model", "settings"),
    *("engine", "spark", "claimed", "note"),
)
_OF_MODEL = "settings."


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """The outcome of one run."""

    samples: tuple[Mapping[str, float], ...]
    """Measures of every fold that was scored; empty when the promise could not be kept."""
    promise: str
    """Kind of promise, as in a report."""
    epsilon: float | None
    """Loss of the release under sound accounting; None where no loss is counted."""
    refused: str | None = None
    """Why there is no release."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The parameter that a system varies along an axis of the grid, and how it is computed from the value there."""

    parameter: str
    times: float = 1
    add: float = 0

    def of(self, value: Value) -> Value:
        """Return the parameter's value."""
        if isinstance(value, str) or (self.times == 1 and self.add == 0):
            return value
        moved = value * self.times + self.add
        return int(moved) if isinstance(value, int) and float(moved).is_integer() else moved


@dataclass(frozen=True, kw_only=True)
class System:
    """A method of release, or a comparator, with its parameters."""

    name: str
    title: str
    method: str | None
    comparator: str | None
    preset: str | None
    parameters: Mapping[str, Any]
    axes: Mapping[str, Axis]
    """Axes whose parameter has another name than the axis."""
    grid: Mapping[str, tuple[Value, ...]]
    """Axes, or values of one, that this system has instead of the experiment's."""
    data: tuple[str, ...]
    """Tables it runs on; empty: all."""
    model: str
    """Model of a receiver."""
    settings: Mapping[str, Any]
    """Of that model."""
    engine: EngineChoice
    engine_name: str
    claimed: float | str | None
    """The epsilon that the paper claims: a number, or the axis or parameter that it claims it to be."""
    note: str
    """Remark of sound accounting on it, in words."""

    @classmethod
    def from_dict(cls, name: str, raw: Mapping[str, Any], recipe: str) -> System:
        """Read a system `[system.NAME]` of a recipe.

        Raises
        ------
        PolicyError
            A key is not known or of the wrong kind, or it is neither a method nor a comparator.
        ParameterError
            The method, the comparator or a parameter is not known, or out of its range.
        """
        where = f"{recipe}, system {name}"
        refuse_unknown(where, raw, _KEYS)
        if ("method" in raw) == ("comparator" in raw):
            raise PolicyError(f"{where} needs either method or comparator", 'method = "rfka"')
        for key in ("title", "method", "preset", "comparator", "note", "model", "engine"):
            optional_text(where, key, raw)
        comparator, model = raw.get("comparator"), raw.get("model", MODELS[0])
        if comparator is not None and comparator not in COMPARATORS:
            raise PolicyError(f"{where}: comparator {comparator!r} is not known", did_you_mean(comparator, COMPARATORS))
        if model not in MODELS:
            raise PolicyError(f"{where}: model {model!r} is not known", did_you_mean(model, MODELS))
        if "method" in raw:
            method_class(raw["method"])
        claimed = raw.get("claimed")
        if claimed is not None and not isinstance(claimed, int | float | str):
            raise PolicyError(f"{where}: claimed must be a number or the name of a parameter", 'claimed = "epsilon"')
        spark = expect(where, "spark", raw.get("spark", {}), dict)
        refuse_unknown(f"{where}, spark", spark, ("master", "conf"))
        engine = raw.get("engine", Local.name)
        return cls(
            name=name,
            title=raw.get("title", name),
            method=raw.get("method"),
            comparator=comparator,
            preset=raw.get("preset"),
            parameters={
                field_name(key): value
                for key, value in expect(where, "parameters", raw.get("parameters", {}), dict).items()
            },
            axes={
                axis: _axis(f"{where}, axes", axis, spec)
                for axis, spec in expect(where, "axes", raw.get("axes", {}), dict).items()
            },
            grid={
                axis: axis_values(f"{where}, grid", axis, values)
                for axis, values in expect(where, "grid", raw.get("grid", {}), dict).items()
            },
            data=tuple(texts(where, "data", raw.get("data", []))),
            model=model,
            settings=expect(where, "settings", raw.get("settings", {}), dict),
            engine=engine_choice(engine, **(spark if engine == Spark.name else {})),
            engine_name=engine,
            claimed=claimed,
            note=raw.get("note", ""),
        )

    @property
    def accepted(self) -> tuple[str, ...]:
        """Names of the parameters that it takes."""
        if self.method is not None:
            return tuple(one.name for one in method_parameters(self.method))
        return tuple(field.name for field in fields(COMPARATORS[str(self.comparator)]))

    def axes_of(self, grid: Mapping[str, tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
        """Return the axes that it varies along: those of which it takes the parameter and does not fix it."""
        both = {**grid, **self.grid}
        return {
            axis: values
            for axis, values in both.items()
            if axis in self.axes or (field_name(axis) in self.accepted and field_name(axis) not in self.parameters)
        }

    def refuse_unknown_names(self, data: Collection[str], grid: Collection[str], where: str) -> None:
        """Refuse tables, axes and parameters that there are not, and values out of range, before anything runs.

        Raises
        ------
        PolicyError, ParameterError
        """
        for table in self.data:
            if table not in data:
                raise PolicyError(f"{where}: there is no data {table!r}", did_you_mean(table, data))
        for axis in self.axes:
            if axis not in grid and axis not in self.grid:
                raise PolicyError(f"{where}: there is no axis {axis!r}", did_you_mean(axis, [*grid, *self.grid]))
        for name in (*self.parameters, *(axis.parameter for axis in self.axes.values())):
            if name not in self.accepted and not name.startswith(_OF_MODEL):
                raise PolicyError(f"{where}: there is no parameter {name!r}", did_you_mean(name, self.accepted))
        for axis in self.grid:
            if axis not in self.axes and field_name(axis) not in self.accepted:
                raise PolicyError(f"{where}: {axis!r} is none of its parameters", did_you_mean(axis, self.accepted))

    def made(self, point: Mapping[str, Value]) -> tuple[Any, dict[str, Any]]:
        """Return the method or comparator of a configuration, and the settings of the receiver's model.

        Raises
        ------
        ParameterError
            A value is out of range.
        """
        given, settings = dict(self.parameters), dict(self.settings)
        for axis, value in point.items():
            along = self.axes.get(axis, Axis(parameter=field_name(axis)))
            if along.parameter.startswith(_OF_MODEL):
                settings[along.parameter.removeprefix(_OF_MODEL)] = along.of(value)
            else:
                given[along.parameter] = along.of(value)
        if self.method is not None:
            return make_method(self.method, given, self.preset), settings
        try:
            return COMPARATORS[str(self.comparator)](**given), settings
        except TypeError:
            raise ParameterError(
                f"comparator {self.comparator!r} needs other parameters", ", ".join(self.accepted)
            ) from None

    def claimed_epsilon(self, point: Mapping[str, Value]) -> float | None:
        """Return the epsilon that the paper claims of a configuration; None where it claims none."""
        claimed = self.claimed
        if claimed is None and "epsilon" in self.accepted:
            claimed = "epsilon"
        if isinstance(claimed, str):
            found = point.get(claimed, self.parameters.get(field_name(claimed)))
            return float(found) if isinstance(found, int | float) else None
        return None if claimed is None else float(claimed)

    def identity(self, point: Mapping[str, Value]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what decides about the release of a run, and what about its use, ready for JSON."""
        made, settings = self.made(point)
        use = {"model": self.model if self.method else None, "settings": settings, "engine": self.engine_name}
        return {"what": self.method or self.comparator, "parameters": repr(made)}, use

    def run(self, task: LearningTask, point: Mapping[str, Value], seed: int, account: Account) -> RunOutcome:
        """Run one configuration once.

        Parameters
        ----------
        task : Task
        point : mapping
            Values by axis.
        seed : int
            Of the noise. What is released with it is not for release, and stays in memory.
        account : Account
            Whom a release is booked to, if anybody.
        """
        made, settings = self.made(point)
        with warnings.catch_warnings():
            # what a model cannot learn from a release costs it score, which is what is measured
            warnings.simplefilter("ignore")
            if self.method is None:
                begun = time.process_time()
                samples, promise, epsilon = made.samples(task, seed)
                seconds = time.process_time() - begun
                return _timed(samples, seconds, seconds, promise, epsilon)
            return self._released(made, settings, task, seed, account)

    def _released(
        self, made: Any, settings: Mapping[str, Any], task: LearningTask, seed: int, account: Account
    ) -> RunOutcome:
        request = ReleaseRequest(
            method=made,
            preset=self.preset,
            policy=task.policy,
            engine=self.engine,
            account=account,
            seed=seed,
            utility=False,
        )
        begun = time.process_time()
        try:
            release = release_table(task.train, request)
        except GuaranteeError as error:
            if error.code != GuaranteeError.code:
                raise  # a ledger that refuses ends the experiment
            return RunOutcome(samples=(), promise="none", epsilon=None, refused=error.message)
        seconds = time.process_time() - begun
        guarantee = release.report["guarantee"]
        stated = guarantee["parameters"].get("epsilon")
        epsilon = None if stated is None else float(stated)
        released = release.to_arrow()
        breaches = breaches_of(release.params, released, task.train)
        begun = time.process_time()
        scored = samples_of_release(release.params, released, task, self.model, settings)
        total = seconds + time.process_time() - begun
        return _timed([{**breaches, **scored[0]}, *scored[1:]], seconds, total, guarantee["kind"], epsilon)


def _timed(samples: Any, seconds: float, total: float, promise: str, epsilon: float | None) -> RunOutcome:
    """Return an outcome; what is of the release, and not of a fold, is measured once."""
    of_release = {"seconds": seconds, "total_seconds": total, **({} if epsilon is None else {"epsilon": epsilon})}
    first = [{**of_release, **one} for one in samples[:1]]
    return RunOutcome(samples=(*first, *samples[1:]), promise=promise, epsilon=epsilon)


def _axis(where: str, axis: str, spec: object) -> Axis:
    """Return how an axis becomes a parameter.

    Raises
    ------
    PolicyError
        It is neither a parameter's name nor a table of it.
    """
    if isinstance(spec, str):
        return Axis(parameter=spec if spec.startswith(_OF_MODEL) else field_name(spec))
    table = expect(where, axis, spec, dict)
    refuse_unknown(f"{where}, {axis}", table, ("parameter", "times", "add"))
    parameter = optional_text(where, "parameter", table)
    moved = [table.get("times", 1), table.get("add", 0)]
    if parameter is None or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in moved):
        raise PolicyError(
            f"{where}: {axis} needs a parameter, and numbers", f'{axis} = {{ parameter = "depth", add = -1 }}'
        )
    return Axis(parameter=field_name(parameter), times=moved[0], add=moved[1])


def field_name(name: str) -> str:
    """Return a parameter's name as a method declares it; a recipe may write it as the command line does."""
    field = name.replace("-", "_")
    return f"{field}_" if iskeyword(field) else field


def axis_values(where: str, axis: str, values: object) -> tuple[Value, ...]:
    """Return the values of an axis of a grid.

    Raises
    ------
    PolicyError
        They are no list of numbers or words, or one occurs twice.
    """
    if not isinstance(values, list) or not values or not all(isinstance(one, int | float | str) for one in values):
        raise PolicyError(f"{where}: {axis} must be a list of numbers or texts", f"{axis} = [1, 2, 5]")
    if len(set(values)) < len(values):
        raise PolicyError(f"{where}: {axis} has a value twice", "leave one of them out")
    return tuple(values)
