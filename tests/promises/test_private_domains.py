"""Domains found privately: charged to the release, without a condition, and refused when the account is forged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.central_account import approximate_loss
from anonkit.errors import AnonkitError, BudgetError, PolicyError, SourceError
from anonkit.ledger.ledger_place import LedgerPlace
from anonkit.ledger.store import Ledger
from anonkit.methods.dp_forest import DPForest
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.approximate_dp import ApproximateDP
from anonkit.promises.noise_promises import CentralDP

N = 6_000
SMALL = Policy(
    columns={
        "a": Column(name="a", categories=("u", "v")),
        "t": Column(name="t", role=Role.TARGET, categories=("0", "1")),
    }
)
"""Every domain is declared."""


def table(n: int = N) -> pa.Table:
    """People with an identifier, a rare job, postal codes with leading zeros, and numbers."""
    rng = np.random.default_rng(1)
    job = rng.choice(["clerk", "farmer", "miner"], n).astype(object)
    job[0] = "astronaut"
    return pa.table(
        {
            "who": [f"person {at // 2}" for at in range(n)],
            "job": pa.array(job, pa.string()),
            "zip": rng.choice(["01234", "05678"], n),
            "age": rng.integers(18, 90, n),
            "paid": rng.normal(3_000.0, 400.0, n),
            "left": rng.random(n) < 0.4,
            "ill": np.where(rng.random(n) < 0.3, "yes", "no"),
        }
    )


def released(source: object, output: Path, method: str = "dp-nb", **given: Any) -> Any:
    """A release whose domains are found in the table."""
    asked = {"epsilon": 3.0, "delta": 1e-4, "target": "ill", **given}
    return anonkit.release(source, method=method, domains_from_data=True, output=output, ledger=None, **asked)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A true release."""
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    released(table(), output)
    return Files.read(output)


def test_the_claim_has_no_condition_and_names_what_is_public(files: Files) -> None:
    """No domain is said to be read from the table; that the columns are public is said."""
    guarantee = files.report["guarantee"]
    assert guarantee["kind"] == "approximate-dp"
    assert "CONDITIONAL" not in guarantee["statement"] + " ".join(guarantee["assumptions"])
    assert guarantee["parameters"]["domains_from_data"] == []
    assert any("public knowledge" in one for one in guarantee["assumptions"])
    assert len(files.report["budget"]["domains"]) == len([
        one for one in files.params["accounting"] if " of " in one["purpose"]
    ])  # fmt: skip


def test_what_is_common_is_found_and_what_is_rare_is_not(files: Files) -> None:
    """Categories that thousands have; no astronaut; no column of identifiers; bounds around the numbers."""
    found = {column["name"]: column["domain"] for column in files.params["columns"]}
    assert found["job"]["categories"] == ["clerk", "farmer", "miner"]
    assert found["zip"]["categories"] == ["1234", "5678"] or found["zip"]["categories"] == ["01234", "05678"]
    assert found["left"]["categories"] == ["false", "true"]
    assert found["ill"]["categories"] == ["no", "yes"]
    assert "who" not in found
    assert "who" not in files.table.column_names
    low, high = found["age"]["bounds"]
    assert 16 <= low <= 22 < 85 <= high <= 96
    low, high = found["paid"]["bounds"]
    assert 1_024 <= low <= 3_000 <= high <= 8_192


def test_a_file_of_text_is_read_cell_by_cell(tmp_path: Path) -> None:
    """The same domains but for numbers, whose kind costs a little: no type is inferred from all cells."""
    csv.write_csv(table(), tmp_path / "in.csv")
    made = released(tmp_path / "in.csv", tmp_path / "out.parquet")
    found = {column["name"]: column["domain"] for column in made.params["columns"]}
    assert found["job"]["categories"] == ["clerk", "farmer", "miner"]
    assert "bounds" in found["age"]
    assert "kind of age" in [line["purpose"] for line in made.params["accounting"]]
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_people_with_two_rows_and_replaced_ones_pay_for_them(tmp_path: Path) -> None:
    """Thresholds are higher and rates lower; the release validates."""
    thresholds = []
    for rows, adjacency in ((1, "add-or-remove"), (2, "replace")):
        output = tmp_path / f"{rows}.parquet"
        made = released(table(), output, unit="who", rows_per_unit=rows, adjacency=adjacency, epsilon=8.0)
        assert anonkit.validate(output).passed
        thresholds += [
            line["threshold"] for line in made.params["accounting"] if line["purpose"] == "categories of job"
        ]
    assert thresholds[1] > 3 * thresholds[0]


