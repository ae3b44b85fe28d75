# SPDX-License-Identifier: Apache-2.0
"""The risk of a k-anonymous release in a population: measured by its owner, counted once more, refused below K.

A file of the population: its people read as a policy declares their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.header_lines import arrow_table
from anonkit.bundle.private_files import PrivateFolder
from anonkit.checks.disclosure import Disclosure
from anonkit.checks.population_counts import PopulationCells, figures_of, needed_columns, people_of_classes
from anonkit.checks.population_risk import BY_CONSTRUCTION, SIMPLE_SAMPLE, WHOLE_POPULATION, AgainstPopulation
from anonkit.checks.sameness import same_figure
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.declared_tables import settled
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import Snapshot
from anonkit.engines.snapshots.whole_tables import whole_table
from anonkit.errors import GuaranteeError, ParameterError, PolicyError, SourceError, did_you_mean, option
from anonkit.estimators.reidentification_risk import individual_risk, matched_classes
from anonkit.k_anonymity.recoded_rows import as_published, has_classes, released_names
from anonkit.k_anonymity.stored_recoding import Recoded
from anonkit.pipeline.declared_source import DeclaredSource
from anonkit.policy.declaration import Policy
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import COUNT, Engine, Source


def settled_population(
    file: object, policy: Policy, names: Sequence[str], engine: Engine, private: PrivateFolder
) -> Source:
    """Return some columns of a population file, their cells settled as the policy declares them.

    Parameters
    ----------
    file : path, address or table
        A row is a person.
    names : sequence of str
        Quasi-identifiers; a place is made of its coordinates.

    Raises
    ------
    PolicyError
        It lacks a column.
    SourceError
        It cannot be read.
    """
    own = replace(policy, columns={name: policy.column(name) for name in names}, candidates=())
    scanned = Snapshot(source=source_at(file), private=private).scan(engine, own)
    places = [policy.column(name).place for name in names]
    needed = [
        each for name, place in zip(names, places, strict=True) for each in ([name] if place is None else place.columns)
    ]
    for name in needed:
        if name not in scanned.schema.names:
            raise PolicyError(
                f"column {name!r} is not in the population file", did_you_mean(name, scanned.schema.names)
            )
    return settled(scanned, own, engine)


def refuse_other_kind(name: str) -> SourceError:
    """Return the refusal of a column that holds numbers in one table and strings in the other."""
    return SourceError(
        f"column {name!r} is one of numbers or dates in one file, and of texts in the other",
        "declare its type in the policy",
    )


def people_of(
    file: object, policy: Policy, types: Mapping[str, bool], engine: Engine, private: PrivateFolder
) -> PopulationCells:
    """Return the people of a population file by their cells.

    Parameters
    ----------
    types : mapping
        By column that is needed: whether it holds numbers or dates in the table that is released.

    Raises
    ------
    PolicyError, SourceError
        As `settled_population`; or a column is one of numbers in one of them and of strings in the other.
    """
    table = settled_population(file, policy, list(types), engine, private)
    for name, ordered in types.items():
        kind = table.schema.field(name).type
        if has_classes(kind) is ordered and not pa.types.is_null(kind):
            raise refuse_other_kind(name)
    (counted,) = engine.count_sets(table, [tuple(types)])
    people = np.asarray(counted.column(COUNT).to_numpy(), np.int64)
    return PopulationCells(cells=counted.select(list(types)), people=people)


@dataclass(frozen=True, kw_only=True)
class PopulationFile:
    """A file of the population that a release, or a table, is validated against."""

    file: object
    """A path, an address or a table."""

    def as_declared(self, params: Mapping[str, Any]) -> PopulationCells:
        """Return its people as the params of a release declare its columns.

        Raises
        ------
        UncheckedError
            Small groups were merged: see `anonkit.checks.population_counts.needed_columns`.
        PolicyError, SourceError, ReleaseFormatError
            It lacks a column or cannot be read; or the params are damaged.
        """
        kinds = {column["name"]: str(column["type"]) for column in params["columns"]}
        types = {name: _is_ordered_name(kinds[name]) for name in needed_columns(params["recoding"])}
        policy = Recoded.from_params(params).policy()
        with closing(PrivateFolder()) as private, Local().opened() as engine:
            return people_of(self.file, policy, types, engine, private)

    def as_it_is(self) -> str | Path | pa.Table:
        """Return the path or table to open like the plain table that is validated."""
        if isinstance(self.file, str):
            return whole_table(self.file)
        return self.file if isinstance(self.file, Path) else arrow_table(self.file)


def _is_ordered_name(kind: str) -> bool:
    """Return from the name of an Arrow type whether its values are numbers, dates or times."""
    return kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal", "date", "time"))


def refuse_population(against: AgainstPopulation, promise: Guarantee, n_rows: int) -> None:
    """Refuse a stated population where no class of the release can be looked for in it.

    Raises
    ------
    ParameterError
        The promise is not about classes alone, or about all rows of a person; or the stated population is smaller
        than the table, or its size is given where people are counted.
    """
    if not against.is_given:
        return
    name = {"file": "population", "size": "population_size", "fraction": "sampling_fraction"}[against.basis]
    classes = promise.counted_classes
    if classes is None or promise.loss() is not None:
        raise ParameterError(
            "risk against a population is that of the classes of a k-anonymous release, and this promise has none",
            f"leave {option(name)} out, or take a k-anonymous method such as rfka or mondrian",
        )
    if classes.rows_known is not None:
        if classes.households:
            raise ParameterError(
                "households are counted, and a file or a size of the population is of people",
                f"leave {option(name)} out",
            )
        raise ParameterError(
            "people of these joined tables have several rows, which a population file of a row a person does not have",
            f"leave {option(name)} out",
        )
    if classes.unit is not None and against.size is not None:
        raise ParameterError(
            "people are counted, and the share of the population that they are does not follow from rows",
            f"{option('sampling_fraction', 0.01)}: people of the table over people of the population",
        )
    against.fraction_of(n_rows if against.size is not None else 0, None)


@dataclass(frozen=True, kw_only=True)
class ReleasedClasses:
    """A draft's rows as they were counted."""

    data: Path
    """The private file of the draft."""
    rows: Source
    files: Engine
    """Reads it."""
    counted: Disclosure
    promise: KAnonymity
    shown: Sequence[str]
    """Released quasi-identifiers, in the order of the promise."""
    recoding: Mapping[str, Any]
    """Recoding in its form in `params.json`."""


