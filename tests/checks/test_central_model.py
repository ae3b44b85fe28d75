"""Trees whose histograms have Gaussian noise, forged with all files and hashes rewritten: none validates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.central_account import approximate_loss
from anonkit.checks.central_params import facts_of
from anonkit.checks.central_rule import histograms_may_be_gaussian
from anonkit.consumers.published_classifiers import Forest
from anonkit.mechanisms.accounting import rho_units_within
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP

NAMES = [f"a{at:02d}" for at in range(30)]
VALUES = ("x", "y", "z")
POLICY = Policy(
    columns={
        **{name: Column(name=name, categories=VALUES, role=Role.QUASI_IDENTIFIER) for name in NAMES},
        "t": Column(name="t", categories=("no", "yes"), role=Role.TARGET),
    }
)


def table(rows: int = 1_500) -> pa.Table:
    """Thirty attributes that lean on the class."""
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 2, rows)
    columns = {name: np.array(VALUES)[draw.integers(0, 2, rows) + (draw.random(rows) < 0.5) * labels] for name in NAMES}
    return pa.table({**columns, "t": np.array(["no", "yes"])[labels]})


def released(folder: Path, *, rows: int = 1_500, **asked: Any) -> Files:
    """A true release."""
    output = folder / "out.parquet"
    given = {"epsilon": 1.0, "delta": 1e-6, "policy": POLICY, **asked}
    anonkit.release(table(rows), method="dp-forest", output=output, ledger=None, **given)
    return Files.read(output)


def histograms(files: Files) -> dict[str, Any]:
    """The line of the histograms."""
    return next(line for line in files.params["accounting"] if line["purpose"] == "histograms by class")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One with Gaussian noise."""
    found = released(tmp_path_factory.mktemp("true"), n_rows=1_500)
    assert histograms(found)["mechanism"] == found.params["rule"]["noise"] == "discrete-gaussian"
    return found


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One of so few rows that few attributes are measured, with less Laplace noise."""
    found = released(tmp_path_factory.mktemp("pure"), rows=60, n_rows=60)
    assert histograms(found)["mechanism"] == found.params["rule"]["noise"] == "discrete-laplace"
    return found


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One with a noisy number of rows whose domains were found in the table."""
    found = released(
        tmp_path_factory.mktemp("found"), rows=6_000, epsilon=20.0, delta=1e-3, target="t", domains_from_data=True,
        policy=Policy(columns={}), adjacency="replace",
    )  # fmt: skip
    assert len(found.params["attributes"]) == 30
    assert histograms(found)["mechanism"] == "discrete-gaussian"
    return found


def claim(files: Files, promise: ApproximateDP | CentralDP) -> None:
    """Claim something else, in every sentence and in the budget."""
    block = promise.to_dict()
    block["assumptions"] = files.params["assumptions"]
    files.report["guarantee"] = block
    files.report["budget"].update(epsilon=block["parameters"]["epsilon"], delta=block["parameters"]["delta"])


