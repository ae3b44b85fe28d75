"""The Airflow integration in Airflow itself: what a task returns, what fails for good, what is tried again."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pytest
from airflow.sdk.exceptions import AirflowFailException
from pages.blocks import blocks_of

import anonkit
from anonkit import Policy
from anonkit.errors import SourceError
from anonkit.integrations.airflow import ReleaseOperator, ValidateOperator

pytestmark = pytest.mark.integrations
POLICY = Policy.from_dict(
    {"columns": {"age": {"bounds": [18, 90]}, "bought": {"categories": ["no", "yes"], "role": "target"}}}
)
CENTRAL: dict[str, Any] = {"method": "dp-nb", "epsilon": 1.0, "policy": POLICY}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A small table."""
    columns = {"age": [20, 30, 40, 50] * 15, "bought": ["no", "no", "yes"] * 20}
    pyarrow.csv.write_csv(pyarrow.table(columns), tmp_path / "customers.csv")
    return tmp_path / "customers.csv"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An Airflow of its own, its database made."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
    _airflow(home, "db", "migrate").check_returncode()
    return home


def _airflow(home: Path, *arguments: str, dags: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags" if dags is None else dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    program = Path(sys.executable).with_name("airflow")
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)


def _ran(home: Path, dag: str) -> dict[str, tuple[str, int, Any]]:
    """Run a DAG to its end; return the state of every task, its attempts, and what it returned."""
    _airflow(home, "dags", "test", dag)
    with sqlite3.connect(home / "airflow.db") as database:
        tasks = database.execute("SELECT task_id, state, try_number FROM task_instance WHERE dag_id = ?", [dag])
        found = {task: (state, attempts) for task, state, attempts in tasks}
        returned = dict(
            database.execute("SELECT task_id, value FROM xcom WHERE dag_id = ? AND key = 'return_value'", [dag])
        )
    return {task: (*ends, json.loads(returned[task]) if task in returned else None) for task, ends in found.items()}


def _write_dag(home: Path, name: str, tasks: str) -> None:
    head = f"""
        from datetime import datetime, timedelta
        from pathlib import Path
        from airflow.sdk import DAG
        from anonkit.integrations.airflow import ReleaseOperator, ValidateOperator
        SOON = {{"retries": 2, "retry_delay": timedelta(seconds=1)}}
        with DAG("{name}", schedule=None, start_date=datetime(2026, 1, 1)):
    """
    text = textwrap.dedent(head) + textwrap.indent(textwrap.dedent(tasks), "    ")
    (home / "dags" / f"{name}.py").write_text(text, encoding="utf-8")


def test_a_task_returns_what_can_be_stored(table: Path) -> None:
    """Paths, hashes and figures as plain JSON; nothing of the owner."""
    output = table.parent / "out" / "c.parquet"
    facts = ReleaseOperator(task_id="r", source=str(table), output_path=str(output), options=CENTRAL).execute({})
    assert json.loads(json.dumps(facts)) == facts
    assert facts["files"]["data"] == str(output)
    assert facts["sha256"] == anonkit.load(output).to_dict()["sha256"]
    assert facts["budget"]["epsilon"] == 1.0
    assert "owner" not in json.dumps(list(facts))
    checks = ValidateOperator(task_id="v", release=str(output)).execute({})
    assert checks
    assert all(check["passed"] for check in json.loads(json.dumps(checks)))


@pytest.mark.parametrize(
    "refused",
    [{"k": 500, "method": "mondrian"}, {"epsilon": -1.0}, {"budget": 0.5}, {"method": "mondrain"}],
    ids=["promise", "parameter", "budget", "method"],
)
def test_a_refusal_fails_for_good(table: Path, refused: dict[str, Any]) -> None:
    """The promise, the budget and a wrong parameter: another attempt would fail again."""
    options = {**CENTRAL, **refused}
    options.pop("epsilon" if "k" in refused else "k", None)
    task = ReleaseOperator(
        task_id="r", source=str(table), output_path=str(table.with_name("o.parquet")), options=options
    )
    with pytest.raises(AirflowFailException):
        task.execute({})
    assert not table.with_name("o.parquet").exists()


