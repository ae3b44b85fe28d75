"""`dp-forest`: one epsilon for model and table, shares by the public rule, rows in the schema of the source."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

import anonkit
from anonkit.consumers.published_classifiers import Forest
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods.dp_forest import DPForest
from anonkit.policy.column_declarations import Column, Missing
from anonkit.policy.declaration import Policy

POLICY = bank_customers_policy()


def _release(n_rows: int = 3000, **more: Any) -> anonkit.Release:
    given = {"method": "dp-forest", "epsilon": 1.0, "policy": POLICY, "seed": 1, **more}
    return anonkit.release(bank_customers(n_rows, seed=1), **given)


def test_the_model_of_the_params_predicts() -> None:
    """Read from JSON alone, at epsilon 2: far above the majority class, and ranked well."""
    params = json.loads(json.dumps(_release(epsilon=2.0).params))
    fresh = bank_customers(2000, seed=2).to_pandas()
    truth = fresh.pop("customer_value").astype(str).to_numpy()
    model = Forest(params).fit()
    chances = model.predict_proba(fresh)
    assert chances.sum(axis=1) == pytest.approx(np.ones(2000))
    assert np.mean(model.predict(fresh) == truth) > 0.72 > np.mean(truth == "low") + 0.15
    assert roc_auc_score(truth == "high", chances[:, list(model.classes_).index("high")]) > 0.85


def _purposes(release: anonkit.Release) -> set[str]:
    purposes = {line["purpose"].split(" at level")[0] for line in release.params["accounting"]}
    return {"spikes" if purpose.startswith("spikes of ") else purpose for purpose in purposes}


def test_the_account_holds_every_kind_of_draw() -> None:
    """For two equal columns: splits, class counts, histograms, and the two sums of the weights."""
    table = bank_customers(20_000, seed=1)
    table = table.append_column("age again", table.column("age"))
    columns = {**POLICY.columns, "age again": replace(POLICY.column("age"), name="age again")}
    policy = replace(POLICY, columns=columns)
    release = anonkit.release(table, method="dp-forest", epsilon=1.0, policy=policy, seed=1)
    assert _purposes(release) == {
        "spikes",
        "number of rows",
        "dependence within classes",
        "interacting pair",
        "split",
        "class counts of a leaf",
        "histograms by class",
        "gradient of the weights",
        "curvature of the weights",
    }
    lines = release.params["accounting"]
    assert next(line for line in lines if line["purpose"] == "histograms by class")["times"] == 11


@pytest.mark.slow
def test_customers_whose_columns_do_not_depend_on_each_other_have_neither_splits_nor_weights() -> None:
    """Given their class: the histograms have what these would cost, and the model is calibrated."""
    assert _purposes(_release(20_000)) == {
        "spikes",
        "number of rows",
        "dependence within classes",
        "interacting pair",
        "class counts of a leaf",
        "histograms by class",
        "gradient of the calibration",
    }


def test_missing_values_are_one_more_value() -> None:
    """They come out of the histograms like others."""
    table = bank_customers(2000, seed=1)
    ages = [None if row % 4 == 0 else age for row, age in enumerate(table.column("age").to_pylist())]
    table = table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages, pa.int64()))
    columns = {**POLICY.columns, "age": replace(POLICY.column("age"), missing=Missing.CATEGORY)}
    release = anonkit.release(table, method="dp-forest", epsilon=20.0, policy=replace(POLICY, columns=columns), seed=1)
    assert release.to_arrow().column("age").null_count / release.to_arrow().num_rows == pytest.approx(0.25, abs=0.03)


def test_parameters_outside_their_range_are_refused() -> None:
    """And a unit's rows need a unit; a policy without target or attributes has no promise."""
    for wrong in ({"epsilon": 0}, {"trees": -1}, {"depth": 13}, {"bins": 1}, {"n_rows": -5}, {"as_": "rows"}):
        with pytest.raises(ParameterError):
            DPForest(**{"epsilon": 1.0, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="needs a unit column"):
        DPForest(epsilon=1.0, rows_per_unit=2).guarantee(POLICY)
    with pytest.raises(PolicyError, match="no column to predict is named"):
        DPForest(epsilon=1.0).guarantee(Policy(columns={"a": Column(name="a", categories=("x", "y"))}))


def test_replaced_rows_and_people_are_priced() -> None:
    """The rows of a unit and the two changes of a replaced row divide the budget."""
    table = bank_customers(600, seed=1).append_column("person", [[f"P{row % 300}" for row in range(600)]])
    release = anonkit.release(
        table,
        method="dp-forest",
        epsilon=1.0,
        adjacency="replace",
        rows_per_unit=2,
        policy=POLICY.with_roles(unit="person"),
        seed=1,
    )
    guarantee = release.report["guarantee"]
    assert guarantee["parameters"]["epsilon"] <= 1.0
    assert guarantee["parameters"]["rows_per_unit"] == 2
    path = sum(line["epsilon"] for line in release.params["accounting"] if line["level"] is None)
    assert path < 0.25
