"""Queries of own methods: values that are equal where they are alike, and hold no number that a query costs."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import get_args

import pytest

from anonkit.budget_rules.model_queries import ModelQuery

KINDS = get_args(ModelQuery)
OF_ITS_TABLE = {"score", "classes", "most_rows", "attributes", "pairs", "has_target", "low", "high", "bound"}
"""Sizes and words of what is counted or scored."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_query_is_a_frozen_value_without_a_loss(kind: type) -> None:
    """Its fields are sizes and words of its answer: no sensitivity, no rate, no share of epsilon."""
    assert is_dataclass(kind)
    assert {field.name for field in fields(kind)} <= OF_ITS_TABLE
    assert kind.__doc__
