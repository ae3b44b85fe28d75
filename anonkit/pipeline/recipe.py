# SPDX-License-Identifier: Apache-2.0
"""Recipes: a whole release described in one TOML file, so that it can be read, reviewed and run again."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anonkit.bundle.release_place import Place
from anonkit.bundle.stored_release import Release
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.drafting.table_domains import MIN_PEOPLE
from anonkit.engines.engine_choice import Local, Spark, engine_choice
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.errors import PolicyError, did_you_mean
from anonkit.ledger.account import Account, Where
from anonkit.methods import make_method
from anonkit.parameters import field_name
from anonkit.pipeline.recipe_sources import SeveralTables, SimulatedSource, bounded
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.repeated_release import release_steps
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import PersonRows
from anonkit.policy.publication import recipients_of
from anonkit.policy.side_files import named_lines, read_side_toml
from anonkit.protocols import Progress, no_progress
from anonkit.redaction import is_address

_OF_ENGINES = tuple(Local.__dataclass_fields__)
_OF_ACCOUNTS = ("dataset", "accept_joint_k")
_OF_SOURCES = tuple(ReadAs.__annotations__)
_OF_POPULATION = ("population", "population_size", "sampling_fraction", "k_map")
_TEXTS_OF_SOURCES = ("query", "sheet", "format", "decimal", "delimiter")
_KEYS = (
    *("method", "preset", "input", "simulate", "output", "policy", "engine", "spark", "parameters"),
    *("tables", "whole_person", "rows_per_person", "aggregates"),
    *(
        "domains_from_data",
        "domains_min_people",
        "utility",
        "recipients",
        *_OF_ENGINES,
        *Output.IN_RECIPES,
        *_OF_ACCOUNTS,
        *_OF_SOURCES,
        *_OF_POPULATION,
    ),
)
_WORDS = ("emit",)
"""Keys that are lists of words."""
_WORD = {"cells": "bounds", "dataset": "customers"}
"""Keys that are one word, with an example of it."""
_PATHS = ("sign",)
"""Keys that are paths, relative to the recipe's folder."""
_SOURCES = ("input", "simulate", "tables")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One release, described.

    Paths are relative to the recipe's folder.
    """

    folder: Path
    method: str
    preset: str | None
    input: str | None
    """The table; None when a simulated one is released."""
    simulate: SimulatedSource | None
    """A simulated table in its place."""
    tables: SeveralTables | None
    """A table of people and one of their visits, in place of the one table."""
    how: ReadAs = field(default_factory=ReadAs)
    """Options for reading the table: `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`,
    `delimiter`, `skip_rows`."""
    output: Output
    """Place and form of the release."""
    policy: Policy
    engine: Local | Spark
    parameters: Mapping[str, Any]
    account: Account = field(default_factory=Account)
    """Name of the dataset instead of the policy's, and the smallest group allowed when combined with earlier
    k-anonymous releases; the ledger is whoever runs it's."""
    domains_min_people: int | None = None
    """People that share a category that is read from the table; None: domains are what the policy declares."""
    population: AgainstPopulation = field(default_factory=AgainstPopulation)
    """Knowledge of the population that the table was drawn from."""
    utility: bool = True
    """True where models are trained to measure how well the target is predicted."""

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe.

        Raises
        ------
        PolicyError
            The file is not there, is not TOML, or has keys a recipe does not know or lacks one it needs.
        """
        path = Path(path)
        try:
            raw = read_side_toml(path)
        except FileNotFoundError:
            raise PolicyError(f"recipe {str(path)!r} does not exist") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise PolicyError(f"recipe {str(path)!r} is not TOML") from None
        return cls._from_dict(raw, path)

    @classmethod
    def _from_dict(cls, raw: Mapping[str, Any], path: Path) -> Recipe:
        for key in raw:
            if key not in _KEYS:
                raise PolicyError(f"recipe {path.name!r}: unknown key {key!r}", did_you_mean(key, _KEYS))
        if sum(key in raw for key in _SOURCES) != 1:
            raise PolicyError(f"recipe {path.name!r} needs either input or simulate, or tables", 'input = "table.csv"')
        for key in ("method", "output"):
            if not isinstance(raw.get(key), str):
                raise PolicyError(f"recipe {path.name!r}: {key} must be a text", f'{key} = "…"')
        where = f"recipe {path.name!r}"
        simulate = SimulatedSource.from_toml(where, raw["simulate"]) if "simulate" in raw else None
        parameters = raw.get("parameters", {})
        if not isinstance(parameters, dict):
            raise PolicyError(f"recipe {path.name!r}: parameters must be a table", "[parameters]")
        given = {field_name(name): value for name, value in parameters.items()}
        if "aggregates" in raw:
            given["aggregate"] = (
                *given.get("aggregate", ()),
                *named_lines(f"recipe {path.name!r}", "aggregates", raw["aggregates"]),
            )
        recipients = recipients_of(where, raw.get("recipients", []))
        policy = _policy(raw.get("policy"), path.parent, simulate).meant_for(recipients)
        tables, rows = _tables(raw, path)
        if tables is not None:
            policy, given = tables.declared(policy, rows), bounded(raw["method"], given, rows)
        return cls(
            folder=path.parent,
            method=raw["method"],
            preset=raw.get("preset"),
            tables=tables,
            input=raw.get("input"),
            simulate=simulate,
            how=_how(raw, path),
            output=Output.at(_in(path, raw["output"]), **_settings(raw, path, Output.IN_RECIPES)),
            policy=policy,
            engine=engine_choice(
                raw.get("engine", Local.name),
                **_spark(raw.get("spark", {}), path),
                **_settings(raw, path, _OF_ENGINES),
            ),
            parameters=given,
            account=Account(**_settings(raw, path, _OF_ACCOUNTS)),
            domains_min_people=_min_people(raw, path),
            population=_population(raw, path),
            utility=_flag("utility", raw.get("utility", True), path),
        )

    @property
    def source(self) -> object:
        """The source to release: the place of the input, a simulated table, or several tables."""
        if self.tables is not None:
            return self.tables
        if self.simulate is not None:
            return self.simulate.draw()
        return source_at(str(self.input), in_folder=self.folder, **self.how)

    def _charged(self, account: Account) -> Account:
        """Return the account of the release: simulated people have no place in the ledger of real ones."""
        bookkeeping = self.policy.bookkeeping
        is_ours = self.simulate is not None and bookkeeping.ledger is None and not bookkeeping.required
        return replace(account, ledger=Where.SIMULATED) if is_ours and account.ledger is Where.FOUND else account

    @property
    def steps(self) -> tuple[str, ...]:
        """Names of the steps of the release, in order, as progress shows them."""
        return release_steps(make_method(self.method, self.parameters, self.preset))

    def run(
        self,
        *,
        output: str | Path | None = None,
        sign: str | Path | None = None,
        emit: Iterable[str] = (),
        account: Account | None = None,
        seed: int | None = None,
        progress: Progress = no_progress,
        **how: Any,
    ) -> Release:
        """Make the release; the same errors and the same ledger as `anonkit.release`.

        Parameters
        ----------
        output : path, optional
            Instead of the recipe's own.
        sign : path, optional
            Private key instead of the recipe's own.
        emit : iterable of str
            Entries for catalogues instead of the recipe's own.
        account : Account, optional
            Whose budget is charged; what it leaves open is the recipe's own.
        seed : int, optional
            Reproducible randomness for a rehearsal: every file then says that it is not for release.
        progress : callable
            Called with the step and the share done.
        **how
            Further fields of `Output`, such as whether a release is replaced, or none written.
        """
        changed: dict[str, Any] = {
            **how,
            "sign": self.output.sign if sign is None else Path(sign),
            "emit": tuple(emit) or self.output.emit,
        }
        if output is not None:
            changed["place"], changed["copy"] = Place.of_output(output)
        request = ReleaseRequest(
            method=make_method(self.method, self.parameters, self.preset),
            policy=self.policy,
            preset=self.preset,
            domains_min_people=self.domains_min_people,
            engine=self.engine,
            output=replace(self.output, **changed),
            account=self._charged(self.account if account is None else account.over(self.account)),
            seed=seed,
            utility=self.utility,
            population=self.population,
            progress=progress,
        )
        if self.tables is not None:
            self.tables.refuse_uncovered(request)
        return release_table(self.source, request)


def run_recipe(
    path: str | Path,
    *,
    output: str | Path | None = None,
    sign: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
    **account: Any,
) -> Release:
    """Carry out the release that a recipe file describes: `anonkit run` as a call.

    Parameters
    ----------
    path : path
        The recipe.
    output, sign, force, dry_run, progress
        As in `anonkit.release`; the first two instead of the recipe's own.
    **account
        `ledger`, `dataset`, `budget`, `budget_delta` and `accept_joint_k`, as in `anonkit.release`.

    Raises
    ------
    AnonkitError
        Those of `Recipe.load` and of `anonkit.release`.
    """
    recipe, charged = Recipe.load(path), Account(**account)
    return recipe.run(output=output, sign=sign, account=charged, progress=progress, force=force, dry_run=dry_run)


def _in(path: Path, name: str) -> str:
    """Return a path that a recipe gives; the slash that marks a folder stays, and an address is no path."""
    if is_address(name):
        return name
    return str(path.parent / name) + ("/" if name.endswith("/") else "")


def _settings(raw: Mapping[str, Any], path: Path, keys: Collection[str]) -> dict[str, Any]:
    """Return the recipe's entries on some fields of a value: integers above 0, paths, words and lists of them."""
    given = {key: raw[key] for key in keys if key in raw}
    readers: Mapping[str, Callable[[str, object, Path], Any]] = {
        **dict.fromkeys(_PATHS, _key),
        **dict.fromkeys(_WORDS, _words),
        **dict.fromkeys(_WORD, _word),
    }
    return {key: readers.get(key, _whole)(key, value, path) for key, value in given.items()}


