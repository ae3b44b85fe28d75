# SPDX-License-Identifier: Apache-2.0
"""Breach measures against the paper's closed forms, and comparators and tables of experiments against oracles."""

from __future__ import annotations

import math
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.harness.breach_measures import breach_coefficient, breach_widths
from papers.harness.experiment_tables import LearningTask, TableSpec, in_two
from papers.harness.unprotected_models import COMPARATORS, DTPD, PlainNaiveBayes
from sklearn.naive_bayes import CategoricalNB

from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, PolicyError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import ContinuousDraw, TransformedResponse


def task(rows: int = 600) -> LearningTask:
    """Simulated customers."""
    policy = bank_customers_policy()
    train, test = bank_customers(rows, seed=1), bank_customers(rows, seed=2)
    return LearningTask(train=train, test=test, policy=policy.resolve(train.column_names), target="customer_value")


@given(st.floats(0.01, 0.99), st.integers(2, 9))
def test_the_breach_coefficient_is_the_papers(p_0: float, m: int) -> None:
    """p_0² / (p_0 + p_j), p_j = (1 - p_0) / m; of two values 2 p_0² / (1 + p_0)."""
    matrix = p_0 * np.eye(m) + (1 - p_0) / m
    exact = breach_coefficient(matrix)

    assert exact == pytest.approx(p_0**2 / (p_0 + (1 - p_0) / m))
    if m == 2:
        assert exact == pytest.approx(2 * p_0**2 / (1 + p_0))
    drawn = breach_coefficient(RandomizedResponse.equal(m, p_0).response_matrix())
    assert drawn == pytest.approx(exact, abs=1e-6)


@given(st.floats(0.01, 0.99).filter(lambda p: abs(p - 0.5) > 1e-3))
def test_the_coefficients_of_ppnb_and_dtpd_cross_where_the_paper_says(p: float) -> None:
    """Section 6.1: below 1/√2 the coefficient of PPNB is the smaller one, above it is not."""
    ppnb = breach_coefficient(p * np.eye(2) + (1 - p) / 2)

    assert ppnb is not None
    assert (ppnb < DTPD(p_truth=p).breach) == (p < 1 / math.sqrt(2))


def test_dtpd_promises_nothing_and_its_coefficient_is_measured() -> None:
    """No promise, an infinite loss; a truth probability of (1 + p_0) / 2 is that of p_0 at the same loss a value."""
    (sample,), promise, epsilon = DTPD(p_keep=0.4).samples(_YES_NO, 1)

    assert (promise, epsilon) == ("none", math.inf)
    assert sample["breach"] == pytest.approx(0.7**2 + 0.3**2)
    assert sample["guess"] == pytest.approx(0.7)


@pytest.mark.parametrize("noise", [0.1, 1.0, 4.0])
def test_the_width_of_a_number_is_that_of_its_posterior(noise: float) -> None:
    """Normal number, normal noise: table 2's widths times s / √(s² + 1); without noise to see, those of table 2."""
    draw = np.random.default_rng(0)
    true = draw.normal(100, 7, 5_000)
    response = TransformedResponse(
        multiplier=ContinuousDraw(mean=1, variance=0), offset=ContinuousDraw(mean=0, variance=(7 * noise) ** 2)
    )

    widths = breach_widths(response, true + draw.normal(0, 7 * noise, true.size), true)
    stated = {"breach_width_99_9": 6.58, "breach_width_99": 5.15, "breach_width": 3.92, "breach_width_50": 1.35}
    assert widths == {
        name: pytest.approx(width * noise / math.sqrt(noise**2 + 1), rel=0.05 if noise < 1 else 0.02)
        for name, width in stated.items()
    }


def test_uniform_noise_rules_values_out() -> None:
    """Noise of ±0.1 deviations leaves 95 % of 0.2 of them."""
    draw = np.random.default_rng(1)
    true = draw.normal(0, 1, 5_000)
    noise = ContinuousDraw(mean=0, variance=0.1**2 / 3, shape="uniform")
    response = TransformedResponse(multiplier=ContinuousDraw(mean=1, variance=0), offset=noise)

    widths = breach_widths(response, true + draw.uniform(-0.1, 0.1, true.size), true)
    assert widths["breach_width"] == pytest.approx(0.19, abs=0.015)
    assert widths["breach_width_50"] == pytest.approx(0.1, abs=0.015)


def test_what_trr_shows_is_narrower_than_the_paper_says() -> None:
    """As published on a number far from zero the answer discloses nearly nothing, on one around zero it does."""
    draw = np.random.default_rng(2)
    for mean, low, high in ((0.0, 2.0, 3.6), (50.0, 3.85, 3.95)):
        true = draw.normal(mean, 1, 5_000)
        response = TransformedResponse(
            multiplier=ContinuousDraw(mean=1, variance=1), offset=ContinuousDraw(mean=0, variance=1)
        )
        shown = draw.normal(1, 1, true.size) * true + draw.normal(0, 1, true.size)
        assert low < breach_widths(response, shown, true)["breach_width"] < high


