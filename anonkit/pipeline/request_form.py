# SPDX-License-Identifier: Apache-2.0
"""The canonical form of a request: what a release is made of besides its rows, the same bytes when it is repeated.

Two requests have one form when the files of their releases would differ by the draw alone. So comments, the order of a
policy's keys and the place of a role (file or option) leave no trace, and neither does what only says how the work is
done or where its result goes: engine, memory, progress, force, a dry run, a signature, the owner's report, budget and
ledger.

The request for a release, without its table: validated, as far as possible, before any data is read.

The keywords of `anonkit.release` and `anonkit.apply` that few calls need, by the value that each belongs to.

A keyword is declared here once, with its type; its default is that of the value's field, and its description is in the
docstring of the call. Editors and type checkers know all of them (PEP 692).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from math import isfinite
from pathlib import Path, PurePath
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from anonkit.bundle.release_place import FORMAT
from anonkit.checks.population_risk import AgainstPopulation
from anonkit.engines.engine_choice import EngineChoice, Local
from anonkit.engines.snapshots.addresses import ReadAs
from anonkit.errors import ChoiceError, ParameterError, PolicyError, did_you_mean, option
from anonkit.ledger.account import Account
from anonkit.parameters import check_integer
from anonkit.pipeline.release_space import Output
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import with_truth_values
from anonkit.protocols import Engine, Method, Progress, no_progress, sample_size
from anonkit.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class ReleaseRequest:
    """The request of a release, but for the table.

    The keywords of `anonkit.release`, the options of the command line, a recipe, `anonkit.apply` and `anonkit.compare`
    all become this value, so that an option is a field of one of its parts and nothing in between spells it.

    Raises
    ------
    ParameterError
        Domains are to be read from the table, and of fewer than two people.
    """

    method: Method
    """With its parameters."""
    policy: Policy = field(default_factory=Policy)
    """The owner's declarations: domains, and the roles of columns."""
    preset: str | None = None
    """Named set of choices that the method was made with, for the report."""
    domains_min_people: int | None = None
    """People that share a category that is read from the table; None: all domains are declared, and none is read."""
    engine: EngineChoice = field(default_factory=Local)
    """Engine that reads and counts the rows."""
    output: Output = field(default_factory=Output)
    """Place and form of the release."""
    account: Account = field(default_factory=Account)
    """Account that it is charged to."""
    seed: int | None = None
    """Reproducible randomness for tests; None: the secure generator."""
    utility: bool = True
    """True where models are trained on the release, and on its source for the owner, to measure its utility."""
    population: AgainstPopulation = field(default_factory=AgainstPopulation)
    """Knowledge of the population that the table was drawn from."""
    progress: Progress = no_progress
    """Called with the step and the share done."""

    def __post_init__(self) -> None:
        if self.domains_min_people is not None:
            # one would publish what one person has
            check_integer("domains_min_people", self.domains_min_people, 2, hint="10, unless there is a reason")
        if self.policy.aggregates and getattr(self.method, "aggregate", None) == ():
            # the tables that the policy lists, for a method that publishes tables and was given none
            object.__setattr__(self, "method", replace(self.method, aggregate=self.policy.aggregates))  # type: ignore[type-var]

    def declared(self, *, typed: bool = False) -> Policy:
        """Return the policy by which the source is read, and refuse what cannot be promised for any table.

        Where the promise counts every cell by itself (`Guarantee.cell_by_cell`), the policy states so: then no cell
        is read by the type of its column, and no column is judged by its cells. Rules on rows, and spikes, are left to
        methods that draw rows by them.

        Parameters
        ----------
        typed : bool
            Whether the source may have types of its own: then a column of which nothing is declared may be booleans,
            and the promise is refused, if it is not, when the types are known.

        Raises
        ------
        PolicyError, ParameterError
            The method cannot make its promise under this policy, or has a rule of its own (`check_rows`) against it.
        """
        if getattr(self.method, "needs_declared_target", False):
            self._refuse_undeclared_target()
        if hasattr(self.method, "check_rows"):
            self.method.check_rows()
        draws_by_rules = getattr(self.method, "keeps_rules", False)
        policy = self.policy if draws_by_rules else self.policy.without_rules()
        if self.domains_min_people is not None:  # the promise is known when the domains are
            return replace(policy, cell_by_cell=False)
        promised = self.method.guarantee
        try:
            if promised(policy).cell_by_cell:
                return replace(with_truth_values(policy), cell_by_cell=True)
        except PolicyError:
            counted = with_truth_values(policy)
            try:
                promised(with_truth_values(counted, counted.columns) if typed else counted)
            except PolicyError:
                promised(counted)  # what is wrong with the policy as it is
                raise
            return replace(counted, cell_by_cell=True)
        return replace(policy, cell_by_cell=False)

    def _refuse_undeclared_target(self) -> None:
        """Refuse to take a column for the target of a method under which its label leaves unchanged."""
        if self.policy.target is None and not self.policy.without_target:
            raise ChoiceError(
                f"method {self.method.name!r} releases the target as it is, and none is declared",
                f"{option('target', 'NAME')}, or {option('no_target', True)} where the method needs none",
            )

    def randomness(self) -> Randomness:
        """Return the source of all randomness of one release: new words at each call, unless a seed is given."""
        return Randomness.secure() if self.seed is None else Randomness.seeded(self.seed)


