"""`c45-arithmetic`: budgets in arithmetic progression, counts of all attributes with noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.checks.central import central_checks, central_report_checks
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError
from anonkit.mechanisms.accounting import draw_units
from anonkit.methods import make_method
from anonkit.methods.c45_arithmetic import C45Arithmetic

POLICY = bank_customers_policy()


@pytest.mark.parametrize(("order", "parts"), [("ascending", [1, 2, 3, 4]), ("descending", [4, 3, 2, 1])])
def test_the_levels_are_an_arithmetic_progression(order: str, parts: list[int]) -> None:
    """Ten parts for four levels."""
    plan = C45Arithmetic(epsilon=1.0, order=order).plan(POLICY)
    assert [units / plan.path_units for units in plan.level_units] == pytest.approx([part / 10 for part in parts])


def test_the_share_of_a_level_is_divided_over_the_attributes() -> None:
    """A row is in the table of every attribute."""
    plan = C45Arithmetic(epsilon=1.0).plan(POLICY)
    (draw,) = plan.split_draws(1)
    assert draw.times == len(plan.schema.attributes)
    assert draw.law == "discrete-laplace"
    assert draw_units(draw) <= plan.level_units[1]


def test_the_published_stop_rule_promises_nothing() -> None:
    """A pure node is seen without noise."""
    assert C45Arithmetic(epsilon=1.0, stop="pure").guarantee(POLICY).kind == "none"
    assert 0.99 < C45Arithmetic(epsilon=1.0, stop="noisy").guarantee(POLICY).to_dict()["parameters"]["epsilon"] <= 1


def test_the_preset_promises_what_it_costs_beside_what_the_paper_claims() -> None:
    """A row is in the counts of ten attributes at the root, of nine below it, of eight, and then in a leaf."""
    method = make_method("c45-arithmetic", {"epsilon": 1.0}, "paper")
    promise = method.guarantee(POLICY)
    true = (10 * 1 + 9 * 2 + 8 * 3 + 4) / 10
    assert promise.to_dict()["parameters"]["epsilon"] == pytest.approx(true)
    assert "The paper claims epsilon = 1:" in promise.statement()
    plan = method.plan(POLICY)  # type: ignore[attr-defined]
    assert [plan.split_draws(level)[0].times for level in range(3)] == [10, 9, 8]
    assert draw_units(plan.split_draws(0)[0]) == 10 * plan.level_units[0]


@pytest.mark.parametrize("name", ["c45-arithmetic", "c45-halving"])
def test_the_preset_takes_the_largest_gain_ratio(name: str) -> None:
    """Sections 1.1, 2.3 and 2.4 of the paper say the largest; a draw needs the parameter."""
    assert make_method(name, {"epsilon": 1.0}, "paper").choice == "best"  # type: ignore[attr-defined]
    drawn = make_method(name, {"epsilon": 1.0, "choice": "exponential"}, "paper")
    assert drawn.plan(POLICY).choices.selection.exponential  # type: ignore[attr-defined]


@pytest.mark.quick_cases("c45-arithmetic")
@pytest.mark.parametrize("name", ["c45-arithmetic", "c45-halving"])
def test_the_preset_is_charged_and_validated_as_what_it_costs(name: str, tmp_path: Path) -> None:
    """The ledger books the sum, not the claim: a budget that covers the claim alone refuses the release."""
    table, place = bank_customers(600, seed=1), {"output": tmp_path / "o.parquet", "ledger": tmp_path / "ledger"}
    given: dict[str, Any] = {"method": name, "preset": "paper", "epsilon": 1.0, "policy": POLICY, **place}
    with pytest.raises(BudgetError, match="budget"):
        anonkit.release(table, **given, budget=1.5)
    release = anonkit.release(table, **given, budget=9.0)
    true = release.report["guarantee"]["parameters"]["epsilon"]
    assert true > 4
    assert [one["epsilon"] for one in release.report["ledger"]["totals"]] == pytest.approx([true])
    assert release.report["budget"]["epsilon"] == true
    assert release.report["guarantee"]["parameters"]["published_claim"].startswith("The paper claims epsilon = 1:")
    assert anonkit.validate(release).passed


@pytest.mark.slow
def test_a_node_of_few_noisy_rows_is_a_leaf() -> None:
    """With hardly any noise the nodes that are split have the rows that were requested, and smaller ones are leaves."""
    table = bank_customers(2_000, seed=1)
    given: dict[str, Any] = {"method": "c45-arithmetic", "epsilon": 40.0, "policy": POLICY, "ledger": None, "seed": 1}
    sizes = {}
    for least in (0, 200):
        release = anonkit.release(table, min_rows=least, depth=3, order="descending", **given)
        nodes = release.params["trees"][0]
        rows = [0] * len(nodes)
        for at in reversed(range(len(nodes))):
            node = nodes[at]
            rows[at] = sum(rows[child] for child in node["children"]) if "children" in node else sum(node["counts"])
        sizes[least] = [rows[at] for at, node in enumerate(nodes) if "children" in node]
    assert min(sizes[0]) < 150
    assert min(sizes[200]) > 150
    assert len(sizes[200]) < len(sizes[0])


def test_a_release_of_a_version_that_always_divided_validates(tmp_path: Path) -> None:
    """Its params do not say how tables share a level."""
    anonkit.release(
        bank_customers(600, seed=1), method="c45-arithmetic", epsilon=1.0, policy=POLICY, output=tmp_path / "o.parquet"
    )
    for file, keys in (("o.params.json", ("parameters",)), ("o.report.json", ("method", "parameters"))):
        content = json.loads((tmp_path / file).read_bytes())
        given = content
        for key in keys:
            given = given[key]
        for name in ("tables", "choice", "min_rows"):
            del given[name]
        (tmp_path / file).write_text(json.dumps(content), encoding="utf-8")
    params, report = (json.loads((tmp_path / f"o.{one}.json").read_bytes()) for one in ("params", "report"))
    checks = list(central_checks(tmp_path / "o.parquet", params, report["guarantee"], is_promised=True))
    checks += central_report_checks(params, report, is_promised=True)
    assert [check.name for check in checks if not check.passed] == []


def test_a_release_validates(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """From the files alone."""
    release = anonkit.release(
        bank_customers(600, seed=1), method="c45-arithmetic", epsilon=1.0, policy=POLICY, output=tmp_path / "o.parquet"
    )
    assert anonkit.validate(release).passed
