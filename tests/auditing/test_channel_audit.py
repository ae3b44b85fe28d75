"""The lower bound on epsilon of randomized response: close to a true claim, above a false one."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.auditing.attacks.loss import BELOW, REFUTED, UNCLAIMED
from anonkit.auditing.channel_audit import answer_again
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy

TABLE = bank_customers(300, seed=1)


def audited(runs: int = 40_000, **given: Any) -> tuple[Any, dict[str, Any]]:
    """Release the customers and audit the epsilon; the report is returned too."""
    release = anonkit.release(TABLE, policy=bank_customers_policy(), ledger=None, **given)
    return answer_again(release.report, release.params, TABLE, runs=runs), release.report


def test_every_column_shows_most_of_its_claim() -> None:
    """Randomized response is as revealing as it claims to be: 0.9 of each loss is found, and never more."""
    found, _ = audited(method="errph", p_keep=0.35, bins=8)
    randomized = [one for one in found.columns if one["claimed"] != "inf"]
    assert len(randomized) > 5
    for one in randomized:
        assert 0.9 * one["claimed"] < one["lower_bound"] <= one["claimed"]
        assert one["verdict"] == BELOW


def test_a_whole_row_of_one_answer_shows_its_epsilon() -> None:
    """Attribute, value and label are one answer."""
    found, _ = audited(method="rr", epsilon=2.0, runs=100_000)
    assert found.verdict == BELOW
    assert 1.6 < found.lower_bound <= 2.0
    assert found.columns == ()


def test_a_row_answered_by_sets_shows_its_epsilon_and_no_more() -> None:
    """Every answer is one of a set's; the difference between rows is found, and the claim holds."""
    found, report = audited(method="rr", epsilon=0.5, runs=100_000)
    assert "set-response" in {one.get("mechanism") for one in report["columns"]}
    assert found.verdict == BELOW
    assert 0.3 < found.lower_bound <= 0.5


def test_a_row_of_several_answers_stays_below_their_sum() -> None:
    """The likelihood ratio of the whole row, and what its columns add up to."""
    found, _ = audited(method="rr", epsilon=6.0, allocation="split", label="randomize")
    assert found.verdict == BELOW
    assert 1 < found.lower_bound < found.counts["columns_added_up"] < 6


def test_no_claim_is_told_from_a_claim_that_holds() -> None:
    """The published method bounds no row: what is found is as much as so many answers can show."""
    found, _ = audited(method="ppnb", p_keep=0.35)
    assert math.isinf(found.claimed)
    assert found.verdict == UNCLAIMED
    assert found.lower_bound > 8
    assert found.to_dict()["claimed"] == "inf"


def test_a_false_claim_is_refuted() -> None:
    """The files say a tenth of the loss."""
    release = anonkit.release(TABLE, policy=bank_customers_policy(), ledger=None, method="rr", epsilon=2.0)
    promise = dict(release.report["guarantee"])
    promise["parameters"] = {**promise["parameters"], "epsilon": 0.2}
    found = answer_again({"guarantee": promise}, release.params, TABLE, runs=20_000)
    assert found.verdict == REFUTED


def test_the_same_seed_gives_the_same_bound() -> None:
    """And another draws other noise."""
    release = anonkit.release(TABLE, policy=bank_customers_policy(), ledger=None, method="rr", epsilon=1.0)
    found = [answer_again(release.report, release.params, TABLE, runs=5_000, seed=s).lower_bound for s in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("missing", ["age", "education"])
def test_missing_cells_are_no_hindrance(missing: str) -> None:
    """The two rows are of values that are there."""
    import pyarrow as pa

    kind = TABLE.schema.field(missing).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    half = pa.nulls(150, plain)
    column = pa.chunked_array([half, TABLE.column(missing).cast(plain).combine_chunks().slice(150)])
    table = TABLE.set_column(TABLE.column_names.index(missing), missing, column)
    release = anonkit.release(TABLE, policy=bank_customers_policy(), ledger=None, method="errph", p_keep=0.35, bins=8)
    assert answer_again(release.report, release.params, table, runs=2_000).verdict != REFUTED


@pytest.mark.parametrize("given", [{"method": "rr", "epsilon": 2.0}, {"method": "errph", "p_keep": 0.35, "bins": 4}])
def test_a_number_to_predict_is_answered_as_any_class_is(given: dict[str, Any]) -> None:
    """The bins of the target, alone or hidden with another answer, show most of their claim and never more."""
    policy = Policy(
        columns={
            "a": Column(name="a", categories=("0", "1"), missing=Missing.FIRST),
            "y": Column(name="y", role=Role.TARGET, bounds=(0.0, 8.0)),
        }
    )
    table = pa.table({"a": ["0", "1"] * 40, "y": [at % 8 + 0.5 for at in range(80)]})
    release = anonkit.release(table, policy=policy, ledger=None, **given)
    found = answer_again(release.report, release.params, table, runs=60_000)
    assert found.verdict == BELOW
    assert 0.6 * found.claimed < found.lower_bound <= found.claimed
    for one in found.columns:
        assert 0.8 * one["claimed"] < one["lower_bound"] <= one["claimed"]
