# SPDX-License-Identifier: Apache-2.0
"""The columns that are counted, and the classes by which their tables are split: all of it public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from anonkit.domains.array_types import Codes, IntArray
from anonkit.domains.attribute_domains import Grid
from anonkit.dp_trees.questions import CodedBatch
from anonkit.published.marginal_tables import MarginalSchema

Pair = tuple[int, int]
"""Two columns by number, the lower first."""
Triple = tuple[int, int, int]
"""Three columns by number, the lowest first."""


@dataclass(frozen=True, kw_only=True)
class ColumnLayout:
    """Columns by number, and the anchor: the target, whose classes split every table.

    Without an anchor a target is one more column, the last, and there is one class, of all rows.
    """

    schema: MarginalSchema
    anchored: bool
    """True when the classes of the target split all tables."""

    @property
    def classes(self) -> int:
        """Classes that split the tables; 1 without an anchor."""
        return self.schema.n_classes if self.anchored else 1

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column; the target among them where it does not split the tables."""
        return self.schema.column_names(anchored=self.anchored)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each column, missing included."""
        return tuple(self.schema.sizes[name] for name in self.names)

    @cached_property
    def bins(self) -> tuple[int, ...]:
        """Number of leading values of each column that are neighbouring bins of a number; 0 for categories."""
        domains = (self.schema.domains[name] for name in self.names)
        return tuple(domain.cells if isinstance(domain, Grid) else 0 for domain in domains)

    @cached_property
    def offsets(self) -> IntArray:
        """Offset of each column among the values of all columns, shape (n_columns + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def values(self, column: int) -> slice:
        """Return the slice of a column among the values of all columns."""
        return slice(int(self.offsets[column]), int(self.offsets[column + 1]))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of columns."""
        return tuple(combinations(range(len(self.sizes)), 2))

    def codes(self, batch: CodedBatch) -> Iterator[Codes]:
        """Yield the codes of each column in turn, shape (n_rows,) each."""
        yield from batch.codes
        if self.schema.target is not None and not self.anchored:
            yield batch.labels

    def labels(self, batch: CodedBatch) -> IntArray:
        """Return the class of each row, shape (n_rows,)."""
        return batch.labels.astype(np.int64) if self.anchored else np.zeros(batch.n_rows, dtype=np.int64)
