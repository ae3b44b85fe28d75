# SPDX-License-Identifier: Apache-2.0
"""The features of a selection: whole columns, or single categories of one-hot coded columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A column, or one bit (column, value) of its one-hot coding."""

    column: str
    """Name of the column."""
    code: int | None = None
    """Code of the category whose bit it is; None for the whole column."""

    def codes(self, column: CodedColumn) -> NDArray[np.int32]:
        """Return the feature's value in every row of its column, shape (n_rows,)."""
        return column.codes if self.code is None else (column.codes == self.code).astype(np.int32)


def column_features(columns: Sequence[CodedColumn]) -> tuple[Feature, ...]:
    """Return one feature a column, in order of the names."""
    return tuple(Feature(column=name) for name in sorted(column.name for column in columns))


def one_hot_features(columns: Sequence[CodedColumn]) -> tuple[Feature, ...]:
    """Return one feature a category, missing included, in order of the columns' names and their codes."""
    by_name = sorted(columns, key=lambda column: column.name)
    return tuple(Feature(column=column.name, code=code) for column in by_name for code in range(column.size))
