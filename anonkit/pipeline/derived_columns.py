# SPDX-License-Identifier: Apache-2.0
"""Columns of a release that its source has not: bounds and means of intervals, weights, and surrogates.

Bounds are two numbers in place of the label of an interval. Means of classes are computed on the source and counted for
the report. The weights of a sample are added up, and give the risk of classes.

A surrogate is one random number for all rows of a person or household, drawn for one release. Surrogates take the place
of the unit column, once everything is counted by it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.bundle.bound_columns import BoundColumn, bound_columns
from anonkit.bundle.data_files import iter_batches
from anonkit.checks.population_risk import BY_CONSTRUCTION, OF_WEIGHTS
from anonkit.checks.table_scans import combined
from anonkit.errors import GuaranteeError, PolicyError
from anonkit.estimators.reidentification_risk import individual_risk
from anonkit.k_anonymity.class_means import ClassMeans, class_means, middle
from anonkit.k_anonymity.recoded_rows import places_among
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.protocols import COUNT, Draft, Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.blocks import JsonObject


@dataclass(frozen=True, kw_only=True)
class ShownAsBounds:
    """A pure function of a batch: labels become bounds, other columns stay."""

    columns: tuple[BoundColumn, ...]
    whole: frozenset[str]
    """Columns of integers."""
    means: ClassMeans | None = None
    """The means of classes, where the bounds have such columns."""

    def schema(self, labelled: pa.Schema) -> pa.Schema:
        """Return names and types of the columns, the bounds where their labels were."""
        bounds = {column.name: column for column in self.columns}
        fields = []
        for field in labelled:
            if field.name in bounds:
                kind = pa.int64() if field.name in self.whole else pa.float64()
                fields += [pa.field(bounds[field.name].low, kind), pa.field(bounds[field.name].high, kind)]
                mean = bounds[field.name].mean
                fields += [] if mean is None else [pa.field(mean, pa.float64())]
            else:
                fields.append(field)
        return pa.schema(fields)

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch as it is written.

        Raises
        ------
        GuaranteeError
            A label has no bounds: the draft shows what its recoding does not have; or a class has no means.
        """
        means = self._means(batch)
        schema, arrays = self.schema(batch.schema), {name: batch.column(name) for name in batch.schema.names}
        for column in self.columns:
            known = pa.array([label for label, _ in column.labels], pa.string())
            at = pc.index_in(arrays.pop(column.name), value_set=known)
            if at.null_count:
                raise GuaranteeError(f"column {column.name!r} shows {at.null_count} cells that have no bounds")
            for name, end in ((column.low, 0), (column.high, 1)):
                kind = schema.field(name).type
                arrays[name] = pa.array([pair[end] for _, pair in column.labels], kind).take(at)
            if column.mean is not None:
                arrays[column.mean] = means[column.name]
        return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)

    def _means(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the mean that each row shows of each generalized number."""
        if self.means is None:
            return {}
        classes = self.means.classes
        place = places_among({name: batch.column(name) for name in classes.column_names}, classes, batch.num_rows)
        if (place < 0).any():
            raise GuaranteeError(f"{int((place < 0).sum())} rows are in a class without means")
        return {name: pa.array(means[place], from_pandas=True) for name, means in self.means.means.items()}


def shown_labels(spool: Path, name: str) -> set[str | None]:
    """Return the labels that the rows of a draft show in a column, missing among them."""
    with combined(spool, [name]) as lines:
        found = lines.connection.execute(f"SELECT DISTINCT {lines.column(name)} FROM {lines.source}").fetchall()
    return {row[0] for row in found}


def shown_as_bounds(data: Source, params: Mapping[str, Any], engine: Engine, means: ClassMeans | None = None) -> Source:
    """Return rows with the bounds of the params in place of labels, and the means; as they are where there are none."""
    columns = bound_columns(params)
    if not columns:
        return data
    whole = frozenset(str(column["name"]) for column in params["columns"] if "int" in column["type"])
    shown = ShownAsBounds(columns=columns, whole=whole, means=means)
    return engine.map_batches(data, shown, shown.schema(data.schema), same_rows=True)


def bounds_notes(bounds: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the pairs of bounds of columns, in the words of the report; nothing where labels are written."""
    if bounds is None:
        return ()
    pairs = "; ".join(f"{name} as {raw['low']} and {raw['high']}" for name, raw in bounds.items())
    written = f"Intervals are written as their lowest and highest value: {pairs or 'no column has such'}."
    means = [f"{raw['mean']} of {name}" for name, raw in bounds.items() if "mean" in raw]
    return (written, *([f"Rows show the mean of their group, rounded: {'; '.join(means)}."] if means else []))


_BATCH = 1 << 16


def weights_block(spool: Path, weight: str) -> dict[str, Any]:
    """Return the report's block `weights`: the column, and the sum of the weights that the release shows."""
    parts = []
    with closing(iter_batches(spool, [weight], batch_rows=_BATCH)) as batches:
        for batch in batches:
            parts.append(math.fsum(batch.column(weight).to_numpy(zero_copy_only=False).tolist()))
    return {"column": weight, "sum": math.fsum(parts)}


def risk_by_weights(rows: Source, names: Sequence[str], weight: str, files: Engine) -> dict[str, Any] | None:
    """Return the `disclosure_risk.population` block by the weights of a release; None where these are relative.

    Parameters
    ----------
    rows : Source
        The draft as it was written: all rows of a class have one weight.
    names : sequence of str
        Its quasi-identifiers.

    Returns
    -------
    dict or None
        None where the weights add up to fewer people than there are rows.
    """
    (counted,) = files.count_sets(rows, [tuple(dict.fromkeys([*names, weight]))])
    sizes = np.asarray(counted.column(COUNT).to_numpy(), np.int64)
    weight_sums = sizes * np.asarray(counted.column(weight).to_numpy(), np.float64)
    n_rows, people = int(sizes.sum()), math.fsum(weight_sums.tolist())
    if not n_rows or people < n_rows:
        return None
    risks = individual_risk(sizes, np.maximum(weight_sums, sizes))
    expected = float(sizes @ risks)
    return {
        "basis": "weights",
        "assumption": OF_WEIGHTS,
        "estimates": {
            "population_size": people,
            "individual": {"max": float(risks.max()), "mean": expected / n_rows, "sum": expected},
            "uniques": BY_CONSTRUCTION,
        },
    }


def steps_of(policy: Policy) -> dict[str, float]:
    """Return the declared steps of numbers, by column."""
    return {name: float(column.step) for name, column in policy.columns.items() if column.step is not None}


def means_of_draft(
    draft: Draft,
    engine: Engine,
    policy: Policy,
    classes: KAnonymity,
    bounds: Mapping[str, Any],
    released: Collection[str],
) -> ClassMeans:
    """Return the means that the classes of a draft show.

    Parameters
    ----------
    engine : Engine
        That of the source, which is read once more.
    bounds : mapping
        Generalized numbers, as in `params.json`.
    released : collection of str
        Names of the released columns.
    """
    assert draft.beside is not None  # noqa: S101 - every draft of counted classes without a loss has its rows
    names = [name for name in classes.quasi_identifiers if name in released]
    holders = [policy.unit] if policy.unit is not None else [candidate.key for candidate in policy.candidates]
    return class_means(draft.beside, engine, names, bounds, holders, classes.k)


def means_block(means: ClassMeans, bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report's block `means`: of each column the classes, and how many show the middle or nothing."""
    columns = {}
    for name, found in means.means.items():
        ends = {label: (low, high) for label, low, high in bounds[name]["labels"]}
        middles = np.array([middle(*ends[label]) for label in means.classes.column(name).to_pylist()])
        columns[name] = {
            "classes": int(found.size),
            "middle": int(np.count_nonzero(found == middles)),
            "missing": int(np.count_nonzero(np.isnan(found))),
        }
    return {"columns": columns}


def means_notes(block: Mapping[str, Any]) -> list[str]:
    """Return in how many groups a column shows no mean of its own, in the words of the report."""
    notes = []
    for name, counts in block["columns"].items():
        without = counts["middle"] + counts["missing"]
        if without:
            notes.append(
                f"Means of {name}: {without:,} of {counts['classes']:,} groups show the middle of their interval, or "
                "nothing where it is open, since their mean would disclose a member's number, or is the middle."
            )
    return notes


ROLE = "surrogate"
"""Role of the column in params and report; no policy gives it."""
_NUMBERED = "one random number of this release for all rows of a {}"


def shows_surrogates(policy: Policy) -> bool:
    """Return True if a release shows which rows belong together."""
    return policy.person_rows is not None and policy.person_rows.surrogate


def refuse_taken_name(policy: Policy) -> None:
    """Refuse surrogates where the table has a column of their name.

    Raises
    ------
    PolicyError
    """
    if shows_surrogates(policy) and SURROGATE in policy.columns:
        raise PolicyError(
            f"the table has a column {SURROGATE!r}, and surrogates are shown under this name", "rename it"
        )


def with_surrogate_entries(draft: Draft, policy: Policy) -> Draft:
    """Return a draft whose params and report name the column of surrogates; the same where there is none."""
    if not shows_surrogates(policy):
        return draft
    one = "household" if policy.households else "person"
    columns: Any = draft.published["columns"]
    column: JsonObject = {"name": SURROGATE, "role": ROLE, "sensitive": False, "type": "int64", "missing": "category"}
    return replace(
        draft,
        published={**draft.published, "surrogate": SURROGATE, "columns": [*columns, column]},
        columns=[
            *draft.columns,
            {
                "name": SURROGATE,
                "role": ROLE,
                "sensitive": False,
                "action": "numbered",
                "reason": _NUMBERED.format(one),
            },
        ],
    )


def shown_rows(engine: Engine, rows: Source, hidden: Collection[str], policy: Policy, randomness: Randomness) -> Source:
    """Return the rows of a draft as they are released: without the columns by which they were counted.

    Parameters
    ----------
    hidden : collection of str
        These columns, the unit among them where the policy has one.
    """
    if policy.unit is not None and shows_surrogates(policy):
        rows = numbered(rows, policy.unit, engine, randomness)
    names = [name for name in rows.schema.names if name not in hidden]
    if len(names) == len(rows.schema):
        return rows
    schema = pa.schema([rows.schema.field(name) for name in names])
    return engine.map_batches(rows, partial(_select, names=names), schema)


def _select(batch: pa.RecordBatch, row: int, *, names: Sequence[str]) -> pa.RecordBatch:
    return batch.select(names)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberPeople:
    """Batch function that shows numbers in place of the keys of people."""

    unit: str
    keys: pa.Array
    numbers: pa.Array
    """Number of each key."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with a number for each key."""
        numbers = self.numbers.take(pc.index_in(batch.column(self.unit), value_set=self.keys))
        arrays = [numbers if name == SURROGATE else batch.column(name) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def numbered(rows: Source, unit: str, engine: Engine, randomness: Randomness) -> Source:
    """Return rows with a random number in place of their unit: 1 to the number of units, in a secret order.

    Parameters
    ----------
    rows : Source
        Rows of a draft; each has a unit.
    unit : str
        Column of their keys.

    Privacy
    -------
    The order is drawn for this release alone. It depends on no key and no cell; a number shows which rows are
    one unit's, and nothing else.
    """
    (counted,) = engine.count_sets(rows, [(unit,)])
    keys = pc.sort_indices(counted.column(unit))  # a seed gives the same numbers, however an engine counts
    order = counted.column(unit).combine_chunks().take(keys)
    numbers = pa.array(randomness.child("surrogates").permutation(len(order)).astype(np.int64) + 1)
    at = rows.schema.get_field_index(unit)
    schema = rows.schema.set(at, pa.field(SURROGATE, pa.int64()))
    show = NumberPeople(unit=unit, keys=order, numbers=numbers, schema=schema)
    return engine.map_batches(rows, show, schema, same_rows=True)
