"""Releases of `dp-marginals` with domains found privately, forged or made by a mutant: none validates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from checks.forgeries import Edit, Files, forged, verdict

from anonkit.errors import GuaranteeError, InternalError, ParameterError
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP
from tests.privacy.mutation import Mutant, in_place
from tests.promises.test_found_marginals import FORMS, ONE, released


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """A true release with noise of either law."""
    found = {}
    for name in ("Gaussian, a target", "Laplace, none"):
        output = tmp_path_factory.mktemp("true") / "out.parquet"
        released(output, **FORMS[name][0])
        found[name] = Files.read(output)
    return found


def line(purpose: str, **told: Any) -> Edit:
    """Restate a line."""
    return lambda files: next(one for one in files.params["accounting"] if one["purpose"] == purpose).update(told)


def scaled(beginning: str, factor: Fraction) -> Edit:
    """State another rate for some lines, and pay for that."""

    def edit(files: Files) -> None:
        assert any(one["purpose"].startswith(beginning) for one in files.params["accounting"])
        for one in files.params["accounting"]:
            if one["purpose"].startswith(beginning):
                one["rate"] = int(one["rate"] * factor)
                one["epsilon" if "epsilon" in one else "rho"] = one["rate"] / ONE
                for budget in files.report["budget"]["domains"]:
                    if budget["name"] == one["purpose"]:
                        budget["epsilon"] = one["rate"] / ONE
        for table in files.params["tables"]:
            if f"rows by {table['name']}".startswith(beginning):
                table["rate"] = int(table["rate"] * factor)

    return edit


def without(word: str) -> Edit:
    """Take lines of the search away, in the account and in the budget."""

    def edit(files: Files) -> None:
        for holder, key in ((files.params, "accounting"), (files.report["budget"], "domains")):
            name = "purpose" if key == "accounting" else "name"
            kept = [one for one in holder[key] if not one[name].startswith(word)]
            assert len(kept) < len(holder[key])
            holder[key] = kept

    return edit


def claim(files: Files, promise: ApproximateDP | CentralDP) -> None:
    """Claim something else, in every sentence, in the budget and in the parameters."""
    block = promise.to_dict()
    files.report["guarantee"] = block
    files.report["budget"].update(epsilon=block["parameters"]["epsilon"], delta=block["parameters"]["delta"])
    files.params["assumptions"] = block["assumptions"]
    for place in (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"]):
        place.update(epsilon=block["parameters"]["epsilon"], delta=block["parameters"]["delta"])


def claimed(epsilon: float, delta: float) -> Edit:
    """Request, and claim, another epsilon and another delta."""
    return lambda files: claim(
        files, ApproximateDP(epsilon=epsilon, delta=delta, assumptions=tuple(files.params["assumptions"]))
    )


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a search that was free": (without(("kind of ", "sizes of ", "bounds of ", "categories of ")), ""),  # type: ignore[arg-type]
    "the bounds of a column that were free": (without("bounds of age"), ""),
    "a search at half of its loss": (scaled("sizes of ", Fraction(1, 2)), "account_lines"),
    "a search at twice its loss": (scaled("bounds of ", Fraction(2)), "epsilon"),
    "a lower threshold": (line("categories of education", threshold=2), ""),
    "a smaller delta of a threshold": (line("categories of education", delta=1e-20), ""),
    "a threshold without one": (
        line("categories of education", mechanism="discrete-laplace"), "account_lines"),
    "a smaller epsilon": (claimed(15.9, 1e-2), "epsilon"),
    "a smaller delta": (claimed(16.0, 1e-3), ""),
    "no delta at all": (lambda files: claim(files, CentralDP(epsilon=16.0)), ""),
    "two rows a person": (lambda files: files.params["composition"].update(rows_per_unit=2), ""),
    "replaced rows": (lambda files: files.params["composition"].update(adjacency="replace one record"), ""),
    "tables of another law": (lambda files: files.params.update(format="anonkit-marginals-1"), ""),
    "another budget of a domain": (
        lambda files: files.report["budget"]["domains"][0].update(epsilon=0.0), "budget_lines"),
    "no budget of domains": (lambda files: files.report["budget"].pop("domains"), "budget_lines"),
    "no delta in the budget": (lambda files: files.report["budget"].update(delta=0), "delta"),
    "no word of what is public": (
        lambda files: [files.report["guarantee"].update(assumptions=[]), files.params.update(assumptions=[])],
        "published_claim"),
    "a choice that was free": (lambda files: files.params["accounting"].pop(-2), "account_lines"),
}  # fmt: skip
"""Forgeries, and the check that refuses each; None where several do, or the files cannot be read any more."""


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_release_is_refused(forgery: str, forms: dict[str, Files], tmp_path: Path) -> None:
    """By the check that is there for it."""
    edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(forms["Gaussian, a target"], edit, tmp_path))
    assert code in (1, 3)
    assert check == "" or check in failed, failed


PURE_FORGERIES: dict[str, tuple[Edit, str]] = {
    "a search that was free": (without(("kind of ", "sizes of ", "bounds of ", "categories of ")), ""),  # type: ignore[arg-type]
    "a search at half of its loss": (scaled("sizes of ", Fraction(1, 2)), "account_lines"),
    "no delta at all": (lambda files: claim(files, CentralDP(epsilon=8.0)), ""),
    "less delta than the thresholds spend": (claimed(8.0, 1e-12), ""),
    "a smaller epsilon": (claimed(7.9, 1e-9), "epsilon"),
    "tables that had all of epsilon": (scaled("rows by ", Fraction(4, 3)), ""),
    "no delta in the budget": (lambda files: files.report["budget"].update(delta=0), "delta"),
    "tables of another law": (lambda files: files.params.update(format="anonkit-marginals-2"), ""),
}  # fmt: skip


@pytest.mark.parametrize("forgery", PURE_FORGERIES)
def test_a_forged_release_with_laplace_noise_is_refused(forgery: str, forms: dict[str, Files], tmp_path: Path) -> None:
    """Its tables are pure, and its search is not."""
    edit, check = PURE_FORGERIES[forgery]
    code, failed = verdict(forged(forms["Laplace, none"], edit, tmp_path))
    assert code in (1, 3)
    assert check == "" or check in failed, failed


MUTANTS = {
    "what was searched with is spent again": Mutant(
        where="dp_trees.release.private_searches:DeltaMethod.epsilon_left", old="Fraction(self.epsilon) - spent",
        new="Fraction(self.epsilon)", refused_by="release", run="Laplace, none"),
    "delta is spent twice": Mutant(
        where="dp_trees.release.private_searches:DeltaMethod.delta_left", old="else 2", new="else 1",
        refused_by="release", run="Gaussian, none"),
    "thresholds are for all of delta": Mutant(
        where="dp_trees.release.private_searches:DeltaMethod.with_found_domains", old="Fraction(self.delta) / 2",
        new="Fraction(self.delta)", refused_by="release", run="Laplace, none"),
    "the search is not told": Mutant(
        where="dp_trees.release.private_searches:DeltaMethod.charged", old="after_search(found.lines,",
        new="after_search((),",
        refused_by="release", run="Laplace, none"),
    "every column is searched with the share of all": Mutant(
        where="dp_trees.release.private_searches:DomainSearch.found", old="self._row_units // len(names)",
        new="self._row_units", refused_by="release", run="Laplace, none"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_method_that_does_not_pay_for_its_search_releases_nothing(name: str, tmp_path: Path) -> None:
    """One line changed: the account that is added up again is not that of the promise, or not that of the rule."""
    with in_place(MUTANTS[name]), pytest.raises((GuaranteeError, InternalError, ParameterError)) as error:
        released(tmp_path / "out.parquet", **FORMS[MUTANTS[name].run][0])
    if isinstance(error.value, InternalError):  # a check found the draft damaged; a crash elsewhere is no refusal
        assert "anonkit.checks." in error.value.message
    assert list(tmp_path.iterdir()) == []
