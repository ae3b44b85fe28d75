"""`dt-diff`: a step is one draw."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError
from anonkit.methods.dt_diff import DTDiff

POLICY = bank_customers_policy()


def test_a_step_is_one_draw() -> None:
    """No budget goes to cuts that are not taken."""
    plan = DTDiff(epsilon=1.0, steps=5).plan(POLICY)
    assert plan.accounting.draws[0].times == 5
    assert 0.999 < plan.accounting.epsilon <= 1.0


def test_weights_are_part_of_the_plan_and_cost_nothing() -> None:
    """Shared by default; every cut for itself on request; nothing else."""
    shared, even = (DTDiff(epsilon=1.0, weights=weights).plan(POLICY) for weights in ("shared", "even"))
    assert (shared.weighted, even.weighted) == (True, False)
    assert shared.accounting == even.accounting
    with pytest.raises(ParameterError, match="weights"):
        DTDiff(epsilon=1.0, weights="own")


def test_a_release_validates(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """From the files alone."""
    release = anonkit.release(
        bank_customers(500, seed=1),
        method="dt-diff",
        epsilon=1.0,
        policy=POLICY,
        steps=2,
        output=tmp_path / "o.parquet",
    )
    assert anonkit.validate(release).passed
