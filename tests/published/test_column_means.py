"""Means of columns and shares of values, with intervals that hold as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.rounding_grid import WholeValues
from anonkit.policy.declaration import Policy
from anonkit.published.column_means import ColumnCounts, ColumnMean, counts_of_columns, means_of, notes_on_means
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE

SURE = 1 << 58
"""A rate at which there is no noise."""
LOUD = 1 << 46
MANY = 10_000_000


def grid_of_ages(cells: int, *spikes: float) -> Grid:
    """Whole numbers from 0 to 99."""
    values = WholeValues.within(0, 99, 1, spikes)
    return Grid.over((0, 99), cells, has_missing=True, values=values)


def counted(grid: Grid | Categories, counts: list[int], rate: int = SURE, law: str = LAPLACE) -> ColumnCounts:
    """Counts with two draws each."""
    return ColumnCounts(domain=grid, counts=np.array(counts), draws=2, rate=rate, law=law)


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_the_interval_without_noise_is_from_low_ends_to_high_ends(law: str) -> None:
    """By hand: 30 of [0, 49] and 10 of [50, 99], a spike at 0, and missing left out."""
    found = counted(grid_of_ages(2), [30 * MANY, 10 * MANY, 500], law=law).mean()
    assert found.low == pytest.approx((30 * 0 + 10 * 50) / 40, abs=1e-3)
    assert found.high == pytest.approx((30 * 49 + 10 * 99) / 40, abs=1e-3)
    assert found.low < found.value < found.high
    assert not found.is_carried
    apart = counted(grid_of_ages(2, 0), [30 * MANY, 0, 10 * MANY, 500], law=law).mean()
    assert (apart.low, apart.high) == pytest.approx((12.5, (10 * 99) / 40), abs=1e-3)
    floats = Grid(lower=0.0, upper=10.0, cells=2)
    assert counted(floats, [MANY, MANY], law=law).mean().low == pytest.approx(2.5, abs=1e-3)


def test_each_value_alone_leaves_no_doubt() -> None:
    """Cells of one value each, and no noise: the mean itself."""
    counts = np.zeros(101, dtype=int)
    counts[[10, 30]] = MANY
    found = counted(grid_of_ages(100), counts.tolist()).mean()
    assert (found.low, found.value, found.high) == pytest.approx((20, 20, 20), abs=1e-3)
    assert found.is_carried
    assert found.rounded().low <= found.low <= found.high <= found.rounded().high


@pytest.mark.parametrize("law", [LAPLACE, GAUSSIAN])
def test_noise_above_all_rows_leaves_the_bounds(law: str) -> None:
    """Nothing is known: not the mean, nor a share."""
    rate = LOUD >> (0 if law == LAPLACE else 10)
    found = counted(grid_of_ages(4), [3, -2, 1, 0, 9], rate, law).mean()
    assert (found.low, found.high, found.is_carried) == (0, 99, False)
    assert counted(grid_of_ages(4), [-3, -2, 1, 0, 9], rate, law).mean().low == 0
    shares = counted(Categories(values=("a", "b")), [-3, 1], rate, law).shares()
    assert shares["a"][1:] == shares["b"][1:] == (0, 1)


def test_ends_are_rounded_outward_to_digits_of_the_width() -> None:
    """By hand: three digits of the width, and nothing where there is none."""
    found = ColumnMean(value=1234.56789, low=1200.12345, high=1266.98765, is_carried=True).rounded()
    assert (found.value, found.low, found.high) == (1234.57, 1200.12, 1266.99)
    wide = ColumnMean(value=61234.5, low=31111.0, high=99999.0, is_carried=False).rounded()
    assert (wide.value, wide.low, wide.high) == (61230.0, 31110.0, 100000.0)
    assert ColumnMean(value=1.5, low=1.5, high=1.5, is_carried=True).rounded().value == 1.5


@pytest.mark.parametrize(
    ("law", "n"), [(LAPLACE, 12), (GAUSSIAN, 200), pytest.param(LAPLACE, 400, marks=pytest.mark.slow)]
)
def test_intervals_hold_as_often_as_they_say(law: str, n: int) -> None:
    """Draws of the very noise, around counts of few rows: at least 93 of 100, where all numbers are at one end."""
    rng = np.random.default_rng(4)
    truth = np.array([80, 15, 4, 1])
    grid = grid_of_ages(4)
    rate = int(0.6 * 2**52) if law == LAPLACE else int(0.02 * 2**52)
    ends = {side: float(truth @ places) / 100 for side, places in ((0, [0, 25, 50, 75]), (1, [24, 49, 74, 99]))}
    low, high, share = 0, 0, 0
    for _ in range(n):
        if law == LAPLACE:
            stop = 1 - np.exp(-0.6)
            noise = (rng.geometric(stop, (2, 4)) - rng.geometric(stop, (2, 4))).sum(axis=0)
        else:
            noise = np.rint(rng.normal(0, np.sqrt(1 / (2 * 0.02)), (2, 4))).astype(int).sum(axis=0)
        found = counted(grid, [*(truth + noise), 0], rate, law).mean()
        low += found.low <= ends[0]
        high += found.high >= ends[1]
        _, least, most = counted(Categories(values=tuple("abcd")), list(truth + noise), rate, law).shares()["b"]
        share += least <= 0.15 <= most
    spare = 2 if n < 100 else 0
    assert min(low, high) + spare >= 0.955 * n  # one side each: 97.5 %
    assert share + spare >= 0.93 * n


def people(n: int, seed: int = 3) -> pa.Table:
    """Ages, gains of which nine tenths are 0 and some missing, an area, and who is ill."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.rint(rng.gamma(4, 10, n)), 0, 99).astype(int)
    gain = np.where(rng.random(n) < 0.9, 0, rng.integers(0, 10_000, n)).astype(float)
    gain[rng.random(n) < 0.05] = np.nan
    ill = np.where(rng.random(n) < age / 150, "yes", "no")
    return pa.table(
        {"age": age, "gain": pa.array(gain, from_pandas=True), "area": [f"a{at % 3}" for at in range(n)], "ill": ill}
    )