def ask(files: Files, **parameters: Any) -> None:
    """Request something else, wherever parameters are."""
    for place in (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"]):
        place.update(parameters)


def line(**told: Any) -> Edit:
    """Restate the line of the histograms."""
    return lambda files: histograms(files).update(told)


def scaled(files: Files, factor: Fraction) -> None:
    """State another noise rate for the histograms, and pay for that."""
    one = histograms(files)
    one["rate"] = int(one["rate"] * factor)
    one["rho"] = one["rate"] * one["times"] / 2**52
    files.report["budget"]["per_level"][-1]["rho"] = one["rho"]


def a_fiftieth(files: Files) -> None:
    """Fifty times less epsilon on everything, consistently: the rule would have measured fewer attributes."""
    ask(files, epsilon=0.02)
    claim(files, ApproximateDP(epsilon=0.02, delta=1e-6))
    few, many = (rho_units_within(Fraction(epsilon), Fraction(1e-6)) for epsilon in (0.02, 1.0))
    scaled(files, Fraction(few, many))
    for one in files.params["accounting"]:
        if "epsilon" in one:
            one["rate"] //= 50
            one["epsilon"] = one["rate"] / 2**52
    files.report["budget"]["per_level"][0]["epsilon"] /= 50


def as_laplace(files: Files) -> None:
    """State Laplace noise that costs the epsilon of the histograms."""
    one = histograms(files)
    one.update(mechanism="discrete-laplace", rate=int(0.94 * 2**52 / one["times"]))
    one["epsilon"] = one["rate"] * one["times"] / 2**52
    del one["rho"]


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a smaller epsilon": (lambda files: claim(files, ApproximateDP(epsilon=0.9, delta=1e-6)), "epsilon"),
    "a smaller delta": (lambda files: claim(files, ApproximateDP(epsilon=1.0, delta=1e-7)), "claimed_delta"),
    "a smaller delta, asked for too": (
        lambda files: [claim(files, ApproximateDP(epsilon=1.0, delta=1e-7)), ask(files, delta=1e-7)], "epsilon"),
    "a larger delta": (lambda files: claim(files, ApproximateDP(epsilon=1.0, delta=1e-4)), "delta"),
    "no delta at all": (lambda files: claim(files, CentralDP(epsilon=1.0)), ""),
    "no delta in the budget": (lambda files: files.report["budget"].update(delta=0), "delta"),
    "a delta as parameter that is none": (lambda files: ask(files, delta=0.5), ""),
    "half of the loss": (lambda files: scaled(files, Fraction(1, 2)), "account_lines"),
    "more loss than was asked for": (lambda files: scaled(files, Fraction(2)), "epsilon"),
    "a fiftieth of epsilon": (a_fiftieth, "rule"),
    "histograms that were free": (lambda files: files.params["accounting"].remove(histograms(files)), ""),
    "histograms that cost one": (
        lambda files: histograms(files).update(times=1, rho=histograms(files)["rate"] / 2**52), "account_lines"),
    "another rho than the rate has": (line(rho=1e-9), ""),
    "a line at a level": (line(level=1), ""),
    "a line of another sensitivity": (line(sensitivity=2), ""),
    "Laplace noise in the account": (as_laplace, "account_lines"),
    "Laplace noise in the rule": (lambda files: files.params["rule"].update(noise="discrete-laplace"), "rule"),
    "no word of the noise": (lambda files: files.params["rule"].pop("noise"), "rule"),
    "a forest of another law": (lambda files: files.params.update(format="anonkit-forest-1"), "rule_is_followed"),
    "fewer attributes said to be asked": (lambda files: files.params["rule"].update(asked=25), "rule"),
    "two rows a person": (lambda files: files.params["composition"].update(rows_per_unit=2), "epsilon"),
    "replaced rows": (lambda files: files.params["composition"].update(adjacency="replace one record"), "epsilon"),
    "another budget of the histograms": (
        lambda files: files.report["budget"]["per_level"][-1].update(rho=0.5), "budget_lines"),
    "a budget in epsilon": (
        lambda files: files.report["budget"]["per_level"][-1].update(epsilon=0.5), "budget_lines"),
    "a line more in the budget": (
        lambda files: files.report["budget"]["per_level"].append({"level": None, "part": "split", "rho": 0.1}),
        "budget_lines"),
    "a histogram of twice the rows": (
        lambda files: files.params["histograms"][0].__setitem__(
            3, [[2 * count for count in row] for row in files.params["histograms"][0][3]]), "counts_agree"),
}  # fmt: skip
"""Forgeries, and the check that refuses each; None where the files cannot be read as a release any more."""


@pytest.mark.slow_cases("searched")
@pytest.mark.parametrize("name", ["files", "pure", "searched"])
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


def test_the_promise_is_made_before_the_rows_are_counted(pure: Files, files: Files) -> None:
    """(epsilon, delta) where delta may pay, whichever noise is drawn; pure epsilon of few attributes."""
    for made in (pure, files):
        assert made.report["guarantee"]["parameters"]["delta"] == made.report["budget"]["delta"] == 1e-6
        assert approximate_loss(made.params, Fraction(1e-6), may_be_pure=True).epsilon <= 1.0
    few = Policy(columns={name: POLICY.columns[name] for name in (*NAMES[:3], "t")})
    release = anonkit.release(
        table().select([*NAMES[:3], "t"]), method="dp-forest", epsilon=1.0, delta=1e-6, policy=few, ledger=None
    )
    assert release.report["guarantee"]["parameters"]["delta"] == release.report["budget"]["delta"] == 0


def test_a_pure_release_under_a_delta_cannot_hide_the_delta(pure: Files, tmp_path: Path) -> None:
    """The promised delta is in the budget; another noise in the rule is refused."""
    for edit, check in (
        (lambda files: files.report["budget"].update(delta=0), "delta"),
        (lambda files: files.params["rule"].update(noise="discrete-gaussian"), "rule"),
        (lambda files: files.params.update(format="anonkit-forest-2"), "rule_is_followed"),
    ):
        tmp_path.joinpath(check).mkdir()
        assert check in verdict(forged(pure, edit, tmp_path / check))[1]


def test_no_law_is_chosen_without_a_delta(pure: Files) -> None:
    """Gaussian noise may be less by public facts, a delta among them."""
    params = pure.copy().params
    assert histograms_may_be_gaussian(facts_of(params), params)
    without = {**params, "parameters": {**params["parameters"], "delta": 0.0}}
    assert not histograms_may_be_gaussian(facts_of(without), without)


def test_the_account_of_found_domains_holds_both(searched: Files) -> None:
    """Thresholds have half of delta, the histograms the other; what is paid in epsilon is beside."""
    mechanisms = {line["mechanism"] for line in searched.params["accounting"]}
    assert {"thresholded-laplace", "discrete-gaussian", "discrete-laplace"} <= mechanisms
    assert 19.9 < approximate_loss(searched.params, Fraction(1e-3)).epsilon <= 20.0


def test_the_model_of_the_params_is_read(files: Files) -> None:
    """By the consumer that reads a forest without a delta."""
    model = Forest(files.params).fit()
    chances = model.predict_proba(table().drop_columns(["t"]).to_pandas())
    truth = np.asarray(table().column("t").to_pylist())
    assert np.mean(model.classes_[chances.argmax(axis=1)] == truth) > 0.6
