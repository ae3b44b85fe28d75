"""The tests of dbt's package against a count in Python, on DuckDB and PostgreSQL, and the Python models on DuckDB."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pages.blocks import blocks_of
from postgresql import PASSWORD, Server

from anonkit.integrations.dbt import PACKAGE

pytestmark = pytest.mark.integrations
HERE = Path(__file__).parent
Rows = Sequence[tuple[Any, ...]]
NAMES = ("Age group", 'select "x"', "Illness", "score", "person")
"""Names that must be quoted, one of them with quotes in it: two quasi-identifiers, a text, a number and a unit."""
N_FILES = 5

TABLES: dict[str, Rows] = {
    "mixed": [
        ("20-29", "a", "flu", 1.0, 1), ("20-29", "a", "flu", 2.0, 1), ("20-29", "a", "cold", 9.0, 2),
        ("30-39", "b", "flu", 1.0, 3), ("30-39", "b", None, 2.0, 4),
        (None, "b", "cold", 4.0, 5), (None, "b", "angina", None, 6), (None, "b", "flu", 5.0, None),
        (None, None, "flu", 1.5, 7), (None, None, "cold", 2.5, 8),
    ],
    "without_value": [("20-29", "a", "flu", 1.0, 1), ("20-29", "a", "cold", 2.0, 2), ("30-39", "b", None, None, 3)],
    "not_a_number": [("20-29", "a", "flu", float("nan"), 1), ("20-29", "a", "cold", 3.0, 2)],
    "spelled": [
        ("20-29", "a", "flu", 1.0, 1), ("20-29", "a", "FLU ", 2.0, 2), ("20-29", "a", "unknown", 3.0, 3),
        ("30-39", "b", "flu", 1.0, 4), ("30-39", "b", "cold", 2.0, 5),
    ],
    "empty": [],
}  # fmt: skip


def _classes(rows: Rows) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    classes = defaultdict(list)
    for row in rows:
        classes[row[:2]].append(row)
    return classes


def _value(cell: Any) -> Any:
    if isinstance(cell, str):
        return None if cell.casefold().strip() == "unknown" else cell.casefold().strip()
    return None if cell is None or cell != cell else cell


def least_k(rows: Rows) -> float:
    """Return the size of the smallest class."""
    return min((len(members) for members in _classes(rows).values()), default=0)


def least_people(rows: Rows) -> float:
    """Return the people of the class that has fewest."""
    return min((len({row[4] for row in members} - {None}) for members in _classes(rows).values()), default=0)


def least_l(rows: Rows, at: int, missing_is_value: bool) -> float:
    """Return the number of values in the class that has fewest."""
    return min(
        (
            len({_value(row[at]) for row in members} - (set() if missing_is_value else {None}))
            for members in _classes(rows).values()
        ),
        default=0,
    )


def largest_t(rows: Rows, at: int, ordered: bool, missing_is_value: bool) -> float:
    """Return the earth mover's distance of the farthest class; 1 for a class without a value."""

    def counts(members: Rows) -> Counter[Any]:
        return Counter(value for row in members if (value := _value(row[at])) is not None or missing_is_value)

    everybody, farthest = counts(rows), 0.0
    values = sorted(everybody, key=lambda value: (value is None, value if value is not None else 0))
    for members in _classes(rows).values():
        held = counts(members)
        if not held:
            return 1.0
        gaps = [held[value] / held.total() - everybody[value] / everybody.total() for value in values]
        if ordered:
            sums = [abs(sum(gaps[: end + 1])) for end in range(len(gaps))]
            farthest = max(farthest, sum(sums) / (len(values) - 1) if len(values) > 1 else 0.0)
        else:
            farthest = max(farthest, sum(map(abs, gaps)) / 2)
    return farthest


