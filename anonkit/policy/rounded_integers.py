# SPDX-License-Identifier: Apache-2.0
"""Columns of floating-point numbers that are declared to hold integers: refused where noise makes a promise.

A missing cell turns a whole column of integers into floats in pandas, and from 2^53 on two integers are then one: a row
of nobody would change which people, and which categories, all other rows have.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from anonkit.domains.domain_codes import exact_decimal
from anonkit.errors import GuaranteeError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy

_EXACT = {pa.float16(): 2**11, pa.float32(): 2**24, pa.float64(): 2**53}
"""Bound up to which a type represents all integers."""
_HINT = "give it a type of whole numbers or texts, which no missing cell changes: in pandas Int64 or string"


def refuse_rounded(schema: pa.Schema, policy: Policy) -> None:
    """Refuse columns in which other rows may have changed the meaning of a cell.

    Raises
    ------
    GuaranteeError
        A column of floats names people, or has declared categories, or bounds of `type = "integer"`, that are
        integers which its type does not distinguish.

    Privacy
    -------
    Decided by the types of the columns and by what is declared: no cell is looked at.
    """
    units = [column.together or (name,) for name, column in policy.columns.items() if column.role is Role.UNIT]
    whose = {name for names in units for name in names}
    for field in schema:
        if not pa.types.is_floating(field.type):
            continue
        if field.name in whose:
            raise GuaranteeError(
                f"column {field.name!r} holds floating-point numbers, which do not tell all people apart", _HINT
            )
        if any(abs(number) >= _EXACT[field.type] for number in _whole_numbers(policy.column(field.name))):
            what = "which do not tell its declared whole numbers apart"
            raise GuaranteeError(f"column {field.name!r} holds floating-point numbers, {what}", _HINT)


def _whole_numbers(column: Column) -> Sequence[float]:
    """Return the integers that a column is declared to hold, or its bounds where they are integers."""
    if not column.is_released:
        return ()
    if column.bounds is not None:
        return column.bounds if column.type is ColumnType.INTEGER else ()
    decimals = [exact_decimal(value) for value in column.domain_values or ()]
    return [float(number) for number in decimals if number and "." not in number and "e-" not in number]
