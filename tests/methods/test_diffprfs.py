"""`diffprfs`: the bootstrap that is paid for, the published division of the budget, and what holds then."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.mechanisms.accounting import draw_units
from anonkit.methods import make_method
from anonkit.methods.diffprfs import DiffPRFs

POLICY = bank_customers_policy()


def test_copies_of_a_row_are_paid_for() -> None:
    """The default keeps to the epsilon requested: every tree gets ln(1 + epsilon / trees)."""
    method = DiffPRFs(epsilon=1.0)
    promise = method.guarantee(POLICY)
    assert promise.to_dict()["kind"] == "central-dp"
    assert 0.999 < promise.to_dict()["parameters"]["epsilon"] <= 1.0
    assert method.plan(POLICY).path_units / 2**52 == pytest.approx(math.log1p(1 / 25))


def test_the_published_division_is_honest_about_what_holds() -> None:
    """Without the purity test the published budget has a guarantee, a weaker one, and the report says both figures."""
    release = anonkit.release(
        bank_customers(500, seed=1), method="diffprfs", epsilon=1.0, policy=POLICY, seed=1, trees=5, depth=2,
        rows="published-bootstrap",
    )  # fmt: skip
    guarantee = release.report["guarantee"]
    assert guarantee["parameters"]["epsilon"] == pytest.approx(5 * math.expm1(0.2), rel=1e-6)
    assert "The paper claims epsilon = 1: " in guarantee["statement"]


def test_the_published_preset_promises_nothing() -> None:
    """The purity test has no noise; the reason and the claim are in the report."""
    promise = DiffPRFs(epsilon=1.0, rows="published-bootstrap", stop="pure", rate="published").guarantee(POLICY)
    assert promise.kind == "none"
    assert "The paper claims epsilon = 1;" in promise.statement()
    assert DiffPRFs.presets["paper"]["stop"] == "pure"


def test_numbers_share_the_half_of_the_split() -> None:
    """With c numbers among the candidates a choice is drawn c + 1 times, each with its part."""
    plan = DiffPRFs(epsilon=1.0, rows="disjoint", trees=1).plan(POLICY)
    line = next(draw for draw in plan.accounting.draws if draw.name.startswith("cuts"))
    assert line.times <= plan.terms.candidates + 1
    assert draw_units(line) <= plan.split_units(0)
    assert plan.count_units(0) == plan.level_units[0] // 2


def test_two_children_use_a_category_again() -> None:
    """One value against the rest: two children everywhere, and a column on one path more than once."""
    release = anonkit.release(
        bank_customers(400, seed=1), method="diffprfs", epsilon=4.0, policy=POLICY, trees=12, depth=6, seed=1,
        rows="disjoint", stop="depth", branches="two", ledger=None,
    )  # fmt: skip
    again = False
    for tree in release.params["trees"]:
        above: list[list[str]] = [[] for _ in tree]
        for number, node in enumerate(tree):
            if "children" not in node:
                continue
            assert len(node["children"]) == 2
            assert node["split"] in ("cut", "one-vs-rest")
            again = again or (node["split"] == "one-vs-rest" and node["attribute"] in above[number])
            for child in node["children"]:
                above[child] = [*above[number], node["attribute"]]
    assert again


def test_values_against_the_rest_cost_no_draw_of_their_own() -> None:
    """The budget of a split is divided by the numbers among its candidates, as in the paper, and by no category."""
    plans = [DiffPRFs(epsilon=1.0, rows="disjoint", branches=branches).plan(POLICY) for branches in ("values", "two")]
    assert replace(plans[0].terms, reused=0) == replace(plans[1].terms, reused=0)
    assert plans[0].accounting == plans[1].accounting


def test_the_published_preset_names_the_claim_and_what_is_drawn() -> None:
    """25 trees of a bootstrap: the claim of 1 is 1.02 in truth, were it not for the purity test."""
    told = make_method("diffprfs", {"epsilon": 1.0}, preset="paper").guarantee(POLICY).statement()
    assert "The paper claims epsilon = 1;" in told
    assert f"what is drawn loses epsilon = {25 * math.expm1(1 / 25):.4g}." in told
