"""The error of a release in the joint distribution of two columns, against tables whose error is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.utility.pair_marginals import pair_marginals

SIDE = np.tile(np.arange(4), 50)
TABLE = pa.table({"a": SIDE, "b": SIDE, "c": np.repeat(["x", "y"], 100)})
EVERY = np.ones(200, dtype=bool)


def test_a_release_of_everything_has_no_error() -> None:
    """Every pair is published exactly."""
    found = pair_marginals(TABLE, TABLE, EVERY)

    assert found is not None
    assert (found["pairs"], found["mean_total_variation"], found["worst"]) == (3, 0.0, 0.0)


def test_a_column_that_is_not_released_stands_for_anything() -> None:
    """Equal columns of four values: without one of them the pair is spread over 16 cells instead of 4."""
    found = pair_marginals(TABLE, TABLE.select(["a", "c"]), EVERY)

    assert found is not None
    assert found["worst_pair"] == ["a", "b"]
    assert found["worst"] == 0.75
    assert found["mean_total_variation"] == pytest.approx(0.25)


def test_cells_are_spread_over_what_they_stand_for() -> None:
    """Halves of a column of four values, beside an equal one: each cell is spread over two of four."""
    shown = TABLE.set_column(0, "a", pa.array(np.where(SIDE < 2, "0|1", "2|3")))

    found = pair_marginals(TABLE, shown, EVERY)

    assert found is not None
    assert found["worst"] == 0.5


def test_rows_left_out_are_an_error() -> None:
    """Without the rows of two of four values half of the distribution is missing."""
    found = pair_marginals(TABLE, TABLE, SIDE < 2)

    assert found is not None
    assert found["worst"] == 0.5


def test_many_values_are_compared_in_parts() -> None:
    """Numbers in twenty parts of about as many rows, categories by the twenty commonest; missing is a part too."""
    random = np.random.default_rng(0)
    words = pa.array([f"w{at}" for at in random.integers(0, 60, 2000)]).dictionary_encode()
    table = pa.table({"n": pa.array([None, *random.normal(size=1999)]), "w": words})

    same, without = (pair_marginals(table, shown, np.ones(2000, dtype=bool)) for shown in (table, table.select(["w"])))

    assert same is not None
    assert without is not None
    assert same["worst"] == 0.0
    assert 0.0 < without["worst"] < 0.5


def test_nothing_is_said_of_less_than_two_columns() -> None:
    """One column, columns of one value, and a release of no row have no pair."""
    assert pair_marginals(TABLE.select(["a"]), TABLE, EVERY) is None
    assert pair_marginals(pa.table({"a": SIDE, "b": [1] * 200}), TABLE, EVERY) is None
    assert pair_marginals(TABLE, TABLE, ~EVERY) is None
