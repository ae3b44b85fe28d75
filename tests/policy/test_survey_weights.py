"""Weights of a sample: what a policy may say of them, and how they are rounded."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy
from anonkit.policy.survey_weights import RoundWeights, rounding_of, weight_params


def weights(**keys: Any) -> Policy:
    """A policy with a column of weights."""
    return Policy.from_dict({"columns": {"w": {"role": "weight", **keys}}})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"weights": "rounded"}, "needs step"),
        ({"step": 5}, "a step is for rounded weights"),
        ({"bounds": [-1, 5]}, "above 0"),
        ({"categories": ["1", "2"]}, "are numbers"),
        ({"missing": "first"}, "missing weight"),
    ],
)
def test_what_weights_cannot_be_is_refused(keys: dict[str, Any], message: str) -> None:
    """By the column and the rule."""
    with pytest.raises(PolicyError, match=message):
        weights(**keys)


def test_weights_are_rounded_to_a_step_at_least() -> None:
    """No weight becomes none; what is no weight stays so."""
    cells = pa.array([1.0, 74.0, 76.0, 0.0, None, float("nan")])
    assert RoundWeights(name="w", step=50.0)(cells).to_pylist() == [50.0, 50.0, 100.0, 0.0, None, None]


def test_only_rounded_weights_of_numbers_are_rounded() -> None:
    """Means need no rounding; texts cannot be rounded."""
    numbers, texts = pa.schema([("w", pa.int64())]), pa.schema([("w", pa.string())])
    rounded, mean = weights(weights="rounded", step=50).column("w"), weights().column("w")
    assert rounding_of(numbers, rounded) == RoundWeights(name="w", step=50.0)
    assert rounding_of(numbers, mean) is None
    assert rounding_of(pa.schema([]), rounded) is None
    with pytest.raises(PolicyError, match="not numbers"):
        rounding_of(texts, rounded)
    assert weight_params(rounded) == {"column": "w", "shows": "rounded", "step": 50.0}
    assert weight_params(mean) == {"column": "w", "shows": "mean", "digits": 3}
