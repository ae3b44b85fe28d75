"""`c45-arithmetic`: budgets in arithmetic progression, counts of all attributes with noise."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.c45_arithmetic import C45Arithmetic

POLICY = bank_customers_policy()


@pytest.mark.parametrize(("order", "parts"), [("ascending", [1, 2, 3, 4]), ("descending", [4, 3, 2, 1])])
def test_the_levels_are_an_arithmetic_progression(order: str, parts: list[int]) -> None:
    """Ten parts for four levels."""
    plan = C45Arithmetic(epsilon=1.0, order=order).plan(POLICY)
    assert [units / plan.path_units for units in plan.level_units] == pytest.approx([part / 10 for part in parts])


def test_the_share_of_a_level_is_divided_over_the_attributes() -> None:
    """A row is in the table of every attribute."""
    plan = C45Arithmetic(epsilon=1.0).plan(POLICY)
    (draw,) = plan.split_draws(1)
    assert draw.times == len(plan.schema.attributes)
    assert draw.mechanism == "discrete-laplace"
    assert draw.units <= plan.level_units[1]


def test_the_published_stop_rule_promises_nothing() -> None:
    """A pure node is seen without noise."""
    assert C45Arithmetic(epsilon=1.0, stop="pure").guarantee(POLICY).kind == "none"
    assert 0.99 < C45Arithmetic(epsilon=1.0, stop="noisy").guarantee(POLICY).to_dict()["parameters"]["epsilon"] <= 1


def test_a_release_validates(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """From the files alone."""
    release = anonkit.release(
        bank_customers(600, seed=1), method="c45-arithmetic", epsilon=1.0, policy=POLICY, output=tmp_path / "o.parquet"
    )
    assert anonkit.validate(release).passed
