"""The pipeline integrations of examples/pipelines, run as far as what they integrate with is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import duckdb
import jinja2
import pytest

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


@pytest.mark.skipif(find_spec("great_expectations") is None, reason="Great Expectations is not installed")
def test_a_checkpoint_blocks_publication() -> None:
    """The go-ahead is there after the run that holds and gone after the one that does not."""
    lines = _script("gx_checkpoint.py").splitlines()
    assert lines == ["k = 10: checkpoint passed; publish: True", "k = 500: checkpoint failed; publish: False"]


@pytest.mark.skipif(find_spec("pandera") is None, reason="pandera is not installed")
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


@pytest.mark.skipif(find_spec("dagster") is None, reason="Dagster is not installed")
def test_a_dagster_asset_check() -> None:
    """A blocking check with the k that was found."""
    import dagster
    import pandas as pd

    @dagster.asset
    def table() -> pd.DataFrame:
        return pd.DataFrame({"q": ["a"] * 3 + ["b"]})

    check = _module("dagster_check").k_anonymity_check(table, ["q"], 2)
    done = dagster.materialize([table, check], raise_on_error=False)
    assert not done.success


@pytest.mark.parametrize("name", ["airflow_task.py", "dagster_check.py", "pandera_check.py", "gx_checkpoint.py"])
def test_an_integration_is_python(name: str) -> None:
    """It compiles where its tool is not installed either."""
    compile((PIPELINES / name).read_text(encoding="utf-8"), name, "exec")


@pytest.mark.skipif(find_spec("airflow") is None, reason="Airflow is not installed")
def test_an_airflow_task_fails_for_good(tmp_path: Path) -> None:
    """What is no release cannot be checked; the task says so instead of succeeding."""
    from airflow.exceptions import AirflowException

    task = _module("airflow_task").ValidateRelease(task_id="v", release=str(tmp_path / "absent.parquet"))
    with pytest.raises(AirflowException):
        task.execute({})