def _how(raw: Mapping[str, Any], path: Path) -> ReadAs:
    """Return the recipe's entries on how its table is read."""
    for key in _TEXTS_OF_SOURCES:
        if not isinstance(raw.get(key, ""), str):
            raise PolicyError(f"recipe {path.name!r}: {key} must be a text", f'{key} = "…"')
    how: ReadAs = {key: raw[key] for key in _TEXTS_OF_SOURCES if key in raw}  # type: ignore[assignment]
    if "header_row" in raw:
        how["header_row"] = _whole("header_row", raw["header_row"], path)
    if "skip_rows" in raw:
        how["skip_rows"] = _whole("skip_rows", raw["skip_rows"], path, least=0)
    if "header" in raw:
        if not isinstance(raw["header"], bool):
            raise PolicyError(f"recipe {path.name!r}: header must be true or false", "header = false")
        how["header"] = raw["header"]
    if "names" in raw:
        how["names"] = raw["names"] if isinstance(raw["names"], str) else _words("names", raw["names"], path)
    return how


def _tables(raw: Mapping[str, Any], path: Path) -> tuple[SeveralTables | None, PersonRows]:
    """Return the tables of a recipe that has several, and its contribution bound of a person."""
    where, whole = f"recipe {path.name!r}", raw.get("whole_person", True)
    if "tables" not in raw:
        for key in ("whole_person", "rows_per_person"):
            if key in raw:
                raise PolicyError(f"{where}: {key} is for several tables", "[tables.people], [tables.visits]")
        return None, PersonRows()
    for key in _OF_SOURCES:
        if key in raw:
            raise PolicyError(f"{where}: {key} is for one table", f"give {key} in the table that it is of")
    if not isinstance(whole, bool):
        raise PolicyError(f"{where}: whole_person must be true or false", "whole_person = true")
    most = _whole("rows_per_person", raw["rows_per_person"], path) if "rows_per_person" in raw else None
    return SeveralTables.from_dict(raw["tables"], path.parent, where), PersonRows(whole_set=whole, most=most)


