"""Dates, times and places under differential privacy: public bins, the same whatever the table holds."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import anonkit
from anonkit.errors import PolicyError
from anonkit.policy.declaration import Policy

POLICY: dict[str, Any] = {
    "columns": {
        "born": {"type": "date", "format": "%d.%m.%Y", "bounds": ["2015-01-01", "2016-12-31"], "levels": ["quarter"]},
        "clock": {"type": "time", "levels": ["part"]},
        "sex": {"categories": ["f", "m"]},
        "y": {"role": "target", "categories": ["a", "b"]},
    },
    "places": {"home": {"latitude": "lat", "longitude": "lon", "box": [47.2, 5.8, 55.1, 15.1], "resolutions": [1]}},
}
QUARTERS = {f"{year}-Q{quarter}" for year in (2015, 2016) for quarter in (1, 2, 3, 4)}
PARTS = {"00:00-05:59", "06:00-11:59", "12:00-17:59", "18:00-23:59"}
METHODS = {
    "dp-forest": {"epsilon": 2.0},
    "dp-nb": {"epsilon": 2.0},
    "diffgen": {"epsilon": 2.0},
    "rr": {"epsilon": 2.0},
    "ppnb": {"p_keep": 0.5},
    "errph": {"p_keep": 0.5},
}


def people(n_rows: int = 300) -> pa.Table:
    """Texts of every kind: dates within the bounds, beyond them and none; coordinates on no globe."""
    random = np.random.default_rng(7)
    days = [date(2013, 1, 1) + timedelta(days=int(each)) for each in random.integers(0, 2000, n_rows)]
    return pa.table(
        {
            "born": [f"{day:%d.%m.%Y}" if day.day != 9 else "31.02.15" for day in days],
            "clock": [f"{at % 26:02}:30" for at in range(n_rows)],
            "lat": [str(each) for each in random.uniform(40, 95, n_rows)],
            "lon": [str(each) if each < 16 else "east" for each in random.uniform(0, 17, n_rows)],
            "sex": random.choice(["f", "m"], n_rows),
            "y": random.choice(["a", "b"], n_rows),
        }
    )


def release(table: Any, method: str, path: Path, policy: dict[str, Any] = POLICY, **asked: Any) -> anonkit.Release:
    """A release without a ledger."""
    chosen = Policy.from_dict(policy)
    return anonkit.release(table, method=method, policy=chosen, output=path, ledger=None, **asked)


@pytest.mark.parametrize("method", METHODS)
def test_bins_are_released_and_nothing_else(method: str, tmp_path: Path) -> None:
    """Parts of the calendar, of the day and of the map, by every method with noise; the release validates."""
    pcsv.write_csv(people(), tmp_path / "in.csv")
    shown = release(tmp_path / "in.csv", method, tmp_path / "out.parquet", **METHODS[method])
    table, params = shown.to_arrow(), shown.params
    assert {"lat", "lon"}.isdisjoint(table.column_names)
    assert set(table["born"].to_pylist()) <= {*QUARTERS, None}
    assert set(table["clock"].to_pylist()) <= {*PARTS, None}
    assert set(table["home"].to_pylist()) <= {*params["places"]["home"], None}
    assert anonkit.validate(tmp_path / "out.parquet").passed


@pytest.mark.parametrize("method", ["dp-nb", "rr"])
def test_params_and_domains_do_not_depend_on_the_table(method: str, tmp_path: Path) -> None:
    """Two tables of one length that have nothing in common are described in the same words."""
    other = people().set_column(0, "born", pa.array(["01.01.1900"] * 300)).set_column(2, "lat", pa.array(["x"] * 300))
    told = []
    for name, table in (("a", people()), ("b", other)):
        shown = release(table, method, tmp_path / f"{name}.parquet", **METHODS[method])
        told.append(
            [shown.params["places"], [column for column in shown.report["columns"] if column["name"] == "born"]]
        )
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"type": "date"}, "declare the bounds of its dates"),
        ({"type": "date", "bounds": ["2015-01-01", "2016-12-31"], "outside": "refuse"}, "a refusal tells"),
        ({"type": "date", "bounds": ["2015-01-01", "2016-12-31"], "missing": "drop"}, "dropping rows tells"),
    ],
)
def test_what_would_tell_of_a_row_is_refused_before_any_data(spec: dict[str, Any], rule: str, tmp_path: Path) -> None:
    """No bounds, a refusal, dropped rows: before the table is opened, which is not even there."""
    policy = {"columns": {**POLICY["columns"], "born": spec}}
    with pytest.raises(PolicyError, match=rule):
        release(tmp_path / "none.csv", "dp-nb", tmp_path / "out.parquet", policy, epsilon=1.0)


def test_a_method_for_numbers_alone_names_the_one_for_bins(tmp_path: Path) -> None:
    """`trr` adds noise to numbers; a bin is none."""
    with pytest.raises(PolicyError, match="trr cannot transform") as refused:
        release(people(), "trr", tmp_path / "out.parquet")
    assert "ppnb" in str(refused.value.hint)
