"""Attacks with their controls: what is protected measures as protected, and what is not does not.

The mistakes of other tools that are named here: renamed values scored as safe, rows counted once when they are alike,
successes divided by attacks that were not made, values with quotes that never match, missing values that never match, a
baseline that guesses nothing, no seed, and a figure without its controls.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.auditing.attacks.success_rates import FEW, NONE, RISK, WEAK, Attack, Rate, excess
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError


def people(n: int, seed: int = 0) -> pa.Table:
    """Distinct people: four columns that distinguish them, an illness that follows from two of them and chance."""
    random = np.random.default_rng(seed)
    age, job = random.integers(18, 80, n), random.choice(["a'b", 'c"d', "e", "f", "g", None], n)
    town = random.choice([f"t{at}" for at in range(30)], n)
    sick = np.where(random.random(n) < 0.2, "rare", np.where(age > 50, "flu", "none"))
    return pa.table({"age": age, "job": pa.array(job.tolist()), "town": town, "illness": sick})


@pytest.fixture(scope="module")
def source() -> pa.Table:
    """1,200 people."""
    return people(1200)


def audit(release: Any, original: pa.Table, **more: Any) -> dict[str, Any]:
    """Return an audit as JSON would have it."""
    more.setdefault("sensitive", ["illness"])
    found: dict[str, Any] = json.loads(json.dumps(anonkit.audit(release, original, attacks=150, **more).to_dict()))
    return found


def renamed(table: pa.Table) -> pa.Table:
    """Return the table with every value replaced, rows turned around."""
    columns = {}
    for name in table.column_names:
        code = pa.compute.rank(table.column(name), tiebreaker="dense").to_pylist()
        columns[name] = pa.array([f"value {number}" for number in code])
    return pa.table(columns).take(pa.array(range(table.num_rows - 1, -1, -1)))


@pytest.mark.slow
def test_the_source_itself_is_at_risk_in_every_way(source: pa.Table) -> None:
    """Every attack finds the identity release; keys and limits are those of the contract."""
    found = audit(source, source)
    for name in ("singling_out", "linkability", "inference"):
        block = found[name]
        assert {"attack_rate", "control_rate", "risk", "ci"} <= set(block)
        assert block["verdict"] == RISK, name
        assert 0 <= block["ci"][0] <= block["risk"] <= block["ci"][1] <= 1
        assert set(block["controls"]) == {"identity", "renamed", "shuffled"}
    assert found["linkability"]["attack_rate"] > 0.9


@pytest.mark.slow
def test_renaming_every_value_protects_nobody(source: pa.Table) -> None:
    """Labels that fit no value are matched by how often they occur, values as common as others by guess: not safe."""
    found = audit(renamed(source), source)
    assert found["singling_out"]["verdict"] == RISK
    assert found["linkability"]["verdict"] == RISK
    assert found["linkability"]["risk"] > 0.05
    assert found["singling_out"]["controls"]["renamed"] > 0.5 * found["singling_out"]["controls"]["identity"]


@pytest.mark.slow
def test_shuffled_columns_are_no_risk(source: pa.Table) -> None:
    """Values stay, rows do not: no risk, and what 150 guesses at a value of three leave open is said."""
    random = np.random.default_rng(1)
    columns = [source.column(name).take(pa.array(random.permutation(1200))) for name in source.column_names]
    found = audit(pa.table(columns, names=source.column_names), source)
    assert found["singling_out"]["verdict"] == found["linkability"]["verdict"] == NONE
    assert found["inference"]["verdict"] == FEW
    assert found["inference"]["ci"][1] > 0.3


@pytest.mark.slow
def test_five_rows_alike_single_nobody_out(source: pa.Table) -> None:
    """Counted on the source as it is, every row: a 5-anonymous table has no description that fits one row."""
    table = pa.concat_tables([source.slice(0, 200)] * 5)
    found = audit(table, table)
    assert found["singling_out"]["attack_rate"] == 0
    assert found["linkability"]["attack_rate"] == pytest.approx(0.2, abs=0.02)


def test_attacks_that_were_not_made_do_not_count() -> None:
    """A table with few descriptions has few attacks, not a low rate."""
    table = pa.table({"q": ["a", "b", *["c"] * 98]})
    found = audit(table, table, sensitive=[])
    assert found["singling_out"]["n_attacks"] == 3
    assert found["singling_out"]["attack_rate"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("kind", ["quotes", "missing"])
def test_values_that_are_hard_to_match_match(kind: str) -> None:
    """Quotes in texts, and a missing cell is a missing cell."""
    hard = ['say "x"', "it's"] if kind == "quotes" else [None, "x"]
    table = pa.table({"q": pa.array([hard[0], *[hard[1]] * 60]), "r": [str(at % 2) for at in range(61)]})
    found = audit(table, table, sensitive=[])
    assert found["singling_out"]["attack_rate"] > 0
    assert found["linkability"]["attack_rate"] > 0


@pytest.mark.slow
def test_the_baseline_of_inference_guesses(source: pa.Table) -> None:
    """The shuffled release still shows the commonest value: the control is no worse than always guessing it."""
    found = audit(source, source)["inference"]
    commonest = max(source.column("illness").value_counts().to_pylist(), key=lambda one: one["counts"])["counts"] / 1200
    assert found["control_rate"] > commonest - 0.12


@pytest.mark.slow
def test_what_the_table_teaches_about_everybody_is_no_risk(source: pa.Table) -> None:
    """With people who were not released as control inference fails, and membership is detected."""
    own = audit(source, source, control=people(600, seed=9))
    assert own["inference"]["control_rate"] > 0.4
    assert own["inference"]["verdict"] == RISK
    assert own["membership"]["risk"] > 0.5
    other = people(1200, seed=5)
    apart = audit(other, source, control=people(600, seed=9))
    assert apart["membership"]["verdict"] != RISK


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit(source: pa.Table) -> None:
    """Reproducible for a table whose alignment draws nothing."""
    assert audit(source, source, seed=3) == audit(source, source, seed=3)


def test_a_k_anonymous_release_gives_one_in_k(source: pa.Table) -> None:
    """The attacker reads the boxes: linkage is never better than 1/k, and not worse than 1/(largest class)."""
    release = anonkit.release(source, method="mondrian", k=10, target="illness")
    found = audit(release, source)
    sizes = release.report["disclosure_risk"]["class_sizes"]
    expected = sum(one["classes"] for one in sizes) / source.num_rows
    assert found["linkability"]["attack_rate"] == pytest.approx(expected, rel=0.35)
    assert found["linkability"]["attack_rate"] <= 0.1
    assert found["singling_out"]["attack_rate"] <= 0.02
    assert found["linkability"]["controls"]["identity"] > 0.9


@pytest.mark.slow
def test_the_mechanism_is_known_to_the_attacker() -> None:
    """Little noise in many columns: the ranking by likelihood finds people's rows; much noise hides them."""
    table = bank_customers(1500, seed=1)
    rates = []
    for p_keep in (0.9, 0.05):
        given: dict[str, Any] = {"method": "ppnb", "p_keep": p_keep, "policy": bank_customers_policy()}
        rates.append(audit(anonkit.release(table, **given), table, sensitive=[], runs=0)["linkability"])
    assert rates[0]["risk"] > 0.15
    assert rates[0]["verdict"] == RISK
    assert rates[1]["attack_rate"] < rates[0]["attack_rate"] / 2


