# SPDX-License-Identifier: Apache-2.0
"""Validation of what a release states of its risk in a population, and the same of any table.

Weights of a sample in a k-anonymous release: one mean a class, or multiples of a public step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.checks.disclosure import Disclosure
from anonkit.checks.people import Counts
from anonkit.checks.population_counts import (
    block_checks,
    figures_of,
    k_map_check,
    people_of_classes,
    people_of_rows,
    same_file,
    wrong_block,
)
from anonkit.checks.population_risk import (
    BY_CONSTRUCTION,
    AgainstPopulation,
    estimates_by_weights,
    estimates_of,
    people_by_weights,
)
from anonkit.checks.requirements import Requirements
from anonkit.checks.sameness import counted, differing, named, none_of, same, same_figure
from anonkit.checks.table_scans import Lines, combined
from anonkit.errors import ParameterError, option
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

CHECK = "weights"
_DIGITS = 3
_ROUNDING = 1e-9


def weights_of_classes(
    data: Path, names: Sequence[str], weight: str
) -> tuple[Counts, NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of every class, and the smallest and the largest weight in it; NaN where one is missing.

    Parameters
    ----------
    names : sequence of str
        Released quasi-identifiers.
    """
    both = [*names, *([] if weight in names else [weight])]
    with combined(data, both) as lines:
        found = lines.connection.execute(_query(lines, names, weight)).fetchnumpy()
    rows = np.asarray(found["n"], np.int64)
    low, high = (np.ma.filled(np.ma.asarray(found[end], np.float64), np.nan) for end in ("low", "high"))
    return rows, low, high


def _query(lines: Lines, names: Sequence[str], weight: str) -> str:
    keys = "".join(f"{lines.column(name)} AS q{at}, " for at, name in enumerate(names))
    own = lines.column(weight)
    whole = f"count({own}) = count(*)"
    return (
        f"SELECT n, low, high FROM (SELECT {keys}{lines.rows()} AS n, "
        f"CASE WHEN {whole} THEN min({own}::DOUBLE) END AS low, CASE WHEN {whole} THEN max({own}::DOUBLE) END AS high "
        f"FROM {lines.source}{' GROUP BY ALL' if names else ''}) WHERE n > 0"
    )


def weight_checks(
    data: Path, schema: pa.Schema, promise: KAnonymity, params: Mapping[str, Any], report: Mapping[str, Any]
) -> Iterator[Check]:
    """Check the statements of a release on the weights of a sample; nothing where no file speaks of any.

    Promise, params and roles name one column; its cells are as stated, in every class; and the sum that
    the report states is theirs.

    Parameters
    ----------
    data : path
        The data with labels; `schema` is its own.
    """
    roles = {name: entry["role"] for name, entry in named(params["columns"])}
    of_role = [name for name, role in roles.items() if role == "weight"]
    stated, block = params.get("weight"), report.get("weights")
    if promise.weight is None and stated is None and block is None and not of_role:
        return
    if promise.weight is None or not isinstance(stated, Mapping):
        yield none_of(CHECK, 1)
        return
    column, shows = promise.weight
    wrong = differing({key: stated[key] for key in ("column", "shows")}, {"column": column, "shows": shows})
    wrong += of_role != ([column] if shows == "mean" else [])
    wrong += shows == "rounded" and roles.get(column) != "quasi_identifier"
    wrong += set(stated) != {"column", "shows", "digits" if shows == "mean" else "step"}
    if column not in schema.names or wrong:  # one rounded weight for all rows is no column of the release
        wrong += shows == "mean" or block is not None
        yield none_of(CHECK, int(wrong))
        return
    kind = schema.field(column).type
    wrong += not (pa.types.is_floating(kind) or pa.types.is_integer(kind))
    names = [name for name in promise.quasi_identifiers if name in schema.names]
    rows, low, high = weights_of_classes(data, names, column)
    wrong += int(np.count_nonzero(~(np.isfinite(low) & (low == high) & (low > 0))))
    if shows == "mean":
        wrong += not same(stated["digits"], _DIGITS)
        wrong += sum(float(f"{each:.{_DIGITS}g}") != each for each in high[np.isfinite(high)].tolist())
    else:
        wrong += _off_grid(high[np.isfinite(high)], stated["step"])
    yield none_of(CHECK, int(wrong))
    _, total = people_by_weights(rows, low)
    yield none_of("weights_sum", int(not same_figure(block, {"column": column, "sum": total})))


def _off_grid(weights: NDArray[np.float64], step: object) -> int:
    """Count the weights that are no multiple of a step."""
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < math.inf:
        return 1
    counts = weights / step
    return int(np.count_nonzero(~((counts > 1 / 2) & (np.abs(counts - np.rint(counts)) <= _ROUNDING * counts))))


UNEVALUATED = (
    "The k-map of this release was measured by its owner and is not evaluated here: anyone who has the population "
    "file can count it anew."
)
ANOTHER_FILE = "The population file has another number of rows than the owner's: his figures are not compared with it."


@dataclass(frozen=True, kw_only=True)
class PopulationFindings:
    """The risk in a population."""

    checks: tuple[Check, ...] = ()
    block: Mapping[str, Any] | None = None
    """As it was worked out now; None where nothing is known of the population."""
    notes: tuple[str, ...] = field(default=())


