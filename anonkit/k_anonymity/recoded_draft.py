# SPDX-License-Identifier: Apache-2.0
"""From a recoding to the draft of a release: rows, params, and what the report says of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_keys import cell_keys
from anonkit.errors import GuaranteeError
from anonkit.k_anonymity.privacy_model import AnonymityModel
from anonkit.policy.declaration import Column, Outside, Policy, Role
from anonkit.protocols import Draft, Engine, Source
from anonkit.published.recoding import GlobalRecoding, Grouping, KeptAxis, Recoding
from anonkit.report.blocks import Action, ColumnFacts, Details, JsonObject, ReportColumn


def draft_recoded(
    source: Source,
    policy: Policy,
    engine: Engine,
    recoding: Recoding,
    kept: NDArray[np.bool_],
    *,
    params: JsonObject,
    columns: Sequence[ReportColumn],
    rows: JsonObject,
    details: Details,
    owner: JsonObject,
    notes: Sequence[str],
) -> Draft:
    """Return the draft of a table whose quasi-identifiers are recoded and whose other columns stay.

    Parameters
    ----------
    kept : ndarray of shape (n_source_rows,)
        Rows that are released.
    """
    schema = released_schema(source.schema, policy, recoding)
    function = partial(_recode_batch, recoding=recoding, kept=kept, schema=schema, unit=policy.unit)
    data = engine.map_batches(source, function, schema)
    return Draft(data=data, params=params, columns=columns, rows=rows, details=details, owner=owner, notes=notes)


def released_schema(schema: pa.Schema, policy: Policy, recoding: Recoding) -> pa.Schema:
    """Return names and types of what is released, the unit column among them.

    Raises
    ------
    GuaranteeError
        Nothing would be.
    """
    types = recoding.types(schema)
    if policy.unit is not None:
        types = {**types, policy.unit: pa.string()}
    names = [name for name in policy.columns if name in types or _passes(policy.column(name))]
    if not any(name != policy.unit for name in names):
        raise GuaranteeError(
            "no column can be released: every quasi-identifier would have to be dropped, and there is nothing else",
            "allow more suppression, or ask for a smaller k",
        )
    return pa.schema([(name, types.get(name, schema.field(name).type)) for name in names])


def released_cells(batch: pa.RecordBatch, recoded: Mapping[str, pa.Array], name: str, unit: str | None) -> pa.Array:
    """Return the cells of a column as they are released; of the unit column, which is counted only, their keys."""
    if name == unit:
        return cell_keys(batch.column(name))
    return recoded[name] if name in recoded else batch.column(name)


def _passes(column: Column) -> bool:
    return column.role in (Role.TARGET, Role.SENSITIVE, Role.INSENSITIVE, Role.UNIT)


def _recode_batch(
    batch: pa.RecordBatch, row: int, *, recoding: Recoding, kept: NDArray[np.bool_], schema: pa.Schema, unit: str | None
) -> pa.RecordBatch:
    keep = kept[row : row + batch.num_rows]
    batch = batch.filter(pa.array(keep))
    recoded, _ = recoding.apply(batch)
    arrays = [released_cells(batch, recoded, name, unit) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def anonymity_params(
    policy: Policy, schema: pa.Schema, model: AnonymityModel, recoding: Recoding, max_suppression: float
) -> dict[str, Any]:
    """Return the part of `params.json` that lets `anonkit apply` recode the next batch the same way."""
    return {
        "target": policy.target,
        "unit": policy.unit,
        "missing_values": list(policy.missing_values),
        "model": {
            "k": model.k,
            **{name: getattr(model, name) for name in ("l", "entropy_l", "recursive", "t", "alpha")},
        },
        "max_suppression": max_suppression,
        "columns": [
            {
                "name": name,
                "role": str(column.role),
                "sensitive": column.is_sensitive,
                "type": str(schema.field(name).type),
                "missing": str(policy.missing_of(name)),
                **({"missing_is_value": name in policy.missing_is_value} if column.is_sensitive else {}),
                **domain_of(column),
            }
            for name, column in policy.columns.items()
        ],
        "recoding": recoding.to_dict(),
    }


def domain_of(column: Column) -> dict[str, Any]:
    """Return the declared domain of a column, by which the cells of the next batch are read; nothing without one."""
    if column.bounds is None and column.domain_values is None:
        return {}
    return {
        "domain": {
            **({} if column.bounds is None else {"bounds": list(column.bounds)}),
            **({} if column.domain_values is None else {"categories": list(column.domain_values)}),
            **({"texts_alone": True} if column.compares_texts else {}),
            **({} if column.outside is None else {"outside": str(column.outside)}),
        }
    }


def column_entry(policy: Policy, name: str, action: Action, **more: Unpack[ColumnFacts]) -> ReportColumn:
    """Return one entry of the report's `columns` block."""
    column = policy.column(name)
    entry: ReportColumn = {
        "name": name,
        "role": str(column.role),
        "sensitive": column.is_sensitive,
        "action": action,
        **more,
    }
    if action == "dropped" or column.bounds is None or column.outside not in (None, Outside.CLAMP):
        return entry
    low, high = (f"{bound:.15g}" for bound in column.bounds)
    return {**entry, "coding": f"top and bottom coded: below {low} is {low}, above {high} is {high}"}


def other_columns(policy: Policy) -> list[ReportColumn]:
    """Return the entries of the columns that are no quasi-identifiers."""
    out = []
    for name, column in policy.columns.items():
        if column.role in (Role.IDENTIFIER, Role.UNIT):
            out.append(column_entry(policy, name, "dropped", reason="identifiers are never released"))
        elif column.role is not Role.QUASI_IDENTIFIER:
            out.append(column_entry(policy, name, "kept", reason=f"declared {column.role}"))
    return out


def describe_recoded(column: KeptAxis | Grouping) -> ColumnFacts:
    """Return how one column was recoded, for the report."""
    if isinstance(column, KeptAxis):
        return {"detail": "full"}
    values = list(dict.fromkeys(column.labels))
    return {"detail": "generalized", "released_values": len(values), "values": values}


def describe_columns(recoding: Recoding) -> dict[str, ColumnFacts]:
    """Return how each column of a recoding is recoded, for the report."""
    if isinstance(recoding, GlobalRecoding):
        return {column.name: describe_recoded(column) for column in recoding.columns}
    shown = zip(*recoding.boxes().values(), strict=True)
    return {
        axis.name: {"detail": "boxes", "released_values": len(set(labels))}
        for axis, labels in zip(recoding.axes, shown, strict=True)
    }
