"""Top-down specialization: what is charged, what is cut, and that cells partition the domain."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from anonkit.domains.number_bins import Categories
from anonkit.dp_trees.microdata import cells_of, label_of
from anonkit.dp_trees.taxonomy_specialization import SCORES, SpecializationPlan, _Specializer, specialize
from anonkit.errors import ParameterError
from anonkit.mechanisms.accounting import draw_units, sensitivity_of
from anonkit.methods.diffp_id3 import DiffPID3
from anonkit.promises.guarantee import REPLACE
from anonkit.published.tree_model import Attribute, PublishedForest, Split
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, counter_of, schema_of, table_of

MIXED = schema_of(
    attribute("a", 3), attribute("b", 4), attribute("n", 6, Split.CUT, missing=True), attribute("m", 5, Split.CUT)
)
CODES, LABELS = table_of(MIXED, 400)


def plan_of(joint: bool, **more: object) -> SpecializationPlan:
    """Four steps for a loss of 1."""
    given = {"schema": MIXED, "epsilon": 1.0, "steps": 4, "score": SCORES["max-class"], "joint": joint, **more}
    return SpecializationPlan(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_no_more_is_charged_than_planned(joint: bool, score: str) -> None:
    """All draws of a run fit into the claim, whatever was chosen; the claim is what was requested."""
    plan = plan_of(joint, score=SCORES[score])
    for seed in range(5):
        specializer = _Specializer(plan, counter_of(CODES, LABELS), Randomness.seeded(seed))
        specializer.run()
        assert draw_units(plan.count) < specializer.account.most <= plan.accounting.path_units
    assert 0.999999 < plan.accounting.epsilon <= 1.0


def test_categories_are_divided_in_full() -> None:
    """One category against the rest is no step of a taxonomy."""
    with pytest.raises(ParameterError, match="multiway"):
        plan_of(True, schema=schema_of(attribute("b", 4, Split.ONE_VS_REST)))


def test_a_joint_choice_leaves_more_for_each_step() -> None:
    """DiffGen draws a cut for each number and after each step besides."""
    assert plan_of(False).choices == 2 + 2 * 4
    assert plan_of(True).choices == 4
    assert plan_of(True).choice.rate > 2 * plan_of(False).choice.rate


def test_replaced_rows_and_units_pay() -> None:
    """The claim stays, a row gets a share."""
    plan = plan_of(True, adjacency=REPLACE, rows_per_unit=2)
    assert plan.accounting.epsilon <= 1
    assert plan.path_units == pytest.approx(plan_of(True).path_units / 4, rel=1e-9)


@pytest.mark.parametrize("joint", [True, False])
def test_cells_partition_the_domain_and_hold_the_rows(joint: bool) -> None:
    """With much budget the counts are the true ones, near enough."""
    forest = specialize(plan_of(joint, epsilon=40.0), counter_of(CODES, LABELS), Randomness.seeded(1))
    cells = cells_of(forest)
    assert cells.volumes().sum() == pytest.approx(1)
    leaves = forest.leaves_of(CODES.astype(np.int64))[0]
    exact = np.zeros((len(forest.trees[0]), 2), dtype=np.int64)
    np.add.at(exact, (leaves, LABELS), 1)
    noisy = np.array([(0, 0) if leaf is None else leaf.counts for leaf in forest.contents()])
    assert np.abs(exact - noisy).max() <= 4


def test_a_step_is_taken_in_all_cells_at_once() -> None:
    """The cells are a product of what each attribute was divided into."""
    forest = specialize(plan_of(True, epsilon=40.0), counter_of(CODES, LABELS), Randomness.seeded(2))
    cells = cells_of(forest)
    sizes = [len({tuple(row) for row in allowed.tolist()}) for allowed in cells.allowed]
    assert np.prod(sizes) == cells.size


def test_nothing_to_divide_is_counted_as_it_is() -> None:
    """More steps than there are values end early."""
    schema = schema_of(attribute("x", 2), attribute("n", 2, Split.CUT))
    codes, labels = table_of(schema, 50)
    forest = specialize(plan_of(False, schema=schema, steps=9), counter_of(codes, labels), Randomness.seeded(3))
    assert cells_of(forest).size == 4


PATHS = (("a0", "low", "any"), ("a1", "low", "any"), ("a2", "high", "any"), ("a3", "high", "any"))
TAXONOMY = schema_of(
    Attribute(name="a", domain=Categories(values=("a0", "a1", "a2", "a3")), split=Split.TAXONOMY, paths=PATHS),
    attribute("n", 4, Split.CUT),
)


def test_a_hierarchy_is_followed_group_by_group() -> None:
    """Two groups first, then the categories of one or the other: cells are groups of the policy, by their names."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 4, 600), np.zeros(600, dtype=np.int64)]).astype(np.uint8)
    labels = (codes[0] // 2).astype(np.int64)
    plan = plan_of(False, schema=TAXONOMY, steps=1, epsilon=40.0)
    forest = specialize(plan, counter_of(codes, labels), Randomness.seeded(1))
    cells = cells_of(forest)
    assert [label_of(TAXONOMY.attributes[0], one) for one in cells.allowed[0]] == ["low", "high"]
    plan = plan_of(False, schema=TAXONOMY, steps=9, epsilon=40.0)
    assert cells_of(specialize(plan, counter_of(codes, labels), Randomness.seeded(1))).size == 16


def test_a_published_hierarchy_is_read_back() -> None:
    """Groups, divisions and children; rows find the same leaves."""
    codes, labels = table_of(TAXONOMY, 200)
    plan = plan_of(True, schema=TAXONOMY, steps=3, epsilon=40.0)
    forest = specialize(plan, counter_of(codes, labels), Randomness.seeded(2))
    params = json.loads(json.dumps(forest.to_params()))
    again = PublishedForest.from_params(params)
    assert again.to_params() == forest.to_params()
    assert {node["value"] for node in params["trees"][0] if node.get("split") == "taxonomy"} <= {"*", "low", "high"}
    assert np.array_equal(again.leaves_of(codes.astype(np.int64)), forest.leaves_of(codes.astype(np.int64)))


def test_the_grower_of_trees_takes_no_hierarchy() -> None:
    """Its nodes would score groups that none of their rows is in."""
    with pytest.raises(ParameterError, match="specialization"):
        DiffPID3(epsilon=1.0).plan_of(TAXONOMY)


@pytest.mark.parametrize("score", SCORES)
def test_no_row_moves_the_scores_of_a_step_further_than_it_pays_for(score: str) -> None:
    """Every part of every hierarchy and interval, over all small tables and all rows that may come: brute force."""
    plan = plan_of(True, schema=TAXONOMY, score=SCORES[score], steps=1)
    width = sensitivity_of(plan.choice.query)
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 6):
        for _ in range(2):
            codes = np.stack([rng.integers(0, 4, n), rng.integers(0, 4, n)]).astype(np.uint8)
            labels = rng.integers(0, 2, n)
            before = _step_scores(plan, codes, labels)
            for row in itertools.product(range(4), range(4), range(2)):
                more = np.column_stack([codes, np.array(row[:2], dtype=np.uint8)])
                moved = _step_scores(plan, more, np.append(labels, row[2])) - before
                assert moved.max() - moved.min() <= width


