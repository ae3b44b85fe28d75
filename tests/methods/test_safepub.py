"""SafePub: shown rows are true, alike k times, and chosen by coins that cost the claim."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from checks.drawn_tables import EASY, JOBS, POLICY, UNTARGETED, people
from scipy.stats import beta as beta_law

import anonkit
from anonkit.cli.summary import public_warnings
from anonkit.domains.number_bins import Categories
from anonkit.engines import open_engine
from anonkit.errors import ParameterError, PolicyError, ReleaseFormatError
from anonkit.k_anonymity.generalization_schemes import DrawRows, LeaveOut, PublicLevels
from anonkit.mechanisms.privacy_amplification import class_size, delta_of
from anonkit.methods.safepub import SafePub
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import CategoricalAttribute, public_attribute
from anonkit.published.recoding import IntervalAxis
from anonkit.randomness import Randomness

ONE, WORDS = 1 << 52, 1 << 32


def released(source: Any = None, policy: Policy = POLICY, **options: Any) -> anonkit.Release:
    """Release people."""
    return anonkit.release(people() if source is None else source, policy=policy, **{**EASY, **options})


def told(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return what a row shows at the one scheme that predicts the target."""
    return (
        "indoors" if JOBS.index(row["job"]) < 20 else "outdoors",
        "< 40" if row["score"] < 40 else ">= 40",
        row["ill"],
    )


def test_rows_are_true_ones_told_by_the_scheme_that_tells_the_target() -> None:
    """Of 40 jobs the groups, of the score whether it is 40: each kind of row at most as often as there are people."""
    release = released()
    there = Counter(told(row) for row in people().to_pylist())
    shown = Counter((row["job"], row["score"], row["ill"]) for row in release.to_arrow().to_pylist())
    k = release.report["guarantee"]["parameters"]["k"]

    assert set(shown) == set(there)
    assert all(k <= shown[kind] < there[kind] for kind in shown)


def test_k_epsilon_and_delta_follow_from_the_parameters_alone() -> None:
    """K is what the draw needs for three quarters of epsilon; a larger one that is requested is kept."""
    method = SafePub(epsilon=1.0, delta=1e-6, k=2, sample=0.25)
    promise = method.guarantee(POLICY)
    units = round(0.75 * ONE)
    assert promise.k == class_size(WORDS // 4, units, 1e-6, 2)
    assert delta_of(WORDS // 4, promise.k, units) <= 1e-6 < delta_of(WORDS // 4, promise.k - 1, units)
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
    assert replace(method, k=300).guarantee(POLICY).k == 300
    assert promise.quasi_identifiers == ("colour", "job", "score", "sex")


def test_a_smaller_loss_needs_a_larger_k_at_the_same_sample() -> None:
    """Along epsilon and along delta."""
    found = [SafePub(epsilon=e, delta=d, k=2, sample=0.1).guarantee(POLICY).k for e in (1.0, 2.0) for d in (1e-9, 1e-4)]
    assert found[0] > found[1] >= found[3]
    assert found[0] > found[2] > found[3]


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"epsilon": 0.001}, "epsilon"), ({"delta": 0.0}, "delta"), ({"k": 1}, "k"), ({"sample": 1.0}, "sample")],
)
def test_what_is_outside_its_range_is_refused(wrong: dict[str, Any], name: str) -> None:
    """Each by its name."""
    with pytest.raises(ParameterError, match=name):
        SafePub(**{"epsilon": 1.0, **wrong})


def test_a_sample_beyond_epsilon_is_refused_before_any_data() -> None:
    """Three quarters of epsilon 1 allow for 0.527."""
    SafePub(epsilon=1.0, sample=0.52).guarantee(POLICY)
    with pytest.raises(ParameterError, match=r"at most 0\.528 here"):
        SafePub(epsilon=1.0, sample=0.53).guarantee(POLICY)


def test_a_number_to_predict_is_refused() -> None:
    """True numbers are hardly ever alike."""
    policy = Policy(
        columns={
            "job": Column(name="job", categories=tuple(JOBS)),
            "score": Column(name="score", role=Role.TARGET, bounds=(0.0, 64.0)),
        }
    )
    with pytest.raises(PolicyError, match="'score' is a number to predict"):
        SafePub(epsilon=1.0).guarantee(policy)


