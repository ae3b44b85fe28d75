"""An epsilon whose noise would be drawn as rows, millions of them, is refused before anything is drawn or booked."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.dp_trees.release.declared_schema import CentralMethod
from anonkit.errors import ParameterError
from anonkit.methods import make_method, method_class, method_names, method_parameters
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

TARGET = "customer_value"
CENTRAL = [name for name in method_names() if "adjacency" in {one.name for one in method_parameters(name)}]
OF_ROWS = [name for name in CENTRAL if getattr(method_class(name), "publishes_rows", True)]


def asked(name: str, **parameters: Any) -> ReleaseRequest:
    """A release of customers that is requested."""
    policy = bank_customers_policy().with_roles(target=TARGET)
    return ReleaseRequest(method=make_method(name, parameters), policy=policy)


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows_that_are_noise_are_refused_before_a_draw(name: str, tmp_path: Path) -> None:
    """Nothing is booked, also where domains would be found first; the hint names an epsilon that is taken."""
    table, ledger = bank_customers(200, seed=1), tmp_path / "l.sqlite"
    given: dict[str, Any] = {"method": name, "target": TARGET, "ledger": ledger, "dataset": "d"}
    finds = {"delta": 1e-9, "domains_from_data": True} if hasattr(method_class(name), "with_found_domains") else {}
    for more in ({"policy": bank_customers_policy()}, {"domains_from_data": True}, finds):
        for epsilon in (1e-9, 1e-12, 9e-7):
            with pytest.raises(ParameterError, match=r"epsilon \(.*\) is too small for this method") as refused:
                anonkit.release(table, epsilon=epsilon, **{**given, **more})
            assert refused.value.hint == "epsilon=1e-06 or more"
    assert not ledger.exists()
    asked(name, epsilon=1e-6).declared()


@pytest.mark.parametrize("name", OF_ROWS)
def test_what_is_too_small_is_a_public_rule(name: str) -> None:
    """Rows of a unit and replaced rows share epsilon; generalized cells are as many whatever the noise is."""
    asked(name, epsilon=1e-5).declared()
    with pytest.raises(ParameterError, match="is too small") as refused:
        asked(name, epsilon=1.9e-6, adjacency="replace").declared()
    assert refused.value.hint == "epsilon=2e-06 or more"
    asked(name, epsilon=2e-6, adjacency="replace").declared()
    if "as_" in {one.name for one in method_parameters(name)}:
        asked(name, epsilon=5e-7, as_="cells").declared()
    if "n_rows" in {one.name for one in method_parameters(name)}:  # of no use: rows are as many as noisy tables say
        with pytest.raises(ParameterError, match="is too small"):
            asked(name, epsilon=1e-9, n_rows=200).declared()


def test_tables_are_as_long_whatever_the_noise_is() -> None:
    """Methods without rows take any epsilon that the noise can be drawn at."""
    assert set(CENTRAL) - set(OF_ROWS) == {"dp-tables"}
    asked("dp-tables", epsilon=1e-9, aggregate=("deposit",)).declared()


def wide_request(name: str, columns: int, epsilon: float) -> dict[str, Any]:
    """A release of so many columns, of few rows."""
    given = [f"c{at}" for at in range(columns - 1)]
    policy = Policy(
        columns={name: Column(name=name, categories=("a", "b", "c")) for name in given}
        | {"y": Column(name="y", role=Role.TARGET, categories=("a", "b"))}
    )
    table = pa.table(dict.fromkeys((*given, "y"), ["a", "b"] * 10))
    return {"source": table, "method": name, "policy": policy, "epsilon": epsilon, "dataset": "d"}


@pytest.mark.parametrize(
    ("name", "columns", "epsilon"), [("dp-nb", 1250, 1e-5), ("dp-tree", 150, 5e-6), ("diffprf", 2, 1e-6)]
)
def test_a_wide_table_of_noise_is_refused_before_a_draw(
    name: str, columns: int, epsilon: float, tmp_path: Path
) -> None:
    """By epsilon and the columns: nothing is booked, and the epsilon of the hint is taken."""
    ledger = tmp_path / "l.sqlite"
    with pytest.raises(ParameterError, match=rf"is too small for {columns:,} columns") as refused:
        anonkit.release(**wide_request(name, columns, epsilon), ledger=ledger)
    assert not ledger.exists()
    least = float(re.findall(r"epsilon=(\S+) or more", refused.value.hint or "")[0])
    policy = wide_request(name, columns, least)["policy"]
    for epsilon, taken in ((least, contextlib.nullcontext()), (least / 1.1, pytest.raises(ParameterError))):
        method = make_method(name, {"epsilon": epsilon})
        assert isinstance(method, CentralMethod)
        with taken:
            method.check_cells(policy)


def test_the_noise_of_columns_to_be_found_is_judged_before_they_are(tmp_path: Path) -> None:
    """With a delta, domains are found by draws: the names of the columns are enough to refuse."""
    given = wide_request("dp-nb", 300, 2e-6) | {"policy": None, "target": "y"}
    with pytest.raises(ParameterError, match="for 300 columns"):
        anonkit.release(**given, delta=1e-9, domains_from_data=True, ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists()


@pytest.mark.slow_cases("3e-06")
@pytest.mark.parametrize("epsilon", [1e-6, 3e-6])
def test_a_leaf_may_have_what_rounded_splits_left_it(epsilon: float, tmp_path: Path) -> None:
    """At so small an epsilon these units are more than a millionth of the leaf's: the check had refused the release."""
    columns = {
        "c": Column(name="c", role=Role.QUASI_IDENTIFIER, bounds=(0.0, 100.0)),
        "y": Column(name="y", role=Role.TARGET, categories=("no", "yes")),
    }
    table = pa.table({"c": [float(at) for at in range(60)], "y": ["no", "yes"] * 30})
    anonkit.release(
        table,
        method="dp-forest",
        policy=Policy(columns=columns),
        epsilon=epsilon,
        n_rows=200_000_000,
        as_="cells",
        output=tmp_path / "o.parquet",
        ledger=tmp_path / "l.sqlite",
        dataset="d",
    )
    assert anonkit.validate(tmp_path / "o.parquet").passed
