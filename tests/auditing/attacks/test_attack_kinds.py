"""The singling-out attack: predicates that match one person of the source.

The linkability attack finds the released row of a person whose true values are known.

Every secret is attacked: numbers within what counts as one value, and holders of rare values apart.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.auditing.attacks.attack_evidence import Values
from anonkit.auditing.attacks.attack_kinds import ranked, singled_out
from anonkit.auditing.attacks.success_rates import FEW, NONE, RISK
from anonkit.policy.declaration import Policy

N = 2000
ENTRY = {"value", "base_rate", "attack_rate", "control_rate", "risk", "ci", "n_attacks", "verdict"}


def _people(n: int = N, seed: int = 0) -> pa.Table:
    """One in a hundred has the flag, all in one street; pay follows from job and street; a code is anybody's."""
    random = np.random.default_rng(seed)
    street, job = random.integers(0, 100, n), random.integers(0, 20, n)
    return pa.table(
        {
            "street": [f"s{one}" for one in street],
            "job": [f"j{one}" for one in job],
            "flag": np.where(street == 7, "hiv", "none"),
            "pay": 20_000 + 300 * street + 1_000 * job + random.integers(0, 50, n),
            "code": [f"c{one}" for one in random.integers(0, 80, n)],
            "sex": random.choice(["f", "m"], n),
        }
    )


@pytest.fixture(scope="module")
def source() -> pa.Table:
    """Two thousand people."""
    return _people()


def _audit(release: pa.Table, source: pa.Table, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"sensitive": ["flag", "pay", "code", "sex"], "quasi_identifiers": ["street", "job"]}
    found = anonkit.audit(release, source, **{"attacks": 200, **asked, **more})
    return dict(json.loads(json.dumps(found.to_dict()))["inference"])


def test_every_secret_is_attacked_and_shown(source: pa.Table) -> None:
    """Not the one with the largest risk alone, whatever its number of values; that one's figures are above."""
    found = _audit(source, source)
    assert set(found["secrets"]) == {"flag", "pay", "code", "sex"}
    for name, block in found["secrets"].items():
        assert {"attack_rate", "control_rate", "risk", "ci", "verdict", "by_value"} <= set(block), name
        assert block["n_attacks"] == 200, name
    worst = max(found["secrets"].values(), key=lambda block: float(block["risk"]))
    assert found["risk"] == worst["risk"]
    assert found["secrets"][found["secret"]]["risk"] == worst["risk"]


@pytest.mark.slow
def test_a_number_is_guessed_within_what_counts_as_one(source: pa.Table) -> None:
    """More than fifty different numbers were left out without a word; a guess 25 off is as good as none off."""
    everything = {"quasi_identifiers": source.column_names}
    found = _audit(source, source, **everything)["secrets"]["pay"]
    assert found["width"] == pytest.approx(0.05 * 34_000, rel=0.1)
    assert found["attack_rate"] > 0.95
    assert found["control_rate"] < 0.3
    assert found["verdict"] == RISK
    blurred = source.set_column(3, "pay", pa.array((source.column("pay").to_numpy() // 500) * 500))
    assert _audit(blurred, source, **everything)["secrets"]["pay"]["attack_rate"] > 0.95


@pytest.mark.slow
def test_the_width_of_a_release_is_the_one_it_states() -> None:
    """A tolerance of the policy, in the params, decides what a right guess is."""
    rows = _people(600, 1)
    for tolerance, width in ((0.2, 0.2), (0, None)):
        columns = {"columns": {"pay": {"role": "sensitive", "tolerance": tolerance, "alpha": 1}}}
        made = anonkit.release(
            rows.drop_columns(["code"]), method="mondrian", k=5, policy=Policy.from_dict(columns), no_target=True,
            ledger=None, utility=False,
        )  # fmt: skip
        found = anonkit.audit(made, rows, attacks=50).to_dict()["inference"]["secrets"]["pay"]
        stated = next(column for column in made.params["columns"] if column["name"] == "pay")["width"]
        assert found.get("width", 0.0) == stated
        assert (stated > 0) == (width is not None)


@pytest.mark.slow
def test_holders_of_a_rare_value_are_attacked_apart(source: pa.Table) -> None:
    """A flag of one in a hundred that is given away: among all guesses it hardly shows, among holders it does."""
    found = _audit(source, source)["secrets"]["flag"]
    assert found["control_rate"] > 0.95
    (rare,) = (entry for entry in found["by_value"] if entry["value"] == "hiv")
    assert set(rare) == ENTRY | {"verdict_without_control"}
    assert rare["base_rate"] == pytest.approx(0.01, abs=0.005)
    assert rare["attack_rate"] > 0.95
    assert rare["control_rate"] == pytest.approx(0.5, abs=0.2)
    assert rare["verdict"] == rare["verdict_without_control"] == RISK


@pytest.mark.slow
def test_holders_of_a_value_that_nothing_gives_away_are_not_told_from_others(source: pa.Table) -> None:
    """A balanced sample is guessed as by a coin."""
    random = np.random.default_rng(2)
    shuffled = pa.table(
        [source.column(name).take(pa.array(random.permutation(N))) for name in source.column_names],
        names=source.column_names,
    )
    found = _audit(shuffled, source, attacks=400)["secrets"]
    for name in ("flag", "sex", "pay"):
        for entry in found[name]["by_value"]:
            assert entry["verdict"] in (NONE, FEW), (name, entry)


@pytest.mark.slow
def test_few_control_rows_do_not_hide_a_rare_value(source: pa.Table) -> None:
    """People who were not released are the control; the verdict beside it is that of the shuffled release."""
    found = _audit(source, source, control=_people(60, 9))["secrets"]["flag"]
    (rare,) = (entry for entry in found["by_value"] if entry["value"] == "hiv")
    assert rare["verdict_without_control"] == RISK


def test_no_representation_shows_a_value(source: pa.Table) -> None:
    """Values of secrets are in the document for the owner alone."""
    audited = anonkit.audit(source, source, sensitive=["flag"], quasi_identifiers=["street"], attacks=20)
    assert "hiv" in json.dumps(audited.to_dict())
    assert "hiv" not in repr(audited)


def test_any_row_of_a_person_is_theirs() -> None:
    """Two own rows of four that tie: half of the first places; all of the first ten."""
    scores = np.zeros(4)
    assert ranked(scores, np.array([0, 2])) == (0.5, 1.0)
    assert ranked(np.zeros(20), 3) == (1 / 20, pytest.approx(0.5))
    assert ranked(np.zeros(20), np.array([3, 4]))[1] == pytest.approx(1 - (10 * 9) / (20 * 19))


def test_several_rows_of_one_person_are_singled_out() -> None:
    """A description that fits three rows of one person is a hit; one that fits two people is none."""
    rows = {"q": Values(values=["a", "b"], codes=np.array([0, 0, 0, 1, 1]))}
    people = np.array([7, 7, 7, 8, 9])
    found = [{"q": np.array([True, False])}, {"q": np.array([False, True])}]
    assert singled_out(found, rows).successes == 0
    assert singled_out(found, rows, people).successes == 1
