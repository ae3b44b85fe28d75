"""The promise of local differential privacy as a value: what it says."""

from __future__ import annotations

import math
from typing import Any

import pytest

from anonkit.promises.noise_promises import LocalDP

BOUNDED = LocalDP(epsilon=1.5, attributes={"a": 1.0, "b": 0.5})
OPEN = LocalDP(epsilon=math.inf, attributes={"a": 1.0, "n": math.inf, "y": math.inf}, clear=("y",), transformed=("n",))


def test_a_bounded_loss_is_said_as_a_factor_that_is_rounded_up() -> None:
    """The factor of 1.5 is 4.4817: the words must not promise less."""
    assert "at most 4.49 times" in BOUNDED.statement()
    assert "epsilon = 1.5:" in BOUNDED.formal()


def test_an_unbounded_row_is_said_first() -> None:
    """Columns in clear or transformed are named; bounded columns keep their bound."""
    statement = OPEN.statement()
    assert statement.startswith("A whole row is not protected by any bound.")
    assert "Published unchanged: y." in statement
    assert "no bound holds: n." in statement
    assert any(text.startswith("y: published as they are") for text in OPEN.not_protected())


@pytest.mark.parametrize("promise", [BOUNDED, OPEN, LocalDP(epsilon=1, attributes={"a": 1}, conditional=("a",))])
def test_a_promise_survives_its_report(promise: LocalDP) -> None:
    """Read back, it is the same."""
    block: dict[str, Any] = promise.to_dict()
    assert LocalDP.from_dict(block) == promise
    assert block["unit"] == "one row"
