"""Releases for any purpose under (epsilon, delta), forged with all files and hashes rewritten: none validates."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.account_lines import choice_rho_of
from anonkit.checks.central_account import approximate_loss, published_account
from anonkit.checks.central_marginal_plan import delta_may_pay
from anonkit.checks.central_params import facts_of
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ReleaseFormatError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP

POLICY = bank_customers_policy()


def released(folder: Path, **asked: Any) -> Files:
    """A true release."""
    output = folder / "out.parquet"
    given = {"epsilon": 16.0, "delta": 1e-2, "n_rows": 3_000, **asked}
    anonkit.release(
        bank_customers(3_000, seed=1), method="dp-marginals", policy=POLICY, output=output, ledger=None, **given
    )
    return Files.read(output)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One with Gaussian noise and pairs of a tree and beside it."""
    found = released(tmp_path_factory.mktemp("true"))
    purposes = [line["purpose"] for line in found.params["accounting"]]
    assert found.params["format"] == "anonkit-marginals-2"
    assert {"pair of the tree", "further pair"} <= set(purposes)
    return found


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One in which Laplace noise was expected to be less, although a delta was given."""
    found = released(tmp_path_factory.mktemp("pure"), epsilon=0.05, delta=1e-9)
    assert found.params["format"] == "anonkit-marginals-1"
    return found


def claim(files: Files, promise: ApproximateDP | CentralDP) -> None:
    """Claim something else, in every sentence and in the budget."""
    block = promise.to_dict()
    files.report["guarantee"] = block
    files.report["budget"].update(epsilon=block["parameters"]["epsilon"], delta=block["parameters"]["delta"])
    files.params["assumptions"] = block["assumptions"]


def line(purpose: str, **told: Any) -> Edit:
    """Restate a line."""
    return lambda files: next(one for one in files.params["accounting"] if one["purpose"] == purpose).update(told)


def in_epsilon(files: Files) -> None:
    """Choices by permute-and-flip at the price of the exponential mechanism."""
    line("pair of the tree", mechanism="permute-and-flip")(files)


def paid_in_epsilon(files: Files) -> None:
    """A choice that says what it costs in epsilon, at the rate at which that is its share of rho."""
    one = next(one for one in files.params["accounting"] if one["purpose"] == "pair of the tree")
    one["rate"] = int(one["rho"] * 2**52 / one["sensitivity"] / one["times"])
    one["epsilon"] = one["rate"] * one["sensitivity"] * one["times"] / 2**52
    del one["rho"]
    told = next(one for one in files.report["budget"]["per_attribute"] if one["name"] == "pair of the tree")
    told["epsilon"] = one["epsilon"]


def sharper(files: Files) -> None:
    """Choices at twice their rate, and four times their price."""
    one = next(one for one in files.params["accounting"] if one["purpose"] == "pair of the tree")
    one["rate"] *= 2
    one["rho"] = float(one["times"] * Fraction(one["rate"] * one["sensitivity"], 1 << 52) ** 2 / 8)


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a smaller epsilon": (lambda files: claim(files, ApproximateDP(epsilon=15.9, delta=1e-2)), "epsilon"),
    "a smaller delta": (lambda files: claim(files, ApproximateDP(epsilon=16.0, delta=1e-3)), "claimed_delta"),
    "no delta at all": (lambda files: claim(files, CentralDP(epsilon=16.0)), ""),
    "permute-and-flip at the price of another choice": (in_epsilon, ""),
    "a choice that is paid in epsilon": (paid_in_epsilon, "account_lines"),
    "a sharper choice": (sharper, "account_lines"),
    "another rho of a choice": (line("pair of the tree", rho=1e-9), ""),
    "a choice of width 0": (line("further pair", sensitivity=0), ""),
    "a choice at a level": (line("further pair", level=1), ""),
    "a choice that was free": (lambda files: files.params["accounting"].pop(-2), "account_lines"),
    "tables of another law": (lambda files: files.params.update(format="anonkit-marginals-1"), ""),
    "a further pair that others read as one of the tree": (
        lambda files: next(one for one in files.params["pairs"] if not one["in_tree"]).update(in_tree="*"), "pairs"),
    "two rows a person": (lambda files: files.params["composition"].update(rows_per_unit=2), "epsilon"),
    "replaced rows": (lambda files: files.params["composition"].update(adjacency="replace one record"), "epsilon"),
    "another budget of a choice": (
        lambda files: next(one for one in files.report["budget"]["per_attribute"] if one["name"] == "further pair")
        .update(rho=0.5), "budget_lines"),
    "no delta in the budget": (lambda files: files.report["budget"].update(delta=0), "delta"),
    "a delta as parameter that is none": (
        lambda files: files.params["parameters"].update(delta=0.5), ""),
    "a table of fewer rows": (
        lambda files: files.params["tables"][1].update(
            counts=[[count // 2 for count in row] for row in files.params["tables"][1]["counts"]]), "rows_of_tables"),
}  # fmt: skip
"""Forgeries, and the check that refuses each; None where the files cannot be read as a release any more."""


@pytest.mark.parametrize("name", ["files", "pure"])
def test_rewriting_alone_is_no_forgery(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The true releases validate."""
    assert verdict(forged(request.getfixturevalue(name), lambda one: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_release_is_refused(files: Files, forgery: str, tmp_path: Path) -> None:
    """By the check that is there for it."""
    edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(files, edit, tmp_path))
    assert code in (1, 3)
    assert check == "" or check in failed, failed


def test_a_line_that_is_paid_in_rho_and_has_none_is_refused(files: Files) -> None:
    """Choices of bounded range and Gaussian noise alone have one; and no pure account has such lines."""
    params = files.copy().params
    for one in params["accounting"]:
        if one["purpose"] == "pair of the tree":
            assert choice_rho_of(one) > 0
            one["mechanism"] = "permute-and-flip"
    with pytest.raises(ReleaseFormatError, match="no choice that has one"):
        approximate_loss(params, Fraction(1, 100))
    with pytest.raises(ReleaseFormatError, match="no epsilon covers without a delta"):
        published_account(files.params)


def test_a_delta_that_is_not_taken_is_refused(files: Files) -> None:
    """The rule refuses an impossible delta; params of a version without delta have none."""
    params = json.loads(json.dumps(files.params))
    params["parameters"]["delta"] = 0.5
    with pytest.raises(ReleaseFormatError, match="is not one that is taken"):
        delta_may_pay(facts_of(params))
    del params["parameters"]["delta"]
    assert not delta_may_pay(facts_of(params))


def test_a_pure_account_under_a_delta_is_added_up_like_any_other(pure: Files) -> None:
    """A rule that may find Laplace noise quieter allows such an account; for other methods it is refused."""
    assert approximate_loss(pure.params, Fraction(1, 10**9), may_be_pure=True).epsilon <= 0.05
    with pytest.raises(ReleaseFormatError, match="no line for which"):
        approximate_loss(pure.params, Fraction(1, 10**9))


def test_of_one_column_no_delta_is_expected(files: Files) -> None:
    """There are no pairs to measure: the noise of the column decides."""
    facts = facts_of(files.params)
    assert delta_may_pay(facts)
    assert not delta_may_pay(replace(facts, attributes=facts.attributes[:1], has_target=False))


def _leaning(rows: int, columns: int, how_often: float) -> pa.Table:
    """Columns of ten values of which each leans on the one before, the first on the target."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, rows)
    found = [labels * 5]
    for _ in range(columns):
        found.append(np.where(draw.random(rows) < how_often, found[-1], draw.integers(0, 10, rows)))
    named = {f"c{at}": pa.array(column.astype(str)) for at, column in enumerate(found[1:])}
    return pa.table({**named, "label": pa.array(labels.astype(str))})


@pytest.mark.quick_cases("0.6-3000-*")
@pytest.mark.parametrize(
    ("how_often", "rows", "epsilon", "first", "readings"),  # the first seed tried is one that has the tree
    [
        (0.6, 3_000, 1.0, 0, ["gain of 18 pairs"]),
        (0.6, 30_000, 0.1, 0, ["gain of 18 pairs"]),
        (0.5, 12_000, 0.2, 3, ["gain of 18 pairs", "dependence on the target"]),
    ],
)
def test_a_tree_of_all_columns_in_the_place_of_a_split_is_rebuilt(
    how_often: float, rows: int, epsilon: float, first: int, readings: list[str], tmp_path: Path
) -> None:
    """The tree is rebuilt both without a reading of splits (it gains half their cost) and if no split gains more."""
    table = _leaning(rows, 18, how_often)
    values = tuple("0123456789")
    columns = {name: Column(name=name, categories=values) for name in table.column_names[:-1]}
    policy = Policy(columns={**columns, "label": Column(name="label", role=Role.TARGET, categories=("0", "1"))})
    given = {"policy": policy, "epsilon": epsilon, "delta": 1e-9, "n_rows": rows, "ledger": None}
    for seed in range(first, first + 12):
        release = anonkit.release(table, method="dp-marginals", seed=seed, **given)
        if [one["purpose"] for one in release.params["readings"]] == readings and not release.params["anchored"]:
            break
    else:
        pytest.fail("no release of these seeds has the tree")
    assert len(release.params["pairs"]) >= 18
    release.save(tmp_path / "true" / "out.parquet")
    found = Files.read(tmp_path / "true" / "out.parquet")
    of_a_seed = ("randomness",)
    assert verdict(forged(found, lambda one: None, tmp_path)) == (1, of_a_seed)
    code, failed = verdict(forged(found, lambda one: one.params["readings"][0].update(steps=0), tmp_path))
    assert code in (1, 3)
    assert failed != of_a_seed
