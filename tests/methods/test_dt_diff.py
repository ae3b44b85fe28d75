"""`dt-diff`: a step is one draw."""

from __future__ import annotations

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.dt_diff import DTDiff

POLICY = bank_customers_policy()


def test_a_step_is_one_draw() -> None:
    """No budget goes to cuts that are not taken."""
    plan = DTDiff(epsilon=1.0, steps=5).plan(POLICY)
    assert plan.accounting.draws[0].times == 5
    assert 0.999 < plan.accounting.epsilon <= 1.0


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
