"""`edprf`: the budget of the paper, the sound default, the published stop rule without a guarantee."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, ParameterError, PolicyError
from anonkit.mechanisms.accounting import draw_epsilon
from anonkit.methods.edprf import EDPRF
from anonkit.policy.declaration import Policy

POLICY = bank_customers_policy()


def _release(n_rows: int = 800, **more: Any) -> anonkit.Release:
    given = {"epsilon": 1.0, "policy": POLICY, "seed": 1, **more}
    return anonkit.release(bank_customers(n_rows, seed=1), method="edprf", **given)


def test_levels_get_what_the_paper_says() -> None:
    """Three levels, epsilon 1: 0.18 and 0.27 for the splits, 0.55, 0.82 or 1 for a leaf by its level."""
    plan = EDPRF(epsilon=1.0, depth=3).plan(POLICY)
    told = {(draw.level, draw.ends_path): draw_epsilon(draw) for draw in plan.accounting.draws}
    assert told == pytest.approx(
        {(0, False): 2 / 11, (1, False): 3 / 11, (0, True): 1, (1, True): 9 / 11, (2, True): 6 / 11}
    )


@pytest.mark.parametrize(("allocation", "shares"), [("linear", (1 / 6, 2 / 6)), ("uniform", (1 / 3, 1 / 3))])
def test_other_allocations_divide_the_same_epsilon(allocation: str, shares: tuple[float, float]) -> None:
    """Three levels by what the paper compares with; a leaf gets what its path has not spent, here too."""
    plan = EDPRF(epsilon=1.0, depth=3, allocation=allocation).plan(POLICY)
    told = {(draw.level, draw.ends_path): draw_epsilon(draw) for draw in plan.accounting.draws}
    first, second = shares
    assert told == pytest.approx(
        {(0, False): first, (1, False): second, (0, True): 1, (1, True): 1 - first, (2, True): 1 - first - second}
    )


def test_every_tree_spends_the_whole_epsilon() -> None:
    """Disjoint rows: the number of trees does not divide the budget."""
    one, many = (EDPRF(epsilon=0.5, trees=trees).guarantee(POLICY) for trees in (1, 50))
    assert one == many


def test_the_published_stop_rule_promises_nothing_and_says_why() -> None:
    """The report has no epsilon, names the reason, and what would hold without it."""
    release = _release(preset="paper")
    guarantee = release.report["guarantee"]
    assert guarantee["kind"] == "none"
    assert "looks at the rows without noise" in guarantee["statement"]
    assert release.report["budget"]["epsilon"] is None
    assert release.params["accounting"] == []
    assert any("label" in node for node in release.params["trees"][0])
    assert "claim of the paper, epsilon = 1" in guarantee["statement"]
    assert "what is drawn loses epsilon = 0.5." in guarantee["statement"]


def test_the_published_rate_costs_half_of_what_it_claims() -> None:
    """Labels and splits at half the rate: half of epsilon, in the promise, in the account and on every path."""
    method = EDPRF(epsilon=1.0, depth=3, leaf="label", rate="published")
    told = {(draw.level, draw.ends_path): draw_epsilon(draw) for draw in method.plan(POLICY).accounting.draws}
    expected = {(0, False): 2 / 11, (1, False): 3 / 11, (0, True): 1, (1, True): 9 / 11, (2, True): 6 / 11}
    assert told == pytest.approx({key: epsilon / 2 for key, epsilon in expected.items()})
    promise = method.guarantee(POLICY).to_dict()["parameters"]
    assert promise["epsilon"] == pytest.approx(0.5)
    assert "claims epsilon = 1" in promise["published_claim"]
    assert EDPRF(epsilon=1.0, leaf="label").guarantee(POLICY).to_dict()["parameters"]["published_claim"] is None


def test_counts_take_what_the_paper_leaves_to_them() -> None:
    """A leaf gets what the paper has not charged, not what the choices above it have not cost."""
    published, full = (EDPRF(epsilon=1.0, rate=rate).plan(POLICY) for rate in ("published", "full"))
    for level in range(4):
        assert published.leaf_units(level) == pytest.approx(full.leaf_units(level), rel=1e-9)
    assert published.accounting.epsilon == pytest.approx(1.0)  # a root that is a leaf has made no choice


def test_the_ledger_is_charged_what_the_published_rate_costs(tmp_path: Path) -> None:
    """Two releases at a claim of 1 fit into a budget of 1, a third does not."""
    given = {"leaf": "label", "rate": "published", "dataset": "customers", "budget": 1.0, "seed": None,
             "ledger": tmp_path / "ledger"}  # fmt: skip
    for run in range(2):
        _release(output=tmp_path / f"out{run}.parquet", **given)
    with pytest.raises(BudgetError):
        _release(output=tmp_path / "more.parquet", **given)


@pytest.mark.slow
def test_cells_and_rows_tell_of_the_same_forest() -> None:
    """One budget buys either: generalized cells with noisy counts, or rows drawn from them."""
    rows, cells = _release(), _release(as_="cells")
    assert rows.params["trees"] == cells.params["trees"]
    table = cells.to_arrow()
    assert table.column_names[-1] == "count"
    assert abs(rows.to_arrow().num_rows - sum(table.column("count").to_pylist())) < 300
    assert "*" in table.column("income").to_pylist()


def test_people_are_protected_with_a_unit_column_and_a_cap() -> None:
    """All rows of a person count as one unit; rows beyond the cap are left out before anything is counted."""
    table = bank_customers(600, seed=1)
    people = [f"P{row % 60}" for row in range(600)]
    table = table.append_column("person", [people])
    policy = POLICY.with_roles(unit="person")
    release = anonkit.release(table, method="edprf", epsilon=40.0, trees=1, rows_per_unit=2, policy=policy, seed=1)
    guarantee = release.report["guarantee"]
    assert guarantee["unit"] == "one value of column 'person'"
    assert guarantee["parameters"]["epsilon"] <= 40.0
    assert 110 < release.report["rows"]["out"] < 130
    assert "person" not in release.to_arrow().column_names
    with pytest.raises(ParameterError, match="needs a unit column"):
        EDPRF(epsilon=1.0, rows_per_unit=2).guarantee(POLICY)


def test_replaced_rows_are_priced() -> None:
    """The same epsilon under replace-one means half of it for a row that comes or goes."""
    release = _release(adjacency="replace")
    assert release.report["guarantee"]["adjacency"] == "replace one record"
    assert release.report["guarantee"]["parameters"]["epsilon"] <= 1.0
    assert sum(line["epsilon"] for line in release.params["accounting"] if line["ends_path"]) < 4 * 0.5 + 1e-9


def test_a_policy_without_target_or_attributes_is_refused() -> None:
    """The rule is named."""
    with pytest.raises(PolicyError, match="no column to predict is named"):
        EDPRF(epsilon=1.0).guarantee(Policy())
    with pytest.raises(PolicyError, match="the policy declares none"):
        EDPRF(epsilon=1.0).guarantee(Policy().with_roles(target="y"))


def test_a_column_called_count_is_refused_for_cells() -> None:
    """The release needs the name."""
    table = bank_customers(100, seed=1)
    names = {name: "count" if name == "age" else name for name in table.column_names}
    columns = [replace(column, name=names[name]) for name, column in POLICY.columns.items()]
    policy = Policy(columns={column.name: column for column in columns})
    renamed = table.rename_columns(list(names.values()))
    with pytest.raises(PolicyError, match="count"):
        anonkit.release(renamed, method="edprf", epsilon=1.0, policy=policy, as_="cells")
