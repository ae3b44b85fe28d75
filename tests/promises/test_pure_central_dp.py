"""The promise of central differential privacy: what it says, and when it is found broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from anonkit.promises.pure_central_dp import ADD_OR_REMOVE, REPLACE, CentralDP


@dataclass(frozen=True)
class Found:
    """A published account, added up."""

    epsilon: float
    rows_per_unit: int = 1
    adjacency: str = ADD_OR_REMOVE


PROMISE = CentralDP(epsilon=1.5)
PEOPLE = CentralDP(epsilon=6.0, unit="person", rows_per_unit=3, adjacency=REPLACE, assumptions=("A.",))


def test_the_loss_is_said_as_a_factor_that_is_rounded_up() -> None:
    """The factor of 1.5 is 4.4817: the words must not promise less."""
    assert "more than 4.49 times" in PROMISE.statement()
    assert "epsilon = 1.5 and delta = 0" in PROMISE.formal()


def test_the_unit_and_the_neighbours_are_in_the_words() -> None:
    """Who is protected stands in the statement and in the formal sentence; a large loss is pointed out."""
    assert "all rows of one value of 'person' held other values" in PEOPLE.statement()
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


@pytest.mark.parametrize("found", [Found(1.6), Found(1.5, rows_per_unit=2), Found(1.5, adjacency=REPLACE)])
def test_another_account_breaks_the_promise(found: Found) -> None:
    """A larger loss, another unit or other neighbours are found."""
    assert all(check.passed for check in PROMISE.verify(Found(1.5)))
    assert not all(check.passed for check in PROMISE.verify(found))
