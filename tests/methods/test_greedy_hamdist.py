"""Greedy_Hamdist, the comparator."""

from __future__ import annotations

import pandas as pd
import pytest

import anonkit


def test_an_even_split_comes_first_whatever_the_target() -> None:
    """Hamming distance between classes prefers even splits; that is why the forest's order beats it."""
    frame = pd.DataFrame(
        {
            "even": ["u", "v"] * 20,
            "telling": ["a"] * 10 + ["b"] * 30,
            "y": ["no"] * 10 + ["yes"] * 30,
        }
    )
    hamming = anonkit.release(frame, method="greedy-hamdist", k=15, target="y")
    forest = anonkit.release(frame, method="rfka", preset="paper", k=10, trees=50, target="y")

    assert "even" in hamming.to_pandas().columns
    assert "telling" in forest.to_pandas().columns


@pytest.mark.slow
def test_it_is_rfka_with_another_importance(small_customers: object) -> None:
    """The same release as `rfka` with the comparator's choices."""
    choices = {"features": "one-hot", "search": "greedy", "ladder": "none", "bins": 5, "max_suppression": 0.0}
    first = anonkit.release(small_customers, method="greedy-hamdist", k=5, target="customer_value")
    second = anonkit.release(
        small_customers, method="rfka", importance="hamdist", k=5, target="customer_value", **choices
    )
    assert first.params["recoding"] == second.params["recoding"]
