"""The lower bound on epsilon by running a method again: below a true claim, above a false one, or silent."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import anonkit
from anonkit.auditing.attacks.success_rates import BELOW, REFUTED, WEAK, epsilon_of_guesses
from anonkit.auditing.rerun import rerun
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods import METHODS
from anonkit.methods.dp_nb import DPNB
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.noise_promises import CentralDP

POLICY = Policy(
    columns={
        "a": Column(name="a", categories=("0", "1", "2", "3")),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
)
TABLE = pa.table({"a": [str(at % 4) for at in range(64)], "y": [str(at // 4 % 2) for at in range(64)]})


@dataclass(frozen=True, kw_only=True)
class Liar(DPNB):
    """Claims a tenth of what it spends."""

    name: ClassVar[str] = "liar"

    def guarantee(self, policy: Policy) -> CentralDP:
        """Claim too little."""
        return replace(super().guarantee(policy), epsilon=self.epsilon / 10)


def audited(table: pa.Table, runs: int, policy: Policy = POLICY, **given: Any) -> Any:
    """Release a table and audit its epsilon."""
    release = anonkit.release(table, policy=policy, ledger=None, **given)
    return rerun(release.report, release.params, table, runs=runs)


@pytest.mark.slow
def test_a_true_claim_is_not_refuted_and_shown_in_part() -> None:
    """Two noisy tables that share an epsilon of 4: more than 1 is found, never more than the claim."""
    found = audited(TABLE, 300, method="dp-nb", epsilon=4.0)
    assert found.verdict == BELOW
    assert 1.0 < found.lower_bound < 4.0
    assert found.lower_bound < found.most_measurable
    assert found.surest < found.lower_bound


def test_a_false_claim_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that spends ten times its claim."""
    monkeypatch.setitem(METHODS, "liar", __name__)  # type: ignore[arg-type]
    liar = {"name": "liar", "parameters": {"epsilon": 4.0}}
    release = anonkit.release(TABLE, method="dp-nb", epsilon=4.0, policy=POLICY, ledger=None)
    promise = Liar(epsilon=4.0).guarantee(POLICY).to_dict()
    found = rerun({**release.report, "method": liar, "guarantee": promise}, release.params, TABLE, runs=300)
    assert found.verdict == REFUTED
    assert found.surest > found.claimed == pytest.approx(0.4)


@pytest.mark.slow
def test_a_claim_with_a_delta_is_audited_at_its_delta() -> None:
    """A large delta may show much of what was found, so that less of it speaks against epsilon."""
    many = {f"a{at}": Column(name=f"a{at}", categories=("0", "1", "2", "3")) for at in range(30)}
    table = pa.table({**dict.fromkeys(many, TABLE["a"]), "y": TABLE["y"]})
    policy = Policy(columns={**many, "y": POLICY.columns["y"]})
    found = audited(table, 40, policy, method="dp-nb", epsilon=4.0, delta=1e-2)
    assert (found.claimed, found.delta) == (4.0, 1e-2)
    assert found.to_dict()["delta"] == 1e-2
    pure = epsilon_of_guesses(found.counts["right"], found.counts["guesses"])
    assert found.lower_bound < pure
    assert found.most_measurable < epsilon_of_guesses(found.counts["guesses"], found.counts["guesses"])


def test_too_few_runs_are_an_attack_too_weak() -> None:
    """Nothing is distinguished at a small epsilon: that says nothing, and the audit says so."""
    found = audited(TABLE, 20, method="dp-nb", epsilon=0.05)
    assert found.verdict == WEAK
    assert found.lower_bound == 0


@pytest.mark.slow
def test_replaced_records_are_audited_by_replacing() -> None:
    """Under the other neighbour relation a record that is left out has another in its place."""
    found = audited(TABLE, 200, method="dp-nb", epsilon=8.0, adjacency="replace")
    assert "replace" in found.neighbours
    assert 0.3 < found.lower_bound < 8.0


@pytest.mark.slow
def test_all_rows_of_a_person_are_in_or_out() -> None:
    """With a unit column a record represents the most rows that are used of one person."""
    table = TABLE.append_column("id", pa.array([f"p{at}" for at in range(64)]))
    policy = Policy(columns={**POLICY.columns, "id": Column(name="id", role=Role.UNIT)})
    found = audited(table, 200, policy, method="dp-nb", epsilon=8.0, rows_per_unit=3)
    assert found.verdict == BELOW
    assert found.lower_bound > 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dp-forest", "edprf", pytest.param("diffgen", marks=pytest.mark.slow)])
def test_every_form_of_params_is_read(method: str) -> None:
    """Leaves, histograms, generalized cells: numbers, categories, three classes."""
    table = bank_customers(60, seed=1)
    found = audited(table, 20, bank_customers_policy(), method=method, epsilon=2.0)
    assert found.surest <= found.claimed
    assert found.counts["runs"] == 20


