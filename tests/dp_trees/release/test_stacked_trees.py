"""Releases of stacked trees: rows or cells, with what the owner chose before what the rule does."""

from __future__ import annotations

import numpy as np

import anonkit
from anonkit.consumers.published_classifiers import Forest
from anonkit.datasets import bank_customers
from anonkit.methods.dp_forest import DPForest
from tests.methods.test_dp_forest import POLICY, _release


def test_rows_stand_in_the_schema_of_the_source() -> None:
    """The declared columns in order, categories as they are, numbers inside their bounds, about as many rows."""
    released = _release().to_arrow()
    assert released.column_names == list(POLICY.columns)
    ages = np.asarray(released.column("age").drop_null().to_numpy())
    assert released.column("age").null_count < 100
    low, high = POLICY.column("age").bounds or (0, 0)
    assert low <= ages.min() < ages.max() <= high
    assert len(np.unique(ages)) > 40
    assert abs(released.num_rows - 3000) < 400


def test_a_public_number_of_rows_costs_nothing() -> None:
    """Otherwise it is counted with noise and is in the account."""
    counted = {line["purpose"] for line in _release().params["accounting"]}
    assert "number of rows" in counted
    public = anonkit.release(
        bank_customers(500, seed=1), method=DPForest(epsilon=1.0, n_rows=500), policy=POLICY, seed=1
    )
    assert "number of rows" not in {line["purpose"] for line in public.params["accounting"]}
    assert any("500 rows is public" in one for one in public.report["guarantee"]["assumptions"])


def test_several_trees_are_grown_on_rows_of_their_own() -> None:
    """The promise is that of one tree; all of them are published, and predict together."""
    release = _release(trees=4)
    assert len(release.params["trees"]) == 4
    assert release.params["rule"]["interaction"] is None  # a pair leads one tree alone
    assert release.report["guarantee"]["parameters"]["epsilon"] <= 1.0
    assert Forest(release.params).fit().predict_proba(bank_customers(50, seed=3).to_pandas()).shape == (50, 3)


def test_depth_and_bins_of_the_owner_go_before_the_rule() -> None:
    """Levels count the leaves': one level is no split at all."""
    release = _release(depth=1, bins=12)
    assert release.params["rule"]["interaction"] is None
    assert [len(tree) for tree in release.params["trees"]] == [1]
    number = next(one for one in release.params["attributes"] if one["name"] == "age")
    assert number["domain"]["cells"] == 12


def test_cells_have_noisy_counts() -> None:
    """The leaves as generalized cells."""
    table = _release(as_="cells").to_arrow()
    assert table.column_names[-1] == "count"
    assert abs(sum(table.column("count").to_pylist()) - 3000) < 600
