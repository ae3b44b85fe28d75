"""Intervals of a number's shares under `rr`: how often they hold the truth, by mechanism and population.

Predictions of a target that splits all tables of dp-marginals: by these tables, drawn in by their noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks import category_coverage as of_categories
from benchmarks import interval_coverage as measured

import anonkit
from anonkit.consumers import MarginalModel, MixtureClassifier, NaiveBayes, by_class, frequencies, histogram
from anonkit.consumers.factors import ClassConditionals, ShareFactor
from anonkit.domains.coded_columns import IntArray
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

NAMES = ("a", "b", "c", "d")


def _rows(seed: int, n: int) -> tuple[IntArray, IntArray]:
    """A class; `a` follows it, `b` repeats `a`, `c` and `d` agree in one class and differ in the other."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, n)
    a = np.where(draw.random(n) < 0.7, labels, 1 - labels)
    b = np.where(draw.random(n) < 0.95, a, 1 - a)
    c = draw.integers(0, 2, n)
    d = np.where(draw.random(n) < 0.75, c ^ labels, draw.integers(0, 2, n))
    return np.stack([a, b, c, d]), labels


def _frame(codes: IntArray, labels: IntArray) -> pd.DataFrame:
    names = np.array(["low", "high"], dtype=object)
    return pd.DataFrame({name: names[own] for name, own in zip(NAMES, codes, strict=True)} | {"y": names[labels]})


def _policy() -> Policy:
    roles = dict.fromkeys(NAMES, Role.QUASI_IDENTIFIER) | {"y": Role.TARGET}
    return Policy(
        columns={name: Column(name=name, categories=("low", "high"), role=role) for name, role in roles.items()}
    )


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    """Params of a release whose tables are split by the class."""
    table = _frame(*_rows(1, 20_000))
    release = anonkit.release(table, method="dp-marginals", epsilon=1.0, policy=_policy(), ledger=None, seed=1)
    assert release.params["anchored"]
    return dict(release.params)


def _pairs_kept(params: dict[str, Any], number: int) -> dict[str, Any]:
    return params | {"pairs": params["pairs"][:number]}


def test_a_measured_pair_says_what_its_columns_do_not(params: dict[str, Any]) -> None:
    """Of independent columns the parity of two is nothing; the table of the pair predicts as well as the truth does."""
    codes, labels = _rows(2, 10_000)
    table = _frame(codes, labels)
    with_pairs = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    without = MixtureClassifier().fit(params=_pairs_kept(params, 0))
    assert ["c", "d"] in [one["names"] for one in params["pairs"][:3]]
    right, alone = ((model.predict(table) == table["y"]).mean() for model in (with_pairs, without))
    assert alone < 0.72 < 0.8 < right
    assert np.allclose(with_pairs.predict_proba(table).sum(axis=1), 1)


def test_unknown_cells_and_missing_columns_say_nothing(params: dict[str, Any]) -> None:
    """A cell outside its domain predicts as a table without the column does."""
    table = _frame(*_rows(3, 200))
    model = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    with pytest.warns(UserWarning, match="no value of its domain"):
        unknown = model.predict_proba(table.assign(c="never"))
    assert np.allclose(unknown, model.predict_proba(table.drop(columns="c")))
    again = MixtureClassifier().fit(params=_pairs_kept(params, 3))
    assert np.array_equal(model.predict_proba(table), again.predict_proba(table))


def test_where_most_pairs_were_measured_the_mixture_is_read(params: dict[str, Any]) -> None:
    """Evidence of pairs that close circles is no sum: from more than half of all pairs on the mixture predicts."""
    counts = range(len(params["pairs"]) + 1)
    read = [MarginalModel(_pairs_kept(params, number)).class_conditionals() for number in counts]
    assert [isinstance(one, ClassConditionals) for one in read] == [number <= 3 for number in counts]
    assert MixtureClassifier(target="a").fit(params=params)._tables is None


Z = 1.959964


@pytest.mark.quick_cases("2.0-groups")
@pytest.mark.parametrize(("epsilon", "population"), [(2.0, "groups"), (4.0, "money")])
def test_shares_behind_a_band_are_held_as_often_as_said(epsilon: float, population: str) -> None:
    """Over 15 releases at least 93 % of the 95 % intervals of cells and of bins hold the true share."""
    rates = measured.covered(epsilon, measured.populations()[population], 15, 2_000)
    assert min(mean for mean, _, _ in rates.values()) >= 0.93, rates


@pytest.mark.parametrize(("epsilon", "values"), [(0.5, 9), (1.0, 42)])
def test_shares_behind_sets_are_held_as_often_as_said(epsilon: float, values: int) -> None:
    """Over 30 seeded releases at least 93 % of the 95 % intervals of a category hold the true share."""
    rates = of_categories.covered(epsilon, values, 0.8, 30, 2_000)
    assert min(mean for mean, _, _ in rates.values()) >= 0.93, rates


