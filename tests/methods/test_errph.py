"""ERRPH: categories and bins by randomized response."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import anonkit
from anonkit.datasets import bank_customers_policy
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods.errph import ERRPH
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy


def test_the_loss_of_a_row_is_the_sum_of_its_answers() -> None:
    """Epsilon per attribute is kept from above, and adds up over attributes and label."""
    promise = ERRPH(epsilon=1.0, bins=8).guarantee(bank_customers_policy())
    assert len(promise.attributes) == 11
    assert all(0.999 < loss <= 1.0 for loss in promise.attributes.values())
    assert promise.epsilon == pytest.approx(sum(promise.attributes.values()))


def test_p_keep_has_the_epsilon_of_the_formula() -> None:
    """ln(1 + m p / (1 − p)) for m categories, missing among them unless it is declared to be none."""
    for missing, m in ((Missing.FIRST, 3), (None, 4)):
        policy = Policy(columns={"c": Column(name="c", categories=("u", "v", "w"), missing=missing)})
        assert ERRPH(p_keep=0.4).guarantee(policy).epsilon == pytest.approx(math.log(1 + m * 0.4 / 0.6), rel=1e-6)


def test_a_clear_label_leaves_no_bound_for_the_row() -> None:
    """The label was requested as it is, and the promise says so."""
    promise = ERRPH(epsilon=1.0, bins=8, label="clear").guarantee(bank_customers_policy())
    assert math.isinf(promise.epsilon)
    assert promise.clear == ("customer_value",)


def test_numbers_need_bins() -> None:
    """The hint names the option and the method for numbers."""
    with pytest.raises(PolicyError, match="'age' is a number") as caught:
        ERRPH(p_keep=0.5).guarantee(bank_customers_policy())
    assert "bins=8" in str(caught.value.hint)


@pytest.mark.parametrize("given", [{}, {"p_keep": 0.5, "epsilon": 1.0}])
def test_truth_is_given_once(given: dict[str, float]) -> None:
    """Either p_keep or epsilon."""
    with pytest.raises(ParameterError, match="one of them is needed"):
        ERRPH(**given)  # type: ignore[arg-type]


def test_shares_of_the_release_are_those_of_the_channel() -> None:
    """A table of one category shows it with p_0 + p_j: 0.4 + 0.6 / 4, missing being the fourth."""
    policy = Policy(columns={"c": Column(name="c", role=Role.QUASI_IDENTIFIER, categories=("u", "v", "w"))})
    table = pa.table({"c": ["u"] * 20_000})
    shown = anonkit.release(table, method="errph", p_keep=0.4, policy=policy, seed=1).to_arrow().column("c")
    assert shown.to_pylist().count("u") / 20_000 == pytest.approx(0.55, abs=0.015)
