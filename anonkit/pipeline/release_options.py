# SPDX-License-Identifier: Apache-2.0
"""The keywords of `anonkit.release` and `anonkit.apply` that few calls need, by the value that each belongs to.

A keyword is declared here once, with its type; its default is that of the value's field, and its description is in the
docstring of the call. Editors and type checkers know all of them (PEP 692).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from anonkit.engines.snapshots.addresses import ReadAs
from anonkit.errors import ParameterError, did_you_mean


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
