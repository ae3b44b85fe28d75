"""Rules on rows are refused by public facts before anything is drawn, or not at all, however coarse cells become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from checks.forgeries import Files, forged, verdict

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy

COLUMNS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 79], "missing": "first"},
    "wage": {"bounds": [0, 100], "missing": "first"},
    "job": {"categories": ["a", "b"], "missing": "first"},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
GAPS = [[0, 5], [20, 25], [40, 45], [60, 65]]
"""Ranges of ages, one in each of the four cells that a small table has."""


def people(n: int) -> pa.Table:
    """People without relations."""
    rng = np.random.default_rng(6)
    return pa.table(
        {
            "age": rng.integers(0, 80, n),
            "wage": 100 * rng.random(n),
            "job": rng.choice(["a", "b"], n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


@pytest.mark.parametrize("method", ["dp-forest", "dp-tree"])
@pytest.mark.parametrize("n_rows", [60, pytest.param(6_000, marks=pytest.mark.slow)])
def test_rules_on_parts_of_every_cell_leave_rows_possible(method: str, n_rows: int, tmp_path: Path) -> None:
    """Four cells of the age, each with ages that the ill do not have: all other ages are theirs, and it validates."""
    rules = [{"never": {"age": gap, "ill": "yes"}} for gap in GAPS]
    rules += [{"never": {"age": [0, 50], "wage": [0, 30]}}, {"never": {"age": [30, 79], "wage": [60, 100], "job": "b"}}]
    policy = Policy.from_dict({"columns": COLUMNS, "constraints": rules})
    path = tmp_path / "out.parquet"
    anonkit.release(people(n_rows), method=method, policy=policy, epsilon=0.3, n_rows=n_rows, output=path, ledger=None)
    files = Files.read(path)
    shown = files.table.to_pandas()
    assert files.params["rule"]["bins"] == (4 if n_rows < 100 else 16)
    assert len(shown) > 30
    for low, high in GAPS:
        assert not (shown["age"].between(low, high) & (shown["ill"] == "yes")).any()
    assert not (shown["age"].between(0, 50) & shown["wage"].between(0, 30)).any()
    assert not (shown["age"].between(30, 79) & shown["wage"].between(60, 100) & (shown["job"] == "b")).any()
    assert (shown["ill"] == "yes").any()
    assert shown["age"].between(0, 25).any()  # cells that a rule touches are not forbidden as a whole
    assert verdict(forged(files, lambda files: None, tmp_path)) == (0, ())


def test_rules_on_a_number_to_predict_leave_its_bins_possible(tmp_path: Path) -> None:
    """Two bins of the wage, each with wages that a job does not have; numbers are drawn from what is left of a bin."""
    columns = {**COLUMNS, "wage": {"role": "target", "bounds": [0, 100]}, "ill": {"categories": ["no", "yes"]}}
    rules = [
        {"never": {"wage": [0, 45], "job": "a"}},
        {"never": {"wage": [55, 100], "job": "a"}},
        {"never": {"wage": [20, 30], "age": [0, 40]}},
    ]
    policy = Policy.from_dict({"columns": columns, "constraints": rules})
    path = tmp_path / "out.parquet"
    anonkit.release(people(3_000), method="dp-forest", policy=policy, epsilon=2.0, output=path, ledger=None)
    files = Files.read(path)
    shown = files.table.to_pandas()
    assert len(files.params["target"]["domain"]["ends"]) <= 5
    of_a = shown.loc[shown["job"] == "a", "wage"]
    assert len(of_a) > 50
    assert of_a.between(45, 55).all()
    assert not (shown["wage"].between(20, 30) & shown["age"].between(0, 40)).any()
    assert shown.loc[shown["job"] == "b", "wage"].between(20, 30).any()
    assert verdict(forged(files, lambda files: None, tmp_path)) == (0, ())


@pytest.mark.parametrize("method", ["dp-nb", "dp-marginals", "dp-forest", "dp-tree"])
def test_a_rule_on_a_column_whose_domain_is_searched_is_refused_before_the_search(method: str, tmp_path: Path) -> None:
    """The search is a draw, and what it finds would decide whether the rule fits: nothing is drawn or charged."""
    columns = {name: own for name, own in COLUMNS.items() if name != "job"}
    ledger = tmp_path / "ledger"
    rules: list[dict[str, Any]] = [
        {"never": {"job": "c", "ill": "yes"}},
        {"determines": {"from": "job", "to": "ill2", "map": [["a", "u"]]}},
    ]
    for rule in rules:
        policy = Policy.from_dict({"columns": {**columns, "ill2": {"categories": ["u", "v"]}}, "constraints": [rule]})
        table = people(300).append_column("ill2", pa.array(["u"] * 300))
        with pytest.raises(PolicyError, match=r"'job'.*declare"):
            anonkit.release(
                table, method=method, policy=policy, epsilon=2.0, delta=1e-6, domains_from_data=True,
                output=tmp_path / "out.parquet", ledger=ledger, dataset="people",
            )  # fmt: skip
    booked = [json.loads(line) for path in tmp_path.glob("ledger*") if path.is_file() for line in path.open()]
    assert not [entry for entry in booked if entry.get("epsilon")]


def test_rules_that_leave_nothing_in_the_coarsest_cells_are_refused_before_data_is_opened() -> None:
    """A gap so narrow that few cells do not show it: whatever the noisy number of rows would be, nothing is drawn."""
    rules = [{"never": {"wage": [0, 49.99], "ill": "yes"}}, {"never": {"wage": [50.01, 100], "ill": "yes"}}]
    columns = {**COLUMNS, "age": {"categories": ["x"]}}
    policy = Policy.from_dict({"columns": columns, "constraints": rules})
    with pytest.raises(PolicyError, match="no row possible"):
        anonkit.release(
            people(60), method="dp-forest", policy=policy, epsilon=2.0, ledger=None, output=None,
        )  # fmt: skip
