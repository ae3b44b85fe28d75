"""The forecast of a plan under noise: a release of rows simulated from the declaration, and of no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.comparing import foreseen_release as module
from anonkit.comparing.foreseen_release import foreseen_release
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.datasets.simulated_rows import declared_rows
from anonkit.engines.engine_choice import Local
from anonkit.engines.reading.declared_tables import declared_table
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.published.noise_intervals import count_margin

NAMES = bank_customers(1).column_names
POLICY = bank_customers_policy().resolve(NAMES)

COLUMNS: dict[str, dict[str, Any]] = {
    "job": {"categories": ["a", "b", "c"]},
    "member": {"type": "boolean", "categories": ["true", "false"]},
    "code": {"type": "text", "categories": ["1", "1.0", "01"]},
    "age": {"type": "integer", "bounds": [17, 90]},
    "half": {"type": "integer", "bounds": [0.5, 2.5]},
    "rate": {"bounds": [-1.5, 1e6]},
    "price": {"bounds": [0, 9999], "decimal": ",", "thousands": "."},
    "born": {"type": "date", "bounds": ["1930-01-01", "2020-12-31"], "format": "%d.%m.%Y"},
    "seen": {"type": "datetime", "bounds": ["2020-01-01T00:00:00", "2021-12-31T23:59:00"], "levels": ["month"]},
    "clock": {"type": "time", "levels": ["hour"]},
    "name": {"role": "identifier"},
}
"""Columns of every kind of declaration."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are simulated."""
    monkeypatch.setattr(module, "ROWS", 150)


@given(
    names=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True),
    n=st.integers(0, 40),
    seed=st.integers(0, 9),
    unit=st.booleans(),
)
def test_simulated_rows_are_as_declared(names: list[str], n: int, seed: int, unit: bool) -> None:
    """No cell is outside its domain, unread or missing, whatever is declared; fewer rows are the first of more."""
    columns = {**{name: COLUMNS[name] for name in names}, **({"person": {"role": "unit"}} if unit else {})}
    policy = replace(
        Policy.from_dict({"columns": columns}).resolve(list(columns), target_use=TargetUse.AS_DECLARED),
        cell_by_cell=True,
    )
    table = declared_rows(policy, list(columns), n, seed)
    assert (table.num_rows, table.column_names) == (n, list(columns))
    assert table.equals(declared_rows(policy, list(columns), n, seed))
    with Local().opened() as engine:
        settled, odd = declared_table(engine.scan(table, policy), policy, engine)
        rows = pa.Table.from_batches(settled.batches(), schema=settled.schema)
    assert not {key: value for key, value in odd.items() if value}
    assert all(rows.column(name).null_count == 0 for name in rows.column_names)


def test_places_lie_in_their_box_and_in_their_cells() -> None:
    """Also across the antimeridian, where west is east of east."""
    pytest.importorskip("h3")
    boxes: list[dict[str, Any]] = [
        {"box": [51.0, 9.0, 53.0, 11.0], "resolutions": [5]},
        {"box": [-20.0, 177.0, -15.0, -178.0], "resolutions": [4]},
        {"cells": ["851f1d4bfffffff", "851f1d4ffffffff"]},
    ]
    for declared in boxes:
        place = {"home": {"latitude": "lat", "longitude": "lon", **declared}}
        policy = Policy.from_dict({"columns": {"x": {"categories": ["a", "b"]}}, "places": place})
        policy = replace(policy.resolve(["lat", "lon", "x"], target_use=TargetUse.AS_DECLARED), cell_by_cell=True)
        rows = declared_rows(policy, ["lat", "lon", "x"], 200)
        with Local().opened() as engine:
            settled, odd = declared_table(engine.scan(rows, policy), policy, engine)
            cells = pa.Table.from_batches(settled.batches(), schema=settled.schema).column("home")
        assert not {key: value for key, value in odd.items() if value}
        assert cells.null_count == 0
        assert pc.count_distinct(cells).as_py() > 1


def test_columns_depend_on_each_other_and_people_on_themselves() -> None:
    """The first column follows the target, the fourth does not; rows of one person are alike."""
    columns = {f"x{at}": {"bounds": [0, 100]} for at in range(4)} | {"y": {"role": "target", "categories": ["a", "b"]}}
    policy = Policy.from_dict({"columns": {"who": {"role": "unit"}, **columns}}).resolve(["who", *columns])
    rows = declared_rows(policy, [*columns, "who"], 3_000)
    y = np.array(rows.column("y").to_pylist()) == "b"
    apart = [abs(np.corrcoef(rows.column(f"x{at}").to_numpy(), y)[0, 1]) for at in range(4)]
    assert apart[0] > 0.3 > apart[1] > apart[2]
    assert apart[3] < 0.05
    first = rows.column("x0").to_numpy()[:3_000].reshape(-1, 3)
    assert np.corrcoef(first[:, 0], first[:, 1])[0, 1] > 0.5
    assert pc.count_distinct(rows.column("who")).as_py() == 1_000


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "dp-nb": ("dp-nb", {"epsilon": 1.0}),
    "dp-tables": ("dp-tables", {"epsilon": 1.0, "aggregate": ["age, education", "mean(deposit) by income"]}),
    "rr": ("rr", {"epsilon": 4.0}),
    "dp-forest": ("dp-forest", {"epsilon": 1.0}),
    "dp-marginals": ("dp-marginals", {"epsilon": 1.0, "delta": 1e-6}),
    "safepub": ("safepub", {"epsilon": 1.0, "delta": 1e-3}),
    "ppnb": ("ppnb", {"p_keep": 0.5}),
    "edprf": ("edprf", {"epsilon": 1.0}),
    "diffgen": ("diffgen", {"epsilon": 1.0}),
    "diffp-c45": ("diffp-c45", {"epsilon": 1.0}),
}


