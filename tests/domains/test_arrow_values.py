"""Numbers as Arrow arrays with marks of what is missing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.arrow_values import array_of


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.float64])
@given(cells=st.lists(st.tuples(st.integers(0, 100), st.booleans()), max_size=40), step=st.sampled_from([1, 2]))
def test_what_is_not_present_is_missing(kind: type, cells: list[tuple[int, bool]], step: int) -> None:
    """Every number is in its place, whatever the length is and however the numbers lie in memory."""
    values = np.array([value for value, _ in cells], dtype=kind)[::step]
    present = np.array([there for _, there in cells], dtype=bool)[::step]
    made = array_of(values, present)
    made.validate(full=True)
    assert made.equals(pa.array(values, mask=~present))
    assert made.null_count == int((~present).sum())
