"""The noisy histogram of a numeric target: its exact sensitivity and noise, and the bins that follow from it."""

from __future__ import annotations

import itertools
import math
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.budget_rules.tree_rule import rule_for
from anonkit.consumers import ReleaseRegressor
from anonkit.domains.cell_values import labels_of_cells
from anonkit.domains.number_bins import Grid, NumberBins
from anonkit.dp_trees.additive_model.target_bins import (
    TargetCounts,
    TargetHistogram,
    bins_for,
    cells_for,
    histogram_draw,
)
from anonkit.dp_trees.questions import CodedBatch
from anonkit.engines import open_engine
from anonkit.mechanisms.accounting import draw_epsilon, units_of
from anonkit.mechanisms.exact_samplers import UniformStream, noisy_counts
from anonkit.methods.dp_forest import DPForest
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import noise_variance
from anonkit.published.tree_model import TreeSchema
from anonkit.randomness import Randomness

POLICY = Policy(
    columns={
        "a": Column(name="a", categories=("0", "1")),
        "y": Column(name="y", role=Role.TARGET, bounds=(0.0, 64.0)),
    }
)


def histogram(counts: list[int], rate: int = 1 << 51, bins: int = 4) -> TargetHistogram:
    """A histogram over [0, len(counts)]."""
    draw = histogram_draw(rate * 10)
    grid = Grid(lower=0.0, upper=float(len(counts)), cells=len(counts))
    return TargetHistogram(grid=grid, counts=np.array(counts, dtype=np.int64), draw=draw, bins=bins)


def test_one_row_moves_one_cell_by_one_in_all_small_tables() -> None:
    """All tables of up to three rows of four numbers, missing and text: a row more moves the counts by 1 at most."""
    schema = TreeSchema(attributes=(), target="y", classes=NumberBins.equal(Grid(lower=0.0, upper=4.0, cells=4)))

    def counts(cells: tuple[str | None, ...]) -> np.ndarray:
        batch = pa.record_batch({"y": pa.array(cells, pa.string())})
        labels = labels_of_cells(batch, "y", schema.classes).astype(np.int32)
        used = labels[labels >= 0]
        coded = CodedBatch(codes=np.zeros((0, used.size), np.uint8), labels=used, first_row=0)
        return TargetCounts(schema=schema)(coded)[:-1]

    values = ("0.5", "2", "99", None, "N")
    for n in range(4):
        for table in itertools.product(values, repeat=n):
            for row in values:
                moved = np.abs(counts((*table, row)) - counts(table))
                assert moved.sum() == (row not in (None, "N"))


def test_the_law_of_the_histogram_on_neighbours_is_within_its_epsilon() -> None:
    """Each output of a cell, enumerated: neighbours differ by e^ε of the line at most, and reach it."""
    draw = histogram_draw(units_of(1.0))
    decay = math.exp(-draw.rate / 2**52)
    law = {size: (1 - decay) / (1 + decay) * decay ** abs(size) for size in range(-200, 201)}
    losses = [math.log(law[out - 3] / law[out - 4]) for out in range(-150, 150)]
    assert max(map(abs, losses)) == pytest.approx(draw_epsilon(draw), rel=1e-9)
    assert draw_epsilon(draw) <= 0.1


def test_the_noise_of_the_histogram_shows_no_more_than_its_epsilon() -> None:
    """A lower bound on ε from 20,000 histograms of two neighbouring tables, with confidence 0.999: below, and not 0."""
    draw = histogram_draw(units_of(20.0))
    drawn = [
        noisy_counts(np.full(20_000, exact), draw.rate, UniformStream(Randomness.seeded(exact).child("audit")))
        for exact in (3, 4)
    ]
    found = lower_bound(*drawn, alpha=1e-3).lower_bound
    assert 0.5 * draw_epsilon(draw) < found <= draw_epsilon(draw)


def test_the_histogram_of_a_release_has_the_noise_of_its_rate() -> None:
    """The counts of a release less the exact ones: mean 0, variance that of the rate, within four standard errors."""
    numbers = np.random.default_rng(1).uniform(0, 64, 500)
    table = pa.table({"a": ["0", "1"] * 250, "y": numbers})
    found = []
    with closing(open_engine("local")) as engine:
        for seed in range(6):
            draft = DPForest(epsilon=2.0).release(
                engine.scan(table, POLICY), POLICY, engine=engine, rng=Randomness.seeded(seed)
            )
            target = draft.params["target"]
            exact = np.histogram(numbers, bins=target["domain"]["cells"], range=(0, 64))[0]
            found.append(np.array(target["histogram"]["counts"]) - exact)
    noise, variance = np.concatenate(found), noise_variance(target["histogram"]["rate"])
    assert abs(noise.mean()) < 4 * math.sqrt(variance / noise.size)
    assert abs(noise.var() / variance - 1) < 4 * math.sqrt(5 / noise.size)