def test_without_a_target_columns_are_shown_in_as_much_detail_as_pays() -> None:
    """At least one column, and none that is not declared public."""
    release = released(policy=UNTARGETED)
    assert release.to_arrow().num_columns >= 1
    assert {"who", "ill"}.isdisjoint(release.to_arrow().column_names)


@pytest.mark.slow
def test_the_same_cells_read_from_a_text_file_show_the_same(tmp_path: Path) -> None:
    """Every cell is read for itself: typed or spelled, the seed draws the same rows."""
    people().to_pandas().to_csv(tmp_path / "in.csv", index=False)
    typed, spelled = (released(source, seed=3).to_arrow() for source in (people(), tmp_path / "in.csv"))
    assert typed.equals(spelled)


def test_a_person_counts_once(tmp_path: Path) -> None:
    """Of 320 people with four rows each one row is used: half of all rows would be twice as many as people."""
    table = people().to_pandas()
    table["who"] = [f"person {at % 320}" for at in range(len(table))]
    policy = replace(POLICY, columns={**POLICY.columns, "who": Column(name="who", role=Role.UNIT)})
    release = released(table, policy, output=tmp_path / "out.parquet", delta=1e-2)
    assert 0 < release.to_arrow().num_rows <= 320
    assert release.report["guarantee"]["unit"] == "one value of column 'who'"
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_a_release_of_no_rows_is_an_outcome_that_is_charged(tmp_path: Path) -> None:
    """Ten people cannot be shown in classes of five at a small epsilon; the ledger books the draws, a plan does not."""
    few, ledger = people().slice(0, 10), tmp_path / "ledger"
    options = {"epsilon": 0.5, "delta": 1e-6, "ledger": ledger, "dataset": "few", "output": tmp_path / "out.parquet"}
    assert public_warnings(released(few, dry_run=True, **options)) == []
    assert not ledger.exists()
    release = released(few, **options)
    assert release.to_arrow().num_rows == 0 == release.report["rows"]["out"]
    assert any("no row is released" in line for line in public_warnings(release))
    assert anonkit.validate(tmp_path / "out.parquet").passed
    with pytest.raises(anonkit.errors.BudgetError, match=r"epsilon 0.5 is spent"):
        released(few, budget=0.9, **{**options, "output": tmp_path / "again.parquet"})


def test_losses_add_up_and_no_joint_view_of_the_exact_rows_is_told(tmp_path: Path) -> None:
    """Beside an earlier k-anonymous release: epsilon and delta are booked, classes are not compared with each other."""
    ledger = tmp_path / "ledger"
    names = {"dataset": "people", "ledger": ledger}
    anonkit.release(people(), method="datafly", policy=POLICY, k=5, output=tmp_path / "a.parquet", **names)
    for place in ("b", "c"):
        report = released(output=tmp_path / f"{place}.parquet", delta=1e-4, **names).report
        assert not any("joint" in check["name"] for check in report["verification"]["checks"])
    (together,) = report["ledger"]["totals"]
    assert (together["epsilon"], together["delta"]) == (40.0, pytest.approx(2e-4))


def test_the_rows_of_a_next_batch_are_drawn_anew(tmp_path: Path) -> None:
    """A recoding does not repeat coins: apply is refused, and says what to do."""
    released(output=tmp_path / "out.parquet")
    with pytest.raises(ReleaseFormatError, match="drawn by coins"):
        anonkit.apply(tmp_path / "out.parquet", people(), ledger=None)


@pytest.mark.slow
def test_the_owner_is_told_what_the_release_leaves_and_can_attack_it(tmp_path: Path) -> None:
    """A dossier with every column before and after, and an audit of the rows that are shown."""
    out = tmp_path / "out.parquet"
    released(output=out, owner_report=tmp_path / "owner")
    assert list((tmp_path / "owner").iterdir())
    audit = anonkit.audit(out, people(), attacks=40, runs=0)
    assert audit.released == pd.read_parquet(out).shape[0]
    assert audit.attacks


@pytest.mark.slow
def test_the_engine_counts_a_table_that_is_too_large_to_hold() -> None:
    """For any limit of rows in memory the same rows are shown."""
    found = []
    for options in ({}, {"search_rows": 100}):
        release = released(seed=4, **options)
        found.append(sorted(map(str, release.to_arrow().to_pylist())))
    assert found[0] == found[1]


