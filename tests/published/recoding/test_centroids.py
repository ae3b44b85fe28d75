"""Centroids: the nearest of a row's own combination, by brute force, and damaged ones refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.published.recoding import UNKNOWN, Centroids

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
