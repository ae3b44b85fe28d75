"""`diffp-id3`: one choice a node; the published rate spends less than it claims."""

from __future__ import annotations

import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods.diffp_id3 import DiffPID3

POLICY = bank_customers_policy()


def test_the_published_rate_loses_less_than_is_claimed() -> None:
    """Half of the shares of the splits: both figures are in the report."""
    release = anonkit.release(
        bank_customers(500, seed=1), method="diffp-id3", epsilon=1.0, policy=POLICY, seed=1, preset="paper"
    )
    guarantee = release.report["guarantee"]
    # four levels: counts 4/8 and a leaf's classes 1/8 in full, three splits of 1/8 by half
    assert guarantee["parameters"]["epsilon"] == pytest.approx(5 / 8 + 3 / 16)
    assert "The paper claims epsilon = 1" in guarantee["statement"]


@pytest.mark.parametrize("score", ["gini", "entropy", "max-class"])
def test_the_full_rate_uses_the_budget(score: str) -> None:
    """Scores that move one way need no factor of two."""
    found = DiffPID3(epsilon=1.0, score=score).guarantee(POLICY).to_dict()["parameters"]["epsilon"]
    assert found == pytest.approx(1.0)
    assert found <= 1.0


def test_a_smaller_bound_on_rows_sharpens_the_entropy() -> None:
    """Its sensitivity grows with the logarithm of the rows that it is scored for."""
    wide, narrow = (DiffPID3(epsilon=1.0, score="entropy", max_rows=n).plan(POLICY) for n in (1 << 28, 1000))
    assert narrow.split_draws(0)[0].rate > 2 * wide.split_draws(0)[0].rate


@pytest.mark.parametrize("n_rows", [1000, 1001])
def test_one_row_does_not_decide_between_a_release_and_a_refusal(n_rows: int) -> None:
    """A table above the bound is released like any other, and no file names the bound as a fact about the table."""
    release = anonkit.release(
        bank_customers(n_rows, seed=1),
        method="diffp-id3", epsilon=1.0, policy=POLICY, score="entropy", max_rows=1000, ledger=None,
    )  # fmt: skip
    assert not any("rows" in one for one in release.report["guarantee"]["assumptions"])
