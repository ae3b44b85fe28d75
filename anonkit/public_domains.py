# SPDX-License-Identifier: Apache-2.0
"""The public domains that differential privacy needs: from the policy, or read from the table on the owner's word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.cells import category_value, is_ordered
from anonkit.errors import PolicyError
from anonkit.mechanisms.domains import Categories
from anonkit.policy import Column, Missing, Policy, Role
from anonkit.protocols import Engine, Source, is_too_large

_INIT_HINT = "`anonkit init` drafts a policy with public domains to fill in; role insensitive leaves a column out"
_RANDOMIZED = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)


def attributes_of(policy: Policy) -> tuple[Column, ...]:
    """Return the columns that are randomized, sorted by name: quasi-identifiers and sensitive attributes.

    A column that does not say what missing means gets the policy's own `missing`, if the policy has one.

    Raises
    ------
    PolicyError
        There is none.
    """
    names = sorted(policy.names(Role.QUASI_IDENTIFIER, Role.SENSITIVE))
    if not names:
        raise PolicyError("no column is declared that could be released with noise", _INIT_HINT)
    columns = (policy.column(name) for name in names)
    return tuple(replace(column, missing=column.missing or policy.missing) for column in columns)


def categories_of(column: Column) -> Categories:
    """Return the public categories of a column.

    Raises
    ------
    PolicyError
        None are declared.
    """
    declared = column.categories or tuple(path[0] for path in column.tree or ())
    if not declared:
        raise PolicyError(f"column {column.name!r} has no public domain: declare its categories or bounds", _INIT_HINT)
    return Categories(values=declared, has_missing=may_be_missing(column))


def bounds_of(column: Column) -> tuple[float, float]:
    """Return the public bounds of a number.

    Raises
    ------
    PolicyError
        None are declared.
    """
    if column.bounds is None:
        raise PolicyError(f"column {column.name!r} has no public domain: declare its categories or bounds", _INIT_HINT)
    return column.bounds


def may_be_missing(column: Column) -> bool:
    """Tell whether missing is declared as one more value of the domain (`missing = "category"`).

    Raises
    ------
    PolicyError
        Rows with a missing value shall be dropped: the number of rows would then tell about the data.
    """
    if column.missing is Missing.DROP:
        raise PolicyError(
            f"column {column.name!r}: dropping rows tells who had a missing value", 'missing = "category" hides it'
        )
    return column.missing is Missing.CATEGORY


def conditions_of(policy: Policy) -> tuple[str, ...]:
    """Return the condition of domains that were read from the table; nothing when all were declared."""
    if not policy.domains_from_data:
        return ()
    names = ", ".join(policy.domains_from_data)
    return (
        f"CONDITIONAL: the domains of {names} were read from the table. The claim holds only if these categories and "
        "bounds are public knowledge; otherwise they reveal rare categories and extreme values.",
    )


def with_domains_of(policy: Policy, source: Source, engine: Engine) -> Policy:
    """Return the policy with the domains of a table's own values where none are declared.

    Numbers get their smallest and largest value as bounds, everything else the categories that occur; missing is one
    more value where it occurs. `Policy.domains_from_data` names the columns.

    Privacy
    -------
    Such a domain tells rare categories and extreme values of the table. A promise that rests on it holds only if it is
    public knowledge all the same.
    """
    wanted = [
        name
        for name in policy.names(*_RANDOMIZED)
        if (column := policy.column(name)).categories is None and column.bounds is None and column.tree is None
    ]
    columns = dict(policy.columns)
    for name, found in _distinct_values(source, engine, wanted).items():
        values = [value for value in found if value is not None]
        column = columns[name]
        if len(values) < len(found) and column.missing is None and policy.missing is None:
            column = replace(column, missing=Missing.CATEGORY)
        if column.role is not Role.TARGET and _is_number(source.schema.field(name).type) and len(set(values)) > 1:
            numbers = np.array(values, dtype=np.float64)
            column = replace(column, bounds=(float(numbers.min()), float(numbers.max())))
        elif values:
            column = replace(column, categories=tuple(category_value(value, False) for value in values))
        columns[name] = column
    return replace(policy, columns=columns, domains_from_data=tuple(wanted))


def _distinct_values(source: Source, engine: Engine, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the distinct values of some columns, ascending or in category order; None if a cell is missing."""
    if not is_too_large(source, engine):
        return {coded.name: list(coded.values) for coded in engine.encode(source, names)}
    counted = engine.count_sets(source, [(name,) for name in names])
    return {
        name: [category_value(cell, is_ordered(table.schema.field(0).type)) for cell in table.column(0).to_pylist()]
        for name, table in zip(names, counted, strict=True)
    }


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