@pytest.mark.slow
@pytest.mark.parametrize("fall", of_categories.FALLS.values())
@pytest.mark.parametrize("values", of_categories.VALUES)
@pytest.mark.parametrize("epsilon", of_categories.EPSILONS)
def test_every_interval_of_a_category_covers(epsilon: float, values: int, fall: float) -> None:
    """300 seeded releases: 94 % on the average of each kind, and no share below 90 % (4 deviations below 95 %)."""
    rates = of_categories.covered(epsilon, values, fall, 300, 5_000)
    assert min(mean for mean, _, _ in rates.values()) >= 0.94, rates
    assert min(least for _, least, _ in rates.values()) >= 0.90, rates


@pytest.mark.slow
@pytest.mark.parametrize("population", ["bell", "money", "groups"])
@pytest.mark.parametrize("epsilon", measured.EPSILONS)
def test_every_interval_of_a_number_covers(epsilon: float, population: str) -> None:
    """300 releases: 93 % on the average of each kind, and no number below 90 % (4 deviations below 95 %)."""
    rates = measured.covered(epsilon, measured.populations()[population], 300, 5_000)
    assert min(round(mean, 6) for mean, _, _ in rates.values()) >= 0.93, rates
    assert min(least for _, least, _ in rates.values()) >= 0.90, rates


def small(epsilon: float = 2.0) -> tuple[PublishedTable, dict[str, Any], np.ndarray]:
    """A table, one release of it, and the true shares by class."""
    table, steps = measured.described(epsilon), measured.populations()["groups"]
    return table, measured.release(table, steps, 2_000, 1), measured.truths(table, steps)["shares by class"]


def test_the_error_of_a_band_holds_the_bias_too() -> None:
    """Estimate ± 1.96 errors contains the interval, in tables and in the model, and so the truth."""
    table, released, truth = small()
    found = by_class(released, table, "x")
    assert (found.estimate - Z * found.error <= found.lower + 1e-6).all()
    assert (found.estimate + Z * found.error >= found.upper - 1e-6).all()
    factor = NaiveBayes(table).fit(released).model_.factors[0]
    assert isinstance(factor, ShareFactor)
    assert (np.abs(factor.probabilities - truth) <= Z * factor.errors).mean() >= 0.93


@pytest.mark.parametrize("epsilon", [1.0, 2.0], ids=["bins", "band"])
def test_cells_merge_into_bins(epsilon: float) -> None:
    """Estimates of bins are the sums of those of their cells, their intervals narrower than all of these together."""
    table, released, _ = small(epsilon)
    for ask in (frequencies, histogram, by_class):
        cells, halves = ask(released, table, "x"), ask(released, table, "x", bins=2)
        assert halves.estimate.shape[-1] == 2
        sums = cells.estimate.reshape(*halves.estimate.shape, -1).sum(axis=-1)
        assert np.allclose(sums, halves.estimate, atol=1e-9)
        assert halves.index[-1][1] == (0.25, 0.75)
        assert (halves.upper - halves.lower).sum() < (cells.upper - cells.lower).sum()


def test_bins_that_do_not_fit_are_refused() -> None:
    """A number of bins that does not divide the cells, or bins of what has no grid."""
    table, released, _ = small()
    for bins in (0, 3, 128):
        with pytest.raises(ParameterError, match="must divide the 64 cells"):
            histogram(released, table, "x", bins=bins)
    for ask in (frequencies, by_class):
        category = PublishedTable(
            target=PublishedTarget(name="class", domain=measured.CLASSES, mechanism=RandomizedResponse.clear(2)),
            attributes=(
                PublishedAttribute(name="c", domain=measured.CLASSES, mechanism=RandomizedResponse.equal(2, 0.5)),
            ),
        )
        with pytest.raises(ParameterError, match="no grid"):
            ask({"c": ["no", "yes"], "class": ["no", "yes"]}, category, "c", bins=2)


def test_a_share_never_answered_is_not_certain_to_be_nobodys() -> None:
    """Cells without an answer under clear bins: the upper end is Wilson's for a count of 0, where it was 0."""
    grid = Grid(lower=0, upper=1, cells=4)
    table = PublishedTable(
        target=None,
        attributes=(PublishedAttribute(name="x", domain=grid, mechanism=RandomizedResponse.clear(4)),),
    )
    found = histogram({"x": grid.midpoints()[[0] * 60 + [1] * 40]}, table, "x")
    assert found.upper[2:] == pytest.approx(Z**2 / 100, rel=1e-4)
    assert found.lower[2:] == pytest.approx(0)
