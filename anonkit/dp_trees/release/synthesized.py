# SPDX-License-Identifier: Apache-2.0
"""Columns of a synthetic table: codes as cells, with their entries in params and report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.attribute_domains import Categories, Grid
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.report.blocks import ReportColumn

COUNT_COLUMN = "count"


def cells_of_codes(codes: NDArray[np.int64], domain: Categories | Grid) -> pa.Array:
    """Return codes as cells: bin midpoints for numbers, dictionary-encoded strings for categories."""
    if isinstance(domain, Grid):
        numbers = domain.decode(codes)
        return pa.array(numbers, pa.float64(), mask=np.isnan(numbers))
    return labelled(codes, domain)


def labelled(codes: NDArray[np.int64], domain: Categories) -> pa.Array:
    """Return codes as the categories of a domain, dictionary-encoded."""
    absent = codes >= len(domain.values)
    indices = pa.array(np.where(absent, 0, codes).astype(np.int32), mask=absent)
    return pa.DictionaryArray.from_arrays(indices, pa.array(domain.values, pa.string()))


def described(name: str, domain: Categories | Grid) -> dict[str, Any]:
    """Return what the params tell of a released column."""
    kind = "number" if isinstance(domain, Grid) else "category"
    return {"name": name, "type": kind, "domain": domain.to_params()}


def column_entries(policy: Policy, sizes: Mapping[str, int], released: list[str]) -> list[ReportColumn]:
    """Return the `columns` block of the report.

    Parameters
    ----------
    policy : Policy
    sizes : mapping of str to int
        How many values the domain of each synthesized column has, missing included.
    released : list of str
        Columns of the released table.
    """
    out: list[ReportColumn] = []
    for name, column in policy.columns.items():
        entry: ReportColumn = {
            "name": name,
            "role": str(column.role),
            "sensitive": column.is_sensitive,
            "action": "synthesized" if name in released else "dropped",
        }
        if name in released:
            out.append({**entry, "released_values": sizes[name]})
        else:
            hidden = column.role in (Role.IDENTIFIER, Role.UNIT)
            reason = f"declared {column.role}: only what is synthesized is released"
            reason = "identifiers are never released" if hidden else reason
            out.append({**entry, "reason": reason})
    if COUNT_COLUMN in released and COUNT_COLUMN not in policy.columns:
        reason = "noisy count of the rows in the cell"
        out.append({"name": COUNT_COLUMN, "role": "insensitive", "action": "synthesized", "reason": reason})
    return out
