"""Attacks and comparisons of tables in which people have several rows.

The lower bound on epsilon of randomized response: close to a true claim, above a false one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import anonkit
import anonkit.comparing.comparison as comparing
import anonkit.comparing.foreseen_release as train_test_halves
from anonkit.auditing.attacks.success_rates import BELOW, REFUTED, UNCLAIMED
from anonkit.auditing.release_audit import _people, answer_again
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.target_task import Task

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


@pytest.mark.slow
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


@pytest.mark.quick_cases("age")
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


def _visits(n_people: int = 60) -> pd.DataFrame:
    """Return three visits a person, ids spelled in two ways."""
    random = np.random.default_rng(5)
    place = random.choice(["a", "b", "c"], n_people)
    rows = [
        (f"{who}.0" if visit else f"{who}", place[who], int(random.integers(20, 60)), random.choice(["y", "n"]))
        for who in range(n_people)
        for visit in range(3)
    ]
    return pd.DataFrame(rows, columns=["who", "zip", "age", "label"])


@pytest.mark.slow
def test_people_are_drawn_and_found_by_any_row() -> None:
    """The audit of a release of people attacks each person once."""
    made = anonkit.release(_visits(), method="mondrian", k=5, unit="who", target="label", ledger=None)
    found = anonkit.audit(made, _visits(), attacks=500, runs=0)
    assert found.attack("linkability").attack.attacks == 60
    assert found.attack("inference").attack.attacks == 60
    assert 0 < found.attack("linkability").attack.value <= 1


def test_nobody_is_in_both_halves_of_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """People are divided, not rows; the person's number is no feature of the models on the raw table."""
    seen: list[pa.Table] = []

    def models(train: pa.Table, test: pa.Table, target: str, task: Task, weight: str | None) -> dict[str, Any]:
        assert weight is None
        seen.extend([train, test])
        return {}

    first, second, _ = train_test_halves.halves_of(_visits(), Policy().with_roles(unit="who", target="label"), 150, 0)
    mine, others = ({float(one) for one in half.column("who").to_pylist()} for half in (first, second))
    assert mine
    assert others
    assert not mine & others
    assert len(mine) * 3 == first.num_rows
    assert first.num_rows + second.num_rows <= 150
    monkeypatch.setattr(train_test_halves, "models_of_rows", models)
    policy = Policy().with_roles(unit="who")
    comparing.compare(_visits(), target="label", methods=["mondrian"], k=[5], policy=policy, attacks=20)
    assert seen
    assert all("who" not in table.column_names for table in seen)


@pytest.mark.quick_cases("roles0")
@pytest.mark.parametrize("roles", [{"identifiers": ["who"]}, {"unit": ["who", "zip"]}])
def test_rows_of_one_candidate_or_of_a_unit_of_two_columns_are_one_person(roles: dict[str, Any]) -> None:
    """A person's other rows are no other people: 60 people are attacked, not 180 rows."""
    made = anonkit.release(_visits(), method="mondrian", k=5, target="label", ledger=None, **roles)
    found = anonkit.audit(made, _visits(), attacks=500, runs=0)
    assert found.attack("linkability").attack.attacks == 60


def test_a_row_without_a_value_is_a_person_of_its_own_and_of_two_candidates_the_finer_counts() -> None:
    """A missing value distinguishes nobody; a candidate that the source lacks distinguishes nothing."""
    source = pa.table({"a": ["x", "x", None, None, "y", "z"], "b": ["s", "s", "s", "t", "t", "t"]})
    named = [{"columns": [name], "values": 2} for name in ("b", "a", "gone")]
    report = {"columns": [], "guarantee": {"parameters": {"candidates": named}}}
    people = _people(source, {}, report)
    assert people is not None
    assert people.tolist() == [0, 0, 3, 4, 1, 2]
    assert _people(source, {}, {"guarantee": {"parameters": {"candidates": [named[2]]}}}) is None
    assert _people(source.slice(0, 0), {}, report) is None
