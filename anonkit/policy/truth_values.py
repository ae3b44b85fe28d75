# SPDX-License-Identifier: Apache-2.0
"""Columns of booleans under noise: false and true are all they can hold, so no categories have to be declared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from anonkit.domains.attribute_domains import TRUTH_VALUES
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy

_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.TARGET)


def with_truth_values(policy: Policy, typed: Collection[str] = ()) -> Policy:
    """Return the policy with the domain of its columns of booleans.

    Parameters
    ----------
    typed : collection of str
        Columns that are booleans by the type of their source, which is public; where the policy names a type of its
        own, that type counts.

    Privacy
    -------
    Decided by the policy and by types alone; no cell is looked at.
    """
    columns = dict(policy.columns)
    for name, column in policy.columns.items():
        is_boolean = column.type is ColumnType.BOOLEAN or (column.type is None and name in typed)
        if is_boolean and column.role in _ROLES and lacks_domain(column):
            columns[name] = replace(column, categories=TRUTH_VALUES, are_truth_values=True)
    return replace(policy, columns=columns)


def lacks_domain(column: Column) -> bool:
    """Return True if nothing is declared of the values of a column."""
    return column.domain_values is None and column.bounds is None and not column.has_bins and column.place is None