def cases(table: str) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield tests of a table, with their arguments and whether they must pass: at the measure, and beyond it."""
    rows, columns = TABLES[table], list(NAMES[:2])
    for k in (1, 2, 3):
        yield "k_anonymous", {"columns": columns, "k": k}, least_k(rows) >= k
        yield "k_anonymous", {"columns": columns, "k": k, "unit": "person"}, least_people(rows) >= k
    for at, missing in ((2, False), (2, True), (3, False), (3, True)):
        given = {"columns": columns, "sensitive": NAMES[at], "missing_is_value": missing}
        for l in (1, 2, 3):  # noqa: E741 - the name of the parameter
            width = {"width": 0} if at == 3 else {}
            yield "l_diverse", {**given, **width, "l": l}, least_l(rows, at, missing) >= l
        for ordered in (False, True):
            t = largest_t(rows, at, ordered, missing)
            asked = {**given, "ordered": ordered}
            yield "t_close", {**asked, "t": round(min(1.0, t + 1e-4), 6)}, bool(rows)
            if t > 1e-3:
                yield "t_close", {**asked, "t": round(t - 1e-3, 6)}, False


class Project:
    """A dbt project whose models are the tables."""

    def __init__(self, folder: Path, output: Mapping[str, Any], repository: Path) -> None:
        self.folder = folder
        profile = {"pipeline": {"target": "here", "outputs": {"here": output}}}
        self.write("profiles.yml", json.dumps(profile))
        self.write("packages.yml", (HERE / "project" / "packages.yml").read_text(encoding="utf-8"))
        self.write("dbt_project.yml", (HERE / "project" / "dbt_project.yml").read_text(encoding="utf-8"))
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ANONKIT_", "DBT_"))},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(folder), str(repository)]),
            "ANONKIT_LEDGER": str(folder.parent / "ledger.sqlite"),
            "DBT_ANONKIT": str(PACKAGE),
            "DBT_PROFILES_DIR": str(folder),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        }

    def write(self, name: str, text: str) -> None:
        """Write a file of the project."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *command: str) -> tuple[int, str, dict[str, str]]:
        """Run dbt; return its exit code, what it printed, and the status of every model and test."""
        results = self.folder / "target" / "run_results.json"
        results.unlink(missing_ok=True)
        done = subprocess.run(
            ["dbt", "--no-use-colors", *command], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, check=False, timeout=280,
        )  # fmt: skip
        found = json.loads(results.read_text(encoding="utf-8"))["results"] if results.exists() else []
        return done.returncode, done.stdout + done.stderr, {one["unique_id"]: one["status"] for one in found}


@pytest.fixture
def on_duckdb(tmp_path: Path, repository: Path) -> Project:
    """A project on a DuckDB file."""
    return Project(tmp_path / "duckdb", {"type": "duckdb", "path": "pipeline.duckdb"}, repository)


@pytest.fixture
def on_postgresql(tmp_path: Path, repository: Path, postgresql: Server) -> Project:
    """A project on a PostgreSQL server."""
    output = {
        "type": "postgres", "host": "127.0.0.1", "port": postgresql.port, "user": "owner", "password": PASSWORD,
        "dbname": "postgres", "schema": "published", "threads": 1,
    }  # fmt: skip
    return Project(tmp_path / "postgresql", output, repository)


def _literal(cell: Any) -> str:
    if cell is None:
        return "null"
    return f"'{cell}'" if isinstance(cell, str) else f"cast('{cell}' as double precision)"


def _model(rows: Rows) -> str:
    """Return the SELECT of a table; PostgreSQL and DuckDB read it alike."""
    types = ("varchar(20)", "varchar(20)", "varchar(20)", "double precision", "double precision")
    quoted = ['"' + name.replace('"', '""') + '"' for name in NAMES]
    lines = rows or [(None,) * len(NAMES)]
    selects = [
        "select "
        + ", ".join(
            f"cast({_literal(cell)} as {kind}) as {name}" for cell, kind, name in zip(row, types, quoted, strict=True)
        )
        for row in lines
    ]
    return f"select * from ({' union all '.join(selects)}) as rows_of_it" + ("" if rows else " where 1 = 0")


