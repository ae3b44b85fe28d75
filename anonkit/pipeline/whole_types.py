# SPDX-License-Identifier: Apache-2.0
"""Columns that hold integers or booleans by the type of their source: a public fact, as the promise states it.

Never by cells: a string has no type, and a missing cell turns a column of integers into floats in pandas.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import with_truth_values


def with_whole_types(policy: Policy, schema: pa.Schema, source: Any) -> Policy:
    """Return the policy with the columns marked that the source has as integers or booleans and no policy declares.

    Parameters
    ----------
    policy : Policy
        With the role of every column.
    schema : pyarrow.Schema
        Of the table as it was read cell by cell: cells without a public type are strings.
    source : object
        What was read. The types that NumPy gives a data frame depend on its cells and say nothing.

    Privacy
    -------
    Decided by types alone; no cell is looked at.
    """
    truths = [
        field.name for field in schema if pa.types.is_boolean(field.type) and not _typed_by_cells(source, field.name)
    ]
    policy = with_truth_values(policy, truths)
    columns = dict(policy.columns)
    for field in schema:
        column = columns.get(field.name)
        if column is None or column.step is not None or column.type is not None:
            continue
        if pa.types.is_integer(field.type) and not _typed_by_cells(source, field.name):
            columns[field.name] = replace(column, is_whole_by_type=True)
    return replace(policy, columns=columns)


def _typed_by_cells(source: Any, name: str) -> bool:
    """Return True if a column of a data frame has a type that one missing cell would change."""
    if type(source).__module__.split(".")[0] != "pandas":
        return False
    return isinstance(source.dtypes[name], np.dtype)