class BatchDeclarations(TypedDict, total=False):
    """Declarations on top of a policy, of any table."""

    release_as_is: Iterable[str]
    recipients: str | Sequence[str]


class RoleOptions(TypedDict, total=False):
    """Roles of columns, on top of a policy."""

    no_target: bool
    task: str | None
    insensitive: Iterable[str]


class PopulationOptions(TypedDict, total=False):
    """Knowledge of the population: see `AgainstPopulation`."""

    population: object
    population_size: int | None
    sampling_fraction: float | None
    k_map: int | None


class EngineOptions(TypedDict, total=False):
    """Settings of an engine that is named: see `engine_choice`."""

    spark_master: str | None
    spark_conf: Mapping[str, str] | None
    search_rows: int | None


class BatchOutputOptions(TypedDict, total=False):
    """The form and place of a release: see `Output`."""

    part_rows: int | None
    sign: str | Path | None
    emit: Iterable[str]
    cells: str


class OutputOptions(BatchOutputOptions, total=False):
    """The form and place of a release, and the owner's figures of its source."""

    owner_report: str | Path | None
    examples: int


class BatchLedgerOptions(TypedDict, total=False):
    """The ledger of a release: see `Account`."""

    dataset: str | None
    accept_joint_k: int | None
    new_ledger: bool
    only_new: bool
    released_before: str | Path | None


class LedgerOptions(BatchLedgerOptions, total=False):
    """The ledger of a release, and the budget that it is charged to."""

    budget: float | None
    budget_delta: float | None
    budget_neighbours: str | None
    budget_unit: str | None


class MethodParameters(TypedDict, total=False):
    """The parameters of all methods of anonkit; `anonkit methods NAME` lists those of a method.

    A method of another package is given as a value, or its parameters by the same keywords.
    """

    adjacency: str
    aggregate: Sequence[str]
    all_labels: bool
    allocation: str
    alpha: float | None
    as_: str
    bins: int | None
    boxes: bool
    branches: str
    center: bool
    choice: str
    confidence: int
    delta: float
    depth: int
    drop_freely: bool
    entropy_l: float | None
    epsilon: float | None
    features: str
    forest: str
    importance: str
    k: int
    l: float | None  # noqa: E741 - the field's own letter
    label: str
    ladder: str
    leaf: str
    loss: str
    max_rows: int
    max_suppression: float
    min_rows: int
    n_rows: int
    noise: str
    order: str
    p_keep: float | None
    p_truth: float | None
    points: int
    pruning: str
    rate: str
    recursive: str | None
    rows: str
    rows_per_unit: int
    sample: float | None
    score: str
    search: str
    shuffle_delta: float | None
    spikes: str
    steps: int
    stop: str
    t: float | None
    tables: str
    trees: int
    vote: str
    weights: str


class ReleaseOptions(
    BatchDeclarations,
    RoleOptions,
    PopulationOptions,
    EngineOptions,
    OutputOptions,
    LedgerOptions,
    ReadAs,
    MethodParameters,
    total=False,
):
    """The further keywords of `anonkit.release`."""

    domains_min_people: int
    keep: Iterable[str]


class BatchOptions(
    BatchDeclarations,
    EngineOptions,
    BatchOutputOptions,
    BatchLedgerOptions,
    PopulationOptions,
    ReadAs,
    total=False,
):
    """The further keywords of `anonkit.apply`."""

    encoding: str | None
    adopt: bool


def taken(options: dict[str, Any], group: type[Any]) -> dict[str, Any]:
    """Remove the keywords of a group from the options, and return them.

    Parameters
    ----------
    options : dict of str to any
        Those that were given; the group's are removed.
    group : TypedDict
    """
    return {name: options.pop(name) for name in group.__annotations__ if name in options}