@pytest.mark.parametrize("database", ["on_duckdb", "on_postgresql"])
def test_a_test_passes_where_the_measure_holds_and_fails_beyond_it(
    database: str, request: pytest.FixtureRequest
) -> None:
    """k, people, l and t of tables with missing cells, odd names, no values and no rows, as counted in Python."""
    project: Project = request.getfixturevalue(database)
    expected, models = {}, []
    for table, rows in TABLES.items():
        project.write(f"models/{table}.sql", "{{ config(materialized='table') }} " + _model(rows))
        tests = []
        for at, (test, arguments, passes) in enumerate(cases(table)):
            tests.append({f"anonkit.{test}": {"name": f"{table}_{at}", "arguments": arguments}})
            expected[f"{table}_{at}"] = (passes, test, arguments)
        models.append({"name": table, "data_tests": tests})
    project.write("models/schema.yml", json.dumps({"version": 2, "models": models}))
    assert project.run("deps")[0] == 0
    _, said, found = project.run("build")
    statuses = {name.split(".")[2]: status for name, status in found.items() if name.startswith("test.")}
    assert statuses.keys() == expected.keys(), said[-3000:]
    wrong = {
        name: (statuses[name], *what)
        for name, what in expected.items()
        if statuses[name] != ("pass" if what[0] else "fail")
    }
    assert wrong == {}
    assert {passes for passes, *_ in expected.values()} == {True, False}


IGNORING_CASE = {
    "on_duckdb": ("nocase", "select 1"),
    "on_postgresql": (
        '"ignoring_case"',
        "create collation if not exists ignoring_case (provider=icu, locale='und-u-ks-level2', deterministic=false)",
    ),
}
"""A collation under which a database takes two spellings for one, and what makes it."""


@pytest.mark.parametrize("database", IGNORING_CASE)
def test_classes_are_of_cells_to_the_letter(database: str, request: pytest.FixtureRequest) -> None:
    """`Bern` and `bern` are two classes of one row, whatever GROUP BY makes of them."""
    project: Project = request.getfixturevalue(database)
    collation, made = IGNORING_CASE[database]
    project.write(
        "models/m.sql",
        f'{{{{ config(materialized="table", pre_hook="{made}") }}}} '
        f"select town collate {collation} as town, ill from (values ('Bern', 'a'), ('bern', 'b')) as r(town, ill)",
    )
    tests = [
        {"anonkit.k_anonymous": {"name": "k", "arguments": {"columns": ["town"], "k": 2}}},
        {"anonkit.l_diverse": {"name": "l", "arguments": {"columns": ["town"], "sensitive": "ill", "l": 2}}},
    ]
    project.write("models/schema.yml", json.dumps({"version": 2, "models": [{"name": "m", "data_tests": tests}]}))
    assert project.run("deps")[0] == 0
    _, said, found = project.run("build")
    statuses = {name.split(".")[2]: status for name, status in found.items() if name.startswith("test.")}
    assert statuses == {"k": "fail", "l": "fail"}, said[-3000:]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ("k_anonymous: {arguments: {columns: a, k: 2}}", "columns is a list"),
        ("k_anonymous: {arguments: {columns: [], k: 2}}", "columns is a list"),
        ("k_anonymous: {arguments: {columns: [a], k: 0}}", "k is an integer"),
        ("k_anonymous: {arguments: {columns: [a, a], k: 2}}", "named once"),
        ("l_diverse: {arguments: {columns: [a], sensitive: a, l: 2}}", "none of the columns"),
        ("l_diverse: {arguments: {columns: [a], sensitive: b, l: 3, width: 2}}", "an l above 2 cannot be counted"),
        ("t_close: {arguments: {columns: [a], sensitive: b, t: 1.5}}", "t is a number"),
    ],
)
def test_what_cannot_be_meant_is_refused(on_duckdb: Project, arguments: str, rule: str) -> None:
    """A test that would count something else, or nothing, is an error and not a pass."""
    on_duckdb.write("models/m.sql", "select 1 as a, 1 as b")
    on_duckdb.write("models/s.yml", f"{{version: 2, models: [{{name: m, data_tests: [anonkit.{arguments}]}}]}}")
    assert on_duckdb.run("deps")[0] == 0
    code, said, _ = on_duckdb.run("build")
    assert code != 0
    assert rule in said


@pytest.fixture
def pipeline(tmp_path: Path, repository: Path) -> Project:
    """The project of the second runs, on a table of its own."""
    made = Project(tmp_path / "project", {"type": "duckdb", "path": "pipeline.duckdb"}, repository)
    shutil.copytree(HERE.parent / "project", made.folder, dirs_exist_ok=True)
    shutil.copytree(HERE / "project", made.folder, dirs_exist_ok=True)
    with (made.folder / "customers.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(20 + at % 60, ("east", "north")[at % 2], ("no", "yes")[at % 3 == 0]) for at in range(120)]
        csv.writer(file).writerows([("age", "region", "bought"), *rows])
    assert made.run("deps")[0] == 0
    return made


def _files(project: Project) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (project.folder / "out").glob("*")}


