"""The sound default: one epsilon for the row, label included."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Grid
from anonkit.errors import PolicyError
from anonkit.methods.rr import RR
from anonkit.policy.answer_design import AnswerDesign
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy
from anonkit.published.channels.number_channels import BandResponse


@settings(max_examples=30)
@given(st.floats(0.05, 20), st.sampled_from(["sample", "split"]))
def test_the_loss_of_a_row_is_never_above_what_was_given(epsilon: float, allocation: str) -> None:
    """Realised from the integers, and close to the target."""
    promise = RR(epsilon=epsilon, allocation=allocation).guarantee(bank_customers_policy())
    assert 0.99 * epsilon < promise.epsilon <= epsilon * (1 + 1e-12)


def test_a_sampled_answer_hides_the_label_with_it() -> None:
    """No label is randomized apart; the loss of a row is that of its one answer."""
    promise = RR(epsilon=2.0).guarantee(bank_customers_policy())
    assert promise.one_answer
    assert promise.hidden_with == "customer_value"
    assert promise.epsilon == max(promise.attributes.values())


@pytest.mark.parametrize(("epsilon", "cells", "band"), [(0.5, 4, False), (2.0, 64, True), (20.0, 32, False)])
def test_numbers_go_by_what_is_best_at_this_epsilon(epsilon: float, cells: int, band: bool) -> None:
    """Few bins at a small epsilon, a band in the middle, fine bins where no band is left."""
    age = RR(epsilon=epsilon).published(bank_customers_policy()).attribute("age")
    assert isinstance(age.mechanism, BandResponse) is band
    assert isinstance(age.domain, Grid)
    assert age.domain.cells == cells


def test_designed_answers_are_refused() -> None:
    """The method divides epsilon itself: the message names column and key."""
    design = AnswerDesign(where="column 'c'", weights=(1, 2))
    policy = Policy(columns={"c": Column(name="c", categories=("u", "v"), answers=design)})
    with pytest.raises(PolicyError, match="'c': answer_weights does not go"):
        RR(epsilon=1.0).guarantee(policy)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::anonkit.consumers.learning_power.NothingLearnedWarning")
def test_one_answer_a_row_teaches_more_than_all_of_them(tmp_path: Path) -> None:
    """Epsilon 4 for whole rows, 20,000 customers: `sample` beats the commonest class, and `split` by far."""
    accuracy, majority = {}, 0.0
    for allocation in ("sample", "split"):
        output = tmp_path / f"{allocation}.parquet"
        anonkit.release(
            bank_customers(20_000, seed=1), method="rr", epsilon=4.0, allocation=allocation,
            policy=bank_customers_policy(), seed=1, output=output, ledger=None,
        )  # fmt: skip
        scores = anonkit.reconstruct(output, test=bank_customers(2_000, seed=2)).scores
        assert scores is not None
        accuracy[allocation], majority = scores.accuracy, scores.majority
    assert accuracy["sample"] > majority + 0.1
    assert accuracy["sample"] > accuracy["split"] + 0.1
