"""The table of a statement: lines of its values, or rows of their cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from checks.stated_releases import CELLS, METHODS, POLICY, people
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.dp_trees.stated.stated_method import RowsOfCells, StatedMethod
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy
from anonkit.published.statements.noise_statement import Count, Statement, ValueLines
from anonkit.randomness import Randomness
from tests.dp_trees.stated.test_stated_method import _given, _policy


def _lines(method: StatedMethod, policy: Policy) -> Statement:
    columns = method.columns(policy, cells=4)
    return method.stated(columns, (method.draw("rows", Count(by=("value",)), columns),), ValueLines())


def test_a_column_named_like_one_of_the_table_of_values_is_refused() -> None:
    """The owner renames it; the line of a value would have two cells of one name."""
    policy = _policy(value={"role": "quasi_identifier", "categories": ["a", "b"]})
    with pytest.raises(PolicyError, match="value"):
        _given(_lines)(epsilon=1.0).guarantee(policy)


def test_a_target_that_is_a_number_is_in_cells_like_any_other(tmp_path: Path) -> None:
    """Its cells are those of its public bounds; rows without a number are not used, and the release validates."""
    columns = {
        **POLICY["columns"],
        "age": {"role": "target", "bounds": [18, 78]},
        "y": {"role": "quasi_identifier", "categories": ["no", "yes"]},
    }
    output = tmp_path / "out.parquet"
    released = anonkit.release(
        people(), method=METHODS[CELLS](epsilon=4.0), policy={"columns": columns}, output=output, ledger=None
    )

    assert set(released.to_pandas()["age"]) <= {28.0, 48.0, 68.0}
    assert anonkit.validate(output).passed


@given(st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_a_cell_has_as_many_rows_as_its_count(numbers: list[int]) -> None:
    """Of two columns of two and three values, the last varying fastest."""
    first, second = RowsOfCells((2, 3))(np.array(numbers), Randomness.seeded(1))
    assert np.bincount(3 * first + second, minlength=6).tolist() == numbers
