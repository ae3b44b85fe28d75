# SPDX-License-Identifier: Apache-2.0
"""Weights of a sample in a k-anonymous draft: each row shows the mean weight of its equivalence class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anonkit.domains.array_types import FloatArray
from anonkit.domains.coded_columns import combine
from anonkit.k_anonymity.recoded_rows import places_among
from anonkit.policy.survey_weights import DIGITS
from anonkit.protocols import COUNT, Engine, OwnTable, Source


@dataclass(frozen=True, kw_only=True, eq=False)
class ShowMeans:
    """Batch function that shows in place of a row's weight the mean of its class."""

    weight: str
    classes: pa.Table
    """The released quasi-identifiers of every class."""
    means: FloatArray
    """Its mean weight, shape (n_classes,)."""
    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch, row: int) -> pa.RecordBatch:
        """Return the rows with the mean weights of their classes."""
        names = self.classes.column_names
        place = places_among({name: batch.column(name) for name in names}, self.classes, batch.num_rows)
        at, arrays = batch.schema.get_field_index(self.weight), [*batch.columns]
        arrays[at] = pa.array(self.means[place])
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def with_mean_weights(data: OwnTable, names: Sequence[str], weight: str, engine: Engine) -> tuple[Source, float]:
    """Return recoded rows that show the mean weight of their class, and the sum of their own weights.

    Parameters
    ----------
    data : Source
        Recoded rows that will be released, each with its own weight.
    names : sequence of str
        Released quasi-identifiers.
    weight : str
        Column of numbers above 0.

    Returns
    -------
    data : Source
        Its weights are numbers of `DIGITS` significant digits, as float64.
    total : float
        Sum of the weights before: for the owner.

    Privacy
    -------
    A function of the class and of nothing else of a row, so that classes stay as large as they are. Whoever knows all
    weights of a class but one can work out the last, within the rounding.
    """
    (counted,) = engine.count_sets(data, [(*names, weight)])
    weights = np.asarray(counted.column(weight).cast(pa.float64(), safe=False).to_numpy(), np.float64)
    rows = np.asarray(counted.column(COUNT).to_numpy(), np.float64)
    number, n_classes = combine([_codes(counted.column(name)) for name in names], counted.num_rows)
    order = np.lexsort((rows, weights, number))  # sums do not depend on the order in which an engine counts
    starts = np.searchsorted(number[order], np.arange(n_classes))
    sums = np.add.reduceat((weights * rows)[order], starts) if n_classes else np.zeros(0)
    means = sums / (np.add.reduceat(rows[order], starts) if n_classes else np.ones(0))
    schema = data.schema
    at = schema.get_field_index(weight)
    show = ShowMeans(
        weight=weight,
        classes=counted.select([*names]).take(order[starts] if n_classes else []),
        means=rounded(means),
        schema=schema.set(at, pa.field(weight, pa.float64())),
    )
    return engine.map_batches(data, show, show.schema, same_rows=True), float(sums.sum())


def rounded(means: FloatArray) -> FloatArray:
    """Return numbers of `DIGITS` significant digits, each the double that is written so."""
    return np.array([float(f"{mean:.{DIGITS}g}") for mean in means.tolist()], np.float64)


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return codes of the cells of a column; missing is a value."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    encoded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)
