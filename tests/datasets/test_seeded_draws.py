"""Draws of a simulation: functions of the seed, the stream and the row."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.datasets.seeded_draws import Stream, normals, numbered, uniforms


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
