"""`anonkit release` of randomized tables and `anonkit reconstruct`: end to end on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pytest

from anonkit.bundle.stored_release import load
from anonkit.consumers.reconstruction import reconstruct
from anonkit.datasets import bank_customers, bank_customers_policy_toml
from anonkit.errors import ParameterError, SourceError


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    """A folder with customers to release, customers to predict, and the policy."""
    pc_csv.write_csv(bank_customers(2_000, seed=1), tmp_path / "in.csv")
    pc_csv.write_csv(bank_customers(300, seed=2), tmp_path / "test.csv")
    (tmp_path / "policy.toml").write_text(bank_customers_policy_toml())
    return tmp_path


def released(cli: Any, bank: Path, *options: str) -> Any:
    """Release the customers."""
    return cli("release", "--policy", bank / "policy.toml", bank / "in.csv", bank / "out.parquet", *options)


def test_from_a_table_to_scores(cli: Any, bank: Path) -> None:
    """Release, validate, reconstruct: the scores are those the contract names."""
    assert released(cli, bank, "--method", "ppnb", "--p-keep", "0.9").code == 0
    assert cli("validate", bank / "out.parquet").code == 0
    ran = cli(
        "reconstruct", bank / "out.parquet", "--test", bank / "test.csv", "--predictions", bank / "p.parquet",
        "--model", bank / "m.json", "--json",
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert {"accuracy", "balanced_accuracy", "auc", "n", "confusion"} <= set(ran.document)
    assert ran.document["n"] == 300
    assert ran.document["accuracy"] > ran.document["majority"]
    assert (bank / "p.parquet").exists()
    assert (bank / "m.json").exists()


@pytest.mark.slow
def test_people_read_the_scores_as_text(cli: Any, bank: Path) -> None:
    """Accuracy beside what needs no model."""
    released(cli, bank, "--method", "rr", "--epsilon", "8", "--quiet")
    ran = cli("reconstruct", bank / "out.parquet", "--test", bank / "test.csv")
    assert ran.code == 0
    assert "Accuracy" in ran.out
    assert "the commonest class alone" in ran.out


@pytest.mark.slow
def test_the_vote_of_a_forest_is_followed_and_told(cli: Any, bank: Path) -> None:
    """As released, or as `--vote` says; what was done is in the text and in the document."""
    assert released(cli, bank, "--method", "edprf", "--epsilon", "4", "--vote", "sum", "--quiet").code == 0
    assert "sum: the class probabilities" in cli("reconstruct", bank / "out.parquet").out
    ran = cli("reconstruct", bank / "out.parquet", "--vote", "pooled", "--json")
    assert ran.document["vote"] == "pooled"
    assert cli("reconstruct", bank / "out.parquet", "--vote", "loud").code == 2


def test_an_ordinary_release_is_wrong_usage(cli: Any, released_table: Path) -> None:
    """Exit code 2, and a hint."""
    ran = cli("reconstruct", released_table)
    assert ran.code == 2
    assert "was not randomized" in ran.err
    assert "Hint: anonkit.consumers.ReleaseFeatures" in ran.err


@pytest.fixture
def released_table(cli: Any, table: Path, quick: tuple[str, ...]) -> Path:
    """A k-anonymous release."""
    output = table.with_name("out.parquet")
    assert cli("release", table, output, *quick, "--quiet").code == 0
    return output


def test_without_public_domains_the_release_is_refused(cli: Any, table: Path) -> None:
    """The column is named, the hint points at init; nothing is written."""
    output = table.with_name("o.parquet")
    ran = cli("release", "--method", "rr", "--epsilon", "1", "--identifier", "name", table, output)
    assert ran.code == 3
    assert "the policy declares none" in ran.err
    assert "anonkit init" in ran.err
    assert not output.exists()


def test_domains_from_data_go_ahead_and_say_so(cli: Any, table: Path) -> None:
    """The claim is conditional, first thing said."""
    ran = cli(
        "release", "--method", "rr", "--epsilon", "1", "--identifier", "name", "--target", "income",
        "--domains-from-data", table, table.with_name("o.parquet"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "CONDITIONAL" in ran.out


def test_a_changed_loss_is_found(cli: Any, bank: Path) -> None:
    """Params or report edited by hand: validation fails, by hash and by the integers."""
    released(cli, bank, "--method", "rr", "--epsilon", "2", "--quiet")
    report = bank / "out.report.json"
    told = json.loads(report.read_text())
    told["guarantee"]["parameters"]["epsilon"] = 0.5
    report.write_text(json.dumps(told))
    ran = cli("validate", bank / "out.parquet", "--json")
    failed = {check["name"] for check in ran.document["checks"] if not check["passed"]}
    assert ran.code == 1
    assert {"hash:report", "epsilon", "budget"} <= failed


@pytest.mark.slow
def test_the_estimator_is_chosen_and_told(cli: Any, bank: Path) -> None:
    """Shares shrunk by their noise unless another estimator is requested; the output says which."""
    assert released(cli, bank, "--method", "errph", "--p-keep", "0.6", "--bins", "8").code == 0
    assert "shrunken: shares behind" in cli("reconstruct", bank / "out.parquet").out
    ran = cli("reconstruct", bank / "out.parquet", "--estimator", "published", "--test", bank / "test.csv", "--json")
    assert ran.document["estimator"] == "published"
    plain = cli("reconstruct", bank / "out.parquet", "--test", bank / "test.csv", "--json").document
    assert plain["estimator"] == "shrunken"
    assert plain["classes"] != ran.document["classes"]


def test_a_forest_has_no_estimator(cli: Any, bank: Path) -> None:
    """Its counts are published; choosing an estimator is wrong usage."""
    options = ("--method", "edprf", "--epsilon", "1", "--trees", "2", "--depth", "2")
    assert released(cli, bank, *options).code == 0
    ran = cli("reconstruct", bank / "out.parquet", "--estimator", "moment")
    assert ran.code == 2
    assert "holds a forest" in ran.err
    assert "Estimator" not in cli("reconstruct", bank / "out.parquet").out


def test_infinite_cells_and_smoothing_are_refused_by_name(cli: Any, bank: Path) -> None:
    """The column is named, and the parameter."""
    assert released(cli, bank, "--method", "errph", "--p-keep", "0.6", "--bins", "8").code == 0
    true = bank_customers(20, seed=2)
    at = true.schema.get_field_index("deposit")
    infinite = true.set_column(at, "deposit", pa.array([float("inf")] * 20))
    with pytest.raises(SourceError, match="'deposit' holds infinite numbers"):
        reconstruct(bank / "out.parquet", test=infinite)
    for smoothing in (float("inf"), float("nan"), -1.0):
        with pytest.raises(ParameterError, match="smoothing"):
            reconstruct(bank / "out.parquet", smoothing=smoothing)


def test_a_release_without_a_bound_is_not_described_by_an_infinite_epsilon(cli: Any, bank: Path) -> None:
    """The formal statement says what each column has alone, and that the row has nothing."""
    assert released(cli, bank, "--method", "ppnb", "--p-keep", "0.5").code == 0
    formal = load(bank / "out.parquet").report["guarantee"]["formal"]
    assert formal.startswith("No finite epsilon")
    assert "= inf" not in formal


@pytest.mark.slow
def test_an_epsilon_that_is_not_reached_is_said(cli: Any, bank: Path) -> None:
    """40 exceeds the resolution of a random word; the note names both figures, and 4 needs none."""
    for epsilon, told in (("40", True), ("4", False)):
        ran = released(cli, bank, "--method", "rr", "--epsilon", epsilon, "--force", "--no-ledger")
        assert ran.code == 0
        assert (f"epsilon {epsilon} was requested" in ran.err) is told


def test_a_tree_is_learned_by_name(cli: Any, bank: Path) -> None:
    """`--learner` grows a paper's tree, whose name and columns are shown; one that fits no column ends in one line."""
    released(cli, bank, "--method", "errph", "--p-keep", "0.9", "--bins", "4", "--quiet")
    ran = cli("reconstruct", bank / "out.parquet", "--test", bank / "test.csv", "--learner", "dtpd")
    assert ran.code == 0, ran.err
    assert "decision tree (dtpd) on age, " in ran.out
    refused = cli("reconstruct", bank / "out.parquet", "--learner", "dtcrd")
    assert refused.code == 2
    assert "dtcrd needs numbers by trr" in refused.err
    assert cli("reconstruct", bank / "out.parquet", "--learner", "oracle").code == 2
