"""Arguments about the population are given in one way, and are possible."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.checks.against_population import AgainstPopulation
from anonkit.errors import ParameterError


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"file": "register.csv", "size": 10}, "say the same thing"),
        ({"size": 10, "fraction": 0.5}, "say the same thing"),
        ({"size": 0}, "must be at least 1"),
        ({"fraction": 0.0}, r"must be in \(0, 1\]"),
        ({"fraction": 1.5}, r"must be in \(0, 1\]"),
        ({"file": "register.csv", "k_map": 1}, "must be at least 2"),
        ({"size": 10, "k_map": 2}, "counted in a file"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    """Two bases, sizes and shares out of their range, and a k that no file counts."""
    with pytest.raises(ParameterError, match=said):
        AgainstPopulation(**given)


def test_the_share_of_the_population() -> None:
    """By a size, a file or the share itself; none where the file has fewer people than the table."""
    assert AgainstPopulation(size=100).fraction_of(10, None) == 0.1
    assert AgainstPopulation(fraction=0.25).fraction_of(10, None) == 0.25
    assert AgainstPopulation(file="register.csv").fraction_of(10, 40) == 0.25
    assert AgainstPopulation(file="register.csv").fraction_of(10, 9) is None
    with pytest.raises(ParameterError, match="smaller than the table"):
        AgainstPopulation(size=9).fraction_of(10, None)
    bases = [AgainstPopulation(**one).basis for one in ({}, {"file": "f.csv"}, {"size": 1}, {"fraction": 0.1})]
    assert bases == ["none", "file", "size", "fraction"]
    assert not AgainstPopulation().is_given