def test_a_model_keeps_params_and_report_and_is_used_again(pipeline: Project) -> None:
    """The table of the database is the data of the release, in every run the same."""
    code, said, _ = pipeline.run("build")
    assert code == 0, said
    released = _files(pipeline)
    assert len(released) == N_FILES
    assert pipeline.run("build")[0] == 0
    assert _files(pipeline) == released
    with duckdb.connect(pipeline.folder / "pipeline.duckdb", read_only=True) as connection:
        data = str(pipeline.folder / "out" / "out.parquet")
        found = connection.execute("SELECT age, region, bought FROM released ORDER BY ALL").fetchall()
        kept = connection.execute("SELECT age, region, bought FROM read_parquet(?) ORDER BY ALL", [data]).fetchall()
        assert found == kept
        assert len(found) > 50
        assert connection.execute("SELECT count(*), bool_and(passed) FROM checks").fetchone()[1] is True


def test_a_model_that_is_refused_leaves_its_table(pipeline: Project) -> None:
    """Another policy is refused: the table of the run before stays, and nothing that needs it is built."""
    assert pipeline.run("build")[0] == 0
    released = _files(pipeline)
    policy = (pipeline.folder / "policy.toml").read_text(encoding="utf-8")
    pipeline.write("policy.toml", policy.replace("[18, 90]", "[18, 99]"))
    code, said, found = pipeline.run("build")
    assert code != 0
    assert "exists" in said
    assert found["model.pipeline.checks"] == "skipped"
    assert _files(pipeline) == released
    with duckdb.connect(pipeline.folder / "pipeline.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM released").fetchone()[0] > 50


def test_a_release_that_does_not_hold_fails_its_model(pipeline: Project) -> None:
    """An edited file of the release: nothing is drawn again, and the checks are no table."""
    assert pipeline.run("build")[0] == 0
    report = next((pipeline.folder / "out").glob("*.report.html"))
    report.write_text("edited", encoding="utf-8")
    code, said, _ = pipeline.run("build", "--select", "checks")
    assert code != 0
    assert "does not keep its promise" in said


def test_the_folder_of_the_package_is_told(repository: Path) -> None:
    """`python -m anonkit.integrations.dbt` prints where the package of dbt is."""
    done = subprocess.run(
        [sys.executable, "-m", "anonkit.integrations.dbt"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(repository)},
    )  # fmt: skip
    assert Path(done.stdout.strip()) == PACKAGE
    assert (PACKAGE / "dbt_project.yml").exists()


def test_the_page_runs(tmp_path: Path, repository: Path) -> None:
    """The files of dbt.md, unchanged, on a table with their columns: built, tested, and built again."""
    made = Project(tmp_path / "project", {"type": "duckdb", "path": "pipeline.duckdb"}, repository)
    for one in blocks_of("docs/how-to/dbt.md"):
        assert one.file is not None, one.where
        made.write(one.file, one.text)
    made.write(
        "policy.toml", '[columns]\nillness = { role = "sensitive" }\nincome = { role = "target", sensitive = true }\n'
    )
    made.write("models/customers.sql", "select * from read_csv('customers.csv')")
    with (made.folder / "customers.csv").open("w", encoding="utf-8", newline="") as file:
        rows = [(at % 60, ("east", "north")[at % 2], ("flu", "cold")[at // 2 % 2], at * 37 % 90) for at in range(240)]
        csv.writer(file).writerows([("Age group", "region", "illness", "income"), *rows])
    assert made.run("deps")[0] == 0
    code, said, found = made.run("build")
    statuses = {name.split(".")[0]: status for name, status in found.items()}
    assert statuses == {"model": "success", "test": "pass"}, said[-3000:]
    released = {path.name: path.read_bytes() for path in (made.folder / "published").glob("*")}
    assert len(released) == N_FILES
    assert made.run("build")[0] == code == 0
    assert {path.name: path.read_bytes() for path in (made.folder / "published").glob("*")} == released
