"""The promise of central differential privacy as a value: what it says."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.promises.guarantee import REPLACE
from anonkit.promises.noise_promises import CentralDP

PROMISE = CentralDP(epsilon=1.5)
PEOPLE = CentralDP(epsilon=6.0, unit="person", rows_per_unit=3, adjacency=REPLACE, assumptions=("A.",))


def test_the_loss_is_said_as_a_factor_that_is_rounded_up() -> None:
    """The factor of 1.5 is 4.4817: the words must not promise less."""
    assert "at most a factor of 4.49" in PROMISE.statement()
    assert "epsilon = 1.5 and delta = 0" in PROMISE.formal()


def test_the_unit_and_the_neighbours_are_in_the_words() -> None:
    """The protected unit is in the statement and in the formal sentence; a large loss is pointed out."""
    assert "Replacing all rows of one value of 'person' changes" in PEOPLE.statement()
    assert "all records of one value of 'person' replaced" in PEOPLE.formal()
    assert any("large privacy loss" in text for text in PEOPLE.not_protected())
    assert any("Rows are protected, not people" in text for text in PROMISE.not_protected())


def test_a_condition_comes_first() -> None:
    """Domains that were read from the table are named before anything is claimed."""
    assert CentralDP(epsilon=1, conditional=("age",)).statement().startswith("CONDITIONAL: the domains of age")


@pytest.mark.parametrize("promise", [PROMISE, PEOPLE, CentralDP(epsilon=1, published_claim="P.", conditional=("a",))])
def test_a_promise_survives_its_report(promise: CentralDP) -> None:
    """Read back, it is the same."""
    block: dict[str, Any] = promise.to_dict()
    assert CentralDP.from_dict(block) == promise
    assert block["parameters"]["delta"] == 0
