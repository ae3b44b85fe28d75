"""Top-down specialization: what is charged, what is cut, and that cells partition the domain."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.central_dp import REPLACE
from anonkit.errors import ParameterError
from anonkit.randomness import Randomness
from anonkit.trees.attributes import Split
from anonkit.trees.cells import cells_of
from anonkit.trees.specialization import SCORES, SpecializationPlan, _Specializer, specialize
from tests.trees.tables import attribute, counter_of, schema_of, table_of

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
    """All draws of a run fit into the claim, whatever was chosen; the claim is what was asked for."""
    plan = plan_of(joint, score=SCORES[score])
    for seed in range(5):
        specializer = _Specializer(plan, counter_of(CODES, LABELS), Randomness.seeded(seed))
        specializer.run()
        assert plan.count.units < specializer.account.most <= plan.accounting.path_units
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