def test_a_weak_attack_says_so() -> None:
    """When the source cannot be found in the source, a low rate means nothing."""
    low, high = Rate(successes=1, attacks=200), Rate(successes=0, attacks=200)
    weak = Attack(name="x", attack=high, control=high, identity=low, renamed=low, shuffled=high)
    strong = Attack(
        name="x", attack=high, control=high, identity=Rate(successes=90, attacks=200), renamed=None, shuffled=high
    )
    assert (weak.verdict, strong.verdict) == (WEAK, NONE)


def test_excess_by_hand() -> None:
    """(0.5 - 0.2) / (1 - 0.2), limits around it, and nothing where the control is better."""
    risk, (low, high) = excess(Rate(successes=500, attacks=1000), Rate(successes=200, attacks=1000))
    assert risk == pytest.approx(0.375)
    assert 0.3 < low < risk < high < 0.45
    assert excess(Rate(successes=1, attacks=100), Rate(successes=9, attacks=100))[0] == 0
    assert excess(Rate(successes=0, attacks=0), Rate(successes=0, attacks=0))[1][1] == 1


def test_limits_hold_the_truth() -> None:
    """Wilson's interval at p = 0.1: 95 % of 2,000 samples, within the error."""
    draws = np.random.default_rng(0).binomial(200, 0.1, 2000)
    inside = [low <= 0.1 <= high for low, high in (Rate(successes=float(n), attacks=200).interval() for n in draws)]
    assert 0.93 < float(np.mean(inside)) < 0.97


def test_tables_with_nothing_in_common_are_refused(source: pa.Table) -> None:
    """Named as such, with no cell."""
    with pytest.raises(ParameterError, match="no columns in common"):
        anonkit.audit(pa.table({"x": [1]}), source)
    with pytest.raises(ParameterError, match="attacks"):
        anonkit.audit(source, source, attacks=1)
    with pytest.raises(ParameterError, match="not in the control rows"):
        anonkit.audit(source, source, control=source.drop_columns(["job"]), attacks=20)
