"""The world of noisy counts: as many rows as they say, in the cells they say, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.dp_trees.microdata import AgreedCounts, LeafProductModel, rows_by_class
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.published.count_evidence import places_of
from anonkit.published.tree_model import LeafContent, Node, PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, schema_of

SCHEMA = schema_of(attribute("a", 3, Split.ONE_VS_REST), attribute("n", 4, Split.CUT))
FOREST = PublishedForest(
    schema=SCHEMA,
    trees=(
        (
            Node(attribute=1, at=1, children=(1, 2)),
            Node(leaf=LeafContent(counts=(600, 200))),
            Node(leaf=LeafContent(counts=(-20, 420))),
        ),
    ),
    rows_per_tree={"kind": "disjoint", "trees": 1},
)
HISTOGRAMS = (
    np.array([[[300, 10], [300, -30], [-9, 600]]]),
    np.array([[[500, 100], [100, 100], [5, 400], [-5, 20]]]),
)


def _as_they_are(histograms: tuple[np.ndarray, ...] = HISTOGRAMS) -> AgreedCounts:
    tables = tuple(one.astype(np.float64) for one in histograms)
    return AgreedCounts(leaves=(rows_by_class(FOREST.trees[0]),), histograms=tables)


def test_rows_are_those_of_the_noisy_counts() -> None:
    """About 1,200 rows; a class that a leaf has fewer than none of has none there; codes stay in their leaves."""
    world = LeafProductModel.of(FOREST, (0,), _as_they_are())
    rows = world.draw(world.rows, UniformStream(Randomness.seeded(1)))
    assert abs(rows.labels.size - 1200) <= 2
    leaves = places_of(FOREST, rows.codes)[0]
    assert ((rows.codes[1] > 1) + 1 == leaves).all()
    assert not ((leaves == 2) & (rows.labels == 0)).any()
    held = rows.codes[0][(leaves == 1) & (rows.labels == 0)]
    assert np.bincount(held, minlength=3) / held.size == pytest.approx([0.5, 0.5, 0], abs=0.03)


def test_blending_keeps_the_shares_of_all_classes_together() -> None:
    """Classes differ half as much, and the whole is as it was."""
    world = LeafProductModel.of(FOREST, (0,), _as_they_are())
    blended, classes = world.blended(), world.weights.sum(axis=0) / world.rows
    for before, after in zip(world.shares, blended.shares, strict=True):
        assert after @ classes == pytest.approx(before @ classes)
        assert np.ptp(after, axis=2) == pytest.approx(np.ptp(before, axis=2) / 2)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.floats(0, 500))
def test_any_noise_makes_rows_of_the_domain(seed: int, scale: float) -> None:
    """Even where all counts are negative."""
    draw = np.random.default_rng(seed)
    noisy = tuple(np.rint(one + draw.laplace(0, scale + 1e-9, one.shape)).astype(np.int64) for one in HISTOGRAMS)
    rows = LeafProductModel.of(FOREST, (1, 2), _as_they_are(tuple(np.repeat(one, 2, axis=0) for one in noisy))).draw(
        50.0, UniformStream(Randomness.seeded(seed))
    )
    assert abs(rows.labels.size - 50) <= 2
    for at, one in enumerate(SCHEMA.attributes):
        assert ((rows.codes[at] >= 0) & (rows.codes[at] < one.codes)).all()


def test_a_world_without_missing_shows_none_and_keeps_its_rows() -> None:
    """Also where a leaf has nothing but missing, or nothing but values that nobody has."""
    shares = np.array([[0.6, 1.0], [0.0, 0.0], [0.4, 0.0]])[np.newaxis]
    leads = np.array([[True, False, True], [False, True, True], [False, False, True]])
    world = LeafProductModel(
        weights=np.array([[30.0, 10.0], [4.0, 4.0], [20.0, 12.0]]),
        nodes=np.arange(3),
        region=np.zeros(3, dtype=np.int64),
        allowed=(leads,),
        shares=(shares,),
    )
    without = world.without_missing([0])
    assert without.rows == pytest.approx(world.rows)
    assert without.weights[2].tolist() == [0, 0]
    rows = without.draw(8_000.0, UniformStream(Randomness.seeded(4).child("rows")))
    assert set(rows.codes[0].tolist()) == {0, 1}
    assert world.without_missing([]).shares[0] is shares
