"""A column on its way from dropped to full detail: one group at the start, every atom its own at the end."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.hierarchy_levels import automatic_ladder
from anonkit.k_anonymity.search.refinable_column import CutColumn, LadderColumn, refinable_column

COLUMN = CodedColumn(name="a", codes=np.array([0, 1, 2, 3, 3], dtype=np.int32), values=[1, 2, 5, 9], ordered=True)
ATOMS = np.arange(4, dtype=np.int32)


@pytest.mark.parametrize("with_ladder", [False, True])
def test_a_column_begins_dropped_and_ends_with_every_atom_apart(with_ladder: bool) -> None:
    """By cuts or along a hierarchy."""
    column = refinable_column(COLUMN, ATOMS, automatic_ladder(COLUMN) if with_ladder else None)
    assert isinstance(column, LadderColumn if with_ladder else CutColumn)
    assert column.n_groups == 1
    assert not column.is_finest
    finest = column.finest()
    assert finest.n_groups == 4
    assert finest.is_finest
    assert column.n_groups == 1  # what it was is left as it was


def test_a_column_of_one_value_has_nothing_to_refine() -> None:
    """It is the finest from the start."""
    constant = CodedColumn(name="a", codes=np.zeros(3, dtype=np.int32), values=[1], ordered=True)
    assert refinable_column(constant, np.zeros(1, dtype=np.int32), None).is_finest
