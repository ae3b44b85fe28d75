# SPDX-License-Identifier: Apache-2.0
"""Measurements on a release: the promise recounted, and the utility of the source and the released table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.checks.disclosure import Disclosure, measure
from anonkit.checks.people import PeopleCounts
from anonkit.checks.promise_checkers import draft_checks
from anonkit.checks.utility import SAMPLE, predictive_utility
from anonkit.policy.declaration import Policy
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.guarantee import Check, Guarantee
from anonkit.protocols import Draft, Engine, Source
from anonkit.randomness import Randomness

NOT_MEASURED = "not measured"
"""What stands in a report in place of the scores of a model that was not trained."""


def recount(
    classes: KAnonymity, data: Path, schema: pa.Schema, target: str | None, *, people: PeopleCounts | None = None
) -> Disclosure:
    """Count the released cells anew.

    Parameters
    ----------
    classes : KAnonymity
        What the promise says of equivalence classes (`Guarantee.counted_classes`).
    target : str, optional
        Column for which the classes of one value are counted.
    people : PeopleCounts, optional
        The people of a table whose unit column is gone already.
    """
    recursive = classes.diversity.recursive
    return measure(
        data,
        [name for name in classes.quasi_identifiers if name in schema.names],
        sensitive=[name for name in classes.sensitive if name in schema.names],
        missing_is_value=classes.missing_is_value,
        unit=classes.unit if people is None else None,
        people=people,
        recursive=(2, 3) if recursive is None else tuple(sorted({2, 3, recursive[1]})),
        target=target if target in schema.names else None,
    )


def answer_checks(
    promise: Guarantee, data: Path, draft: Draft, method: Mapping[str, Any], unit: str | None
) -> list[Check]:
    """Check a draft against its own parameters, by the checker of its promise.

    Parameters
    ----------
    method : mapping
        The `method` block of the report.
    unit : str, optional
        Column that says whose a row is, which is taken out of the draft before anything is written.
    """
    report: dict[str, Any] = {
        **draft.details,
        "method": method,
        "guarantee": promise.to_dict(),
        "columns": draft.columns,
        "budget": {"per_level": [], **draft.details.get("budget", {})},
    }
    return list(draft_checks(data, draft.params, report, unit=unit))


def release_utility(
    promise: Guarantee,
    spool: Path,
    engine: Engine,
    policy: Policy,
    counted: Disclosure | None,
    randomness: Randomness | None,
) -> dict[str, Any]:
    """Measure what the released table is worth, from the released table alone.

    `randomness` draws the rows a model is trained on; without it none is trained.
    """
    if counted is None:
        return {}
    out: dict[str, Any] = {
        "discernibility": sum(size * size * classes for size, classes in counted.class_sizes),
        "average_equivalence_class_size": counted.rows / counted.classes if counted.classes else None,
    }
    released = engine.scan(spool, Policy())
    if randomness is None:
        return {**out, **({"prediction_of_target": NOT_MEASURED} if policy.target in released.schema.names else {})}
    return {**out, **_predictive(engine, released, policy, randomness)}


def owner_measures(
    promise: Guarantee, table: Source, engine: Engine, policy: Policy, randomness: Randomness | None
) -> dict[str, Any]:
    """Measure the source in the same way: for the owner alone. Units of the table are keys of people already."""
    classes = promise.counted_classes
    if classes is None:
        return {}
    before = engine.class_sizes(table, classes.quasi_identifiers, classes.k, classes.unit)
    sizes = dict(before.histogram)
    source = {"rows": before.rows, "classes": before.classes, "k": before.smallest, "uniques": sizes.get(1, 0)}
    if randomness is None:
        return {"source": source}
    return {"source": source, "utility_of_source": _predictive(engine, table, policy, randomness)}


def _predictive(engine: Engine, table: Source, policy: Policy, randomness: Randomness) -> dict[str, Any]:
    schema = table.schema
    if policy.target is None or policy.target not in schema.names:
        return {}
    features = [name for name in schema.names if policy.column(name).is_released and name != policy.target]
    columns = [*features, policy.target]
    batches = engine.sample(table, SAMPLE, randomness.child("utility")).batches(columns)
    rows = pa.Table.from_batches(batches, schema=pa.schema([schema.field(name) for name in columns]))
    scores = predictive_utility(rows, features, policy.target)
    return {} if scores is None else {"prediction_of_target": scores}
