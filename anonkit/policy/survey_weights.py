# SPDX-License-Identifier: Apache-2.0
"""Survey weights: `role = "weight"` of a policy, how a release shows them, and weights rounded to a public grid."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anonkit.errors import PolicyError

if TYPE_CHECKING:
    from anonkit.policy.column_declarations import Column

DIGITS = 3
"""Significant digits of a class's mean weight."""
KEY = "weight"
"""Key of params and promise for the column of weights, and their form."""


class ShownWeights(StrEnum):
    """The form of a sample's weights in a k-anonymous release."""

    MEAN = "mean"
    """Rows of a class show the mean weight of their class."""
    ROUNDED = "rounded"
    """Each row shows its weight, rounded to a public grid; the rounded weight is a quasi-identifier."""


def check_weights(column: Column, *, is_key: bool) -> None:
    """Refuse what a policy says of weights that cannot be.

    Parameters
    ----------
    column : Column
        Of role weight, or one that says how weights are shown.
    is_key : bool
        Whether it is a quasi-identifier, as rounded weights are in a k-anonymous release.

    Raises
    ------
    PolicyError
        It is no column of numbers above 0; or means have a step, or rounded weights none.
    """
    where = f"column {column.name!r}"
    if str(column.role) != KEY and not (is_key and column.weights is ShownWeights.ROUNDED):
        raise PolicyError(f"{where}: weights is about the weights of a sample", 'role = "weight"')
    kind = None if column.type is None else str(column.type)
    if kind not in (None, "integer", "number") or column.domain_values is not None or column.place is not None:
        raise PolicyError(f"{where}: the weights of a sample are numbers", 'type = "number"')
    if column.bounds is not None and column.bounds[0] < 0:
        raise PolicyError(f"{where}: a weight is a number above 0", "bounds = [0, 1000]")
    if str(column.missing) not in ("None", "drop", "error"):
        raise PolicyError(f"{where}: a missing weight is no weight", 'missing = "drop" leaves such rows out')
    if column.weights is ShownWeights.ROUNDED and column.step is None:
        raise PolicyError(
            f'{where}: weights = "rounded" needs step, the distance of the rounded weights',
            'w = { role = "weight", weights = "rounded", step = 50 }',
        )
    if column.weights is not ShownWeights.ROUNDED and column.step is not None:
        raise PolicyError(f"{where}: a step is for rounded weights", 'weights = "rounded" beside it')


def weight_params(column: Column) -> dict[str, Any]:
    """Return the statement of `params.json` on weights."""
    if column.weights is ShownWeights.ROUNDED:
        return {"column": column.name, "shows": str(column.weights), "step": float(column.step or 0.0)}
    return {"column": column.name, "shows": str(ShownWeights.MEAN), "digits": DIGITS}


@dataclass(frozen=True, kw_only=True)
class RoundWeights:
    """Rounding of weights to the multiples of a step, to one step at least; what is no weight stays."""

    name: str
    step: float

    def __call__(self, cells: pa.Array) -> pa.Array:
        """Return the rounded weights, as float64."""
        missing = cells.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        weights = cells.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
        counts = np.where(weights > 0, np.maximum(np.rint(weights / self.step), 1.0), 0.0)
        return pa.array(counts * self.step, pa.float64(), mask=missing)


def rounding_of(schema: pa.Schema, column: Column | None) -> RoundWeights | None:
    """Return a function that rounds the weights of batches with these columns; None where nothing is rounded.

    Parameters
    ----------
    column : Column, optional
        The weights of the table.

    Raises
    ------
    PolicyError
        Its cells are no numbers.
    """
    if column is None or column.weights is not ShownWeights.ROUNDED or column.name not in schema.names:
        return None
    refuse_no_numbers(schema, column.name)
    return RoundWeights(name=column.name, step=float(column.step or 1.0))


def refuse_no_numbers(schema: pa.Schema, name: str) -> None:
    """Refuse a column of weights whose cells are no numbers, by its type.

    Raises
    ------
    PolicyError
    """
    kind = schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise PolicyError(
            f"column {name!r} is declared the weights of a sample, and its cells are not numbers", "correct the table"
        )
