# SPDX-License-Identifier: Apache-2.0
"""Example rows of a source and what became of them: shown to the owner on request, and kept in no file of a release.

Rows of a release are in secret order, so that no file identifies one. Of a k-anonymous release the
published recoding is applied to some rows of the source anew. Under a promise of noise no released row is looked for:
rows of either table are side by side, and none are shown as belonging together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from anonkit.errors import AnonkitError
from anonkit.ledger.intersection_check import SourceRows, shown_rows
from anonkit.policy.column_declarations import Role
from anonkit.randomness import Randomness

_LONGEST = 200
"""Letters of a cell that are shown."""


def example_rows(
    rows: SourceRows, released: pa.Table, params: Mapping[str, Any], randomness: Randomness, n: int
) -> dict[str, Any]:
    """Draw some rows of a source, with their released form where it is known.

    Parameters
    ----------
    rows : SourceRows
        As they were read, with a role for every column.
    released : Table
        Rows of the release.
    params : mapping
        What `params.json` holds.
    n : int
        How many, 1 or more.

    Returns
    -------
    dict
        `corresponds`, true where before and after are the same row; `before` and `after`, lists of rows by column
        name, null in `after` for a row that was left out.

    Privacy
    -------
    Cells of the source, without those of identifiers and the unit: for the owner alone.
    """
    hidden = (Role.IDENTIFIER, Role.UNIT)
    table, engine = rows.table, rows.engine
    names = [name for name in table.schema.names if rows.policy.column(name).role not in hidden]
    batches = list(engine.sample(table, n, randomness).batches())
    before = _cells(pa.Table.from_batches(batches, schema=table.schema).select(names))
    if "recoding" not in params:
        sample = released.take(pa.array(randomness.child("released").permutation(released.num_rows)[:n]))
        return {"corresponds": False, "before": before, "after": _cells(sample)}
    try:
        shown = shown_rows(table, engine, params)
    except (AnonkitError, KeyError):
        return {"corresponds": False, "before": before, "after": []}
    after: list[dict[str, str | None] | None] = []
    for batch in batches:
        cells, is_in = shown.of(batch)
        recoded = dict(zip(shown.types, cells, strict=False))
        columns = {name: recoded[name] if name in recoded else batch.column(name) for name in released.column_names}
        shown_cells = _cells(pa.table(columns))
        after += [row if present else None for row, present in zip(shown_cells, is_in.tolist(), strict=True)]
    return {"corresponds": True, "before": before, "after": after}


def _cells(table: pa.Table) -> list[dict[str, str | None]]:
    """Return rows as strings; None is missing."""
    return [{name: _text(value) for name, value in row.items()} for row in table.to_pylist()]


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = (
        str(value).lower() if isinstance(value, bool) else f"{value:.10g}" if isinstance(value, float) else str(value)
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
