"""Names that differ in capitals, quotes and dots alone, for every method: the release is that of any other names."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.methods import METHODS, example_of, method_class
from anonkit.policy.declaration import Policy

ODD = sorted(("Age", "age", "AGE", "Ä", "ä", "ß", "SS", "ss", 'a"b', "a.b", "A.B"))
PLAIN = [f"plain {at:02d}" for at in range(len(ODD))]
"""In the same order: methods take columns in the order of their names."""
CATEGORIES = ("education", "occupation", "marital_status", "income", "cards_held")


def _renamed(policy: Policy, called: dict[str, str]) -> Policy:
    return replace(
        policy, columns={called[name]: replace(column, name=called[name]) for name, column in policy.columns.items()}
    )


def _released(
    method: str, names: list[str], folder: Path, engine: str, seed: int | None = 3
) -> tuple[anonkit.Release, list[tuple[Any, ...]]]:
    # most of a full-domain search is its lattice, whose every node is counted in all rows
    n_rows, asked = (200, {"k": 25}) if method == "incognito" else (400, example_of(method_class(method)))
    table = bank_customers(n_rows, seed=1)
    called = dict(zip(table.column_names, names, strict=True))
    policy = bank_customers_policy().with_roles(insensitive=CATEGORIES if method == "trr" else ())
    folder.mkdir()
    made = anonkit.release(
        table.rename_columns(names), method=method, policy=_renamed(policy, called), output=folder / "out.parquet",
        engine=engine, seed=seed, ledger=None, utility=False, **asked,
    )  # fmt: skip
    rows = made.to_arrow()
    columns = [rows.column(name).to_pylist() for name in rows.column_names if name in {*names, "value"}]
    return made, sorted(map(tuple, zip(*columns, strict=True)), key=str)


@pytest.mark.quick_cases("mondrian", "mdav", "rr", "dp-forest", "dp-marginals", "dp-nb", "edprf", "dp-tables")
@pytest.mark.parametrize("method", METHODS)
def test_a_release_with_alike_names_is_that_of_other_names(method: str, tmp_path: Path) -> None:
    """Rows, figures and checks: nothing is counted under the name of another column; it validates."""
    made, rows = _released(method, ODD, tmp_path / "odd", "local")
    plain, expected = _released(method, PLAIN, tmp_path / "plain", "local")

    assert rows == expected
    checks, of_plain = (_checks(tmp_path / name / "out.parquet") for name in ("odd", "plain"))
    assert checks == of_plain
    sizes, expected_sizes = (one.report.get("disclosure_risk", {}).get("class_sizes") for one in (made, plain))
    assert sizes == expected_sizes


@pytest.mark.slow_cases("xlsx")
@pytest.mark.parametrize("form", ["csv", "xlsx", "arrow"])
def test_a_release_with_alike_names_is_exported(form: str, tmp_path: Path) -> None:
    """And validates before and after."""
    _released("mondrian", ODD, tmp_path / "odd", "local", seed=None)
    anonkit.export(tmp_path / "odd" / "out.parquet", tmp_path / "odd" / f"out.{form}")
    assert anonkit.validate(tmp_path / "odd" / "out.parquet").passed


def _checks(output: Path) -> list[tuple[str, bool]]:
    """Return what was checked: a seeded release is refused as such, and for nothing else."""
    return sorted((check.name.partition(":")[0], check.passed) for check in anonkit.validate(output).checks)


def _as_csv(rows: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    pa_csv.write_csv(rows, folder / "in.csv")
    return folder / "in.csv", {}


def _as_parquet(rows: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    pq.write_table(rows, folder / "in.parquet")
    return folder / "in.parquet", {}


def _as_lines(rows: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    (folder / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows.to_pylist()), encoding="utf-8")
    return folder / "in.jsonl", {}


def _as_sqlite(rows: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    with closing(sqlite3.connect(folder / "in.db")) as connection:
        connection.execute("CREATE TABLE people (a, b, c, d)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?)", [tuple(row.values()) for row in rows.to_pylist()]
        )
        connection.commit()
    return f"sqlite:///{folder / 'in.db'}", {"query": _SELECTED}


def _as_duckdb(rows: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    with duckdb.connect(str(folder / "in.duckdb")) as connection:
        connection.register("given", rows.rename_columns(list("abcd")))
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
    return f"duckdb:///{folder / 'in.duckdb'}", {"query": _SELECTED}


_SELECTED = 'SELECT a AS "Age", b AS age, c AS "AGE", d AS "label" FROM people'
_SOURCES = {
    "table": lambda rows, folder: (rows, {}),
    "pandas": lambda rows, folder: (rows.to_pandas(), {}),
    "CSV": _as_csv,
    "Parquet": _as_parquet,
    "JSON Lines": _as_lines,
    "SQLite": _as_sqlite,
    "DuckDB": _as_duckdb,
}


@pytest.mark.quick_cases("table-*", "CSV-*", "Parquet-*", "SQLite-*")
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", _SOURCES)
def test_a_source_with_alike_names_is_released(
    form: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """From every kind of source and engine: k is reached for the columns that were meant, and the files say so."""
    if engine == "spark":
        request.getfixturevalue("spark")
    rows = pa.table(
        {
            "Age": [at % 2 for at in range(240)],
            "age": [at % 24 for at in range(240)],
            "AGE": [f"t{at % 3}" for at in range(240)],
            "label": ["yes" if at % 24 < 12 else "no" for at in range(240)],
        }
    )
    source, asked = _SOURCES[form](rows, tmp_path)
    anonkit.release(
        source, method="mondrian", k=20, target="label", sensitive=["AGE"], l=2, output=tmp_path / "out.parquet",
        engine=engine, ledger=None, utility=False, **asked,
    )  # fmt: skip
    found = anonkit.validate(tmp_path / "out.parquet", k=20)
    assert found.passed
    assert found.disclosure is not None
    shown = anonkit.load(tmp_path / "out.parquet").to_arrow()
    names = [name for name in ("Age", "age") if name in shown.column_names]
    classes = Counter(zip(*(shown.column(name).to_pylist() for name in names), strict=True))
    assert found.disclosure.k == min(classes.values()) >= 20
    assert len(classes) > 1
