"""Intervals of a number's shares under `rr`: how often they hold the truth, by mechanism and population."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import category_coverage as of_categories
from benchmarks import interval_coverage as measured

from anonkit.consumers import NaiveBayes, by_class, frequencies, histogram
from anonkit.consumers.factors import ShareFactor
from anonkit.domains.number_bins import Grid
from anonkit.errors import ParameterError
from anonkit.published.channels.kary_response import RandomizedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

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
