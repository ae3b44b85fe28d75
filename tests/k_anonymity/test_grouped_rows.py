"""Rows that show the centroid of their group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from anonkit.k_anonymity.grouped_rows import RowKeys
from anonkit.published.recoding import UNKNOWN

CELLS = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 1.5, -2.0, float("nan")]), st.integers(0, 3))


@given(st.lists(CELLS, min_size=1, max_size=30), st.lists(CELLS, max_size=10))
def test_places_are_those_of_the_sorted_combinations(rows: list[Any], others: list[Any]) -> None:
    """Of every row of the table its own; of other rows theirs, or none."""

    def columns(lines: list[Any]) -> tuple[list[pa.Array], list[Any]]:
        texts = pa.array([line[0] for line in lines], pa.string())
        return [texts], [np.array([line[at] for line in lines], float) for at in (1, 2)]

    def known(line: Any) -> tuple[Any, ...]:
        return (line[0], None if line[1] != line[1] else line[1], line[2])

    keys, at = RowKeys.of(*columns(rows))
    assert keys.size == len(set(map(known, rows)))
    assert keys.places(*columns(rows)).tolist() == at.tolist()
    place = {known(line): number for line, number in zip(rows, at.tolist(), strict=True)}
    assert len(set(place.values())) == keys.size
    assert keys.places(*columns(others)).tolist() == [place.get(known(line), UNKNOWN) for line in others]
