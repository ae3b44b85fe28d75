# SPDX-License-Identifier: Apache-2.0
"""Validation of what a release states of its risk in a population, and the same of any table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.against_population import AgainstPopulation
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
from anonkit.checks.requirements import Asked
from anonkit.checks.sameness import counted, none_of, same_figure
from anonkit.checks.sample_estimates import BY_CONSTRUCTION, estimates_by_weights, estimates_of
from anonkit.checks.sample_weights import weights_of_classes
from anonkit.errors import ParameterError, option
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check

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
    asked: Asked,
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
    if not asked.against.is_given:
        if own and "k_map_required" in stated["estimates"]:
            notes.append(UNEVALUATED)
        return PopulationFindings(checks=tuple(checks), notes=tuple(notes))
    if asked.quasi_identifiers is not None:
        raise ParameterError(
            "people of a population are counted for the quasi-identifiers of the release",
            f"leave {option('quasi_identifiers', typed='qi')} out",
        )
    if asked.population is None:
        return PopulationFindings(checks=tuple(checks), block=_estimated(asked.against, disclosure, read))
    population = asked.population.as_declared(params)
    names = [name for name in promise.quasi_identifiers if name in released]
    rows, people = people_of_classes(data, names, params["recoding"], population)
    block = figures_of(population.rows, _people(disclosure, rows), people, asked.against.k_map)
    if own and same_file(stated, block):
        checks += block_checks(stated, figures_of(population.rows, _people(disclosure, rows), people, None))
    elif own:
        notes.append(ANOTHER_FILE)
    required = max(asked.against.k_map or 0, stated["estimates"].get("k_map_required", 0) if own else 0)
    checks += [k_map_check(people, required)] if required else []
    return PopulationFindings(checks=tuple(checks), block=block, notes=tuple(notes))


def _by_weights(data: Path, released: Sequence[str], promise: KAnonymity) -> dict[str, Any] | None:
    """Work out the block anew from the weights that the rows show; None where they show none."""
    weight = None if promise.weight is None else promise.weight[0]
    if weight not in released or weight is None or promise.unit is not None:
        return None
    rows, low, high = weights_of_classes(data, [each for each in promise.quasi_identifiers if each in released], weight)
    return estimates_by_weights(rows, low) if bool((low == high).all()) and bool((low > 0).all()) else None


def population_of_table(table: str | Path | pa.Table, disclosure: Disclosure, asked: Asked) -> PopulationFindings:
    """Compute the requested figures of a plain table, whose cells are compared with the file's unchanged.

    Raises
    ------
    ParameterError
        The stated population is smaller than the table.
    """
    against, names = asked.against, asked.quasi_identifiers or ()
    if not against.is_given:
        return PopulationFindings()
    if asked.population is None:
        return PopulationFindings(block=_estimated(against, disclosure, disclosure.rows))
    rows, people, n_people = people_of_rows(table, names, asked.population.as_it_is())
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
    from anonkit.estimators.population.population_uniques import (
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
