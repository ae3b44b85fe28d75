"""The examples of pipelines: Great Expectations, pandera and dbt run here, others in tests/integrations."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import duckdb
import jinja2
import pytest

from anonkit.pipeline.recipe import Recipe

PIPELINES = Path(__file__).parents[1] / "examples" / "pipelines"
EXAMPLES = sorted(path.name for path in PIPELINES.glob("*.py"))


def _script(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PIPELINES / name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


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


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_integration_is_python(name: str) -> None:
    """It compiles where its tool is not installed either."""
    compile((PIPELINES / name).read_text(encoding="utf-8"), name, "exec")


def test_the_recipe_of_the_examples_can_be_read() -> None:
    """Dagster, Airflow and Prefect release by it."""
    assert Recipe.load(PIPELINES / "customers.toml").output.place is not None
