"""`dp-marginals`: its budget, its promise, its rows, and what it does without a target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.checks.central_account import published_account
from anonkit.checks.validation import validate
from anonkit.consumers import MarginalModel
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import LARGEST_EPSILON
from anonkit.methods import default_method
from anonkit.methods.dp_marginals import DPMarginals
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.approximate_dp import ApproximateDP

POLICY = bank_customers_policy()
NO_TARGET = replace(
    POLICY,
    columns={
        name: replace(column, role=Role.SENSITIVE) if column.role is Role.TARGET else column
        for name, column in POLICY.columns.items()
    },
    without_target=True,
)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, LARGEST_EPSILON), st.sampled_from([POLICY, NO_TARGET]))
def test_the_promise_is_what_is_asked_for_in_whole_units(epsilon: float, policy: Policy) -> None:
    """Never above it, and a hair below at most."""
    promised = DPMarginals(epsilon=epsilon).guarantee(policy).epsilon
    assert 0.999999 * epsilon < promised <= epsilon


def test_a_unit_pays_for_each_of_its_rows() -> None:
    """Three rows a person, replaced: every rate is a sixth."""
    policy = POLICY.with_roles(unit="education")
    one, six = (
        DPMarginals(epsilon=1.0, rows_per_unit=rows, adjacency=adjacency)._counting
        for rows, adjacency in ((1, "add-or-remove"), (3, "replace"))
    )
    assert one is not None
    assert six is not None
    assert six.rate == pytest.approx(one.rate / 6, rel=1e-9)
    DPMarginals(epsilon=1.0, rows_per_unit=3).guarantee(policy)
    with pytest.raises(ParameterError, match="rows_per_unit needs a unit column"):
        DPMarginals(epsilon=1.0, rows_per_unit=2).guarantee(POLICY)


@pytest.mark.quick_cases("target")
@pytest.mark.parametrize("policy", [POLICY, NO_TARGET], ids=["target", "no target"])
def test_only_noisy_counts_are_published(policy: Policy, tmp_path: Path) -> None:
    """The params add up to the promise, no true count is in them, and the release validates."""
    first, second = (
        anonkit.release(
            bank_customers(3_000, seed=1),
            method="dp-marginals",
            epsilon=20.0,
            policy=policy,
            ledger=None,
            output=output,
            spikes="declared",
        )
        for output in (tmp_path / "first.parquet", tmp_path / "second.parquet")
    )
    assert published_account(first.params).epsilon <= first.report["budget"]["epsilon"] <= 20.0
    assert "in" not in first.report["rows"]
    assert first.params["pairs"]
    tables = zip(first.params["tables"], second.params["tables"], strict=True)
    same = [np.array(one["counts"]) == np.array(other["counts"]) for one, other in tables]
    assert np.mean(np.concatenate([cells.ravel() for cells in same])) < 0.8
    assert validate(tmp_path / "first.parquet").passed


def test_what_has_no_public_domain_is_refused() -> None:
    """A table without a target is not."""
    bare = Policy(columns={"c": Column(name="c"), "d": Column(name="d", categories=("u",))})
    with pytest.raises(PolicyError, match="no public domain"):
        DPMarginals(epsilon=1.0).guarantee(bare)
    fine = Policy(columns={"d": Column(name="d", categories=("u", "v"))})
    release = anonkit.release(pa.table({"d": ["u", "v", "v"]}), method="dp-marginals", epsilon=20.0, policy=fine)
    assert release.to_arrow().column_names == ["d"]


def test_a_target_that_is_a_number_is_in_bins_like_others(tmp_path: Path) -> None:
    """Its cells are the middles of these, and rows without a number are not used."""
    policy = Policy(
        columns={
            "c": Column(name="c", categories=("u", "v")),
            "y": Column(name="y", role=Role.TARGET, bounds=(0.0, 8.0)),
        }
    )
    output = tmp_path / "out.parquet"
    rows = pa.table({"c": ["u", "v", "v", "u"] * 200, "y": [1.0, 7.0, 7.0, None] * 200})
    release = anonkit.release(rows, method="dp-marginals", epsilon=30.0, bins=4, policy=policy, output=output)
    assert set(release.to_arrow().column("y").to_pylist()) <= {1.0, 3.0, 5.0, 7.0}
    assert release.report["rows"]["out"] == pytest.approx(600, abs=20)
    assert not release.params["anchored"]
    assert validate(output).passed


def test_an_epsilon_without_a_method_is_this_one_where_there_is_no_target() -> None:
    """And dp-forest where there is one."""
    source = bank_customers(300, seed=1)
    for policy, name in ((NO_TARGET, "dp-marginals"), (POLICY, "dp-forest")):
        release = anonkit.release(source, epsilon=1.0, policy=policy, ledger=None)
        assert release.report["method"]["name"] == name
    assert default_method(["k"], without_target=True) == "rfka"


def few_columns(number: int) -> Policy:
    """The first columns of the customers, without a target."""
    names = [name for name in NO_TARGET.columns if NO_TARGET.columns[name].role is not Role.IDENTIFIER][:number]
    return replace(NO_TARGET, columns={name: NO_TARGET.columns[name] for name in names})


def test_a_delta_is_promised_where_it_may_pay_and_else_not_spent() -> None:
    """Public facts decide: of two columns the promise is pure; of all of them it is epsilon and delta as requested."""
    pure, method = DPMarginals(epsilon=1.0), DPMarginals(epsilon=1.0, delta=1e-3)
    few = few_columns(2)
    assert method.guarantee(few) == pure.guarantee(few)
    promise = method.guarantee(POLICY)
    assert isinstance(promise, ApproximateDP)
    assert (promise.epsilon, promise.delta) == (1.0, 1e-3)


@pytest.mark.quick_cases("16.0-0.01-add-or-remove-2")
@pytest.mark.parametrize(
    ("epsilon", "delta", "adjacency", "law"),
    [(16.0, 1e-2, "add-or-remove", 2), (16.0, 1e-2, "replace", 2), (0.05, 1e-9, "add-or-remove", 1)],
)
def test_a_release_with_a_delta_validates_whichever_noise_it_has(
    epsilon: float, delta: float, adjacency: str, law: int, tmp_path: Path
) -> None:
    """Budget and promise name both; the format says the law; a model of it has intervals of that law."""
    output = tmp_path / "out.parquet"
    release = anonkit.release(
        bank_customers(4_000, seed=2), method="dp-marginals", epsilon=epsilon, delta=delta, adjacency=adjacency,
        n_rows=4_000, policy=POLICY, output=output, ledger=None,
    )  # fmt: skip
    assert release.params["format"] == f"anonkit-marginals-{law}"
    budget = release.report["budget"]
    assert (budget["epsilon"], budget["delta"]) == (epsilon, delta)
    assert any("rho" in line for line in budget["per_attribute"]) == (law == 2)
    assert validate(output).passed
    table = MarginalModel.from_release(output).marginal("education")
    assert (table.lower <= table.upper).all()


def test_without_a_delta_that_pays_the_release_is_the_pure_one() -> None:
    """Two columns: the same seed gives the same tables, and nothing of delta is charged."""
    rows = bank_customers(500, seed=1).select(list(few_columns(2).columns))
    pure, asked = (
        anonkit.release(
            rows,
            method="dp-marginals",
            epsilon=2.0,
            delta=delta,
            policy=few_columns(2),
            seed=3,
            ledger=None,
            spikes="declared",
        )
        for delta in (0.0, 1e-9)
    )
    assert asked.params["tables"] == pure.params["tables"]
    assert asked.report["budget"] == pure.report["budget"]
    assert asked.report["guarantee"] == pure.report["guarantee"]
