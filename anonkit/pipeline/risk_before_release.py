# SPDX-License-Identifier: Apache-2.0
"""Risk of a table before any release: what makes people unique, in it and in the population that it was drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.private_files import PrivateFolder
from anonkit.checks.population_risk import OF_WEIGHTS, SIMPLE_SAMPLE, AgainstPopulation
from anonkit.documents import ReportPart
from anonkit.engines.engine_choice import EngineChoice, Local
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.errors import PolicyError, SourceError
from anonkit.estimators.minimal_uniques import (
    LARGEST_SET,
    MinimalUniques,
    affordable_size,
    class_sizes,
    dis_score,
    dis_suda_scores,
    distinct_rows,
    minimal_sample_uniques,
)
from anonkit.estimators.reidentification_risk import (
    SampleClasses,
    all_pairs,
    by_rule,
    household_risk,
    individual_risk,
    main_effects,
    matched_classes,
    pitman,
    sample_unique_risk,
    slide_negative_binomial,
    zayatz,
)
from anonkit.k_anonymity.recoded_rows import count_usable_rows
from anonkit.methods import make_method
from anonkit.pipeline.coarsening_effects import Coarsening, CodedQuasiIdentifiers, coarsenings, levels_of
from anonkit.pipeline.declared_source import DeclaredSource, declared_source
from anonkit.pipeline.population_measures import refuse_other_kind, settled_population
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Progress, Source, no_progress

RISK_STEPS = ("reading", "counting classes", "looking at sets of columns", "trying coarser columns")
"""Names of the steps, in order, as progress shows them."""


@dataclass(frozen=True, kw_only=True)
class ClassCounts:
    """The classes of a table by all its quasi-identifiers.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner.
    """

    rows: int
    counted: str
    """Unit of the other counts: rows, or people."""
    people: int
    """Number of them."""
    classes: int
    k: int
    """Size of the smallest class."""
    uniques: int
    """Classes of one row, or person."""


@dataclass(frozen=True, kw_only=True)
class SourceRisk(ReportPart, keys=("sample", "population", "suda", "sets", "coarsenings")):
    """The risk of a table before any release.

    Privacy
    -------
    Counted on the source and covered by no promise: for the owner. It names columns and holds no cell.
    """

    quasi_identifiers: tuple[str, ...]
    rows: int
    counted: str
    """Unit of the counts: rows, or people."""
    people: int
    """Number of them."""
    classes: int
    """Number of classes: as many people are found by an attacker who knows them all."""
    sample: Mapping[str, Any]
    """`k`, and `uniques`: classes of one row, or person."""
    population: Mapping[str, Any]
    """`basis`, `assumption`, `estimates`; with a file also `file`."""
    suda: Mapping[str, Any]
    """`minimal_uniques`, `dis`, `max_score`, `columns`."""
    sets: Sequence[Mapping[str, Any]]
    """`columns`, `unique_rows`, `distinction`, `separation` of sets of up to three columns."""
    coarsenings: Sequence[Coarsening]
    """The best one of each column, the cheapest first."""
    notes: Sequence[str]
    """Notes for the owner on roles that nobody declared."""


def risk(
    source: object,
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    population: object = None,
    population_size: int | None = None,
    sampling_fraction: float | None = None,
    engine: EngineChoice | None = None,
    progress: Progress = no_progress,
    seen: Callable[[ClassCounts], None] = lambda counts: None,
    **how: Unpack[ReadAs],
) -> SourceRisk:
    """Look at the risk of a table before any release: what makes people unique, in it and in a population.

    Parameters
    ----------
    source : path or table
        As for `anonkit.release`.
    policy : Policy, mapping or path, optional
        Roles of the columns. Those without a role are treated as a release would treat them.
    population : path or table, optional
        The population, a row a person, with the same quasi-identifiers under the same names. At most one of this and
        the next two is given; without any nothing is estimated.
    population_size : int, optional
        People of the population, at least as many as the table has.
    sampling_fraction : float, optional
        Share of the population that the table is, in (0, 1].
    engine : optional
        What reads the rows; `Local()` by default. Their codes are counted on this machine.
    progress : callable
        Called with the step and the share done.
    seen : callable
        Called with the classes by all quasi-identifiers once they are counted, long before sets of columns are.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter` and
        `skip_rows`, as for `anonkit.release`; of the source alone.

    Returns
    -------
    SourceRisk

    Raises
    ------
    ParameterError
        More than one of them is given, one is out of its range, or the stated population is smaller than the table.
    PolicyError
        No column is a quasi-identifier, or the population has not all of them.
    SourceError
        A table cannot be read, or has no rows.

    Privacy
    -------
    The result is computed from the source: for the owner, never to be published. It holds no cell. Estimates assume a
    simple random sample, and none is a promise.
    """
    against = AgainstPopulation.known(
        population=population, population_size=population_size, sampling_fraction=sampling_fraction
    )
    request = ReleaseRequest(
        method=make_method("mondrian", {}, None), policy=Policy() if policy is None else Policy.given(policy)
    )
    with closing(PrivateFolder()) as private, (engine or Local()).opened() as opened:
        progress("reading", 0.0)
        table = declared_source(source_at(source, **how), request, request.declared(), opened, private)
        return _risk_of(table, against, partial(_population_rows, declared=table, private=private), progress, seen)


def _risk_of(
    table: DeclaredSource,
    against: AgainstPopulation,
    read: Any,
    progress: Progress,
    seen: Callable[[ClassCounts], None],
) -> SourceRisk:
    names, unit = table.policy.quasi_identifiers, None if table.policy.households else table.policy.unit
    if not names:
        raise PolicyError("no column is a quasi-identifier: nothing is known to an attacker", "correct the roles")
    rows = table.table.n_rows
    if not rows:
        raise SourceError("the table has no rows")
    encoded = table.engine.encode(table.table, names)
    codes = [column.codes for column in encoded]
    people = None if unit is None else table.engine.encode(table.table, [unit])[0].codes
    coded = _coded_rows(codes, people)
    n_people = rows if people is None else np.unique(people).size
    progress("counting classes", 0.0)
    groups, sizes = class_sizes(coded.columns, coded.rows, coded.people)
    uniques = int(np.count_nonzero(sizes == 1))
    counts = ClassCounts(
        rows=rows,
        counted="rows" if people is None else "people",
        people=n_people,
        classes=int(sizes.size),
        k=int(sizes.min()),
        uniques=uniques,
    )
    seen(counts)
    beside = None if against.file is None else read(against.file, encoded)
    fraction = against.fraction_of(n_people, None if beside is None else beside.rows)
    weighed = _by_weights(table, codes, sizes) if people is None and not against.is_given else None
    largest = affordable_size(len(names), coded.rows.size)
    found = minimal_sample_uniques(
        coded.columns,
        coded.rows,
        coded.people,
        largest=largest,
        progress=lambda share: progress("looking at sets of columns", share),
    )
    progress("trying coarser columns", 0.0)
    levels = [levels_of(column, table.policy.column(column.name)) for column in encoded]
    return SourceRisk(
        quasi_identifiers=tuple(names),
        rows=rows,
        counted=counts.counted,
        people=n_people,
        classes=counts.classes,
        sample={"k": counts.k, "uniques": uniques},
        population={
            "basis": against.basis,
            "assumption": None if fraction is None else SIMPLE_SAMPLE,
            **({} if beside is None else {"file": beside.figures(sizes, groups, coded)}),
            **_estimates(sizes, fraction, None if people is not None else (codes, coded, groups)),
            **({} if weighed is None else weighed[0]),
            **_of_households(table, codes, sizes, fraction, weighed),
        },
        suda=_suda(found, names, uniques, int(np.count_nonzero(sizes == 2)), fraction, largest),
        sets=[
            {
                "columns": [names[at] for at in each.columns],
                "unique_rows": each.unique_rows,
                "distinction": each.distinction,
                "separation": each.separation,
            }
            for each in sorted(found.sets, key=lambda each: (len(each.columns), -each.unique_rows))
        ],
        coarsenings=coarsenings(coded, names, levels, uniques),
        notes=[*table.notes, *_narrowed(len(names), largest)],
    )


def _narrowed(columns: int, largest: int) -> list[str]:
    """Return a note on sets of columns that were too many to be looked at."""
    if largest >= min(LARGEST_SET, columns):
        return []
    words = "single columns" if largest == 1 else f"sets of at most {largest} columns"
    return [f"{columns} columns have too many sets of {largest + 1}: {words} were looked at"]


def _coded_rows(codes: Sequence[NDArray[np.int32]], people: NDArray[np.int32] | None) -> CodedQuasiIdentifiers:
    """Return rows that are equal, or equal rows of one person, once."""
    if people is None:
        columns, rows = distinct_rows(codes)
        return CodedQuasiIdentifiers(columns=columns, rows=rows, people=None)
    (*columns, whose), rows = distinct_rows([*codes, people])
    return CodedQuasiIdentifiers(columns=columns, rows=np.ones_like(rows), people=whose)


# --- estimates -------------------------------------------------------------------------------------------------------


def _estimates(
    sizes: NDArray[np.int64],
    fraction: float | None,
    of_rows: tuple[Sequence[NDArray[np.int32]], CodedQuasiIdentifiers, NDArray[np.int64]] | None,
) -> dict[str, Any]:
    """Return the estimates under the assumption of a simple random sample; nulls where no fraction is known.

    Parameters
    ----------
    of_rows : tuple or None
        Codes of all rows, the distinct ones, and the class of each of these; None where people are counted.
    """
    if fraction is None:
        models = {"pitman": None, "zayatz": None, "snb": None, "rule": None, "tau": None}
        return {"estimates": models, "individual": None, "household": None}
    values, counts = np.unique(sizes, return_counts=True)
    sample = SampleClasses.of(zip(values.tolist(), counts.tolist(), strict=True), fraction)
    each = individual_risk(values, values / fraction)
    return {
        "estimates": {
            "pitman": pitman(sample),
            "zayatz": zayatz(sample),
            "snb": slide_negative_binomial(sample),
            "rule": by_rule(sample),
            "tau": None if of_rows is None else _tau(*of_rows, sizes, fraction),
        },
        "individual": {"sum": float((values * counts) @ each), "max": float(each.max())},
        "household": None,
    }


def _by_weights(
    table: DeclaredSource,
    codes: Sequence[NDArray[np.int32]],
    sizes: NDArray[np.int64],
) -> tuple[dict[str, Any], NDArray[np.float64]] | None:
    """Return the risk of single people by the weights of the sample, and that of each class.

    None without weights, or where they are relative.
    """
    policy, engine = table.policy, table.engine
    if policy.weight is None:
        return None
    count_usable_rows(table.table, policy, engine)  # refuses what is no weight
    (encoded,) = engine.encode(table.table, [policy.weight.name])
    cells = pa.array(list(encoded.values)).cast(pa.float64(), safe=False).fill_null(np.nan)
    weights = cells.to_numpy(zero_copy_only=False)[encoded.codes]
    is_known = np.isfinite(weights)
    number, _ = class_sizes([*codes], np.ones(weights.size, np.int64))  # numbered as those of the distinct rows
    weight_sums = np.bincount(number[is_known], weights=weights[is_known], minlength=sizes.size)
    if math.fsum(weight_sums.tolist()) < int(sizes.sum()):
        return None
    each = individual_risk(sizes, np.maximum(weight_sums, sizes))
    return {
        "basis": "weights",
        "assumption": OF_WEIGHTS,
        "individual": {"sum": float(sizes @ each), "max": float(each.max())},
    }, each


def _of_households(
    table: DeclaredSource,
    codes: Sequence[NDArray[np.int32]],
    sizes: NDArray[np.int64],
    fraction: float | None,
    weighed: tuple[dict[str, Any], NDArray[np.float64]] | None,
) -> dict[str, Any]:
    """Return the risk that anybody of a household is found, over people; nothing where nobody says whose they are."""
    policy = table.policy
    if not policy.households or policy.unit is None or (fraction is None and weighed is None):
        return {}
    each = weighed[1] if weighed is not None else individual_risk(sizes, sizes / (fraction or 1.0))
    (household,) = table.engine.encode(table.table, [policy.unit])
    number, _ = class_sizes([*codes], np.ones(household.codes.size, np.int64))
    found = household_risk(each[number], household.codes.astype(np.int64))
    return {"household": {"sum": float(found.sum()), "max": float(found.max())}}


def _tau(
    codes: Sequence[NDArray[np.int32]],
    coded: CodedQuasiIdentifiers,
    groups: NDArray[np.int64],
    sizes: NDArray[np.int64],
    fraction: float,
) -> list[dict[str, Any]]:
    """Return tau 1 and tau 2 by both models; nulls where the full table of one is too large to be fitted."""
    alone = sizes[groups] == 1
    at = [column[alone] for column in coded.columns]
    found = []
    for name, model in (("main effects", main_effects), ("all pairs", all_pairs)):
        expected = model([column.astype(np.int64) for column in codes], at)
        tau1, tau2 = (None, None) if expected is None else sample_unique_risk(expected, fraction)
        found.append({"model": name, "tau1": tau1, "tau2": tau2})
    return found


def _suda(
    found: MinimalUniques, names: Sequence[str], uniques: int, pairs: int, fraction: float | None, largest: int
) -> dict[str, Any]:
    dis = None if fraction is None else dis_score(uniques, pairs, fraction)
    scores = None if dis is None else dis_suda_scores(found.scores, dis, len(names))
    return {
        "minimal_uniques": [
            {"size": size, "count": found.of_size(size)} for size in range(1, min(largest, len(names)) + 1)
        ],
        "dis": dis,
        "max_score": None if scores is None else float(scores.max(initial=0.0)),
        "columns": [
            {"column": name, "share": float(share)} for name, share in zip(names, found.column_shares, strict=True)
        ],
    }


# --- a file of the population ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class _PopulationRows:
    """The rows of a population file whose values all occur in the table, as the table's codes."""

    rows: int
    """Of the whole file."""
    uniques: int
    """Rows of the whole file that are alone in their class."""
    columns: Sequence[NDArray[np.int32]]

    def figures(
        self, sizes: NDArray[np.int64], groups: NDArray[np.int64], coded: CodedQuasiIdentifiers
    ) -> dict[str, Any]:
        """Return the match of the table's classes with those of the file.

        Parameters
        ----------
        sizes, groups
            Sizes of the table's classes, and the class of each of its distinct rows.
        """
        example = np.zeros(sizes.size, np.int64)
        example[groups] = np.arange(groups.size)
        n_classes = sizes.size
        both = [
            np.concatenate([column[example], theirs])
            for column, theirs in zip(coded.columns, self.columns, strict=True)
        ]
        joined, counted = class_sizes(
            both, np.append(np.zeros(n_classes, np.int64), np.ones(both[0].size - n_classes, np.int64))
        )
        people = counted[joined[:n_classes]]
        return {"rows": self.rows, "uniques": self.uniques, **matched_classes(sizes, people)}


def _population_rows(
    file: object, encoded: Sequence[Any], *, declared: DeclaredSource, private: PrivateFolder
) -> _PopulationRows:
    """Read the quasi-identifiers of a population file, its cells settled as those of the table."""
    policy, engine = declared.policy, declared.engine
    names = [column.name for column in encoded]
    table = settled_population(file, policy, names, engine, private)
    theirs = engine.encode(table, names)
    codes = [_as_codes_of(column, other) for column, other in zip(encoded, theirs, strict=True)]
    inside = np.logical_and.reduce([column >= 0 for column in codes])
    return _PopulationRows(
        rows=table.n_rows,
        uniques=_alone(engine, table, names),
        columns=[column[inside] for column in codes],
    )


def _alone(engine: Engine, table: Source, names: Sequence[str]) -> int:
    return dict(engine.class_sizes(table, names, 2).histogram).get(1, 0)


def _as_codes_of(column: Any, other: Any) -> NDArray[np.int32]:
    """Return the values of one column as codes of another, -1 for a value that it does not have.

    Raises
    ------
    SourceError
        One holds numbers and the other strings: no value would be found.
    """
    if column.ordered != other.ordered and {len(column.values), len(other.values)} - {0}:
        raise refuse_other_kind(column.name)
    code = {value: at for at, value in enumerate(column.values)}
    places = np.array([code.get(value, -1) for value in other.values], np.int32)
    return places[other.codes] if places.size else np.zeros(0, np.int32)