def test_a_broken_promise_fails_for_good_and_an_absent_release_does_not(table: Path) -> None:
    """A release that is edited or too weak stays so; one that is not there may come."""
    output = table.parent / "c.parquet"
    with pytest.raises(anonkit.AnonkitError) as absent:
        ValidateOperator(task_id="v", release=str(output)).execute({})
    assert absent.value.may_be_retried
    anonkit.release(table, output=output, ledger=None, **CENTRAL)
    with pytest.raises(AirflowFailException, match="PARAMETER"):
        ValidateOperator(task_id="v", release=str(output), options={"sensitive": ["nothing"], "l": 2}).execute({})
    (table.parent / "c.report.html").write_text("edited", encoding="utf-8")
    with pytest.raises(AirflowFailException, match="hash:"):
        ValidateOperator(task_id="v", release=str(output)).execute({})


def test_a_lost_source_may_be_tried_again(table: Path) -> None:
    """A file that is not there yet is no refusal."""
    task = ReleaseOperator(task_id="r", source=str(table) + ".late", output_path="o.parquet", options=CENTRAL)
    with pytest.raises(SourceError):
        task.execute({})


def test_airflow_tries_again_what_may_pass_and_nothing_else(home: Path, table: Path) -> None:
    """A source that comes late: two attempts, then the release, which the next task validates by its template."""
    late = table.rename(table.with_suffix(".late"))
    policy = table.with_name("policy.toml")
    policy.write_text(
        '[columns]\nage = { bounds = [18, 90] }\nbought = { categories = ["no", "yes"], role = "target" }\n'
    )
    described = f"""
        release = ReleaseOperator(
            task_id="release", source={str(table)!r}, output_path="{table.parent}/out/{{{{ dag.dag_id }}}}.parquet",
            options={{"method": METHOD, "policy": {str(policy)!r}, **PARAMETERS}},
            on_retry_callback=lambda context: Path({str(late)!r}).rename({str(table)!r}), **SOON,
        )
        release >> ValidateOperator(
            task_id="validate", release="{{{{ ti.xcom_pull(task_ids='release')['files']['data'] }}}}"
        )
    """
    _write_dag(home, "passes", described.replace("METHOD", "'dp-nb'").replace("PARAMETERS", "{'epsilon': 1.0}"))
    _write_dag(home, "refused", described.replace("METHOD", "'mondrian'").replace("PARAMETERS", "{'k': 500}"))
    passed = _ran(home, "passes")
    assert passed["release"][:2] == ("success", 2)
    assert passed["release"][2]["files"]["data"] == str(table.parent / "out" / "passes.parquet")
    assert passed["validate"][:2] == ("success", 1)
    refused = _ran(home, "refused")
    assert refused["release"][:2] == ("failed", 1)
    assert refused["validate"][0] == "upstream_failed"


def test_the_example_runs(home: Path, tmp_path: Path, repository: Path) -> None:
    """`airflow dags test` on the example: released under the date of its run, and validated."""
    shutil.copytree(repository / "examples" / "pipelines", tmp_path / "pipelines")
    done = _airflow(home, "dags", "test", "customers", "2026-03-01", dags=tmp_path / "pipelines")
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "pipelines" / "out" / "customers-20260301.parquet").exists()


def test_the_page_runs(home: Path, tmp_path: Path) -> None:
    """The DAG of airflow.md, unchanged, its folders those of the test: released by its date, and validated."""
    (page,) = blocks_of("docs/how-to/airflow.md")
    for folder in ("dags", "pipelines"):
        (tmp_path / folder).mkdir()
    dag = page.text.replace("/srv/", f"{tmp_path}/")
    (tmp_path / "dags" / "customers.py").write_text(dag, encoding="utf-8")
    recipe = "method = 'mondrian'\nsimulate = { rows = 300, seed = 1 }\noutput = 'out.parquet'\n[parameters]\nk = 10\n"
    (tmp_path / "pipelines" / "customers.toml").write_text(recipe, encoding="utf-8")
    done = _airflow(home, "dags", "test", "customers", "2026-03-01", dags=tmp_path / "dags")
    assert done.returncode == 0, done.stderr[-3000:]
    assert anonkit.validate(tmp_path / "out" / "customers-20260301.parquet", k=10).passed
