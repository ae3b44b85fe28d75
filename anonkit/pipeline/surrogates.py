# SPDX-License-Identifier: Apache-2.0
"""Surrogates: one random number for all rows of a person or household, drawn for one release.

They take the place of the unit column, once everything is counted by it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import SURROGATE
from anonkit.protocols import Draft, Engine, Source
from anonkit.randomness import Randomness
from anonkit.report.blocks import JsonObject

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