def test_numbers_are_drawn_by_the_rows_of_the_histogram() -> None:
    """20,000 numbers of each bin: the shares of its cells, within four standard errors; missing stays missing."""
    told = histogram([0, 400, 0, 100, 300, 50, 50, 100])
    words = UniformStream(Randomness.seeded(3).child("cells"))
    for label, (first, last) in enumerate(itertools.pairwise((0, *told.classes.ends))):
        cells = told.cells_of(np.full(20_000, label), words)
        shares = told.rows[first:last] / told.rows[first:last].sum()
        assert np.abs(np.bincount(cells, minlength=8)[first:last] / 20_000 - shares).max() < 0.015
        assert ((cells >= first) & (cells < last)).all()
    assert told.cells_of(np.array([len(told.classes.ends)]), words).tolist() == [8]


@given(st.lists(st.integers(-30, 300), min_size=64, max_size=64), st.integers(1, 8))
def test_bins_have_about_as_many_rows_and_means_within_them(counts: list[int], bins: int) -> None:
    """A bin less its last cell has less than its share of the rows; the means are between the ends."""
    told = histogram(counts, bins=bins)
    classes, rows = told.classes, told.rows
    assert len(classes.ends) <= bins
    edges = (0, *classes.ends)
    for first, last, mean in zip(edges, edges[1:], classes.means, strict=False):
        assert first <= mean <= last
        assert rows[first : last - 1].sum() < rows.sum() / bins * (1 + 1e-9) or last == 64


def test_empty_bounds_get_no_rows() -> None:
    """500 rows at one end of 1,024 cells with noise: nearly all are found there."""
    exact = np.zeros(1024, dtype=np.int64)
    exact[:8] = 2_000
    draw = histogram_draw(units_of(1.0))
    noisy = noisy_counts(exact, draw.rate, UniformStream(Randomness.seeded(1).child("x")))
    told = TargetHistogram(grid=Grid(lower=0.0, upper=1e6, cells=1024), counts=noisy, draw=draw, bins=4)
    assert told.rows[:8].sum() > 0.9 * told.rows.sum()
    assert (np.maximum(noisy, 0)[8:].sum()) > 0.2 * exact.sum()  # what clipping alone would have left


def test_the_public_rule_is_a_function_of_epsilon_and_rows() -> None:
    """A power of 2 of cells and a few bins, more of both with more rows; few rows or none are one."""
    assert [cells_for(1.0, rows) for rows in (-5, 0, 10**3, 10**4, 10**9)] == [64, 64, 64, 256, 1024]
    assert [bins_for(1.0, rows) for rows in (-5, 10**3, 10**4, 10**5, 10**9)] == [2, 3, 4, 8, 8]


def test_a_table_too_large_to_hold_has_the_same_release() -> None:
    """The histogram is counted by the engine, batch by batch: the same counts, bins and model."""
    table = pa.table({"a": ["0", "1"] * 200, "y": [None if at % 7 == 0 else at % 64 + 0.5 for at in range(400)]})
    found = []
    for rows in (1000, 100):
        with closing(open_engine("local", search_rows=rows)) as engine:
            source = engine.scan(table, POLICY)
            method = DPForest(epsilon=4.0)
            found.append(method.release(source, POLICY, engine=engine, rng=Randomness.seeded(5)).params)
    assert found[0] == found[1]


def test_a_target_of_one_number_is_released() -> None:
    """All rows in one cell: one bin may be left, and the model says its number."""
    table = pa.table({"a": ["0", "1"] * 500, "y": [32.5] * 1000})
    with closing(open_engine("local")) as engine:
        source = engine.scan(table, POLICY)
        params = DPForest(epsilon=20.0).release(source, POLICY, engine=engine, rng=Randomness.seeded(5)).params
    predicted = ReleaseRegressor(params).fit().predict(table)
    assert np.abs(predicted - 32.5).max() < 2


def test_thousands_of_classes_are_not_held_by_their_square() -> None:
    """Weights are learned for 64 classes at most: their sums grow with the square of the classes."""
    learned = [rule_for(epsilon=1.0, rows=1e7, attributes=3, classes=classes).weights for classes in (2, 64, 65)]
    assert [weight > 0 for weight in learned] == [True, True, False]
