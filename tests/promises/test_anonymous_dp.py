"""The promise of classes of k and a loss at once, as a value."""

from __future__ import annotations

import pytest

from anonkit.errors import ParameterError
from anonkit.promises.approximate_dp import AnonymousDP
from anonkit.promises.promise_kinds import read_promise

PROMISE = AnonymousDP(epsilon=1.5, delta=1e-9, k=12, quasi_identifiers=("age", "job"))


def test_both_promises_are_said_and_counted() -> None:
    """K is in the words and in what is counted; epsilon and delta are what the ledger books."""
    assert "at least 12 released rows are alike" in PROMISE.statement()
    assert "a factor of 4.49" in PROMISE.statement()
    assert "k = 12 rows" in PROMISE.formal()
    assert PROMISE.counted_classes.k == 12
    assert PROMISE.counted_classes.quasi_identifiers == ("age", "job")
    assert (PROMISE.loss().epsilon, PROMISE.loss().delta) == (1.5, 1e-9)
    assert PROMISE.shows_rows
    assert PROMISE.cell_by_cell
    assert any("Truth" in text for text in PROMISE.not_protected())


def test_it_survives_its_report() -> None:
    """Read back, it is the same."""
    assert read_promise(PROMISE.to_dict()) == PROMISE


def test_a_class_of_one_is_none() -> None:
    """K begins at 2."""
    with pytest.raises(ParameterError, match=r"k \(1\) must be 2 or more"):
        AnonymousDP(epsilon=1.0, delta=1e-6, k=1, quasi_identifiers=("a",))
