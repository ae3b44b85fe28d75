"""Boxes and the parts that they hold: every row reaches one, and each is named once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.published.recoding import (
    IntervalAxis,
    LocalRecoding,
    RecodingSplit,
)
from tests.published.recoding.small_recodings import AGE, SEX, boxes_of


@given(st.integers(0, 3), st.integers(0, 3))
def test_boxes_are_disjoint_and_cover_the_space(age: int, sex: int) -> None:
    """Every point of the space is in one leaf, and the leaf's labels cover it."""
    recoding = boxes_of()
    leaf = int(recoding.leaves([np.array([age]), np.array([sex])])[0])
    assert recoding.nodes[leaf] is None
    assert leaf in recoding.boxes()


def test_each_set_of_parts_is_named_once_however_many_batches_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The labels of all boxes are made for the recoding, and not anew for every batch of rows."""
    named: list[tuple[int, ...]] = []
    label = IntervalAxis.label

    def counted(axis: IntervalAxis, parts: list[int]) -> str | None:
        named.append(tuple(parts))
        return label(axis, parts)

    monkeypatch.setattr(IntervalAxis, "label", counted)
    recoding = boxes_of()
    for _ in range(3):
        recoding.apply(pa.record_batch({"age": [10, 30], "sex": ["F", "M"]}))
    recoding.boxes()
    assert sorted(named) == [(0, 3), (1, 2)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_all_rows_at_once_end_where_each_ends_by_itself(seed: int, n_splits: int) -> None:
    """On random trees every row is in the leaf that its own walk reaches, and in the region of no other."""
    draw = np.random.default_rng(seed)
    nodes: list[RecodingSplit | None] = [None]
    for _ in range(n_splits):
        at = int(draw.choice([number for number, node in enumerate(nodes) if node is None]))
        axis = int(draw.integers(2))
        left = tuple(np.flatnonzero(draw.random((AGE, SEX)[axis].size) < 0.5).tolist())
        nodes[at] = RecodingSplit(axis=axis, left=left, children=(len(nodes), len(nodes) + 1))
        nodes += [None, None]
    recoding = LocalRecoding(axes=(AGE, SEX), nodes=tuple(nodes))
    points = [(age, sex) for age in range(AGE.size) for sex in range(SEX.size)]
    regions = recoding.regions()
    for point, leaf in zip(
        points, recoding.leaves([np.array(codes) for codes in zip(*points, strict=True)]), strict=True
    ):
        number = 0
        while (node := nodes[number]) is not None:
            number = node.children[point[node.axis] not in node.left]
        assert leaf == number
        assert [at for at, held in regions.items() if all(p in h for p, h in zip(point, held, strict=True))] == [leaf]