def measured_population(
    against: AgainstPopulation,
    released: ReleasedClasses,
    n_read: int,
    source: DeclaredSource,
    private: PrivateFolder,
) -> dict[str, Any] | None:
    """Return the `disclosure_risk.population` block of a release; None where nothing is known of the population.

    Parameters
    ----------
    n_read : int
        Rows of the source.
    source : DeclaredSource
        The population is read as it was.

    Raises
    ------
    GuaranteeError
        A released class has fewer people in the file than `k_map`, or two counts of the file do not agree.
    PolicyError, SourceError
        The file lacks a column or cannot be read.
    """
    if not against.is_given:
        return None
    if against.file is None:
        fraction = against.fraction_of(n_read, None)
        return _estimated(released.counted.sizes, float(fraction or 0.0), against.size)
    if "centroids" in released.recoding:
        raise ParameterError(
            "rows show the mean of their group, and no file tells which group a person of a population would be in",
            f"leave {option('population')} out; {option('sampling_fraction', 0.01)} estimates the risk from the groups",
        )
    if released.recoding.get("merged"):
        raise ParameterError(
            "small groups of this batch show coarser labels, and no file tells which people of a population would",
            f"leave {option('population')} out; {option('sampling_fraction', 0.01)} estimates the risk from the groups",
        )
    schema = source.table.schema
    types = {name: not has_classes(schema.field(name).type) for name in released_names(released.recoding)}
    population = people_of(against.file, source.policy, types, source.engine, private)
    sample, people = _people_of_classes(released, population)
    figures = matched_classes(sample, people)
    required = {} if against.k_map is None else {"k_map_required": against.k_map}
    block = {
        "basis": "file",
        "assumption": WHOLE_POPULATION,
        "estimates": {"rows": population.rows, **figures, **required},
    }
    rows, again = people_of_classes(released.data, released.shown, released.recoding, population)
    counts = released.counted.counts
    recount = figures_of(population.rows, rows if counts is None else counts.classes, again, against.k_map)
    if not same_figure(block, recount):
        raise GuaranteeError(
            "two counts of the population file do not agree", "nothing was written; this is a defect of the method"
        )
    _refuse_below(people, against.k_map)
    return block