def refuse_unknown(call: str, options: Iterable[str], known: Iterable[str], *, near: Iterable[str] = ()) -> None:
    """Refuse keywords that a call does not have.

    Parameters
    ----------
    call : str
        Its name.
    options : iterable of str
        Keywords that were given.
    known : iterable of str
        Those that it has.
    near : iterable of str
        Further ones of which the nearest is named.

    Raises
    ------
    ParameterError
    """
    known = tuple(known)
    for name in options:
        if name not in known:
            raise ParameterError(f"{call} has no option {name!r}", did_you_mean(name, (*known, *near)))


_FORM = 2
"""Raised when the same words come to mean another request."""
_IN_NO_FILE = ("bookkeeping", "publication", "joint_k")
"""Fields of a policy for the ledger, and for the owner's page; of `joint_k` and the recipients, what holds is taken."""


def request_form(request: ReleaseRequest, columns: pa.Schema, engine: Engine, n_rows: int) -> bytes | None:
    """Return the form of a request; None when a release of it is not known again.

    That is a seeded one, which is not for release; one with a population file; and one of a method of another package
    with parameters that have no form (anything but numbers, strings, dates, enumerations, arrays, and collections and
    dataclasses of them).

    Parameters
    ----------
    request : ReleaseRequest
    columns : pyarrow.Schema
        Of the source: columns that nobody declared get their roles by name, order and type.
    engine : Engine
        That reads it.
    n_rows : int
        Its rows.
    """
    population = request.population
    if request.seed is not None or population.file is not None:  # a file may have changed, and no hash of it is kept
        return None
    account = request.account
    joint_k = request.policy.joint_k if account.accept_joint_k is None else account.accept_joint_k
    recipients = request.policy.publication.recipients
    try:
        document = {
            "form": [_FORM, FORMAT],
            "method": [request.method.name, request.preset, _every_field(request.method)],
            "policy": _value(request.policy),
            "dataset": account.dataset,
            "joint_k": joint_k,
            **({"only_new": True} if account.only_new else {}),
            **({"recipients": list(recipients)} if recipients else {}),
            "domains_min_people": request.domains_min_people,
            "data": request.output.form,
            "utility": request.utility,
            **({"population": _value(population)} if population.is_given else {}),
            "sample": sample_size(engine, n_rows),
            "columns": [[field.name, _type_name(field.type)] for field in columns],
        }
    except TypeError:
        return None
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _type_name(kind: pa.DataType) -> str:
    """Return the name of a column's type; categories are strings, which is what some engines read them as."""
    return str(kind.value_type if isinstance(kind, pa.DictionaryType) else kind)


def _value(value: object) -> Any:
    """Return any value of a request as JSON in which no two kinds look alike.

    Raises
    ------
    TypeError
        It has no form.
    """
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, Enum):
        return _value(value.value)
    if isinstance(value, str | PurePath):
        return str(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, int | float | np.integer | np.floating):
        return {"number": _number(value)}
    return _collection(value)


def _collection(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        settings = {
            field.name: _value(given[field.name])
            for field in fields(value)
            if field.name not in _IN_NO_FILE and not _is_default(field, given[field.name])
        }
        return {"fields": [type(value).__name__, settings]}
    if isinstance(value, np.ndarray):
        return {"array": [str(value.dtype), _value(value.tolist())]}
    if isinstance(value, Mapping):
        entries = ([_value(key), _value(entry)] for key, entry in value.items())
        return {"mapping": sorted(entries, key=json.dumps)}
    if isinstance(value, Set):
        return {"set": sorted(map(_value, value), key=json.dumps)}
    if isinstance(value, Sequence):
        return [_value(entry) for entry in value]
    if hasattr(value, "isoformat"):
        return {"date": value.isoformat()}
    raise TypeError(type(value).__name__)


def _every_field(method: object) -> Any:
    """Return the parameters of a method, defaults too: a later version may have others."""
    if not is_dataclass(method) or isinstance(method, type):
        raise TypeError(type(method).__name__)
    return {field.name: _value(getattr(method, field.name)) for field in fields(method)}


def _is_default(field: Field[Any], value: object) -> bool:
    """Return True if a field is as if it were not there: it may be new, and the request older than the field."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is not MISSING and type(default) is type(value) and _value(default) == _value(value)


def _number(value: int | float | np.integer[Any] | np.floating[Any]) -> str:
    """Return a number in its one spelling, whatever type it came as: 1 and 1.0 ask for the same."""
    if isinstance(value, int | np.integer) or (isfinite(value) and value == int(value)):
        return str(int(value))
    return repr(float(value))
