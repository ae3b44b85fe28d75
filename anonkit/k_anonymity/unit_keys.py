# SPDX-License-Identifier: Apache-2.0
"""Whose a row is: the key of its unit cell, the same for every spelling of one number; rows without one are nobody's.

A row that belongs to nobody who could be counted would fill a class, or hold a sensitive value, for somebody who is
counted elsewhere. It is left out of a release of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.cell_keys import cell_keys
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Missing, Policy
from anonkit.protocols import Engine, Source


@dataclass(frozen=True, kw_only=True)
class KeyedUnit:
    """Maps rows to their keys, beside some other columns."""

    unit: str
    others: tuple[str, ...] = ()

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the other columns, and the unit as a text, last."""
        return pa.schema([*(given.field(name) for name in self.others), (self.unit, pa.string())])

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the key of every row."""
        arrays = [*(batch.column(name) for name in self.others), cell_keys(batch.column(self.unit))]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema(batch.schema))


def with_keys(source: Source, engine: Engine, unit: str, others: tuple[str, ...] = ()) -> Source:
    """Return the unit column as keys, and some columns besides."""
    keyed = KeyedUnit(unit=unit, others=others)
    return engine.map_batches(source, keyed, keyed.schema(source.schema))


def unit_codes(source: Source, engine: Engine, policy: Policy) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """Return the person of every row as a code, and which rows have none; None where people are not counted.

    Raises
    ------
    PolicyError
        Rows without a person are declared an error (`missing = "error"` of the unit column), and there are some.
    """
    unit = policy.unit
    if unit is None:
        return None
    column = engine.encode(with_keys(source, engine, unit), [unit])[0]
    nobody = np.zeros(column.codes.size, dtype=bool) if column.missing is None else column.codes == column.missing
    refuse_nobody(policy, int(nobody.sum()))
    return column.codes.astype(np.int64), nobody


def refuse_nobody(policy: Policy, n_rows: int) -> None:
    """Refuse rows without a person where the policy says so."""
    if n_rows and policy.unit is not None and policy.column(policy.unit).missing is Missing.ERROR:
        raise PolicyError(
            f"unit column {policy.unit!r} is missing in {n_rows} rows", "every row must belong to a person"
        )


def nobody_notes(policy: Policy, n_rows: int) -> tuple[str, ...]:
    """Say that rows were left out because they are nobody's."""
    if not n_rows:
        return ()
    return (f"Rows without a value in {policy.unit!r} are left out: they belong to nobody who could be counted.",)
