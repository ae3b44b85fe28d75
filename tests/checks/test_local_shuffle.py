"""The claims of a shuffled file, recomputed: agreement with the claim, and refusal of forged ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.checks import local_promise
from anonkit.checks.local_matrices import truth_or_blind
from anonkit.checks.local_params import PublishedAnswers, read_answers
from anonkit.domains.number_bins import Categories
from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms import privacy_amplification
from anonkit.mechanisms.privacy_amplification import ResponseRatios, RowAnswers
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable


def local_table(channel: RandomizedResponse) -> PublishedAnswers:
    """A table of one column under a channel."""
    domain = Categories(values=tuple(f"v{at}" for at in range(channel.n_inputs)))
    made = PublishedTable(target=None, attributes=(PublishedAttribute(name="x", domain=domain, mechanism=channel),))
    return read_answers(json.loads(json.dumps(made.to_params())))


OWN = {"shuffle_claim", "shuffle_epsilon"}


def release(folder: Path, table: pa.Table, **settings: Any) -> Path:
    """Release a randomized table and return its data file."""
    policy = anonkit.datasets.bank_customers_policy()
    if settings["method"] == "trr":  # numbers alone
        kept = {name: one for name, one in policy.columns.items() if one.bounds is not None or name == "customer_value"}
        policy, table = replace(policy, columns=kept), table.select(list(kept))
    anonkit.release(table, policy=policy, output=folder / "out.parquet", ledger=None, **settings)
    return folder / "out.parquet"


def failed(data: Path) -> set[str]:
    """Return the names of the checks that failed."""
    return {check.name for check in anonkit.validate(data).checks if not check.passed}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release in which each row answers one attribute."""
    table = anonkit.datasets.bank_customers(3_000, seed=4)
    return Files.read(release(tmp_path_factory.mktemp("sampled"), table, method="rr", epsilon=2))


@settings(max_examples=10)
@example(strengths=[(2, 0.75), (4, 3.0), (6, 1.5)], n=157)
@given(
    strengths=st.lists(st.tuples(st.integers(2, 9), st.floats(0.2, 3)), min_size=1, max_size=4),
    n=st.integers(60, 5_000),
)
def test_two_ways_to_work_it_out_agree(strengths: list[tuple[int, float]], n: int) -> None:
    """The epsilon of the transform on a grid, which rounds upwards, is near that of the saddle point."""
    channels = [RandomizedResponse.from_epsilon(k, epsilon) for k, epsilon in strengths]
    row = RowAnswers.every([ResponseRatios(ratio=one.ratio, blanket=one.blanket) for one in channels])
    law = local_promise._Law(1.0, np.zeros((2, 1)), np.ones(1))
    for one in channels:
        law = law.times(*local_promise._ends(truth_or_blind(one.word_bits, one.truth_weight, one.blind_weights)))
    epsilon = row.amplified(1e-6, n)
    if 0.001 < epsilon < row.epsilon:
        assert law.delta(1.03 * epsilon, n) <= 1e-6 < law.delta(0.96 * epsilon, n)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "rr", "epsilon": 1},
        {"method": "rr", "epsilon": 3, "allocation": "split"},
        {"method": "rr", "epsilon": 2, "shuffle_delta": 1e-4},
        {"method": "rr", "epsilon": 2, "label": "clear"},
        {"method": "errph", "epsilon": 0.4, "bins": 4},
        {"method": "ppnb", "p_keep": 0.5},
        {"method": "trr"},
    ],
)
@pytest.mark.parametrize("rows", [3, 400])
def test_sound_claims_are_accepted(tmp_path: Path, settings: dict[str, Any], rows: int) -> None:
    """Every method, with a claim, without one, and with too few rows for one."""
    data = release(tmp_path, anonkit.datasets.bank_customers(rows, seed=2), **settings)
    found = anonkit.validate(data)
    assert failed(data) & OWN == set()
    assert "shuffle_claim" in {check.name for check in found.checks}


def test_more_than_the_local_promise_is_claimed_only_where_every_column_is_an_answer(tmp_path: Path) -> None:
    """A clear label, a transformed number or people with several rows: the report says why there is nothing."""
    table = anonkit.datasets.bank_customers(400, seed=2)
    clear = Files.read(release(tmp_path / "a", table, method="rr", epsilon=2, label="clear")).report["shuffle"]
    assert clear["applies"] is False
    assert "customer_value" in clear["reason"]
    transformed = Files.read(release(tmp_path / "b", table, method="ppnb", p_keep=0.5)).report["shuffle"]
    assert transformed["applies"] is False
    people = table.append_column("person", pa.array([f"p{at // 2}" for at in range(400)]))
    with_unit = Files.read(release(tmp_path / "c", people, method="rr", epsilon=2, unit="person")).report["shuffle"]
    assert with_unit == {"applies": False, "reason": "a person may have several rows (column 'person')"}


def test_the_claim_is_much_smaller_than_the_local_one(sampled: Files) -> None:
    """3,000 rows at a local epsilon of 2: less than a tenth of it is left for anyone who sees the file alone."""
    told = sampled.report["shuffle"]
    assert told["applies"]
    assert told["epsilon"] < 0.2
    assert told["delta"] == 1e-6
    assert told["rows"] == 3_000