def _words(key: str, value: object, path: Path) -> list[str]:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    raise PolicyError(f"recipe {path.name!r}: {key} must be a list of texts", f'{key} = ["croissant"]')


def _word(key: str, value: object, path: Path) -> str:
    if isinstance(value, str):
        return value
    raise PolicyError(f"recipe {path.name!r}: {key} must be a text", f'{key} = "{_WORD[key]}"')


def _key(key: str, value: object, path: Path) -> Path:
    if isinstance(value, str):
        return path.parent / value
    raise PolicyError(f"recipe {path.name!r}: {key} must be a text", f'{key} = "owner.pem"')


def _whole(key: str, value: object, path: Path, least: int = 1) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise PolicyError(f"recipe {path.name!r}: {key} must be a whole number above {least - 1}", f"such as {key} = 10")


def _min_people(raw: Mapping[str, Any], path: Path) -> int | None:
    """Return the number of people that share a category read from the table; None when none is read."""
    key = "domains_min_people"
    from_data = _flag("domains_from_data", raw.get("domains_from_data", False), path)
    people = _whole(key, raw[key], path) if key in raw else MIN_PEOPLE
    return people if from_data else None


def _population(raw: Mapping[str, Any], path: Path) -> AgainstPopulation:
    """Return the recipe's entries on the population: a file in its folder or an address, a size, or a share."""
    where, file, share = f"recipe {path.name!r}", raw.get("population"), raw.get("sampling_fraction")
    if file is not None and not isinstance(file, str):
        raise PolicyError(f"{where}: population must be a text", 'population = "register.csv"')
    if share is not None and (isinstance(share, bool) or not isinstance(share, int | float)):
        raise PolicyError(f"{where}: sampling_fraction must be a number", "sampling_fraction = 0.01")
    whole = {key: _whole(key, raw[key], path) for key in ("population_size", "k_map") if key in raw}
    return AgainstPopulation.known(
        population=None if file is None else _in(path, file),
        sampling_fraction=None if share is None else float(share),
        **whole,
    )


def _flag(key: str, value: object, path: Path) -> bool:
    if not isinstance(value, bool):
        raise PolicyError(f"recipe {path.name!r}: {key} must be true or false", f"{key} = true")
    return value


def _spark(raw: object, path: Path) -> Mapping[str, Any]:
    if not isinstance(raw, dict) or not set(raw) <= {"master", "conf"} or not isinstance(raw.get("conf", {}), dict):
        raise PolicyError(f"recipe {path.name!r}: spark must be a table", 'spark = { master = "local[4]", conf = {} }')
    return {**raw, "conf": {key: str(value) for key, value in raw.get("conf", {}).items()}}


def _policy(raw: object, folder: Path, simulate: SimulatedSource | None) -> Policy:
    if isinstance(raw, str):
        return Policy.load(folder / raw)
    if isinstance(raw, dict):
        return Policy.from_dict(raw, folder=folder)
    return Policy() if simulate is None else simulate.policy()
