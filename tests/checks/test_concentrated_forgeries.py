"""Releases under (epsilon, delta) with Gaussian noise, forged with all files and hashes rewritten: none validates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.account_lines import epsilon_of, rho_of
from anonkit.checks.central import central_checks
from anonkit.checks.central_account import approximate_loss, published_account
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms.accounting import rho_units_within
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release."""
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    anonkit.release(
        bank_customers(600, seed=1), method="dp-nb", epsilon=1.0, delta=1e-5, policy=bank_customers_policy(),
        output=output, ledger=None,
    )  # fmt: skip
    return Files.read(output)


def claim(files: Files, promise: ApproximateDP | CentralDP) -> None:
    """Claim something else, in every sentence and in the budget."""
    block = promise.to_dict()
    files.report["guarantee"] = block
    files.report["budget"].update(epsilon=block["parameters"]["epsilon"], delta=block["parameters"]["delta"])
    files.params["assumptions"] = block["assumptions"]


def ask(files: Files, **parameters: Any) -> None:
    """Request something else, wherever parameters are."""
    for place in (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"]):
        place.update(parameters)


def scaled(files: Files, factor: Fraction) -> None:
    """State another rate for all noise, and pay for that."""
    for line in files.params["accounting"]:
        line["rate"] = int(line["rate"] * factor)
        line["rho"] = line["rate"] / 2**52
    rates = [line["rate"] for line in files.params["accounting"]]
    files.params["class_rate"] = rates[0]
    for attribute, rate in zip(files.params["attributes"], rates[1:], strict=True):
        attribute["rate"] = rate
    for line, rate in zip(files.report["budget"]["per_attribute"], rates, strict=True):
        line["rho"] = rate / 2**52


def a_fiftieth(files: Files) -> None:
    """Fifty times less epsilon, consistently: the noise that shows is not that."""
    ask(files, epsilon=0.02)
    claim(files, ApproximateDP(epsilon=0.02, delta=1e-5))
    delta = Fraction(1e-5)
    scaled(files, Fraction(rho_units_within(Fraction(0.02), delta), rho_units_within(Fraction(1), delta)))


def line(at: int, **told: Any) -> Edit:
    """Restate a line."""
    return lambda files: files.params["accounting"][at].update(told)


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a smaller epsilon": (lambda files: claim(files, ApproximateDP(epsilon=0.9, delta=1e-5)), "epsilon"),
    "a smaller delta": (lambda files: claim(files, ApproximateDP(epsilon=1.0, delta=1e-6)), "claimed_delta"),
    "a smaller delta, asked for too": (
        lambda files: [claim(files, ApproximateDP(epsilon=1.0, delta=1e-6)), ask(files, delta=1e-6)], "epsilon"),
    "a larger delta": (lambda files: claim(files, ApproximateDP(epsilon=1.0, delta=1e-4)), "delta"),
    "no delta at all": (lambda files: claim(files, CentralDP(epsilon=1.0)), ""),
    "a table that was free": (lambda files: files.params["accounting"].pop(), ""),
    "half of the loss": (lambda files: scaled(files, Fraction(1, 2)), "account_lines"),
    "more loss than was asked for": (lambda files: scaled(files, Fraction(2)), "epsilon"),
    "fifty times the noise, and so in every parameter": (a_fiftieth, "noise_is_stated"),
    "noise of another law": (
        lambda files: [one.update(mechanism="discrete-laplace", epsilon=one["rho"])
                       for one in files.params["accounting"]], ""),
    "tables of another law": (lambda files: files.params.update(format="anonkit-noisy-tables-1"), "tables"),
    "another rho than the rate has": (line(0, rho=1e-9), ""),
    "a rate that is no integer": (line(0, rate=1.5e10), ""),
    "a row in no table": (line(0, times=0), ""),
    "a line at a level": (line(0, level=1), ""),
    "a line of another sensitivity": (line(0, sensitivity=2), ""),
    "two rows a person": (lambda files: files.params["composition"].update(rows_per_unit=2), "epsilon"),
    "replaced rows": (lambda files: files.params["composition"].update(adjacency="replace one record"), "epsilon"),
    "no rows a person": (lambda files: files.params["composition"].update(rows_per_unit=0), ""),
    "a bootstrap": (lambda files: files.params["composition"].update(bootstrap={}), ""),
    "another budget of a table": (
        lambda files: files.report["budget"]["per_attribute"][1].update(rho=0.5), "budget_lines"),
    "a delta as parameter that is none": (lambda files: ask(files, delta=0.5), ""),
    "totals that do not agree": (
        lambda files: files.params.update(class_counts=[one + 4000 for one in files.params["class_counts"]]),
        "counts_agree"),
}  # fmt: skip
"""Forgeries, and the check that refuses each; None where the files cannot be read as a release any more."""


def test_rewriting_alone_is_no_forgery(files: Files, tmp_path: Path) -> None:
    """The true release validates."""
    assert verdict(forged(files, lambda one: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_release_is_refused(files: Files, forgery: str, tmp_path: Path) -> None:
    """By the check that is there for it."""
    edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(files, edit, tmp_path))
    assert code in (1, 3)
    assert check == "" or check in failed, failed


REFUSED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no line": (lambda params: params.update(accounting=[]), "no line for which"),
    "no adjacency": (lambda params: params["composition"].update(adjacency="twins"), "composition"),
    "a rho in quotes": (
        lambda params: params["accounting"][0].update(rho=str(params["accounting"][0]["rho"])),
        "another rho",
    ),
    "another rho": (lambda params: params["accounting"][0].update(rho=1.0), "another rho"),
    "another unit": (lambda params: params["accounting"][0].update(rate_unit="2**-51"), "no Gaussian noise"),
}


@pytest.mark.parametrize("damage", REFUSED)
def test_an_account_that_anonkit_does_not_write_is_refused(files: Files, damage: str) -> None:
    """With the reason."""
    change, words = REFUSED[damage]
    params = files.copy().params
    change(params)
    with pytest.raises(ReleaseFormatError, match=words):
        approximate_loss(params, Fraction(1, 10**5))


def test_gaussian_noise_is_no_pure_epsilon(files: Files) -> None:
    """An account with such a line has no epsilon without a delta."""
    with pytest.raises(ReleaseFormatError, match="no epsilon covers without a delta"):
        published_account(files.params)


def test_a_delta_that_is_not_taken_is_refused(files: Files, tmp_path: Path) -> None:
    """The rho of a row follows from the parameters, if they are such as the method has."""
    params = files.copy().params
    params["parameters"]["delta"] = 0.5
    guarantee = ApproximateDP(epsilon=1.0, delta=0.5).to_dict()
    with pytest.raises(ReleaseFormatError, match="is not one that is taken"):
        list(central_checks(tmp_path, params, guarantee, is_promised=True))


def test_the_lines_of_a_true_release_add_up(files: Files) -> None:
    """Line by line, and converted: just below what was requested."""
    total = sum((rho_of(one) for one in files.params["accounting"]), Fraction(0))
    found = epsilon_of(total, Fraction(1e-5))
    assert 0.999 < found <= 1
    assert approximate_loss(files.params, Fraction(1e-5)).epsilon == pytest.approx(float(found))
