"""Boxes and the parts that they hold: every row reaches one, and each is named once.

Centroids: the nearest of a row's own combination, by brute force, and damaged ones refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.published.recoding import UNKNOWN, Centroids, IntervalAxis, LocalRecoding, RecodingSplit
from tests.published.recoding.small_recodings import AGE, SEX, boxes_of

CENTROIDS = Centroids(
    categories=(("sex", ("f", "f", "m", "f")),),
    means=(("age", (20.0, 60.0, 40.0, None)), ("income", (1_000.0, 2_000.0, 1_500.0, 500.0))),
    scale=((40.0, 10.0), (1_500.0, 0.0)),
    missing=(("age", frozenset({3})),),
    nearest_alone=True,
)


def test_rows_go_to_the_nearest_centroid_of_their_combination() -> None:
    """By columns that count, in units of their scale; a missing number is a combination of its own."""
    rng = np.random.default_rng(2)
    age, sex = rng.uniform(0, 90, 200), rng.choice(["f", "m"], 200)
    income = rng.uniform(0, 10_000, 200)  # of scale 0: it does not count
    found = CENTROIDS.nearest({"sex": pa.array(sex)}, {"age": pa.array(age), "income": pa.array(income)})
    for row, place in enumerate(found.tolist()):
        assert place == (2 if sex[row] == "m" else int(abs(age[row] - 60) < abs(age[row] - 20)))
    lone = CENTROIDS.nearest(
        {"sex": pa.array(["f", "m", "x"])},
        {"age": pa.array([None, None, 20.0], pa.float64()), "income": pa.array([1.0, 1.0, 1.0])},
    )
    assert lone.tolist() == [3, UNKNOWN, UNKNOWN]
    assert CENTROIDS.taken("age", np.array([1, UNKNOWN, 3])).to_pylist() == [60.0, None, None]


def test_some_of_them_are_renumbered() -> None:
    """Means, categories, and which groups have no number."""
    some = CENTROIDS.at([3, 0])
    assert some.means[0] == ("age", (None, 20.0))
    assert some.missing == (("age", frozenset({0})),)
    assert some.size == 2


STATED: dict[str, Any] = {
    "rows": "nearest",
    "scale": {"age": (40.0, 10.0)},
    "columns": {"sex": ("f", "m"), "age": (20.0, None)},
    "missing": {"age": frozenset({1})},
}


@pytest.mark.parametrize(
    "damage",
    [
        {"rows": "somehow"},
        {"columns": {"sex": ("f",), "age": (20.0, None)}},
        {"columns": {"sex": (1.0, "m"), "age": (20.0, None)}},
        {"scale": {"age": (40.0, -1.0)}},
        {"missing": {"age": frozenset({0})}},
        {"missing": {"sex": frozenset({0})}},
    ],
)
def test_centroids_that_contradict_themselves_are_refused(damage: dict[str, Any]) -> None:
    """Columns of one length, a scale, numbers where means are; a group without a number shows none."""
    assert Centroids.of_columns(**STATED).stated_scale == STATED["scale"]
    with pytest.raises((ValueError, LookupError, TypeError)):
        Centroids.of_columns(**{**STATED, **damage})


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
