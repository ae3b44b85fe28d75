"""A release that cannot predict its target is reported as such, one that can is not, with the rows needed."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.told_or_not import power

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.consumers.column_statistics import ClassStatistics, Columns
from anonkit.consumers.learning_power import (
    LearningPower,
    NothingLearnedWarning,
    _without_effect,
    learning_power,
)
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.estimators.consistent_counts import JointAnswers
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget
from anonkit.randomized_response.number_response import best_category_response

from .conftest import CLASSES, publish_table

pytestmark = pytest.mark.filterwarnings("ignore::anonkit.consumers.naive_bayes.ReconstructionWarning")

METHODS: dict[str, dict[str, Any]] = {
    "rr": {"method": "rr", "epsilon": 4.0},
    "rr clear label": {"method": "rr", "epsilon": 4.0, "label": "clear"},
    "errph": {"method": "errph", "p_keep": 0.5, "bins": 8},
    "ppnb": {"method": "ppnb", "p_keep": 0.5},
    "dp-nb": {"method": "dp-nb", "epsilon": 1.0},
}


@pytest.mark.quick_cases("dp-nb")
@pytest.mark.parametrize("name", METHODS)
def test_a_class_effect_is_told_where_there_is_one_and_not_elsewhere(name: str) -> None:
    """2,000 customers: found in all releases; with random classes in at most two of six."""
    assert all(power(2_000, seed, METHODS[name], shuffled=False)[0].class_effect_told for seed in range(2))
    assert sum(power(2_000, seed, METHODS[name], shuffled=True)[0].class_effect_told for seed in range(6)) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("rows", [200, 2_000])
@pytest.mark.parametrize("name", METHODS)
def test_chance_is_taken_for_an_effect_once_in_twenty_releases(name: str, rows: int) -> None:
    """60 releases in which nothing depends on the class: at most 8 findings (5 % and 3 deviations)."""
    assert sum(power(rows, seed, METHODS[name], shuffled=True)[0].class_effect_told for seed in range(60)) <= 8


def pair(p_keep: float, *, size: int = 2) -> PublishedTable:
    """A category and a class, both randomized."""
    domain = Categories(values=tuple(f"v{at}" for at in range(size)))
    return PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=RandomizedResponse.equal(2, p_keep)),
        attributes=(PublishedAttribute(name="c", domain=domain, mechanism=RandomizedResponse.equal(size, p_keep)),),
    )


def told(table: PublishedTable, rows: int, difference: float, seed: int) -> LearningPower:
    """Return the power of a release in which one value's share differs by so much between two equal classes."""
    rng = np.random.default_rng(seed)
    yes = rng.random(rows) < 0.5
    values = table.attributes[0].domain
    assert isinstance(values, Categories)
    first = rng.random(rows) < 0.5 + np.where(yes, 0.5, -0.5) * difference
    codes = np.where(first, 0, rng.integers(1, values.size, rows))
    truth = {"c": values.decode(codes), "class": CLASSES.decode(yes.astype(np.int64))}
    statistics = ClassStatistics(table)
    statistics.add(Columns(publish_table(table, truth, seed)))
    return learning_power(NaiveBayes(table).fit_statistics(statistics).model_)


@pytest.mark.slow
def test_the_rows_it_states_are_the_rows_it_takes() -> None:
    """With the stated rows a difference of 10 points is found in most releases, with a sixteenth of them in few."""
    table = pair(0.3)
    needed = told(table, 50_000, 0.0, 0).rows_for_class_effect
    assert needed is not None
    assert np.mean([told(table, needed, 0.1, seed).class_effect_told for seed in range(25)]) >= 0.7
    assert np.mean([told(table, needed // 16, 0.1, seed).class_effect_told for seed in range(25)]) <= 0.3


def test_the_stated_rows_do_not_depend_on_how_many_there_are() -> None:
    """They are a property of the noise: within a third from 500 rows and from 50,000; more noise needs more."""
    few, many = told(pair(0.3), 500, 0.1, 1), told(pair(0.3), 50_000, 0.1, 1)
    assert few.rows_for_class_effect == pytest.approx(many.rows_for_class_effect, rel=1 / 3)
    assert few.rows_for_base_rate == pytest.approx(many.rows_for_base_rate, rel=0.1)
    noisy = told(pair(0.1), 500, 0.1, 1)
    assert (noisy.rows_for_class_effect or 0) > 9 * (few.rows_for_class_effect or 0)


def test_noise_on_counts_weighs_less_the_more_rows_there_are() -> None:
    """The rows stated from 300 and from 3,000 rows of noisy counts are within a factor of three of each other."""
    few, many = (power(rows, 1, METHODS["dp-nb"], shuffled=False)[0] for rows in (300, 3_000))
    assert 1 / 3 < (few.rows_for_class_effect or 0) / (many.rows_for_class_effect or 1) < 3
    assert 1 / 3 < (few.rows_for_base_rate or 0) / (many.rows_for_base_rate or 1) < 3


def test_many_values_are_compared_by_the_commonest() -> None:
    """600 categories: the one that differs is common, and it is found."""
    assert told(pair(0.9, size=600), 2_000, 0.5, 1).class_effect_told
    assert not told(pair(0.9, size=600), 2_000, 0.0, 1).class_effect_told


def test_reconstruct_warns_and_says_how_many_rows_it_takes(tmp_path: Path) -> None:
    """A tiny epsilon warns in Python and is in the JSON document; enough rows do neither."""
    hidden, enough = tmp_path / "hidden.parquet", tmp_path / "enough.parquet"
    policy = bank_customers_policy()
    anonkit.release(bank_customers(500, 0), method="rr", epsilon=0.1, policy=policy, seed=1, output=hidden, ledger=None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NothingLearnedWarning)
        made = anonkit.reconstruct(hidden)
    said = [str(one.message) for one in caught if one.category is NothingLearnedWarning]
    assert len(said) == 2
    assert "may be noise" in said[0]
    assert all("would be needed" in one for one in said)
    told_of = made.to_dict()["power"]
    assert told_of["class_effect_told"] is False
    assert told_of["base_rate_told"] is False
    assert told_of["rows_for_class_effect"] > told_of["rows"] == 500
    anonkit.release(bank_customers(4_000, 0), method="rr", epsilon=6, policy=policy, seed=1, output=enough, ledger=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingLearnedWarning)
        assert anonkit.reconstruct(enough).to_dict()["power"]["class_effect_told"] is True


def test_sets_are_expected_to_answer_as_independent_margins_do() -> None:
    """Answers whose value does not depend on the class are what is expected of them, whatever sets mix."""
    channel = best_category_response(0.5, segments=2, values=9)
    assert isinstance(channel, SetResponse)
    prior, values = np.array([0.3, 0.7]), np.arange(1, 10) / 45
    counts = 10_000 * channel.forward(np.outer(prior, values).reshape(-1))
    np.testing.assert_allclose(_without_effect(JointAnswers(channel, 2), counts, prior).reshape(-1), counts, rtol=1e-9)


def test_sets_tell_a_class_effect_and_none_where_there_is_none() -> None:
    """20,000 customers at epsilon 1, seeded: found; with random classes not."""
    sets = {"method": "rr", "epsilon": 1.0}
    assert power(20_000, 1, sets, shuffled=False)[0].class_effect_told
    assert not power(20_000, 1, sets, shuffled=True)[0].class_effect_told