def population_of_release(
    data: Path,
    released: Sequence[str],
    promise: KAnonymity,
    disclosure: Disclosure,
    params: Mapping[str, Any],
    report: Mapping[str, Any],
    requirements: Requirements,
) -> PopulationFindings:
    """Check the block of a report, and compute the requested figures.

    Parameters
    ----------
    data : path
        The data with labels.
    released : sequence of str
        Its columns.
    disclosure : Disclosure
        The recount by the release's own quasi-identifiers.

    Raises
    ------
    ParameterError
        Other quasi-identifiers are given, the stated population is smaller than the table, or its size is
        given where people are counted.
    UncheckedError
        Nobody can know which people of a population would show which labels.
    """
    stated = report["disclosure_risk"].get("population")
    read = None if promise.unit is not None else counted(report["rows"]["in"])
    checks: list[Check] = []
    notes: list[str] = []
    if stated is not None and stated.get("basis") == "weights":
        again = _by_weights(data, released, promise)
        checks.append(none_of("population", int(again is None or not same_figure(stated, again))))
    elif stated is not None:
        checks.append(none_of("population", wrong_block(stated, disclosure.sizes, read, disclosure.classes)))
    own = stated is not None and stated["basis"] == "file" and checks[0].passed
    if not requirements.against.is_given:
        if own and "k_map_required" in stated["estimates"]:
            notes.append(UNEVALUATED)
        return PopulationFindings(checks=tuple(checks), notes=tuple(notes))
    if requirements.quasi_identifiers is not None:
        raise ParameterError(
            "people of a population are counted for the quasi-identifiers of the release",
            f"leave {option('quasi_identifiers', typed='qi')} out",
        )
    if requirements.population is None:
        return PopulationFindings(checks=tuple(checks), block=_estimated(requirements.against, disclosure, read))
    population = requirements.population.as_declared(params)
    names = [name for name in promise.quasi_identifiers if name in released]
    rows, people = people_of_classes(data, names, params["recoding"], population)
    block = figures_of(population.rows, _people(disclosure, rows), people, requirements.against.k_map)
    if own and same_file(stated, block):
        checks += block_checks(stated, figures_of(population.rows, _people(disclosure, rows), people, None))
    elif own:
        notes.append(ANOTHER_FILE)
    required = max(requirements.against.k_map or 0, stated["estimates"].get("k_map_required", 0) if own else 0)
    checks += [k_map_check(people, required)] if required else []
    return PopulationFindings(checks=tuple(checks), block=block, notes=tuple(notes))


def _by_weights(data: Path, released: Sequence[str], promise: KAnonymity) -> dict[str, Any] | None:
    """Work out the block anew from the weights that the rows show; None where they show none."""
    weight = None if promise.weight is None else promise.weight[0]
    if weight not in released or weight is None or promise.unit is not None:
        return None
    rows, low, high = weights_of_classes(data, [each for each in promise.quasi_identifiers if each in released], weight)
    return estimates_by_weights(rows, low) if bool((low == high).all()) and bool((low > 0).all()) else None


def population_of_table(
    table: str | Path | pa.Table, disclosure: Disclosure, requirements: Requirements
) -> PopulationFindings:
    """Compute the requested figures of a plain table, whose cells are compared with the file's unchanged.

    Raises
    ------
    ParameterError
        The stated population is smaller than the table.
    """
    against, names = requirements.against, requirements.quasi_identifiers or ()
    if not against.is_given:
        return PopulationFindings()
    if requirements.population is None:
        return PopulationFindings(block=_estimated(against, disclosure, disclosure.rows))
    rows, people, n_people = people_of_rows(table, names, requirements.population.as_it_is())
    block = figures_of(n_people, rows, people, against.k_map)
    checks = () if against.k_map is None else (k_map_check(people, against.k_map),)
    return PopulationFindings(checks=checks, block=block)


def _people(disclosure: Disclosure, rows: Counts) -> Counts:
    """Return the size of each class, in people where people are counted."""
    counts = disclosure.counts
    return counts.classes if counts is not None and counts.classes.size == rows.size else rows


def _estimated(against: AgainstPopulation, disclosure: Disclosure, read: int | None) -> dict[str, Any]:
    """Return the estimates under the assumption of a simple random sample."""
    if read is None and against.size is not None:
        raise ParameterError(
            "people are counted, and the share of the population that they are does not follow from rows",
            f"{option('sampling_fraction', 0.01)}: people of the table over people of the population",
        )
    fraction = against.fraction_of(read or 0, None)
    sizes = disclosure.sizes
    alone = bool(sizes) and sizes[0][0] == 1
    share = float(fraction or 1.0)
    return estimates_of(sizes, share, against.size, _uniques(sizes, share) if alone else BY_CONSTRUCTION)


def _uniques(sizes: Sequence[tuple[int, int]], fraction: float) -> dict[str, Any]:
    """Return shares of the population that are unique in it, by the models for samples."""
    from anonkit.estimators.reidentification_risk import (
        SampleClasses,
        by_rule,
        pitman,
        slide_negative_binomial,
        zayatz,
    )

    sample = SampleClasses.of(sizes, fraction)
    return {
        "pitman": pitman(sample),
        "zayatz": zayatz(sample),
        "snb": slide_negative_binomial(sample),
        "rule": by_rule(sample),
    }
