# SPDX-License-Identifier: Apache-2.0
"""Recipes of experiments: tables, systems, a grid, repeats and the paper's claims in one TOML file."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anonkit.errors import PolicyError, did_you_mean
from anonkit.policy.side_files import expect, optional_text, read_side_toml, refuse_unknown, texts
from papers.harness.claims import PaperClaim
from papers.harness.experiment_tables import TableSpec
from papers.harness.panels import Panel
from papers.harness.systems import MEASURES, System, Value, axis_values

_TOP = ("experiment", "data", "grid", "system", "claim", "panel", "quick")
_EXPERIMENT = ("title", "paper", "about", "seed", "repeats", "measures", "tables", "systems", "data", "engine", "spark")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One point of an experiment: a table, a system, and a value on every axis that this system varies along."""

    data: str
    system: str
    point: Mapping[str, Value]
    """Values by axis."""

    @property
    def label(self) -> str:
        """Label shown while it runs."""
        return ", ".join((self.data, self.system, *(f"{axis} {value}" for axis, value in self.point.items())))


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment, as its recipe describes it."""

    name: str
    folder: Path
    title: str
    paper: str
    about: str
    seed: int
    repeats: int
    """Number of runs of every configuration, with other noise and, where rows are drawn, other rows."""
    measures: tuple[str, ...]
    tables: str
    """Folder of the tables, relative to the recipe."""
    data: Mapping[str, TableSpec]
    systems: Mapping[str, System]
    grid: Mapping[str, tuple[Value, ...]]
    claims: tuple[PaperClaim, ...]
    panels: tuple[Panel, ...]
    quick: bool
    axes: tuple[str, ...] = field(default=())
    """Every axis along which some system varies, in the order of the recipe."""

    @classmethod
    def load(cls, path: str | Path, *, quick: bool = False) -> Experiment:
        """Read a recipe of an experiment.

        Parameters
        ----------
        path : path
        quick : bool
            Put what its table `quick` says over the rest.

        Raises
        ------
        PolicyError
            The file is not there, is not TOML, has a key that an experiment does not know, or lacks one it needs.
        """
        path = Path(path)
        raw = read_recipe(path)
        if "experiment" not in raw:
            raise PolicyError(f"recipe {path.name!r} describes no experiment", "[experiment]")
        where = f"recipe {path.name!r}"
        refuse_unknown(where, raw, _TOP)
        if quick:
            if "quick" not in raw:
                raise PolicyError(f"{where} has no quick form", "[quick.experiment] repeats = 1")
            raw = _over(raw, expect(where, "quick", raw["quick"], dict))
        return _RecipeReader(path, raw).experiment(quick)

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Every configuration, in the order of the recipe: tables, systems, axes."""
        out = []
        for table, (name, system) in itertools.product(self.data, self.systems.items()):
            if system.data and table not in system.data:
                continue
            axes = system.axes_of(self.grid)
            for values in itertools.product(*axes.values()):
                out.append(Configuration(data=table, system=name, point=dict(zip(axes, values, strict=True))))
        return tuple(out)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the TOML of a recipe.

    Raises
    ------
    PolicyError
        The file is not there or is not TOML.
    """
    try:
        return read_side_toml(path)
    except FileNotFoundError:
        raise PolicyError(f"recipe {str(path)!r} does not exist") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        found = str(error).rsplit("(", 1)[-1].rstrip(")") if "(at " in str(error) else "somewhere"
        raise PolicyError(f"recipe {str(path)!r} is not TOML ({found})") from None


def _over(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with changes put over it: tables are merged, everything else is replaced."""
    merged = dict(raw)
    for key, value in changes.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


