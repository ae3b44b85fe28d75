"""Declared hierarchies over any values: a value without a path is no group of the tree, and no error."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.declared_detail import Hierarchy, declared_grouping
from anonkit.policy.column_declarations import Column

VALUES = st.lists(st.sampled_from("abcdef"), min_size=1, unique=True)


@given(values=VALUES, paths=VALUES, missing=st.booleans())
def test_values_without_a_path_are_no_group(values: list[str], paths: list[str], missing: bool) -> None:
    """Every code alone is the value of the tree, or none; the recoding lists the tree."""
    shown = [*values, *([None] if missing else [])]
    column = CodedColumn(name="x", codes=np.arange(len(shown), dtype=np.int32), values=shown, ordered=False)
    tree = tuple((value, "low" if value < "d" else "high", "all") for value in paths)
    hierarchy = Hierarchy.of(column, Column(name="x", tree=tree))
    assert hierarchy is not None
    for code, value in enumerate(values):
        assert hierarchy.members(np.array([code])) == ((0, value) if value in paths else None)
    grouping = declared_grouping(hierarchy, np.arange(column.size))
    assert set(grouping.axis.values) == set(paths)  # type: ignore[union-attr]
