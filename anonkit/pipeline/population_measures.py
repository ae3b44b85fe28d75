# SPDX-License-Identifier: Apache-2.0
"""The risk of a k-anonymous release in a population: measured by its owner, counted once more, refused below K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.bundle.private_files import PrivateFolder
from anonkit.checks.against_population import SIMPLE_SAMPLE, WHOLE_POPULATION, AgainstPopulation
from anonkit.checks.disclosure import Disclosure
from anonkit.checks.population_counts import PopulationCells, figures_of, people_of_classes
from anonkit.checks.sameness import same_figure
from anonkit.checks.sample_estimates import BY_CONSTRUCTION
from anonkit.errors import GuaranteeError, ParameterError, option
from anonkit.estimators.population.individual_risk import individual_risk
from anonkit.estimators.population.matched_classes import matched_classes
from anonkit.k_anonymity.recoded_sample import as_published, has_classes, released_names
from anonkit.pipeline.declared_source import DeclaredSource
from anonkit.pipeline.population_file import people_of
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Guarantee
from anonkit.protocols import COUNT, Engine, Source


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
    asked = {} if against.k_map is None else {"k_map_required": against.k_map}
    block = {
        "basis": "file",
        "assumption": WHOLE_POPULATION,
        "estimates": {"rows": population.rows, **figures, **asked},
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
    kept = {column["name"] for column in released.recoding.get("columns", ()) if column["kind"] == "kept"}
    found: dict[tuple[Any, ...], int] = {}
    known = pa.array(~unknown)
    columns = [_cells(labels[name].filter(known), is_kept=name in kept) for name in names]
    for key, count in zip(_rows(columns, int(known.true_count)), population.people[~unknown].tolist(), strict=True):
        found[key] = found.get(key, 0) + count
    if unit is None:
        classes = released.files.count_sets(released.rows, [tuple(names)])[0]
    else:
        classes = released.files.count_people(released.rows, names, unit)
    sample = np.asarray(classes.column(COUNT).to_numpy(), np.int64)
    keys = _rows([_cells(classes.column(name), is_kept=name in kept) for name in names], classes.num_rows)
    people = np.array([found.get(key, 0) for key in keys], np.int64)
    return sample[sample > 0], people[sample > 0]


def _cells(column: pa.Array | pa.ChunkedArray, *, is_kept: bool) -> list[Any]:
    """Return the cells of a column, those of two tables alike where they are equal."""
    cells = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if is_kept and pa.types.is_temporal(cells.type) and not pa.types.is_date(cells.type):
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