@pytest.mark.parametrize(
    "forged",
    [
        {"epsilon": 0.1},
        {"epsilon": 0.16},
        {"epsilon": 1.0},
        {"epsilon": "0.1"},
        {"epsilon": -1.0},
        {"epsilon": 0},
        {"delta": 1e-9},
        {"delta": 0},
        {"delta": True},
        {"rows": 30_000},
        {"rows": 3_000.0},
        {"adjacency": "add or remove one record"},
        {"assumption": "None."},
        {"bound": "exact"},
        {"applies": False},
        {"further": 1},
    ],
    ids=str,
)
def test_forged_claims_are_refused(sampled: Files, tmp_path: Path, forged: dict[str, Any]) -> None:
    """Rewriting all files and hashes does not change the claim that the parameters give."""
    files = sampled.copy()
    files.report["shuffle"].update(forged)
    files.say_everywhere()
    data = files.write(tmp_path)
    if forged == {"applies": False}:  # without a reason it is no report at all
        with pytest.raises(ReleaseFormatError):
            failed(data)
        return
    assert failed(data) & OWN


@pytest.mark.parametrize("settings", [{"method": "rr", "epsilon": 2, "label": "clear"}, {"method": "trr"}])
def test_a_claim_where_there_is_none_is_refused(sampled: Files, tmp_path: Path, settings: dict[str, Any]) -> None:
    """The block of another release does not fit one with a clear column."""
    table = anonkit.datasets.bank_customers(3_000, seed=4)
    files = Files.read(release(tmp_path / "a", table, **settings))
    files.report["shuffle"] = dict(sampled.report["shuffle"])
    files.say_everywhere()
    (tmp_path / "b").mkdir()
    assert failed(files.write(tmp_path / "b")) & OWN == {"shuffle_claim"}


def _half(amplified: Any) -> Any:
    return lambda row, delta, n: 0.5 * amplified(row, delta, n)


def test_mutants_of_the_claim_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the epsilon, a blanket taken twice, ratios of half a channel, ten times the rows: validate says no."""
    table = anonkit.datasets.bank_customers(1_000, seed=4)
    real, corners = RowAnswers.amplified, privacy_amplification._corners
    mutants = {
        "half": (RowAnswers, "amplified", _half(real)),
        "rows": (RowAnswers, "amplified", lambda row, delta, n: real(row, delta, 10 * n)),
        "delta": (RowAnswers, "amplified", lambda row, delta, n: real(row, 1000 * delta, n)),
        "ratios": (privacy_amplification, "_corners", lambda one: (corners(one)[0] / 2, *corners(one)[1:])),
    }
    for name, (home, attribute, mutant) in mutants.items():
        with monkeypatch.context() as patched:
            patched.setattr(home, attribute, mutant)
            data = release(tmp_path / name, table, method="rr", epsilon=2)
        assert failed(data) & OWN, name


@pytest.mark.parametrize("rows", [1_500, pytest.param(3_000, marks=pytest.mark.slow)])
def test_many_answers_at_a_large_epsilon_are_no_forgery(rows: int, tmp_path: Path) -> None:
    """Ten answers of together 15: the claim may be far above what holds, or the local one; it is sound all the same."""
    table = anonkit.datasets.bank_customers(rows, seed=1)
    data = release(tmp_path / "a", table, method="errph", p_keep=0.3, bins=8)
    assert failed(data) == set()


def test_a_report_that_says_nothing_of_the_shuffled_file_is_damaged() -> None:
    """No block, or one without the rows it is about."""
    table = local_table(RandomizedResponse.equal(2, 0.5))
    for report in ({}, {"shuffle": {}, "method": {"parameters": {}}, "rows": {}, "columns": []}):
        with pytest.raises(ReleaseFormatError, match="lacks what it says of the shuffled file"):
            list(local_promise.shuffle_checks(table, report, 1.0))


def test_a_few_rows_do_not_hide_each_other(sampled: Files) -> None:
    """Below the fewest rows for which the integral is near nothing beyond the local promise may be claimed."""
    report = json.loads(json.dumps(sampled.report))
    rows = local_promise.FEWEST_SHUFFLED - 1
    report["rows"]["out"] = report["shuffle"]["rows"] = rows
    report["shuffle"]["delta"] = min(1e-6, 1 / (10 * rows))
    (claim, epsilon) = local_promise.shuffle_checks(read_answers(sampled.params), report, 2.0)
    assert claim.passed
    assert (epsilon.name, epsilon.passed) == ("shuffle_epsilon", False)


def test_answers_that_tell_nothing_have_nothing_to_hide() -> None:
    """One answer for every input: at no epsilon is there a delta; nor where the loss is beyond the epsilon."""
    words = truth_or_blind(16, 1, [(1 << 16) - 1])
    blanket, ratios, chance = local_promise._ends(words)
    assert chance.tolist() == [1.0]
    assert ratios.ravel().tolist() == [0.0, 0.0]
    law = local_promise._Law(1.0, np.zeros((2, 1)), np.ones(1)).times(blanket, ratios, chance)
    assert law.delta(0.0, 100) == 0.0
    two = local_promise._ends(truth_or_blind(16, 1 << 15, [1 << 14, 1 << 14]))
    law = local_promise._Law(1.0, np.zeros((2, 1)), np.ones(1)).times(*two)
    assert law.delta(5.0, 100) == 0.0


def test_a_gain_that_hardly_ever_comes_is_none() -> None:
    """One draw in 1e300 gains a thousandth: the mean excess is no number that floats have."""
    assert local_promise._mean_excess(np.array([-1.0, 1e-3]), np.array([0.9, 1e-300]), 10) == 0.0
    assert local_promise._mean_excess(np.array([-1.0, 0.0]), np.array([0.5, 0.5]), 10) == 0.0
