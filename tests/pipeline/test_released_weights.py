# SPDX-License-Identifier: Apache-2.0
"""Weights of a sample: shown as the mean of each class or rounded to a grid, used in risks, never a feature."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.checks.population_risk import individual_risks
from anonkit.consumers.release_features import ReleaseFeatures
from anonkit.errors import PolicyError, SourceError
from anonkit.estimators.reidentification_risk import individual_risk
from anonkit.policy.declaration import Policy

KNOWN = ("age", "sex", "place")
ROLES: dict[str, Any] = {
    **{name: {"role": "quasi_identifier"} for name in KNOWN},
    "income": {"role": "target"},
    "w": {"role": "weight"},
}
ROUNDED = {**ROLES, "w": {"role": "weight", "weights": "rounded", "step": 25}}


def sampled(n_rows: int = 400, seed: int = 3) -> pa.Table:
    """Return a sample whose weights follow the place and a little noise."""
    draw = np.random.default_rng(seed)
    place = draw.choice(list("abc"), n_rows, p=[0.6, 0.3, 0.1])
    weights = np.array([{"a": 40.0, "b": 90.0, "c": 140.0}[each] for each in place]) * draw.uniform(0.9, 1.1, n_rows)
    return pa.table(
        {
            "age": draw.integers(18, 90, n_rows),
            "sex": draw.choice(["f", "m"], n_rows),
            "place": place,
            "income": draw.choice(["low", "high"], n_rows),
            "w": weights.round(2),
        }
    )


def policy(columns: dict[str, Any]) -> dict[str, Any]:
    """Return a policy under which each row is a person."""
    return {"columns": columns, "unit": "none"}


def released(table: pa.Table, columns: dict[str, Any] = ROLES, **asked: Any) -> anonkit.Release:
    """Return a release of a sample."""
    how = {"method": "mondrian", "k": 5, "policy": policy(columns), "ledger": None, "utility": False}
    return anonkit.release(table, **{**how, **asked})


def by_class(table: pa.Table, known: Sequence[str] = KNOWN) -> dict[tuple[Any, ...], list[float]]:
    """Return the weights of the rows of every class."""
    names = [name for name in known if name in table.column_names]
    found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for *key, weight in zip(*(table.column(name).to_pylist() for name in (*names, "w")), strict=True):
        found[tuple(key)].append(weight)
    return found


@pytest.mark.quick_cases("rfka")
@pytest.mark.parametrize("method", ["mondrian", "rfka", "datafly", "incognito", "mdav", "greedy-hamdist"])
def test_rows_show_the_mean_weight_of_their_class(method: str, tmp_path: Path) -> None:
    """One weight a class, of three significant digits; validated, and stated in promise, params and report."""
    out = tmp_path / "out.parquet"
    release = released(sampled(), method=method, output=out)
    for weights in by_class(pq.read_table(out)).values():
        assert len(set(weights)) == 1
        assert len(weights) >= 5
        assert float(f"{weights[0]:.3g}") == weights[0]
    assert release.params["weight"] == {"column": "w", "shows": "mean", "digits": 3}
    parameters = release.report["guarantee"]["parameters"]
    assert parameters["weight"] == {"column": "w", "shows": "mean"}
    assert any("work out the last" in text for text in release.report["guarantee"]["not_protected"])
    total = math.fsum(weight for weights in by_class(pq.read_table(out)).values() for weight in weights)
    assert release.report["weights"] == {"column": "w", "sum": pytest.approx(total)}
    entry = next(column for column in release.report["columns"] if column["name"] == "w")
    assert (entry["role"], entry["action"]) == ("weight", "averaged")
    assert "w" in release.report["disclosure_risk"]["with_clear_columns"]["columns"]
    found = anonkit.validate(out)
    assert found.passed, [check for check in found.checks if not check.passed]
    assert {"weights", "weights_sum", "population"} <= {check.name for check in found.checks}


def test_sums_by_class_are_those_of_the_source(tmp_path: Path) -> None:
    """Within the rounding to three digits; one class at full detail, worked out by hand."""
    table = pa.table({"age": [30] * 5 + [40] * 5, "w": [1.0, 2, 3, 4, 5.04, 10, 20, 30, 40, 51.2]})
    columns = {"age": {"role": "quasi_identifier"}, "w": {"role": "weight"}}
    out = tmp_path / "out.parquet"
    anonkit.release(
        table, method="rfka", k=5, policy=policy(columns), no_target=True, output=out, ledger=None, utility=False
    )
    weights = dict(zip(*(pq.read_table(out).column(name).to_pylist() for name in ("age", "w")), strict=True))
    assert {str(age): weight for age, weight in weights.items()} == {
        str(min(weights, key=str)): 3.01,
        str(max(weights, key=str)): 30.2,
    }


def test_rounded_weights_are_a_quasi_identifier(tmp_path: Path) -> None:
    """They are in every count of classes; rows whose weight names a small stratum are not distinguished by it."""
    out = tmp_path / "out.parquet"
    release = released(sampled(1500), ROUNDED, method="rfka", output=out)
    assert "w" in release.report["guarantee"]["parameters"]["quasi_identifiers"]
    assert release.params["weight"] == {"column": "w", "shows": "rounded", "step": 25.0}
    table = pq.read_table(out)
    assert "w" in table.column_names
    assert all(weight % 25 == 0 and weight > 0 for weight in table.column("w").to_pylist())
    names = [name for name in (*KNOWN, "w") if name in table.column_names]
    rows = list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
    assert min(map(rows.count, set(rows))) >= 5
    assert anonkit.validate(out).passed


def test_a_weight_below_half_a_step_is_one_step() -> None:
    """No person represents nobody."""
    table = pa.table({"age": [30] * 12, "w": [1.0] * 6 + [30.0] * 6})
    columns = {"age": {"role": "quasi_identifier"}, "w": {"role": "weight", "weights": "rounded", "step": 10}}
    release = anonkit.release(
        table, method="rfka", k=5, policy=policy(columns), no_target=True, ledger=None, utility=False
    )
    assert set(release.to_pandas()["w"]) == {10.0, 30.0}


def test_weights_that_make_groups_too_small_are_left_out_and_it_is_said() -> None:
    """Every weight its own: the release has none, which a note says; `keep` refuses it."""
    table = sampled(60).set_column(4, "w", pa.array([float(at + 1) for at in range(60)]))
    columns = {**ROLES, "w": {"role": "weight", "weights": "rounded", "step": 1}}
    release = released(table, columns, method="rfka")
    assert "w" not in release.to_pandas()
    assert "weights" not in release.report
    assert any("'w' are not released" in note for note in release.report["notes"])
    kept = {**columns, "w": {**columns["w"], "keep": True}}
    with pytest.raises(anonkit.errors.GuaranteeError, match="kept"):
        released(table, kept, method="rfka")


def test_the_risk_follows_from_the_weights_of_the_classes() -> None:
    """People of a class are the sum of its weights; relative weights say nothing of a population."""
    release = released(sampled())
    block = release.report["disclosure_risk"]["population"]
    classes = by_class(pa.Table.from_pandas(release.to_pandas()))
    sizes = np.array([len(weights) for weights in classes.values()])
    people = np.array([math.fsum(weights) for weights in classes.values()])
    risks = individual_risk(sizes, people)
    assert block["basis"] == "weights"
    assert block["estimates"]["individual"] == {
        "max": pytest.approx(risks.max()),
        "mean": pytest.approx(float(sizes @ risks) / 400),
        "sum": pytest.approx(float(sizes @ risks)),
    }
    relative = sampled().set_column(4, "w", pa.array(np.full(400, 0.9)))
    assert "population" not in released(relative).report["disclosure_risk"]
    stated = released(sampled(), sampling_fraction=0.01).report["disclosure_risk"]["population"]
    assert stated["basis"] == "fraction"


def test_the_check_has_a_risk_of_its_own() -> None:
    """Recurrence and series agree with the hypergeometric function, at any share and size."""
    sizes = np.array([1, 1, 2, 2, 3, 20, 64, 65, 400, 5, 7])
    people = np.array([1.0, 5000, 2, 90, 3.5, 1e6, 128.0, 9e4, 401, 10, 13.9])
    assert individual_risks(sizes, sizes / people) == pytest.approx(individual_risk(sizes, people), rel=1e-10)


def test_the_risk_of_a_table_before_its_release_is_that_of_its_weights() -> None:
    """By class the sum of the weights; models for simple samples are not used."""
    table = sampled()
    found = anonkit.risk(table, policy=policy(ROLES))
    classes = by_class(table)
    sizes = np.array([len(weights) for weights in classes.values()])
    risks = individual_risk(sizes, np.array([math.fsum(weights) for weights in classes.values()]))
    assert found.population["basis"] == "weights"
    assert found.quasi_identifiers == KNOWN
    assert found.population["individual"] == {
        "sum": pytest.approx(float(sizes @ risks)),
        "max": pytest.approx(float(risks.max())),
    }
    assert set(found.population["estimates"].values()) == {None}
    relative = table.set_column(4, "w", pa.array(np.full(400, 0.9)))
    assert anonkit.risk(relative, policy=policy(ROLES)).population["basis"] == "none"


@pytest.mark.slow
def test_the_next_batch_shows_its_own_means(tmp_path: Path) -> None:
    """`apply` reads the role from the params; rounded ones are rounded by the same step."""
    for columns, method in ((ROLES, "mondrian"), (ROUNDED, "rfka")):
        first, second = tmp_path / f"{method}1.parquet", tmp_path / f"{method}2.parquet"
        released(sampled(1500), columns, method=method, output=first)
        batch = anonkit.apply(first, sampled(1500, seed=8), output=second, ledger=None, max_suppression=0.3)
        assert batch.params["weight"] == anonkit.load(first).params["weight"]
        names = [*KNOWN, *(["w"] if columns is ROUNDED else [])]
        assert all(len(set(weights)) == 1 for weights in by_class(pq.read_table(second), names).values())
        assert anonkit.validate(second).passed


def test_the_joint_view_reads_weights_of_earlier_releases(tmp_path: Path) -> None:
    """The ledger keeps how each release shows them, so that groups of both together can be counted."""
    draw, ledger = np.random.default_rng(0), tmp_path / "ledger.sqlite"
    table = pa.table(
        {"age": draw.choice([20, 40], 600), "sex": draw.choice(["f", "m"], 600), "w": draw.choice([110.5, 249.0], 600)}
    )
    columns = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier"}}
    for number, (method, weight) in enumerate((("mondrian", ROLES["w"]), ("rfka", ROUNDED["w"]))):
        anonkit.release(  # refused where groups of both together cannot be counted
            table,
            method=method,
            k=5,
            policy=policy({**columns, "w": weight}),
            no_target=True,
            output=tmp_path / f"{number}.parquet",
            ledger=ledger,
            utility=False,
        )
        assert anonkit.validate(tmp_path / f"{number}.parquet").passed


@pytest.mark.slow
def test_weights_are_no_features(tmp_path: Path) -> None:
    """They are handed out beside the features, for a model's `sample_weight`."""
    for columns, method in ((ROLES, "mondrian"), (ROUNDED, "rfka")):
        release = released(sampled(1500), columns, method=method)
        frame = release.to_pandas()
        features = ReleaseFeatures(release).fit(frame)
        assert not any(name.startswith("w") for name in features.get_feature_names_out())
        assert features.sample_weight(frame).tolist() == frame["w"].tolist()
        with pytest.raises(SourceError, match="not in the rows"):
            features.sample_weight(frame.drop(columns="w"))
        with pytest.raises(SourceError, match="no weights"):
            features.sample_weight(frame.assign(w=0.0))
    plain = released(sampled().drop_columns(["w"]), {name: ROLES[name] for name in (*KNOWN, "income")})
    assert ReleaseFeatures(plain).fit(plain.to_pandas()).sample_weight(plain.to_pandas()) is None