# --- the law of what is shown ---------------------------------------------------------------------------------------


def _classes_shown(n_rows: int, k: int, sampled: int, times: int) -> Counter[int]:
    """Return how often a class of so many rows was shown with how many, drawn by the batch functions themselves.

    Each class is a value of its own, so that one table holds many that know nothing of each other.
    """
    names = [f"x{number}" for number in range(5000)]
    levels = [PublicLevels.of(CategoricalAttribute(name="a", domain=Categories(values=tuple(names))))]
    batch = pa.RecordBatch.from_arrays([pa.array(np.repeat(names, n_rows))], names=["a"])
    found: Counter[int] = Counter()
    with open_engine("local") as engine:
        for number in range(times // len(names)):
            key = Randomness.seeded(number).key("rows")
            draw = DrawRows(levels=levels, scheme=(0,), target=None, key=key, sampled=sampled)
            small = engine.small_classes(engine.hold(pa.Table.from_batches([draw(batch, 0)])), ["a"], k)
            shown = Counter(LeaveOut(small)(draw(batch, 0), 0)["a"].to_pylist())
            found.update(shown[name] for name in names)
    return found


def test_a_class_is_shown_by_the_binomial_law_from_k_on() -> None:
    """Chi-square over all numbers of rows that are expected five times, with a fixed seed, at one in a thousand."""
    n_rows, k, beta, times = 20, 8, 0.375, 30_000
    found = _classes_shown(n_rows, k, int(beta * WORDS), times)
    law = np.array([math.comb(n_rows, j) * beta**j * (1 - beta) ** (n_rows - j) for j in range(n_rows + 1)])
    shown = np.concatenate([[law[:k].sum()], law[k:]]) * times
    seen = np.array([found[0], *(found[j] for j in range(k, n_rows + 1))], dtype=float)
    assert sum(found[j] for j in range(1, k)) == 0
    common = shown >= 5
    statistic = ((seen - shown)[common] ** 2 / shown[common]).sum()
    assert statistic < 31.3  # the 0.999 quantile at 11 degrees of freedom; there are no more
    assert common.sum() <= 12


def test_no_neighbour_is_told_by_more_than_epsilon_and_delta() -> None:
    """Clopper and Pearson at one in a thousand, with fixed seeds: delta, bounded from below, is not above the claim.

    No pair of more than 12 rows loses more; whoever drew a quarter more of them would be seen at 11 or at 10.
    """
    k, sampled, epsilon, times = 6, WORDS // 4, 0.3, 100_000
    claimed = delta_of(sampled, k, int(epsilon * ONE))
    found = {size: _classes_shown(size, k, sampled, times) for size in range(9, 13)}
    shown = {size: times - counted[0] for size, counted in found.items()}
    for size in range(10, 13):
        lower = beta_law.ppf(1e-3 / 6, shown[size], times - shown[size] + 1)
        upper = beta_law.ppf(1 - 1e-3 / 6, shown[size - 1] + 1, times - shown[size - 1])
        assert lower - math.exp(epsilon) * upper <= claimed
    assert shown[12] - math.exp(epsilon) * shown[11] > 0  # there is something to be bounded


@pytest.mark.parametrize(
    ("column", "finest"),
    [
        ({"bounds": (0, 5), "type": "integer"}, [1, 2, 3, 4, 5]),
        ({"bounds": (0, 40), "type": "integer"}, [5, 10, 15, 20, 25, 30, 35, 40]),
        ({"bounds": (0, 9), "step": 3}, [3, 6, 9]),
        ({"bounds": (0, 1), "step": 0.25}, [0.25, 0.5, 0.75, 1]),
        ({"bounds": (0, 5)}, [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]),
    ],
)
def test_ranges_of_whole_numbers_begin_at_one(column: dict[str, Any], finest: list[float]) -> None:
    """A range between two values of a column is none, and no level has more ranges than there are values."""
    attribute = public_attribute(Column(name="n", missing=Missing.FIRST, **column))
    levels = PublicLevels.of(attribute)
    assert isinstance(levels.axis, IntervalAxis)
    shown = [cut for cut in levels.axis.cuts if cut < column["bounds"][1]]
    assert shown == [cut for cut in finest if cut < column["bounds"][1]]