def test_plain_naive_bayes_is_scikit_learns() -> None:
    """On yes/no columns the comparator has the accuracy of CategoricalNB with the same smoothing."""
    names = [name for name in _YES_NO.train.column_names if name != _YES_NO.target]
    matrices = [
        np.stack([table.column(name).to_numpy() == "yes" for name in names], axis=1).astype(int)
        for table in (_YES_NO.train, _YES_NO.test)
    ]
    labels = [np.array(table.column(_YES_NO.target).to_pylist()) for table in (_YES_NO.train, _YES_NO.test)]
    oracle = CategoricalNB(alpha=0.5, min_categories=2).fit(matrices[0], labels[0])

    (sample,), _, _ = PlainNaiveBayes().samples(_YES_NO, 0)
    assert sample["accuracy"] == pytest.approx((oracle.predict(matrices[1]) == labels[1]).mean(), abs=0.004)


@pytest.mark.quick_cases("dtcrd", "c45", "forest", "tree", "naive-bayes")
@pytest.mark.parametrize("name", sorted(set(COMPARATORS) - {"svm", "dtpd"}))
def test_every_comparator_beats_or_is_the_commonest_class(name: str) -> None:
    """On simulated customers, half of whom are of low value; the same seed gives the same scores."""
    rows = _YES_NO if name == "c45" else task()
    few = {"trees": 5} if name == "forest" else {"cells": 5} if name == "dtcrd" else {}
    first, second = (COMPARATORS[name](**few).samples(rows, 3) for _ in range(2))

    assert first == second
    assert first[0][0]["accuracy"] >= 0.45


def test_comparators_refuse_what_they_are_not_for() -> None:
    """DTPD needs yes/no columns and one probability, DTCRD numbers and a noise it knows."""
    with pytest.raises(PolicyError, match="yes or no"):
        DTPD(p_truth=0.7).samples(task(50), 0)
    for wrong in ({}, {"p_truth": 0.7, "p_keep": 0.4}):
        with pytest.raises(ParameterError, match="one of p_truth and p_keep"):
            DTPD(**wrong)
    with pytest.raises(PolicyError, match="columns with bounds"):
        COMPARATORS["dtcrd"]().samples(_YES_NO, 0)
    for more in ({"width": 0.0}, {"shape": "square"}):
        with pytest.raises(ParameterError, match="must be"):
            COMPARATORS["dtcrd"](**more)


def test_yes_no_columns_are_cut_at_the_median_of_the_rows_to_learn_from() -> None:
    """Half of them or fewer say yes, the policy declares two values, and the labels are as they were."""
    rows = task()
    for name in ("age", "deposit", "education"):
        assert _YES_NO.policy.column(name).categories == ("no", "yes")
        assert 0.2 < pc.mean(pc.equal(_YES_NO.train.column(name), "yes")).as_py() <= 0.5
    assert _YES_NO.train.column(_YES_NO.target).equals(rows.train.column(rows.target))


@pytest.fixture
def spec(tmp_path: Path) -> Any:
    """Makes a table of 90 rows, two thirds of class a."""
    path = tmp_path / "t.csv"
    path.write_text("n,label\n" + "".join(f"{at},{'aab'[at % 3]}\n" for at in range(90)), encoding="utf-8")
    digest = sha256(path.read_bytes()).hexdigest()

    def make(**more: object) -> TableSpec:
        raw = {"train": {"file": "t.csv", "sha256": digest}, "target": "label", **more}
        return TableSpec.from_dict("t", raw, tmp_path, "recipe")

    return make


def test_rows_are_drawn_at_the_classes_rates_and_folds_divide_them(spec: Any, tmp_path: Path) -> None:
    """The same rows for the same repeat, others for another; every row is predicted once."""
    drawn = spec(rows=30, released_folds=3)
    tasks = [next(drawn.tasks(tmp_path, repeat, 7))[1] for repeat in (0, 0, 1)]
    assert Counter(tasks[0].train.column("label").to_pylist()) == {"a": 20, "b": 10}
    assert tasks[0].train.equals(tasks[1].train)
    assert not tasks[0].train.equals(tasks[2].train)

    folded = list(spec(folds=4).tasks(tmp_path, 0, 7))
    tested = [value for _, one in folded for value in one.test.column("n").to_pylist()]
    assert sorted(tested) == list(range(90))
    assert all(one.train.num_rows + one.test.num_rows == 90 for _, one in folded)

    balanced = next(spec(balanced=True, folds=2).tasks(tmp_path, 0, 7))[1]
    both = pa.concat_tables([balanced.train, balanced.test])
    assert Counter(both.column("label").to_pylist()) == {"a": 30, "b": 30}


_YES_NO = in_two(task())
