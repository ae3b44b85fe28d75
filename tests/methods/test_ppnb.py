"""PPNB: the published pair of mechanisms and the model that undoes them."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers import NaiveBayes
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods import make_method


@pytest.mark.quick_cases("None")
@pytest.mark.parametrize("preset", [None, "paper"])
def test_a_model_of_the_release_predicts_customers_it_has_not_seen(tmp_path: Path, preset: str | None) -> None:
    """At the paper's p_0 = 0.35 three quarters of new customers are right; the commonest class has half of them."""
    release = anonkit.release(
        bank_customers(20_000, seed=1), method="ppnb", preset=preset, p_keep=0.35, policy=bank_customers_policy(),
        seed=1, output=tmp_path / "out.parquet",
    )  # fmt: skip
    made = anonkit.reconstruct(tmp_path / "out.parquet", test=bank_customers(2_000, seed=2))

    assert release.report["method"]["preset"] == preset
    assert made.scores is not None
    assert made.scores.accuracy > 0.75 > made.scores.majority


def test_the_row_has_no_bound_and_each_category_has() -> None:
    """Numbers are transformed, the label is clear, categories, missing among them, keep their epsilon."""
    promise = make_method("ppnb", {"p_keep": 0.35}).guarantee(bank_customers_policy())
    assert promise.kind == "local-dp"
    assert math.isinf(promise.epsilon)  # type: ignore[attr-defined]
    assert promise.attributes["occupation"] == pytest.approx(  # type: ignore[attr-defined]
        math.log(1 + 9 * 0.35 / 0.65), rel=1e-6
    )


def test_a_randomized_label_is_undone_too(tmp_path: Path) -> None:
    """The shares of the classes are reconstructed without bias."""
    customers = bank_customers(20_000, seed=1)
    anonkit.release(
        customers, method="ppnb", p_keep=0.5, label="randomize", policy=bank_customers_policy(), seed=1,
        output=tmp_path / "out.parquet",
    )  # fmt: skip
    prior = NaiveBayes.from_release(tmp_path / "out.parquet").model_.prior
    labels = customers.column("customer_value").cast(pa.string()).to_pylist()
    for name, share, error in zip(("high", "mid", "low"), prior.probabilities, prior.errors, strict=True):
        assert abs(share - labels.count(name) / 20_000) < 4 * error