NOISY = {
    "age": {"role": "quasi_identifier", "bounds": [18, 90]},
    "sex": {"role": "quasi_identifier", "categories": ["f", "m"]},
    "place": {"role": "quasi_identifier", "categories": ["a", "b", "c"]},
    "income": {"role": "target", "categories": ["low", "high"]},
}


@pytest.mark.parametrize("weight", [ROLES["w"], ROUNDED["w"]], ids=["mean", "rounded"])
@pytest.mark.parametrize("method", ["dp-marginals", "dp-nb", "rr", "dp-tables"])
def test_rows_of_noise_carry_no_weights(method: str, weight: dict[str, Any], tmp_path: Path) -> None:
    """The column is dropped, declared as it is."""
    out = tmp_path / "out.parquet"
    release = anonkit.release(
        sampled(300),
        method=method,
        epsilon=1.0,
        policy=policy({**NOISY, "w": weight}),
        output=out,
        ledger=None,
        utility=False,
    )
    entry = next(column for column in release.report["columns"] if column["name"] == "w")
    assert (entry["role"], entry["action"]) == ("weight", "dropped")
    assert "w" not in pq.read_schema(out).names
    assert anonkit.validate(out).passed


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"role": "weight", "weights": "rounded"}, "needs step"),
        ({"role": "weight", "step": 5}, "step is for rounded weights"),
        ({"role": "weight", "weights": "median"}, "weights"),
        ({"role": "insensitive", "weights": "mean"}, "about the weights of a sample"),
        ({"role": "quasi_identifier", "weights": "mean"}, "about the weights of a sample"),
        ({"role": "weight", "type": "text"}, "are numbers"),
        ({"role": "weight", "categories": ["1", "2"]}, "are numbers"),
        ({"role": "weight", "bounds": [-1, 5]}, "above 0"),
        ({"role": "weight", "missing": "category"}, "a missing weight is no weight"),
        ({"role": "weight", "sensitive": True}, "sensitive = true is for the target"),
    ],
)
def test_what_cannot_be_said_of_weights(column: dict[str, Any], words: str) -> None:
    """Refused when the policy is read, naming the column."""
    with pytest.raises(PolicyError, match=words) as refused:
        Policy.given(policy({**ROLES, "w": column}))
    assert "'w'" in str(refused.value)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([0.0] + [2.0] * 39, "1 cells that are no weights"),
        ([-1.0, float("inf")] + [2.0] * 38, "2 cells that are no weights"),
        ([None] + [2.0] * 39, "1 missing values"),
        (["a"] * 40, "are not numbers"),
    ],
)
def test_cells_that_are_no_weights_refuse_the_table(cells: list[Any], words: str) -> None:
    """With their number; a table before any release, too."""
    table = sampled(40).set_column(4, "w", pa.array(cells))
    with pytest.raises(PolicyError, match=words):
        released(table)
    with pytest.raises(PolicyError, match=words):
        anonkit.risk(table, policy=policy(ROLES))


@pytest.mark.slow
def test_rows_without_a_weight_may_be_left_out() -> None:
    """`missing = "drop"`, counted in the report."""
    table = sampled(200).set_column(4, "w", pa.array([None, None, *[2.5] * 198]))
    release = released(table, {**ROLES, "w": {"role": "weight", "missing": "drop"}})
    assert release.report["rows"]["dropped_missing"] == 2
    assert release.report["weights"]["sum"] == pytest.approx(198 * 2.5)


def test_two_columns_of_weights_and_ranges_of_rounded_ones_are_refused() -> None:
    """A table has one weight; nobody can weigh by a range."""
    with pytest.raises(PolicyError, match="one at most"):
        released(sampled(), {**ROLES, "age": {"role": "weight"}})
    with pytest.raises(PolicyError, match="shows ranges"):
        released(sampled(), ROUNDED)
