"""Records flipped as a whole: each is the true one or its opposite."""

from __future__ import annotations

import numpy as np
import pytest
from papers.comparators.flipped_records import flip_records

from anonkit.published.channels.response_channel import ResponseMatrix

KEY = bytes(range(32))


def test_a_record_is_kept_or_inverted_as_a_whole() -> None:
    """Every published record is the true one or its opposite, the true one in the stated share of rows."""
    records = np.random.default_rng(0).random((50_000, 4)) < 0.3
    published = flip_records(records, ResponseMatrix.warner(0.7), key=KEY, stream=0)
    kept = np.all(published == records, axis=1)
    inverted = np.all(published != records, axis=1)
    assert np.all(kept ^ inverted)
    assert kept.mean() == pytest.approx(0.7, abs=0.01)
    part = flip_records(records[123:], ResponseMatrix.warner(0.7), key=KEY, stream=0, first_row=123)
    assert np.array_equal(published[123:], part)