@pytest.mark.parametrize(("method", "form"), [("dp-forest", "microdata"), ("dp-tree", "cells")])
def test_trees_grow_with_what_the_search_leaves(method: str, form: str, tmp_path: Path) -> None:
    """Their own draws are pure; what they and the search spend is within epsilon, and the release validates."""
    output = tmp_path / "out.parquet"
    made = released(table(), output, method=method, as_=form, rows_per_unit=2, unit="who")
    guarantee, budget = made.report["guarantee"], made.report["budget"]
    assert guarantee["kind"] == "approximate-dp"
    assert (budget["epsilon"], budget["delta"]) == (3.0, 1e-4)
    lines = made.params["accounting"]
    # a tree is grown for rows where attributes are read to depend on each other, and for cells; a pair may lead it
    rule = made.params["rule"]
    chosen = {"permute-and-flip"} if form == "cells" or rule["weights"] or rule["interaction"] else set()
    assert {line["mechanism"] for line in lines} == {"discrete-laplace", "thresholded-laplace"} | chosen
    spent = approximate_loss(made.params, Fraction(1e-4)).epsilon
    assert 2.99 < spent <= 3.0
    assert anonkit.validate(output).passed
    assert isinstance(made_pure := DPForest(epsilon=3.0, delta=1e-4).guarantee(SMALL), CentralDP), made_pure


def test_a_target_without_classes_is_refused_and_so_is_nothing_else(tmp_path: Path) -> None:
    """Three rows in all: nothing stands out from the noise."""
    with pytest.raises(PolicyError, match="stand out from the noise"):
        released(table(4), tmp_path / "out.parquet")


def test_the_refusal_names_the_threshold_and_not_epsilon_alone(tmp_path: Path) -> None:
    """A delta that is too small for the rows is the reason as much as a small epsilon."""
    with pytest.raises(PolicyError, match=r"noise: by epsilon and delta, a value needs about [\d,]+ rows"):
        released(table(), tmp_path / "out.parquet", epsilon=1.0, delta=1e-290)


def test_a_refusal_that_the_draws_led_to_is_charged(tmp_path: Path) -> None:
    """It discloses the draws: the loss is charged, and a used up budget refuses before any further disclosure."""
    given: dict[str, Any] = {
        "method": "dp-nb",
        "target": "ill",
        "domains_from_data": True,
        "epsilon": 3.0,
        "delta": 1e-4,
    }
    account: dict[str, Any] = {"ledger": tmp_path / "ledger.sqlite", "dataset": "people", "budget": 5.0}
    for expected in (PolicyError, BudgetError, BudgetError):
        with pytest.raises(expected):
            anonkit.release(table(4), output=tmp_path / "out.parquet", **given, **account)
    assert not (tmp_path / "out.parquet").exists()
    (standing,) = Ledger(LedgerPlace(file=tmp_path / "ledger.sqlite")).datasets()
    assert (standing.epsilon, standing.delta) == (3.0, 1e-4)