def declared(target: str | None = "ill") -> Policy:
    """The policy of these people, with one of the columns as target."""
    columns: dict[str, Any] = {
        "age": {"bounds": [0, 99], "type": "integer"},
        "gain": {"bounds": [0, 10_000], "spikes": [0], "type": "integer"},
        "area": {"categories": ["a0", "a1", "a2"]},
        "ill": {"categories": ["no", "yes"]},
    }
    for name, column in columns.items():
        column["role"] = "target" if name == target else "quasi_identifier"
    if target is None:
        return Policy.from_dict({"target": False, "columns": columns})
    return Policy.from_dict({"columns": columns})


CASES = [
    ("dp-forest", "ill", {}),
    pytest.param("dp-forest", "age", {}, marks=pytest.mark.slow),
    ("dp-forest", "ill", {"delta": 1e-6}),
    ("dp-marginals", "ill", {}),
    ("dp-marginals", "age", {}),
    ("dp-marginals", None, {"delta": 1e-6}),
]


@pytest.mark.parametrize(("method", "target", "more"), CASES)
def test_a_report_states_the_means_of_its_columns(method: str, target: str | None, more: dict[str, Any]) -> None:
    """Of each column of numbers, around the owner's mean; the receiver's model gives the same, and shares."""
    table = people(2_000)
    release = anonkit.release(table, method=method, policy=declared(target), epsilon=3.0, seed=5, ledger=None, **more)
    stated = {column["name"]: column["mean"] for column in release.report["columns"] if "mean" in column}
    assert set(stated) == {"age", "gain"}
    for name, mean in stated.items():
        numbers = table[name].to_pandas().dropna()
        assert mean["low"] <= numbers.mean() <= mean["high"], name
        assert mean["high"] - mean["low"] < numbers.std(), name
    wide = [name for name, mean in stated.items() if not mean["of_the_rows"]]
    notes = [note for note in release.report["notes"] if note.startswith("The rows do not carry")]
    assert len(notes) == bool(wide)
    assert all(name in notes[0] for name in wide)
    assert means_of(release.params)["age"].rounded().low == stated["age"]["low"]
    shares = dict(counts_of_columns(release.params))["area"].shares(0.99)
    assert shares["a0"][1] < 1 / 3 < shares["a0"][2]
    assert shares[None][1] == 0


def test_columns_of_narrow_intervals_are_not_named() -> None:
    """There is no note where each mean can be read from the rows."""
    assert notes_on_means({"age": ColumnMean(value=3, low=2, high=4, is_carried=True)}) == ()
    wide = ColumnMean(value=3, low=2, high=4, is_carried=False)
    (said,) = notes_on_means({f"c{at}": wide for at in range(7)})
    assert said.startswith("The rows do not carry the mean of c0, c1, c2, c3, c4 and 2 more columns: ")


def test_a_column_answers_what_it_holds() -> None:
    """Numbers have a mean, categories have shares."""
    with pytest.raises(TypeError, match="has shares"):
        counted(Categories(values=("a",)), [3]).mean()
    with pytest.raises(TypeError, match="has a mean"):
        counted(grid_of_ages(2), [3, 2, 1]).shares()
