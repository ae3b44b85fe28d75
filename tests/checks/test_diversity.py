"""Diversity inside classes, from counts of pairs: whatever the parts and the numbers of the classes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.diversity import diversity_of, worst_of, worst_told

TABLES = st.lists(
    st.dictionaries(st.integers(0, 8), st.integers(1, 30), min_size=1, max_size=9), min_size=1, max_size=12
)
"""A class each: the counts of its values."""


def _pairs(table: list[dict[int, int]]) -> tuple[np.ndarray[Any, Any], ...]:
    """Return classes, values with dense codes, and counts."""
    classes, values, counts = np.array(
        [(at, value, n) for at, counts in enumerate(table) for value, n in sorted(counts.items())]
    ).T
    return classes, np.unique(values, return_inverse=True)[1], counts.astype(float)


@given(TABLES, st.booleans())
def test_distances_are_those_of_their_definitions(table: list[dict[int, int]], ordered: bool) -> None:
    """t from whole distributions, value by value."""
    classes, values, counts = _pairs(table)
    dense = np.zeros((len(table), values.max() + 1))
    dense[classes, values] = counts
    apart = dense / dense.sum(axis=1, keepdims=True) - dense.sum(axis=0) / dense.sum()
    steps = max(dense.shape[1] - 1, 1)
    t = np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / steps if ordered else np.abs(apart).sum(axis=1) / 2

    assert diversity_of(classes, values, counts, ordered)["t"] == pytest.approx(t.max(), abs=1e-12)


@given(TABLES, st.booleans(), st.randoms(use_true_random=False))
def test_parts_and_numbers_of_classes_do_not_matter(table: list[dict[int, int]], ordered: bool, draw: Any) -> None:
    """To the last bit: the figures before and after writing are compared for equality."""
    whole = diversity_of(*_pairs(table), ordered)
    draw.shuffle(table)
    classes, values, counts = _pairs(table)
    cuts = sorted(draw.sample(range(1, len(table)), draw.randrange(len(table)))) if len(table) > 1 else []
    edges = np.searchsorted(classes, [0, *cuts, len(table)])
    holders = np.bincount(classes, counts)[classes]
    parts = [(classes[a:b], values[a:b], counts[a:b], holders[a:b]) for a, b in pairwise(edges)]

    assert worst_told(worst_of(parts, np.bincount(values, counts), ordered)) == whole


def test_many_values_are_no_matrix() -> None:
    """A million values in a hundred thousand classes: a hundred billion cells, if there were a matrix."""
    n = 1_000_000
    classes, values = np.arange(n) // 10, np.random.default_rng(1).permutation(n)
    found = diversity_of(classes, values, np.ones(n), ordered=True)

    assert found["l"] == 10
    assert 0.1 < found["t"] < 0.5