@pytest.mark.quick_cases("dp-tables")
@pytest.mark.parametrize("case", METHODS)
def test_every_method_of_noise_is_foreseen(case: str, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, columns and noise; a table of figures has no distributions, and answers have none of their own."""
    if case in ("safepub", "diffgen"):  # they release nothing of so few
        monkeypatch.setattr(module, "ROWS", 2_000)
    name, parameters = METHODS[case]
    found = foreseen_release(make_method(name, parameters), POLICY, NAMES)
    assert "refused" not in found
    assert found["rows"] > 0
    assert {column["name"] for column in found["columns"]} >= {"age", "customer_value"}
    assert bool(found["changes"]) == (case not in ("dp-tables", "rr", "ppnb"))
    assert (found["prediction"] is None) == (case == "dp-tables")
    assert bool(found["noise"]) == (case not in ("rr", "ppnb", "safepub"))
    assert found == foreseen_release(make_method(name, parameters), POLICY, NAMES)


def test_the_noise_is_that_of_the_account(few: None) -> None:
    """The width of the noise follows from the rate, and the cells of a table from the declared domains."""
    found = foreseen_release(make_method("dp-nb", {"epsilon": 1.0}), POLICY, NAMES, utility=False)
    noise = {table["table"]: table for table in found["noise"]}
    assert noise["rows per class"]["cells"] == 3
    assert noise["class x education"]["cells"] == 3 * 7  # six and missing
    assert noise["class x age"]["cells"] == 3 * 17
    epsilon = noise["class x age"]["epsilon"]
    assert noise["class x age"]["reaches"] == count_margin(round(epsilon * 2**52), 1, 0.95)
    assert [table["reaches"] for table in found["noise"]] == sorted(
        (table["reaches"] for table in found["noise"]), reverse=True
    )
    tables = foreseen_release(make_method(*METHODS["dp-tables"]), POLICY, NAMES)
    assert [table["cells"] for table in tables["noise"]][:1] == [17 * 7]


@pytest.mark.slow
def test_more_epsilon_moves_distributions_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forecast is worth a decision: it follows epsilon."""
    monkeypatch.setattr(module, "ROWS", 2_000)
    moved = [
        np.mean(
            [
                change["value"]
                for change in foreseen_release(
                    make_method("dp-nb", {"epsilon": epsilon}), POLICY, NAMES, utility=False
                )["changes"]
            ]
        )
        for epsilon in (0.05, 5.0)
    ]
    assert moved[1] < moved[0] / 2


def test_a_refusal_of_simulated_rows_is_told_as_theirs(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan goes on: the table of real people may be larger."""
    found = foreseen_release(make_method("safepub", {"epsilon": 0.1, "delta": 1e-9}), POLICY, NAMES)
    assert set(found) == {"simulated_rows", "refused"}
    assert found["simulated_rows"] == 150


def test_places_and_dates_are_scored_as_they_are_released(few: None) -> None:
    """By the names of their public bins: a model that learned these predicts from no coordinates."""
    pytest.importorskip("h3")
    columns = {"born": COLUMNS["born"], "y": {"role": "target", "categories": ["a", "b"]}}
    places = {"home": {"latitude": "lat", "longitude": "lon", "box": [51.0, 9.0, 53.0, 11.0], "resolutions": [4]}}
    names = ["lat", "lon", *columns]
    policy = replace(Policy.from_dict({"columns": columns, "places": places}).resolve(names), cell_by_cell=True)
    found = foreseen_release(make_method("dp-nb", {"epsilon": 8.0}), policy, names)
    assert "refused" not in found
    assert found["prediction"]["released"] > 0.5
    assert {change["name"] for change in found["changes"]} >= {"born", "home"}


PREPARED: dict[str, Callable[[Policy], Policy]] = {
    "domains read from the table": lambda policy: replace(policy, domains_from_data=("age",)),
}


@pytest.mark.parametrize("case", PREPARED)
def test_domains_that_are_not_declared_foresee_nothing(case: str) -> None:
    """Rows simulated from them would disclose the table."""
    policy = PREPARED[case](POLICY)
    assert set(foreseen_release(make_method("dp-nb", {"epsilon": 1.0}), policy, NAMES)) == {"not_foreseen"}


def test_the_public_number_of_rows_is_simulated() -> None:
    """A method that is given an approximate number of rows simulates this number."""
    method = make_method("dp-forest", {"epsilon": 1.0, "n_rows": 300})
    policy = replace(POLICY, columns={n: c for n, c in POLICY.columns.items() if n in ("age", "customer_value")})
    assert policy.column("customer_value").role is Role.TARGET
    found = foreseen_release(method, policy, ["age", "customer_value"], utility=False)
    assert found["simulated_rows"] == 300
