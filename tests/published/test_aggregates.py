"""Published aggregates: figures follow from noisy tables alone, and come back from the params as they were."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.number_bins import Categories, Grid
from anonkit.domains.rounding_grid import RoundingGrid
from anonkit.errors import ParameterError, ReleaseFormatError
from anonkit.published.aggregates import (
    FORMAT,
    OTHER,
    AddedColumn,
    Aggregates,
    AggregateTable,
    GroupColumn,
    MeasuredQuantity,
    Measurement,
    Statistic,
    figures,
)

SEX = GroupColumn(name="sex", domain=Categories(values=("f", "m"), has_missing=True))
AGE = GroupColumn(name="age", domain=Grid(lower=0.0, upper=90.0, cells=3))
PAY = AddedColumn(name="pay", bounds=(0.0, 10.0), has_missing=False)
GRID = RoundingGrid(mantissa=1, exponent=0, low=0, high=10)
RATE = 1 << 51


def measured(kind: MeasuredQuantity, values: Any, *by: GroupColumn) -> Measurement:
    """A noisy table with these values."""
    of_number = kind is not MeasuredQuantity.COUNTS
    cells = math.prod(column.domain.size for column in by)
    return Measurement(
        kind=kind, by=by, of="pay" if of_number else None, grid=GRID if of_number else None, rate=RATE,
        values=np.array(values, dtype=np.int64).reshape(cells, -1),
    )  # fmt: skip


def aggregates(measurement: Measurement, statistic: Statistic, *by: str, levels: tuple[str, ...] = ()) -> Aggregates:
    """One table that is read off one measurement."""
    table = AggregateTable(
        name="t", statistic=statistic, by=by, of=measurement.of, levels=tuple(map(Fraction, levels)), measured=0
    )
    return Aggregates(columns=(AGE, SEX), numbers=(PAY,), measurements=(measurement,), tables=(table,), confidence=0.95)


COUNTS = st.lists(st.integers(-5, 50), min_size=9, max_size=9)


@given(COUNTS)
def test_a_table_of_fewer_columns_is_the_sum_of_one_of_more(numbers: list[int]) -> None:
    """By each set of columns in each order, against a sum cell by cell; intervals are around their values."""
    measurement = measured(MeasuredQuantity.COUNTS, numbers, AGE, SEX)
    cells = dict(zip(itertools.product(AGE.labels, SEX.labels), numbers, strict=True))
    for by in ((), ("sex",), ("age",), ("age", "sex"), ("sex", "age")):
        found = list(figures(aggregates(measurement, Statistic.COUNT, *by)))
        assert len(found) == math.prod({"age": 3, "sex": 3}[name] for name in by)
        for line in found:
            own = [n for (age, sex), n in cells.items() if line.groups.items() <= {"age": age, "sex": sex}.items()]
            assert line.value == sum(own)
            assert line.low < line.value < line.high
            assert line.value - line.low == line.high - line.value
    assert SEX.labels == ["f", "m", OTHER]


@given(st.integers(-20, 500), st.integers(-20, 500))
def test_halves_give_count_sum_and_mean(below: int, above: int) -> None:
    """The steps to both ends of the grid are ten a row: by hand."""
    lines = {line.statistic: line for line in figures(aggregates(
        measured(MeasuredQuantity.HALVES, [below, above]), Statistic.MEAN
    ))}  # fmt: skip
    assert lines["count"].value == pytest.approx((below + above) / 10)
    assert lines["sum"].value == pytest.approx(below)
    if below + above <= 0:
        assert lines["mean"].value is None
    else:
        assert lines["mean"].value == pytest.approx(min(max(10 * below / (below + above), 0), 10))
        assert 0 <= lines["mean"].low <= lines["mean"].value <= lines["mean"].high <= 10
    (alone,) = figures(aggregates(measured(MeasuredQuantity.HALVES, [below, above]), Statistic.SUM))
    assert alone == lines["sum"]


@given(st.lists(st.integers(-3, 30), min_size=11, max_size=11))
def test_quantiles_are_the_first_places_that_reach_their_level(numbers: list[int]) -> None:
    """Against a walk through the noisy histogram; they ascend, each within its interval, and none of nobody."""
    levels = ("0.1", "0.5", "0.9")
    found = list(figures(aggregates(measured(MeasuredQuantity.POINTS, numbers), Statistic.QUANTILE, levels=levels)))
    assert [line.statistic for line in found] == ["quantile 0.1", "quantile 0.5", "quantile 0.9"]
    for line, level in zip(found, levels, strict=True):
        reached = [sum(numbers[: at + 1]) for at in range(11)]
        expected = next((at for at, n in enumerate(reached) if n >= Fraction(level) * reached[-1]), 0)
        assert line.value == (expected if reached[-1] > 0 else None)
        assert 0 <= line.low <= line.high <= 10
        if line.value is not None:
            assert line.low <= line.value <= line.high


@given(COUNTS)
def test_they_come_back_from_the_params(numbers: list[int]) -> None:
    """With the same figures; params of another format are refused."""
    made = aggregates(measured(MeasuredQuantity.COUNTS, numbers, AGE, SEX), Statistic.COUNT, "sex")
    params = json.loads(json.dumps({**made.to_params(), "parameters": {"confidence": 95}}))
    assert list(figures(Aggregates.from_params(params))) == list(figures(made))
    with pytest.raises(ReleaseFormatError, match=FORMAT):
        Aggregates.from_params({**params, "format": "anonkit-aggregates-0"})
    del params["measurements"][0]["rate"]
    with pytest.raises(ReleaseFormatError):
        Aggregates.from_params(params)


def test_values_that_do_not_fit_and_numbers_without_a_grid_are_refused() -> None:
    """Neither is a noisy table of this release."""
    with pytest.raises(ParameterError, match="does not fit"):
        measured(MeasuredQuantity.COUNTS, [1, 2, 3, 4, 5, 6], SEX)
    with pytest.raises(ParameterError, match="does not fit"):
        Measurement(kind=MeasuredQuantity.COUNTS, by=(), of=None, grid=None, rate=0, values=np.zeros((1, 1), np.int64))
    bare = Measurement(kind=MeasuredQuantity.SUM, by=(), of="pay", grid=None, rate=1, values=np.ones((1, 1), np.int64))
    with pytest.raises(ReleaseFormatError, match="no grid"):
        list(figures(aggregates(bare, Statistic.SUM)))