def _refuse_below(people: NDArray[np.int64], k_map: int | None) -> None:
    """Refuse a release of which a class has too few people in the population.

    Raises
    ------
    GuaranteeError
        It has.
    """
    below = 0 if k_map is None else int(np.count_nonzero(people < k_map))
    if below:
        none = int(np.count_nonzero(people == 0))
        lacking = f", {none} of them nobody" if none else ""
        raise GuaranteeError(
            f"{below} of {people.size} released groups have fewer than {k_map} people in the population file{lacking}",
            f"nothing was written; a larger {option('k')} makes larger groups"
            + ("; a file that lacks people of the table is not the whole population" if none else ""),
        )


def _people_of_classes(
    released: ReleasedClasses, population: PopulationCells
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows, or people, of each class of the release, and people of the population who would show it."""
    names, unit = list(released.shown), released.promise.unit
    recoding = as_published(released.recoding)
    cells = population.cells.combine_chunks()
    batch = pa.RecordBatch.from_arrays(
        [cells.column(name).combine_chunks() for name in cells.column_names], names=cells.column_names
    )
    labels, unknown = recoding.apply(batch)
    unchanged = {column["name"] for column in released.recoding.get("columns", ()) if column["kind"] == "kept"}
    found: dict[tuple[Any, ...], int] = {}
    known = pa.array(~unknown)
    columns = [_cells(labels[name].filter(known), is_unchanged=name in unchanged) for name in names]
    for key, count in zip(_rows(columns, int(known.true_count)), population.people[~unknown].tolist(), strict=True):
        found[key] = found.get(key, 0) + count
    if unit is None:
        classes = released.files.count_sets(released.rows, [tuple(names)])[0]
    else:
        classes = released.files.count_people(released.rows, names, unit)
    sample = np.asarray(classes.column(COUNT).to_numpy(), np.int64)
    keys = _rows([_cells(classes.column(name), is_unchanged=name in unchanged) for name in names], classes.num_rows)
    people = np.array([found.get(key, 0) for key in keys], np.int64)
    return sample[sample > 0], people[sample > 0]


def _cells(column: pa.Array | pa.ChunkedArray, *, is_unchanged: bool) -> list[Any]:
    """Return the cells of a column, those of two tables alike where they are equal."""
    cells = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if is_unchanged and pa.types.is_temporal(cells.type) and not pa.types.is_date(cells.type):
        unit = pa.time64("us") if pa.types.is_time(cells.type) else pa.timestamp("us", cells.type.tz)
        cells = cells.cast(unit, safe=False)
    return list(cells.to_pylist())


def _rows(columns: Sequence[list[Any]], n_rows: int) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * n_rows


def _estimated(sizes: Sequence[tuple[int, int]], fraction: float, size: int | None) -> dict[str, Any]:
    """Return the block of estimates for classes of these sizes; see `individual_risk`."""
    rows = np.array([each for each, _ in sizes], np.int64)
    classes = np.array([number for _, number in sizes], np.int64)
    risks = individual_risk(rows, rows / fraction)
    records, expected = int(rows @ classes), float((rows * classes) @ risks)
    return {
        "basis": "fraction" if size is None else "size",
        "assumption": SIMPLE_SAMPLE,
        "estimates": {
            **({} if size is None else {"population_size": size}),
            "sampling_fraction": fraction,
            "individual": {
                "max": float(risks.max(initial=0.0)),
                "mean": expected / records if records else 0.0,
                "sum": expected,
            },
            "by_size": [
                {"size": size_, "classes": number, "risk": risk}
                for (size_, number), risk in zip(sizes, risks.tolist(), strict=True)
            ],
            "uniques": BY_CONSTRUCTION,
        },
    }
