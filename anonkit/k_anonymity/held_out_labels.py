# SPDX-License-Identifier: Apache-2.0
"""Rows whose labels no search sees: a secret random fifth, on which the usefulness of the release is measured.

A search that saw every label fits the noise of these labels, and a model that is scored on the same rows finds that
noise again. So a fifth of the rows is marked before the search. Only their labels are hidden, and only from the search
for quality: classes, suppression and the conditions on sensitive values are counted on all rows. The marked rows come
first in the released file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.k_anonymity.contribution_bounds import KeysOfUsable
from anonkit.k_anonymity.violating_classes import WithValue
from anonkit.parameters import parameter
from anonkit.policy.declaration import Policy
from anonkit.protocols import Engine, Source
from anonkit.randomness import Randomness, keyed_words

SHARE = 5
"""One in so many rows is marked."""
LEAST = 1_750
"""Rows below which none is marked: a fifth of them could be fewer than the three hundred that a figure needs."""
_WORD_BITS = 64


def all_labels_parameter() -> bool:
    """Declare the parameter of a method whose search may look at every label."""
    declared: bool = parameter(
        default=False,
        range="on or off",
        help="choose the detail by the labels of all rows; then no figure of prediction is public",
        silent=True,
    )
    return declared


def one_row_each(source: Source, unit: str | None, engine: Engine, needed: Sequence[str] = ()) -> bool:
    """Return True if no person has two rows; without a unit rows are independent.

    Parameters
    ----------
    unit : str, optional
        Column whose distinct values are people.
    needed : sequence of str
        Columns whose missing cells drop their row, which then counts for nobody.

    Privacy
    -------
    The answer is public: a figure of prediction is stated where it is yes.
    """
    if unit is None:
        return True
    keys = KeysOfUsable(unit=unit, needed=needed)
    schema = pa.schema([(unit, pa.string())])
    people = engine.map_batches(source, keys, schema, same_rows=True)
    sizes = engine.class_sizes(engine.map_batches(people, WithValue(unit), schema), (unit,), 1)
    return all(size == 1 for size, _ in sizes.histogram)


def held_out_labels(source: Source, policy: Policy, engine: Engine, randomness: Randomness) -> tuple[Source, str]:
    """Mark the rows whose labels the search does not see; return the table with the column of marks, and its name.

    Parameters
    ----------
    randomness : Randomness
        The same one marks the same rows of the same table.

    Privacy
    -------
    Whether a row is marked depends on the secret key and on its number alone: on no cell of it or of another row. The
    order of the released file shows which rows were marked, which discloses nothing of a row. Where a person has
    several rows and no unit is declared, as many marks as rows are independent of each other: the order connects no two
    rows.
    """
    mark = "held out"
    while mark in source.schema.names or mark in policy.columns:
        mark += "_"
    function = MarkRows(mark=mark, key=randomness.key("held-out labels"))
    return engine.map_batches(source, function, function.schema(source.schema), same_rows=True), mark


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkRows:
    """Batch function that marks a random fifth of the rows by secret words of their numbers."""

    mark: str
    key: bytes
    """Secret key of the draw, 32 bytes."""

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of the batches it makes."""
        return schema.append(pa.field(self.mark, pa.bool_()))

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the batch with the mark of every row."""
        words = keyed_words(self.key, 0, row, batch.num_rows, word_bits=_WORD_BITS).reshape(-1)
        marks = pa.array(words.astype(np.uint64, copy=False) < np.uint64((1 << _WORD_BITS) // SHARE))
        return pa.RecordBatch.from_arrays([*batch.columns, marks], schema=self.schema(batch.schema))
