"""The declaration of one column: words are read as values, and what contradicts itself is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Outside, Role, column_of


def test_words_of_a_policy_become_values() -> None:
    """Roles, types, missing values and rules; a column that says nothing is a quasi-identifier."""
    column = column_of("age", {"bounds": [0, 99], "type": "integer", "missing": "first", "outside": "missing"}, None)
    assert column == Column(
        name="age",
        bounds=(0.0, 99.0),
        type=ColumnType.INTEGER,
        missing=Missing.FIRST,
        outside=Outside.MISSING,
        role_given=False,
    )
    plain = column_of("city", {}, None)
    assert plain.role is Role.QUASI_IDENTIFIER
    assert plain.domain_values is None
    assert plain.is_released
    assert not column_of("id", {"role": "identifier"}, None).is_released


def test_the_domain_is_that_of_categories_or_of_the_tree() -> None:
    """In their order."""
    assert column_of("a", {"categories": ["y", "x"]}, None).domain_values == ("y", "x")
    assert column_of("a", {"tree": [["y", "t"], ["x", "t"]]}, None).domain_values == ("y", "x")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"rolle": "target"}, "rolle"),
        ({"role": "sensitiv"}, "role has an unknown value"),
        ({"bounds": [5, 1]}, "bounds"),
        ({"bounds": [0, 1], "categories": ["a"]}, "'a'"),
        ({"categories": ["a"], "ladder": [5, 10]}, "ladder"),
        ({"bounds": [0, 1], "tree": [["a", "b"]]}, "tree"),
        ({"outside": "missing"}, "outside needs declared"),
    ],
)
def test_what_contradicts_itself_is_refused(spec: dict[str, Any], message: str) -> None:
    """By the column and the key."""
    with pytest.raises(PolicyError, match=message):
        column_of("a", spec, None)
