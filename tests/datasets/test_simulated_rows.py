"""Draws of a simulation: functions of the seed, the stream and the row.

Rows simulated from a policy: within what it declares, dependent, and the same for the same seed.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from anonkit.datasets.simulated_rows import Stream, declared_rows, normals, numbered, uniforms
from anonkit.policy.declaration import Policy

POLICY = Policy.from_dict(
    {
        "columns": {
            "person": {"role": "unit"},
            "age": {"bounds": [18, 90], "type": "integer"},
            "wage": {"bounds": [0, 10]},
            "sex": {"categories": ["f", "m", "x"]},
            "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
        }
    }
)
NAMES = ["person", "age", "wage", "sex", "day", "note"]


def test_cells_are_within_what_is_declared() -> None:
    """Integers, numbers, categories by rank, dates; of a column without a declaration one text."""
    rows = declared_rows(POLICY, NAMES, 3_000, seed=2)
    assert rows.column_names == NAMES
    age = np.array(rows.column("age"))
    assert age.dtype.kind == "i"
    assert 18 <= age.min() < age.max() <= 90
    shares = np.unique(rows.column("sex").to_pylist(), return_counts=True)[1] / 3_000
    assert np.allclose(shares, np.array([1, 1 / 2, 1 / 3]) / (11 / 6), atol=0.01)
    assert pa.types.is_date32(rows.schema.field("day").type)
    assert set(rows.column("note").to_pylist()) == {"simulated"}


def test_a_person_has_several_rows_and_columns_depend() -> None:
    """Three rows a person; numbers go with the hidden number of the person."""
    rows = declared_rows(POLICY, NAMES, 3_000, seed=2)
    assert len(set(rows.column("person").to_pylist())) == 1_000
    assert abs(np.corrcoef(np.array(rows.column("age")), np.array(rows.column("wage")))[0, 1]) > 0.05


def test_the_same_seed_gives_the_same_rows() -> None:
    """And another one others; none where none are requested."""
    assert declared_rows(POLICY, NAMES, 50, seed=1).equals(declared_rows(POLICY, NAMES, 50, seed=1))
    assert not declared_rows(POLICY, NAMES, 50, seed=1).equals(declared_rows(POLICY, NAMES, 50, seed=2))
    assert declared_rows(POLICY, NAMES, 0).num_rows == 0


@pytest.mark.parametrize("width", [1, 3, 4])
def test_a_row_is_the_same_whatever_part_is_drawn(width: int) -> None:
    """Any part of the rows is that part of all rows; other seeds and streams have others."""
    first, second = list(Stream)[:2]
    whole = uniforms(7, first, width, 0, 200)
    assert np.array_equal(uniforms(7, first, width, 50, 120), whole[50:120])
    assert not np.array_equal(uniforms(8, first, width, 0, 200), whole)
    assert not np.array_equal(uniforms(7, second, width, 0, 200), whole)
    assert ((whole >= 0) & (whole < 1)).all()


def test_pairs_of_uniform_numbers_become_normal_ones() -> None:
    """Mean, deviation, correlation and shares of the tails of 200,000."""
    z = normals(uniforms(1, next(iter(Stream)), 4, 0, 50_000))
    assert np.allclose(z.mean(axis=0), 0, atol=0.02)
    assert np.allclose(np.cov(z.T), np.eye(4), atol=0.03)
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.05, abs=0.003)


def test_identifiers_are_a_letter_and_a_number() -> None:
    """Padded, so that their order as strings is that of the numbers."""
    assert numbered("P", np.array([0, 12, 1_234_567])).to_pylist() == ["P0000000", "P0000012", "P1234567"]
    assert numbered("V", np.array([5]), width=3).to_pylist() == ["V005"]