class _RecipeReader:
    """Turns the TOML of one recipe into values; every refusal names the recipe."""

    def __init__(self, path: Path, raw: Mapping[str, Any]) -> None:
        self.path = path
        self.raw = raw
        self.where = f"recipe {path.name!r}"

    def experiment(self, quick: bool) -> Experiment:
        head = expect(self.where, "experiment", self.raw["experiment"], dict)
        refuse_unknown(f"{self.where}, experiment", head, _EXPERIMENT)
        engine = {key: head[key] for key in ("engine", "spark") if key in head}
        data = {
            name: TableSpec.from_dict(name, spec, self.path.parent, self.where)
            for name, spec in self._chosen("data", head.get("data")).items()
        }
        systems = {
            name: System.from_dict(name, {**engine, **spec}, self.where)
            for name, spec in self._chosen("system", head.get("systems")).items()
        }
        made = Experiment(
            name=self.path.stem,
            folder=self.path.parent,
            title=self._text(head, "title"),
            paper=self._text(head, "paper"),
            about=optional_text(self.where, "about", head) or "",
            seed=self._whole(head, "seed", 0, 0),
            repeats=self._whole(head, "repeats", 1, 1),
            measures=self._measures(head),
            tables=optional_text(self.where, "tables", head) or ".",
            data=data,
            systems=systems,
            grid=self._grid(),
            claims=tuple(PaperClaim.from_dict(one, f"{self.where}, claim {at}") for at, one in self._list("claim")),
            panels=tuple(Panel.from_dict(one, f"{self.where}, panel {at}") for at, one in self._list("panel")),
            quick=quick,
        )
        return self._checked(made)

    def _checked(self, made: Experiment) -> Experiment:
        """Refuse what names nothing, and note the axes that are varied."""
        for name, system in made.systems.items():
            system.refuse_unknown_names(self.raw["data"], made.grid, f"{self.where}, system {name}")
        varied = [axis for one in made.configurations for axis in one.point]
        axes = tuple(dict.fromkeys(varied))
        for axis in made.grid:
            if axis not in axes:
                raise PolicyError(
                    f"{self.where}: no system varies along {axis!r}", f'axes = {{ {axis} = "PARAMETER" }}'
                )
        keys = ("data", "system", *axes)
        for at, claim in enumerate(made.claims, 1):
            claim.refuse_unknown_names(made.systems, keys, made.measures, f"{self.where}, claim {at}")
        for at, panel in enumerate(made.panels, 1):
            panel.refuse_unknown_names(keys, made.measures, made.systems, f"{self.where}, panel {at}")
        if not made.configurations:
            raise PolicyError(f"{self.where}: there is nothing to run", "each table needs a system")
        return Experiment(**{**vars(made), "axes": axes})

    def _chosen(self, key: str, names: object) -> dict[str, Any]:
        """Return the tables under a key, or those of them that the experiment names."""
        found: dict[str, Any] = expect(self.where, key, self.raw.get(key, {}), dict)
        if not found:
            raise PolicyError(f"{self.where} needs {key}", f"[{key}.NAME]")
        for name, spec in found.items():
            expect(self.where, f"{key}.{name}", spec, dict)
        if names is None:
            return found
        for name in texts(self.where, key, names):
            if name not in found:
                raise PolicyError(f"{self.where}: there is no {key} {name!r}", did_you_mean(name, found))
        return {name: spec for name, spec in found.items() if name in names}  # type: ignore[operator]

    def _grid(self) -> dict[str, tuple[Value, ...]]:
        grid = expect(self.where, "grid", self.raw.get("grid", {}), dict)
        return {axis: axis_values(f"{self.where}, grid", axis, values) for axis, values in grid.items()}

    def _measures(self, head: Mapping[str, Any]) -> tuple[str, ...]:
        measures = tuple(texts(self.where, "measures", head.get("measures", ["accuracy"])))
        for one in measures:
            if one not in MEASURES:
                raise PolicyError(f"{self.where}: measure {one!r} is not known", did_you_mean(one, MEASURES))
        return measures

    def _list(self, key: str) -> Sequence[tuple[int, Any]]:
        return list(enumerate(expect(self.where, key, self.raw.get(key, []), list), 1))

    def _text(self, head: Mapping[str, Any], key: str) -> str:
        text = optional_text(self.where, key, head)
        if text is None:
            raise PolicyError(f"{self.where} needs {key}", f'{key} = "…"')
        return text

    def _whole(self, head: Mapping[str, Any], key: str, default: int, least: int) -> int:
        value = head.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise PolicyError(f"{self.where}: {key} must be a whole number from {least} on", f"{key} = {max(least, 3)}")
        return value
