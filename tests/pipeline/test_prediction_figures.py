"""The two figures of a target's prediction, and what other columns and rows left out do to them."""

from __future__ import annotations

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.datasets import bank_customers
from anonkit.report.schemas import report_schema

FIGURES = ("auc", "balanced_accuracy", "accuracy")


def _table(rows: int = 240) -> pa.Table:
    return bank_customers(rows, seed=6).select(["age", "income", "education", "customer_value"])


def _released(table: pa.Table, method: str, sensitive: tuple[str, ...] = ()) -> anonkit.Release:
    columns: dict[str, dict[str, object]] = {
        name: {"role": "insensitive", "release_as_is": True}
        for name in ("row", "more", "copy")
        if name in table.column_names
    }
    columns |= {name: {"role": "sensitive", "release_as_is": True} for name in sensitive}
    settings_of = {"rfka": {"trees": 5, "max_suppression": 0.4}, "datafly": {"max_suppression": 0.05}}.get(method, {})
    return anonkit.release(
        table,
        method=method,
        k=5,
        target="customer_value",
        policy=anonkit.Policy.from_dict({"columns": columns}),
        ledger=None,
        seed=1,
        **settings_of,
        **({"alpha": 1.0} if sensitive else {}),  # without its cap on confidence: that may take a coarser recoding
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("mondrian", marks=pytest.mark.slow), "rfka"])
@given(
    seed=st.integers(0, 2**16),
    kind=st.sampled_from(["row number in order of the target", "copy of the target", "noise"]),
    is_sensitive=st.booleans(),
)
@example(seed=0, kind="row number in order of the target", is_sensitive=True)
@settings(max_examples=2)
def test_a_column_that_is_no_quasi_identifier_never_moves_a_figure(
    method: str, seed: int, kind: str, is_sensitive: bool
) -> None:
    """Insensitive or sensitive, predictive or not: prediction is from the quasi-identifiers alone."""
    plain = _table()
    labels = np.array(plain.column("customer_value").to_pylist())
    values = {
        "row number in order of the target": np.argsort(np.argsort(labels, kind="stable")),
        "copy of the target": labels,
        "noise": np.random.default_rng(seed).integers(0, 9, len(labels)),
    }[kind]
    more = plain.append_column("more", pa.array(values))
    before, after = _released(plain, method), _released(more, method, ("more",) if is_sensitive else ())
    assert "more" in after.to_arrow().column_names
    assert after.report["utility"]["prediction_of_target"] == before.report["utility"]["prediction_of_target"]
    for key in ("utility_of_source", "prediction_for_all_rows"):
        assert after.owner[key] == before.owner[key]


def test_an_insensitive_column_never_moves_the_public_figure() -> None:
    """A copy of the target beside the quasi-identifiers: the figures scored on the first rows stay the same."""
    plain = _table(1_600)
    more = plain.append_column("copy", plain.column("customer_value"))
    before, after = (_released(table, "datafly").report["utility"] for table in (plain, more))
    assert before["scored_rows"] == after["scored_rows"] >= 300
    assert before["prediction_of_target"] == after["prediction_of_target"]


def test_a_release_that_is_its_source_shows_no_difference() -> None:
    """Every combination is shared by k rows, nothing is recoded: 0, in an interval that holds 0."""
    age = np.repeat([20, 30, 40, 50], 50)
    table = pa.table({"age": age, "customer_value": np.where(np.arange(200) % 5 < age // 10 - 1, "a", "b")})
    release = _released(table, "rfka")
    assert sorted(release.to_arrow().to_pylist(), key=str) == sorted(table.to_pylist(), key=str)
    found = release.owner["prediction_for_all_rows"]
    assert found["rows_left_out"] == 0
    for name in FIGURES:
        low, high = found["difference"][name]["ci"]
        assert found["difference"][name]["value"] == 0
        assert low <= 0 <= high
        assert found["difference"][name]["shows"] == "no difference that these rows can show"


def test_rows_left_out_count_for_the_owner() -> None:
    """People of rare towns are positive, and left out: the release alone looks better than it serves all rows."""
    random = np.random.default_rng(8)
    common = random.integers(0, 4, 2_000)
    rare = np.arange(400)
    table = pa.table(
        {
            "age": np.append(20 + common * 10, 20 + rare % 4 * 10),
            "town": [*["T"] * 2_000, *(f"U{one}" for one in rare)],
            "customer_value": [*np.where(random.random(2_000) < 0.2 * common, "pos", "neg"), *["pos"] * 400],
        }
    )
    policy = anonkit.Policy.from_dict({"columns": {"town": {"categories": ["T", *(f"U{one}" for one in rare)]}}})
    release = anonkit.release(
        table,
        method="datafly",
        k=5,
        target="customer_value",
        policy=policy,
        ledger=None,
        max_suppression=0.3,
    )
    assert release.report["rows"]["suppressed"] == 400
    public, own = release.report["utility"]["prediction_of_target"], release.owner["prediction_for_all_rows"]
    assert own["rows"] == 2_400
    assert own["rows_left_out"] == 400
    assert own["from_release"]["balanced_accuracy"] < public["balanced_accuracy"]
    assert own["difference"]["balanced_accuracy"]["shows"] == "worse"
    (worst, _) = release.owner["rows_left_out"]["classes"]
    assert (worst["class"], worst["left_out"], worst["stands_out"]) == ("pos", 400, True)


def test_the_schema_knows_the_figure_and_its_intervals() -> None:
    """A report with the figure, with an older one that has no intervals, or without a model fits; others do not."""
    report = _released(_table(1_600), "datafly").report
    validator = jsonschema.Draft202012Validator(report_schema())
    figure = report["utility"]["prediction_of_target"]
    older = {key: value for key, value in figure.items() if key != "ci"}
    for allowed in (figure, older, "not measured"):
        validator.validate({**report, "utility": {"prediction_of_target": allowed}})
    for wrong in ("good", {**figure, "auc": 1.2}, {**figure, "ci": {"auc": [0.5]}}, {"auc": 0.9}):
        assert not validator.is_valid({**report, "utility": {"prediction_of_target": wrong}})
