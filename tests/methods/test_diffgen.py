"""`diffgen`: half of the budget on what is made finer, half on the counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import PolicyError
from anonkit.mechanisms.accounting import draw_units
from anonkit.methods.diffgen import DiffGen
from anonkit.policy.declaration import Policy

POLICY = bank_customers_policy()


def test_the_budget_is_that_of_the_paper() -> None:
    """Epsilon / (2 (numbers + 2 steps)) for each draw, and half for the counts."""
    plan = DiffGen(epsilon=1.0, steps=5).plan(POLICY)
    choice, count = plan.accounting.draws
    assert choice.times == 5 + 2 * 5
    assert draw_units(choice) / choice.times / 2**52 == pytest.approx(1 / (2 * 15))
    assert draw_units(count) / 2**52 == pytest.approx(0.5)


def test_cells_are_generalized_records_with_counts() -> None:
    """As the paper releases them; validation adds the account up."""
    release = anonkit.release(
        bank_customers(2_000, seed=1), method="diffgen", epsilon=2.0, policy=POLICY, steps=3, as_="cells", seed=1
    )
    table = release.to_arrow()
    assert table.column_names[-1] == "count"
    assert abs(sum(table.column("count").to_pylist()) - 2_000) < 400
    whole = [name for name in table.column_names[:-2] if set(table.column(name).to_pylist()) == {"*"}]
    assert len(whole) >= 10 - 3


def _with_tree() -> Policy:
    """The bank's policy with a hierarchy of education: school or university."""
    column = POLICY.column("education")
    half = len(column.categories or ()) // 2
    tree = tuple((one, "school" if at < half else "university") for at, one in enumerate(column.categories or ()))
    return replace(POLICY, columns={**POLICY.columns, "education": replace(column, tree=tree)})


def test_groups_of_the_policy_are_what_cells_are_made_of(tmp_path: Path) -> None:
    """With a tree in the policy its groups come before single categories; the release validates and predicts."""
    policy, output = _with_tree(), tmp_path / "o.parquet"
    plan = DiffGen(epsilon=4.0).plan(policy)
    assert [one.name for one in plan.schema.attributes if one.paths] == ["education"]
    assert plan.accounting.epsilon == DiffGen(epsilon=4.0).plan(POLICY).accounting.epsilon
    release = anonkit.release(
        bank_customers(1_500, seed=1), method="diffgen", epsilon=20.0, policy=policy, steps=3, as_="cells", seed=3,
        output=output,
    )  # fmt: skip
    shown = set(release.to_arrow().column("education").to_pylist())
    assert shown & {"school", "university"}
    assert shown <= {"school", "university", "missing", "*", *(POLICY.column("education").categories or ())}
    assert [one.name for one in anonkit.validate(release).checks if not one.passed] == ["randomness"]
    made = anonkit.reconstruct(output, test=bank_customers(500, seed=2), model=tmp_path / "model.json")
    assert made.scores is not None
    assert made.scores.accuracy > 0.5


def test_a_tree_that_lacks_a_category_is_refused() -> None:
    """The categories with a path are public; the message names the column and no category."""
    column = POLICY.column("education")
    tree = tuple((one, "all") for one in (column.categories or ())[1:])
    policy = replace(POLICY, columns={**POLICY.columns, "education": replace(column, tree=tree)})
    with pytest.raises(PolicyError, match="'education': its tree lacks categories"):
        DiffGen(epsilon=1.0).plan(policy)
