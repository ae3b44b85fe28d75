# SPDX-License-Identifier: Apache-2.0
"""Whose a row is: the key of its unit cell, the same for every spelling of one number; rows without one are nobody's.

A row that belongs to nobody who could be counted would fill a class, or hold a sensitive value, for somebody who is
counted elsewhere. It is left out of a release of people.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from anonkit.domains.cell_keys import cell_keys
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
