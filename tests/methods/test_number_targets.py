"""Releases of tables with a number to predict: k is counted anew in the files, whatever guided the search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

METHODS = ("rfka", "mondrian", "datafly", "incognito", "mdav", "greedy-hamdist")


def table(n_rows: int, seed: int, words: float = 0.0) -> pd.DataFrame:
    """Return people whose income follows from age and job, and from where they live not at all."""
    random = np.random.default_rng(seed)
    age, job = random.integers(18, 80, n_rows), random.choice(list("abcd"), n_rows)
    income = (100 * age + 2000 * (job == "a") + random.normal(0, 500, n_rows)).round().astype(int)
    cells = income.astype(str).astype(object)
    cells[random.random(n_rows) < words] = "N"
    return pd.DataFrame(
        {"age": age, "job": job, "place": random.integers(0, 40, n_rows), "income": cells if words else income}
    )


def settings(method: str) -> dict[str, object]:
    """Return what makes a release of a test quick."""
    return {"trees": 20} if method == "rfka" else {"max_suppression": 0.2} if method != "mondrian" else {}


def smallest_class(place: Path) -> int:
    """Count the smallest equivalence class of a stored release by pandas, from its files alone."""
    params = json.loads(place.with_suffix(".params.json").read_text())
    shown = pd.read_parquet(place)
    names = [entry["name"] for entry in params["columns"] if entry["role"] == "quasi_identifier"]
    there = [name for name in names if name in shown.columns]
    return int(shown.astype(str).groupby(there).size().min()) if there else len(shown)


@pytest.mark.quick_cases("0.1-rfka", "0.1-mdav", "0.1-incognito")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("words", [0.0, 0.1])
def test_k_holds_on_recount_with_a_number_to_predict(method: str, words: float, tmp_path: Path) -> None:
    """Every released combination is shared by k rows, with and without words among the numbers, whose rows stay."""
    source, out = table(240, 1, words), tmp_path / "out.parquet"
    anonkit.release(source, method=method, k=6, target="income", output=out, ledger=None, **settings(method))

    assert smallest_class(out) >= 6
    assert json.loads(out.with_suffix(".params.json").read_text())["task"] == "regression"
    assert anonkit.validate(out).passed
    if words and method == "mondrian":
        assert (pd.read_parquet(out)["income"] == "N").sum() == (source["income"] == "N").sum()


@pytest.mark.slow
def test_rfka_keeps_what_predicts_the_number() -> None:
    """Age and job stay in some detail, the place of no meaning costs nothing; the report states R² beside the mean."""
    release = anonkit.release(table(1_800, 2), method="rfka", k=10, target="income", ledger=None, trees=40)

    importance = {column["name"]: column.get("importance", 0) for column in release.report["columns"]}
    scores = release.report["utility"]["prediction_of_target"]
    assert importance["age"] > importance["job"] > 5 * abs(importance["place"])
    assert scores["r2"] > 0.8
    assert scores["ci"]["r2"][0] < scores["r2"] < scores["ci"]["r2"][1]
    assert scores["of_mean"]["r2"] <= 0
    assert scores["mae"] < scores["of_mean"]["mae"] / 2


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["rfka", "mondrian"])
def test_a_numeric_guide_does_not_depend_on_the_order_of_the_rows(method: str) -> None:
    """The same table in another order has the same recoding."""
    source = table(200, 3, 0.05)
    mixed = source.sample(frac=1, random_state=0)
    first, second = (
        anonkit.release(one, method=method, k=5, target="income", ledger=None, **settings(method)).params["recoding"]
        for one in (source, mixed)
    )

    assert first == second


@pytest.mark.parametrize("method", ["rfka", "mondrian", "greedy-hamdist"])
def test_thousands_of_classes_are_refused_by_methods_that_are_guided(method: str) -> None:
    """Before, rfka held 1,400 shares of classes for every node of every tree, and ended for want of memory."""
    source = table(1500, 4).assign(income=[f"word {at}" for at in range(1500)])

    with pytest.raises(PolicyError, match="more than 1,000 classes"):
        anonkit.release(source, method=method, k=10, target="income", release_as_is=["income"], ledger=None)


@pytest.mark.parametrize("method", ["rfka", "mondrian", "datafly", "incognito", "mdav"])
def test_k_holds_on_recount_without_a_target(method: str, tmp_path: Path) -> None:
    """No column is taken for the target, all are quasi-identifiers, and k rows share what is shown of them."""
    out = tmp_path / "out.parquet"
    release = anonkit.release(
        table(300, 5), method=method, k=6, no_target=True, output=out, ledger=None, **settings(method)
    )

    assert smallest_class(out) >= 6
    assert {column["role"] for column in release.report["columns"]} == {"quasi_identifier"}
    assert json.loads(out.with_suffix(".params.json").read_text())["target"] is None
    assert 0 < release.owner["joint_distribution"]["mean_total_variation"] < 1
    assert anonkit.validate(out).passed


@pytest.mark.slow
def test_without_a_target_detail_goes_where_columns_are_related() -> None:
    """Of two related columns and one of noise, boxes keep the joint distribution better than cuts by counts alone."""
    source = table(1200, 6).drop(columns="job")
    as_before = Policy(columns={name: Column(name=name) for name in source.columns})
    jointly, by_counts = (
        anonkit.release(source, method="mondrian", k=10, ledger=None, **how).owner["joint_distribution"]
        for how in ({"no_target": True}, {"policy": as_before})
    )

    assert jointly["mean_total_variation"] < by_counts["mean_total_variation"]


def test_methods_that_need_a_target_refuse_to_go_without() -> None:
    """The comparators of published papers and their presets choose by a target; so do trees and naive Bayes."""
    source = table(60, 7)
    for method, more in (("greedy-hamdist", {}), ("rfka", {"preset": "paper"}), ("dp-forest", {"epsilon": 1.0})):
        with pytest.raises(PolicyError):
            anonkit.release(source, method=method, no_target=True, ledger=None, **more)