MANY = pa.table({"job": ["clerk", "farmer"] * 40_080, "ill": [f"kind {at % 1_002}" for at in range(80_160)]})
"""A target of more classes than a method takes, all of them common."""
LADDER = {"age": Column(name="age", ladder=(5.0, 10.0)), "ill": Column(name="ill", role=Role.TARGET)}
SORE = {"job": Column(name="job"), "ill": Column(name="ill", role=Role.TARGET, sensitive=True)}
REFUSED: dict[str, tuple[pa.Table, dict[str, Column], str]] = {
    "more classes than there may be": (MANY, {"ill": Column(name="ill", role=Role.TARGET)}, "1,002 classes"),
    "categories of a column with a ladder": (
        pa.table({"age": ["young", "old"] * 3_000, "ill": ["yes", "no"] * 3_000}), LADDER, "ladder of bin widths"
    ),
    "a sensitive target in which nothing stands out": (
        pa.table({"job": ["clerk"], "ill": ["yes"]}), SORE, "no two classes stand out"
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["dp-nb", "dp-forest", "dp-marginals"])
@pytest.mark.parametrize("why", REFUSED)
def test_whatever_is_refused_for_what_was_found_is_charged(why: str, method: str, tmp_path: Path) -> None:
    """Had other domains been found there would be a release: the refusal discloses the draws."""
    rows, columns, words = REFUSED[why]
    with pytest.raises(PolicyError, match=words):
        anonkit.release(
            rows, method=method, policy=Policy(columns=columns), domains_from_data=True, epsilon=30.0, delta=1e-2,
            output=tmp_path / "out.parquet", ledger=tmp_path / "ledger.sqlite", dataset="people",
        )  # fmt: skip
    (standing,) = Ledger(LedgerPlace(file=tmp_path / "ledger.sqlite")).datasets()
    assert (standing.epsilon, standing.delta) == (30.0, 1e-2)


@pytest.mark.parametrize("method", ["dp-nb", "dp-forest", "dp-marginals"])
def test_a_rehearsal_looks_for_no_domain(method: str, tmp_path: Path) -> None:
    """It is charged nothing, so that it draws nothing: it says the same of a table in which nothing would be found."""
    given: dict[str, Any] = {"dataset": "people", "dry_run": True, "ledger": tmp_path / "ledger.sqlite"}
    of_many, of_few, made = (
        anonkit.release(
            rows, method=method, target="ill", domains_from_data=True, epsilon=3.0, delta=1e-4, **more,
        )
        for rows, more in ((table(), given), (table(4), given), (table(), {"ledger": None}))
    )  # fmt: skip
    assert of_many.is_plan
    told = of_many.to_dict()
    assert told == of_few.to_dict()
    assert told["guarantee"] == made.report["guarantee"]
    assert [told["budget"][key] for key in ("epsilon", "delta")] == [3.0, 1e-4]
    assert of_many.report["ledger"]["booked"]
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_rehearsal_is_refused_as_a_release_is(tmp_path: Path) -> None:
    """By what is declared and what is spent, before any draw."""
    given: dict[str, Any] = {
        "method": "dp-nb", "target": "ill", "domains_from_data": True, "epsilon": 3.0, "delta": 1e-4,
        "output": tmp_path / "out.parquet", "ledger": tmp_path / "ledger.sqlite", "dataset": "people",
    }  # fmt: skip
    anonkit.release(table(), budget=5.0, **given)
    with pytest.raises(BudgetError):
        anonkit.release(table(), dry_run=True, force=True, **given)
    with pytest.raises(AnonkitError, match="unit column"):
        anonkit.release(table(), dry_run=True, **given | {"method": "dp-marginals", "rows_per_unit": 2})


@pytest.mark.parametrize("kind", [KeyError, MemoryError, SourceError])
@pytest.mark.parametrize("step", ["private_searches.DomainSearch._bounded", "private_searches._undecided"])
def test_whatever_fails_while_domains_are_found_is_charged(
    step: str, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind had been drawn: that it failed, and where, may follow from it."""

    def fail(*args: object, **kwargs: object) -> None:
        raise kind("out of range")

    monkeypatch.setattr(f"anonkit.dp_trees.release.{step}", fail)
    given: dict[str, Any] = {"ledger": tmp_path / "ledger.sqlite", "dataset": "people", "budget": 4.0}
    csv.write_csv(table(100), tmp_path / "in.csv")  # of texts it is drawn whether they are numbers
    for expected in (kind, BudgetError):
        with pytest.raises(expected) as raised:
            anonkit.release(
                tmp_path / "in.csv", method="dp-nb", target="ill", domains_from_data=True, epsilon=3.0, delta=1e-4,
                **given,
            )  # fmt: skip
        if expected is kind:
            assert "booked" in " ".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    standing = Ledger(LedgerPlace(file=tmp_path / "ledger.sqlite")).standing("people")
    assert (standing.epsilon, standing.delta) == (3.0, 1e-4)


def test_what_fails_before_a_domain_is_looked_for_is_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No draw was made."""

    def fail(*args: object, **kwargs: object) -> None:
        raise KeyError("out of range")

    monkeypatch.setattr("anonkit.dp_trees.release.private_searches.DomainSearch.found", fail)
    with pytest.raises(KeyError):
        anonkit.release(
            table(4), method="dp-nb", target="ill", domains_from_data=True, epsilon=3.0, delta=1e-4,
            ledger=tmp_path / "ledger.sqlite", dataset="people",
        )  # fmt: skip
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_table_in_which_only_the_target_stands_out_is_refused(tmp_path: Path) -> None:
    """There is nothing to learn from it; other columns are identifiers of one row each."""
    rows = {"who": [f"person {at}" for at in range(2_000)], "ill": ["yes", "no"] * 1_000}
    with pytest.raises(PolicyError, match="no column but the target"):
        released(pa.table(rows), tmp_path / "out.parquet")


def test_numbers_to_predict_get_bounds(tmp_path: Path) -> None:
    """A target that is declared to be a number is searched as one; where nothing stands out it is refused."""
    made = released(table(), tmp_path / "out.parquet", target="paid", task="regression")
    assert made.params["target"]["type"] == "number"
    assert anonkit.validate(tmp_path / "out.parquet").passed
    with pytest.raises(PolicyError, match="stand out from the noise"):
        released(table(4), tmp_path / "few.parquet", target="paid", task="regression")


def line(word: str, **told: Any) -> Edit:
    """Restate the first line whose purpose has a word."""
    return lambda files: next(one for one in files.params["accounting"] if word in one["purpose"]).update(told)


def without(word: str) -> Edit:
    """Take lines away."""

    def edit(files: Files) -> None:
        kept = [one for one in files.params["accounting"] if word not in one["purpose"]]
        assert len(kept) < len(files.params["accounting"])
        files.params["accounting"] = kept

    return edit


def promised_less(files: Files) -> None:
    """Claim less delta than the thresholds spend, wherever it is."""
    block = ApproximateDP(epsilon=3.0, delta=1e-9, assumptions=tuple(files.params["assumptions"])).to_dict()
    files.report["guarantee"] = block
    files.report["budget"].update(delta=1e-9)
    for place in (files.params["parameters"], files.params["method_parameters"], files.report["method"]["parameters"]):
        place.update(delta=1e-9)


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a line of a search taken away": (without("sizes of age"), "account_lines"),
    "a free search": (without(" of "), ""),
    "a lower threshold": (line("categories of job", threshold=2), ""),
    "a smaller delta of a threshold": (line("categories of job", delta=1e-20), ""),
    "a louder count": (line("sizes of age", rate=1 << 52), ""),
    "a threshold without one": (line("categories of job", mechanism="discrete-laplace"), "account_lines"),
    "less delta than the thresholds spend": (promised_less, ""),
    "another budget of a domain": (
        lambda files: files.report["budget"]["domains"][0].update(epsilon=0.0), "budget_lines"),
    "no budget of domains": (lambda files: files.report["budget"].pop("domains"), "budget_lines"),
    "no word of what is public": (
        lambda files: [files.report["guarantee"].update(assumptions=[]), files.params.update(assumptions=[])],
        "published_claim"),
}  # fmt: skip


def test_rewriting_alone_is_no_forgery(files: Files, tmp_path: Path) -> None:
    """The true release validates."""
    assert verdict(forged(files, lambda one: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_search_is_refused(files: Files, forgery: str, tmp_path: Path) -> None:
    """By the check that is there for it, or since the account cannot be read any more."""
    edit, check = FORGERIES[forgery]
    code, failed = verdict(forged(files, edit, tmp_path))
    assert code in (1, 3)
    assert check == "" or check in failed, failed