@pytest.mark.slow
def test_the_forest_of_few_rows_is_audited() -> None:
    """Below epsilon n = 35 A^2 it is the model of dp-nb: part of its claim is shown, and never more than the claim."""
    names = [f"a{at}" for at in range(5)]
    table = pa.table({**dict.fromkeys(names, TABLE["a"]), "y": TABLE["y"]})
    policy = Policy(
        columns={
            **{name: Column(name=name, categories=("0", "1", "2", "3")) for name in names},
            "y": POLICY.columns["y"],
        }
    )
    release = anonkit.release(table, method="dp-forest", epsilon=8.0, policy=policy, ledger=None)
    assert release.params["rule"]["weights"] is False
    found = rerun(release.report, release.params, table, runs=120)
    assert found.lower_bound > 0.8
    assert found.surest <= found.claimed == 8.0


@pytest.mark.slow
@pytest.mark.parametrize("without_target", [True, False])
def test_a_release_for_any_purpose_is_audited_with_and_without_a_target(without_target: bool) -> None:
    """Noisy tables of columns and of pairs, and rows, show part of an epsilon of 8 and never more than it."""
    policy = POLICY
    if without_target:
        columns = {name: replace(column, role=Role.QUASI_IDENTIFIER) for name, column in POLICY.columns.items()}
        policy = Policy(columns=columns)
    found = audited(TABLE, 120, policy, method="dp-marginals", epsilon=8.0)
    assert found.lower_bound > 0.5
    assert found.surest <= found.claimed == 8.0


@pytest.mark.slow
def test_a_number_to_predict_splits_no_table_and_is_audited() -> None:
    """The bins of a target that is a number are a column like others."""
    found = audited(OF_NUMBERS, 20, NUMBERS, method="dp-marginals", epsilon=4.0)
    assert found.surest <= found.claimed
    assert found.counts["runs"] == 20


NUMBERS = Policy(
    columns={
        "a": Column(name="a", categories=("0", "1", "2", "3")),
        "y": Column(name="y", role=Role.TARGET, bounds=(0.0, 64.0)),
    }
)
OF_NUMBERS = pa.table({"a": [str(at % 4) for at in range(64)], "y": [float(at) for at in range(64)]})


@pytest.mark.slow
def test_the_histogram_of_a_number_to_predict_is_looked_at() -> None:
    """Cells of the target, bins and rows of a release of numbers: something is shown, never more than the claim."""
    found = audited(OF_NUMBERS, 120, NUMBERS, method="dp-forest", epsilon=20.0)
    assert found.lower_bound > 0.1
    assert found.surest <= found.claimed == 20.0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dp-forest", "dp-tree", "dp-nb", "dp-marginals", "edprf", "diffgen"])
def test_no_method_is_refuted_by_numbers_to_predict(method: str) -> None:
    """Many runs at epsilon 2."""
    found = audited(OF_NUMBERS, 600, NUMBERS, method=method, epsilon=2.0)
    assert found.surest <= found.claimed


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        name
        for name in METHODS
        if name.startswith(("diffp", "c45", "sulq", "pinq", "dt-", "dp-", "edprf", "diffgen")) and name != "dp-tables"
    ],
)
def test_no_method_is_refuted(method: str) -> None:
    """Every differentially private method that releases rows, at epsilon 2 on simulated customers."""
    table = bank_customers(200, seed=1)
    found = audited(table, 60, bank_customers_policy(), method=method, epsilon=2.0)
    assert found.surest <= found.claimed


@pytest.mark.slow
def test_an_audit_has_the_bound_and_the_same_seed_gives_it_again() -> None:
    """In the JSON beside the attacks, without a cell of the source; 0 runs leave it out."""
    release = anonkit.release(TABLE, method="dp-nb", epsilon=4.0, policy=POLICY, ledger=None)
    found = [anonkit.audit(release, TABLE, attacks=10, runs=40, seed=3).to_dict()["epsilon"] for _ in range(2)]
    assert found[0] == found[1]
    assert {"claimed", "lower_bound", "confidence", "verdict", "most_measurable"} <= set(
        json.loads(json.dumps(found[0]))
    )
    assert anonkit.audit(release, TABLE, attacks=10, runs=0).epsilon is None


def test_what_cannot_be_run_again_is_said() -> None:
    """A method that is not installed here: a note, and no bound."""
    release = anonkit.release(TABLE, method="dp-nb", epsilon=4.0, policy=POLICY, ledger=None)
    other = {**release.report, "method": {**release.report["method"], "name": "of somebody else"}}
    found = anonkit.audit(replace(release, report=other), TABLE, attacks=10, runs=20)
    assert found.epsilon is None
    assert "was not audited" in found.notes[0]
