"""The pipeline integrations of examples/pipelines, run as far as what they integrate with is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import jinja2
import pytest

import anonkit
from anonkit.datasets import bank_customers

PIPELINES = Path(__file__).parents[1] / "examples" / "pipelines"


def _script(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PIPELINES / name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def _module(name: str) -> ModuleType:
    spec = spec_from_file_location(name, PIPELINES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("great_expectations_is_there")
def test_a_checkpoint_blocks_publication() -> None:
    """The go-ahead is there after the run that holds and gone after the one that does not."""
    lines = _script("gx_checkpoint.py").splitlines()
    assert lines == ["k = 10: checkpoint passed; publish: True", "k = 500: checkpoint failed; publish: False"]


@pytest.mark.usefixtures("pandera_is_there")
def test_a_pandera_check() -> None:
    """A good table passes, a bad one fails."""
    lines = _script("pandera_check.py").splitlines()
    assert lines == ["good: 6 rows pass", "bad: 2 failures"]


@pytest.mark.parametrize(
    ("rows", "failures"), [("('a'), ('a')", []), ("('a'), ('b'), ('b')", [(1, 1)]), (None, [(0, 0)])]
)
def test_a_dbt_test(rows: str | None, failures: list[tuple[int, int]]) -> None:
    """The SQL of the generic test on DuckDB: sizes of small classes, no cells; an empty table fails."""
    source = (PIPELINES / "dbt_k_anonymous.sql").read_text(encoding="utf-8")
    body = source.split("%}", 1)[1].rsplit("{%", 1)[0]
    query = jinja2.Environment(autoescape=True).from_string(body).render(model="t", columns=["q"], k=2)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (q VARCHAR)")
        if rows:
            connection.execute(f"INSERT INTO t VALUES {rows}")
        assert connection.execute(query).fetchall() == failures


PROJECT = """
name: t
profile: t
version: "1.0"
model-paths: [models]
test-paths: [tests]
"""
PROFILE = """
t: {target: d, outputs: {d: {type: duckdb, path: ":memory:"}}}
"""
SCHEMA = """
version: 2
models:
  - name: alike
    data_tests: [{k_anonymous: {arguments: {columns: [q], k: 2}}}]
  - name: alone
    data_tests: [{k_anonymous: {arguments: {columns: [q], k: 2}}}]
"""


@pytest.mark.skipif(find_spec("dbt") is None, reason="dbt is not installed")
def test_a_dbt_project_fails_on_a_class_that_is_too_small(tmp_path: Path) -> None:
    """`dbt build` on DuckDB with the file as its generic test: one model passes, one fails."""
    from dbt.cli.main import dbtRunner

    files = {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILE,
        "models/schema.yml": SCHEMA,
        "models/alike.sql": "select 'a' as q union all select 'a'",
        "models/alone.sql": "select 'a' as q union all select 'b' union all select 'b'",
        "tests/generic/k_anonymous.sql": (PIPELINES / "dbt_k_anonymous.sql").read_text(encoding="utf-8"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    folders = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path)]
    done = dbtRunner().invoke(["--no-send-anonymous-usage-stats", "--quiet", "build", *folders])
    found = {one.node.name.partition("_q__")[0]: str(one.status) for one in done.result.results}
    assert not done.success
    assert found["k_anonymous_alike"] == "pass"
    assert found["k_anonymous_alone"] == "fail"


@pytest.mark.skipif(find_spec("dagster") is None, reason="Dagster is not installed")
def test_a_dagster_asset_check() -> None:
    """A blocking check with the k that was found: what comes after it is not made when it fails."""
    import dagster
    import pandas as pd

    for k, holds in ((3, True), (4, False)):

        @dagster.asset
        def table() -> Any:
            return pd.DataFrame({"q": ["a"] * 3 + ["b"] * 3})

        @dagster.asset
        def published(table: Any) -> int:
            return len(table)

        check = _module("dagster_check").k_anonymity_check(table, ["q"], k)
        done = dagster.materialize([table, check, published], raise_on_error=False)
        (evaluated,) = done.get_asset_check_evaluations()
        assert (evaluated.passed, done.success) == (holds, holds)
        assert evaluated.metadata["observed_k"].value == 3
        assert bool(done.asset_materializations_for_node("published")) is holds


@pytest.mark.parametrize("name", ["airflow_task.py", "dagster_check.py", "pandera_check.py", "gx_checkpoint.py"])
def test_an_integration_is_python(name: str) -> None:
    """It compiles where its tool is not installed either."""
    compile((PIPELINES / name).read_text(encoding="utf-8"), name, "exec")


@pytest.mark.skipif(find_spec("airflow") is None, reason="Airflow is not installed")
def test_an_airflow_task_fails_for_good_on_a_broken_promise_only(tmp_path: Path) -> None:
    """A release that holds gives its validation; a broken promise is not retried; what cannot be checked is."""
    from airflow.exceptions import AirflowException, AirflowFailException

    output, validate = tmp_path / "out.parquet", _module("airflow_task").ValidateRelease
    anonkit.release(bank_customers(200, seed=1), method="mondrian", k=5, output=output, ledger=None)
    assert json.loads(validate(task_id="v", release=str(output)).execute({}))["ok"] is True
    with pytest.raises(AirflowFailException):
        validate(task_id="v", release=str(output), arguments=("--k", "150")).execute({})
    with pytest.raises(AirflowException) as caught:
        validate(task_id="v", release=str(tmp_path / "absent.parquet")).execute({})
    assert not isinstance(caught.value, AirflowFailException)