def _step_scores(plan: SpecializationPlan, codes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Scores of every division of every group and interval, also of those that later steps reach."""
    found = _Specializer(plan, counter_of(codes, labels), Randomness.seeded(0))
    categories = plan.schema.attributes[0]
    groups = [division >= 0 for division in categories.taxonomy.divisions]
    intervals = [np.array([low <= code <= high for code in range(4)]) for low in range(4) for high in range(low + 1, 4)]
    parts = [found._add_part(0, group) for group in groups] + [found._add_part(1, one) for one in intervals]
    return np.concatenate([found._scores(found.parts[part]) for part in parts])


def test_the_cuts_of_an_interval_share_one_weight() -> None:
    """Without a difference in scores a group of categories is as likely as an interval, however many cuts it has."""
    codes, labels = np.zeros((2, 0), dtype=np.uint8), np.zeros(0, dtype=np.int64)
    schema = schema_of(attribute("a", 2), attribute("n", 16, Split.CUT))
    shares = []
    for weighted in (True, False):
        plan = plan_of(True, schema=schema, steps=1, weighted=weighted)
        grown = [specialize(plan, counter_of(codes, labels), Randomness.seeded(seed)) for seed in range(150)]
        shares.append(np.mean([forest.trees[0][0].attribute == 0 for forest in grown]))
    assert shares[0] == pytest.approx(1 / 2, abs=0.15)
    assert shares[1] == pytest.approx(1 / 16, abs=0.08)
