"""The expectations in a real context on pandas, SQLite, DuckDB and Spark, and what must not pass silently."""

from __future__ import annotations

import builtins
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.errors import GuaranteeError, MissingDependencyError, UncheckedError
from anonkit.policy.declaration import Policy
from tests.integrations.great_expectations.gx_batches import (
    BACKENDS,
    COLUMNS,
    address_of,
    batch_of,
    quiet_context,
    run,
    two_regions,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("great_expectations_is_there", "duckdb_engine_is_there"),
]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A thousand rows."""
    return two_regions()


@pytest.fixture
def context() -> Any:
    """An ephemeral context without progress bars."""
    return quiet_context()


@pytest.mark.quick_cases("None-sqlite", "None-postgresql", "who-pandas")
@pytest.mark.parametrize("backend", [*BACKENDS[:-1], "spark"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_every_backend_finds_the_same(
    backend: str, unit: str | None, frame: pd.DataFrame, context: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """k, l and t as the independent recount has them, of rows and of people; null is a value of a class, not of an
    attribute unless declared; what is requested beyond fails; k is given at run time.
    """
    from anonkit.checks import expectations as ax

    batch = batch_of(context, backend, frame, tmp_path, request)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    own = measure(table, COLUMNS, sensitive=["illness", "income"], missing_is_value=["income"], unit=unit)
    k = own.k if own.people is None else own.people
    classes = {"columns": COLUMNS, "unit": unit}
    illness, income = {**classes, "sensitive": "illness"}, {**classes, "sensitive": "income", "missing_is_value": True}
    words, numbers = own.sensitive["illness"], own.sensitive["income"]
    result = run(
        context,
        batch,
        [
            ax.ExpectTableToBeKAnonymous(**classes, k={"$PARAMETER": "k"}),
            ax.ExpectTableToBeKAnonymous(**classes, k=k + 1),
            ax.ExpectTableToBeLDiverse(**illness, l=words["l"]),
            ax.ExpectTableToBeLDiverse(**illness, l=words["l"] + 1),
            ax.ExpectTableToBeLDiverse(**illness, l=words["l"], entropy=True),
            ax.ExpectTableToBeTClose(**illness, t=words["t"]),
            ax.ExpectTableToBeTClose(**illness, t=words["t"] / 2),
            ax.ExpectTableToBeLDiverse(**income, l=numbers["l"]),
            ax.ExpectTableToBeTClose(**income, t=numbers["t"]),
            ax.ExpectTableToBeKAnonymous(columns=["Marital-Status"], k=1),
            ax.ExpectTableToBeTClose(columns=COLUMNS, sensitive="ill", t=1.0),
        ],
        k=k,
    )
    nowhere = [one.result["details"]["missing_columns"] for one in result.results[-2:]]
    assert nowhere == [["Marital-Status"], ["ill"]]
    assert [one.success for one in result.results] == [
        *(True, False, True, False, False, True, False, True, True),
        *(False, False),
    ]
    observed = [one.result["observed_value"] for one in result.results]
    assert observed[:4] == [k, k, words["l"], words["l"]]
    assert observed[4:7] == pytest.approx([words["entropy_l"], words["t"], words["t"]])
    assert observed[7:9] == pytest.approx([numbers["l"], numbers["t"]])
    with pytest.raises(GuaranteeError, match="do not hold"):
        ax.require_all(result, 11)


def test_a_suite_loaded_without_the_module_is_no_success(frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
    """Great Expectations then has an empty suite, evaluates nothing and says success: refused here."""
    from anonkit.checks import expectations as ax

    result = run(context, batch_of(context, "pandas", frame, tmp_path), [])
    assert result.success
    with pytest.raises(UncheckedError, match="0 expectations were evaluated, 1 were declared"):
        ax.require_all(result, 1)
    with pytest.raises(UncheckedError):
        ax.require_all(result, 0)


@pytest.mark.parametrize("backend", ["pandas", "sqlite", "duckdb"])
def test_a_column_that_is_not_there_fails(backend: str, frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
    """SQLite reads a quoted unknown name as a text, one large class; k would be the number of rows. Columns of the
    classes, of values and of people are named in the result, without a traceback.
    """
    from anonkit.checks import expectations as ax

    result = run(
        context,
        batch_of(context, backend, frame, tmp_path),
        [
            ax.ExpectTableToBeKAnonymous(columns=["Marital-Status"], k=2),
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, unit="whose", k=2),
            ax.ExpectTableToBeTClose(columns=COLUMNS, sensitive="ill", t=1.0),
        ],
    )
    found = [one.result["details"]["missing_columns"] for one in result.results]
    assert found == [["Marital-Status"], ["whose"], ["ill"]]
    with pytest.raises(GuaranteeError):
        ax.require_all(result, 3)


@pytest.mark.quick_cases("sqlite-x", "pandas-X", "duckdb-X")
@pytest.mark.parametrize("second", ["x", "X"])
@pytest.mark.parametrize("backend", ["pandas", "sqlite", "duckdb"])
def test_of_columns_of_one_name_none_is_counted(backend: str, second: str, context: Any, tmp_path: Path) -> None:
    """A query can give two columns one name, for which a database would count the first; other columns are counted."""
    from anonkit.checks import expectations as ax

    frame = pd.DataFrame({"a": [0, 1] * 50, "b": range(100), "s": [0, 1, 2, 3] * 25})
    batch = batch_of(context, backend, frame, tmp_path)
    if backend == "pandas":
        batch = batch[0], {"dataframe": frame.rename(columns={"a": "x", "b": second})}
    else:
        query = f'SELECT a AS x, b AS "{second}", s FROM "t_{tmp_path.name}"'[:200]
        asset = context.data_sources.get("s").add_query_asset("q", query=query)
        batch = asset.add_batch_definition_whole_table("q"), {}
    result = run(
        context,
        batch,
        [
            ax.ExpectTableToBeKAnonymous(columns=["x"], k=2),
            ax.ExpectTableToBeLDiverse(columns=["s"], sensitive="x", l=1),
            ax.ExpectTableToBeKAnonymous(columns=["s"], unit="x", k=1),
            ax.ExpectTableToBeKAnonymous(columns=["s"], k=25),
        ],
    )
    if backend == "pandas" and second == "X":
        assert result.success
        return
    assert [one.result["details"].get("alike_columns") for one in result.results] == [["x"], ["x"], ["x"], None]
    assert [one.success for one in result.results] == [False, False, False, True]


def test_a_list_as_long_as_the_frame_is_no_column(context: Any, tmp_path: Path) -> None:
    """pandas takes ["zz"] for the labels of a frame with one row and counts one class of 1."""
    from anonkit.checks import expectations as ax

    result = run(
        context,
        batch_of(context, "pandas", pd.DataFrame({"a": ["x"]}), tmp_path),
        [ax.ExpectTableToBeKAnonymous(columns=["zz"], k=1)],
    )
    assert not result.success


def test_what_could_not_be_measured_is_not_a_broken_promise(
    frame: pd.DataFrame, context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric that raises is `success: False` like one that was not met: distinguished here."""
    from anonkit.checks import expectations as ax
    from anonkit.integrations.great_expectations import batch_counts

    def broken(*args: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(batch_counts, "_batch", broken)
    result = run(
        context,
        batch_of(context, "pandas", frame, tmp_path),
        [ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=2)],
    )
    with pytest.raises(UncheckedError, match="could not evaluate expect_table_to_be_k_anonymous"):
        ax.require_all(result, 1)


def test_an_empty_batch_keeps_no_promise(frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
    """Nothing there is not everybody protected."""
    from anonkit.checks import expectations as ax

    result = run(
        context,
        batch_of(context, "pandas", frame.iloc[:0], tmp_path),
        [
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=2),
            ax.ExpectTableToBeTClose(columns=COLUMNS, sensitive="illness", t=1.0),
        ],
    )
    assert [one.success for one in result.results] == [False, False]


IGNORING_CASE = {
    "sqlite": ("NOCASE", ""),
    "duckdb": ("NOCASE", ""),
    "postgresql": (
        "ignoring_case",
        "CREATE COLLATION IF NOT EXISTS ignoring_case (provider=icu, locale='und-u-ks-level2', deterministic=false)",
    ),
}
"""A collation under which a database takes two spellings for one, and what makes it."""


@pytest.mark.quick_cases("sqlite", "postgresql")
@pytest.mark.parametrize("backend", IGNORING_CASE)
def test_classes_are_of_cells_to_the_letter(
    backend: str, context: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A column whose collation ignores case shows `Bern` and `bern` all the same: two classes for anyone who reads."""
    from anonkit.checks import expectations as ax

    batch = batch_of(context, backend, pd.DataFrame({"town": ["Bern", "bern"], "ill": ["a", "b"]}), tmp_path, request)
    collation, made = IGNORING_CASE[backend]
    address = f"sqlite:///{tmp_path / 'x.db'}" if backend == "sqlite" else address_of(backend, tmp_path, request)
    engine, table = sqlalchemy.create_engine(address), f"t_{tmp_path.name}"[:60]
    with engine.begin() as connection:
        for statement in (
            *([made] if made else []),
            f'DROP TABLE "{table}"',
            f'CREATE TABLE "{table}" (town TEXT COLLATE "{collation}", ill TEXT)',
            f"INSERT INTO \"{table}\" VALUES ('Bern', 'a'), ('bern', 'b')",
        ):
            connection.execute(sqlalchemy.text(statement))
        one = connection.execute(sqlalchemy.text(f'SELECT count(*) FROM "{table}" GROUP BY town')).fetchall()
    engine.dispose()
    assert [tuple(row) for row in one] == [(2,)]
    asked = [
        ax.ExpectTableToBeKAnonymous(columns=["town"], k=2),
        ax.ExpectTableToBeLDiverse(columns=["town"], sensitive="ill", l=2),
    ]
    result = run(context, batch, asked)
    assert [(one.success, one.result["observed_value"]) for one in result.results] == [(False, 1)] * 2


@pytest.mark.slow
def test_classes_on_spark_are_of_cells_to_the_letter(context: Any, spark: Any) -> None:
    """The classes are the same when Spark ignores case in a column."""
    from anonkit.checks import expectations as ax

    rows = "SELECT '{}' COLLATE UTF8_LCASE AS `a town`, '{}' AS ill"
    frame = spark.sql(f"{rows.format('Bern', 'a')} UNION ALL {rows.format('bern', 'b')}")
    assert frame.groupBy("`a town`").count().count() == 1
    asset = context.data_sources.add_spark("s").add_dataframe_asset("a")
    asked = [
        ax.ExpectTableToBeKAnonymous(columns=["a town"], k=2),
        ax.ExpectTableToBeLDiverse(columns=["a town"], sensitive="ill", l=2),
    ]
    result = run(context, (asset.add_batch_definition_whole_dataframe("b"), {"dataframe": frame}), asked)
    assert [(one.success, one.result["observed_value"]) for one in result.results] == [(False, 1)] * 2


def test_no_cell_is_in_a_result(frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
    """A marker in every row of a small class: the failing result holds counts only."""
    from anonkit.checks import expectations as ax

    marked = frame.assign(sex=["MARKER", *frame["sex"][1:]])
    result = run(
        context,
        batch_of(context, "pandas", marked, tmp_path),
        [
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=2),
            ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="sex", l=2),
        ],
    )
    assert not result.success
    assert "MARKER" not in str(result.to_json_dict())


def test_a_release_as_a_batch(context: Any, tmp_path: Path) -> None:
    """Its files validate and the batch is it; another batch, or a changed file, fails."""
    from anonkit.checks import expectations as ax

    path = tmp_path / "out.parquet"
    release = anonkit.release(
        anonkit.datasets.bank_customers(300, seed=1), method="mondrian", k=5, output=path, ledger=None
    )
    batch = batch_of(context, "pandas", release.to_pandas(), tmp_path)
    expected = [ax.ExpectReleaseToKeepItsPromise(release=str(path))]
    result = run(context, batch, expected)
    assert [check.passed for check in ax.require_all(result, 1)] == [True]

    definition = context.validation_definitions.get("v")
    fewer = definition.run(batch_parameters={"dataframe": release.to_pandas().iloc[1:]})
    assert fewer.results[0].result["details"]["failed"] == ["batch_rows"]
    path.with_name("out.params.json").write_text(path.with_name("out.params.json").read_text() + " ")
    assert not definition.run(batch_parameters=batch[1]).success


def test_a_suite_follows_from_the_policy() -> None:
    """One expectation for k, one a sensitive attribute for each of l and t."""
    from anonkit.checks.expectations import suite_from

    policy = Policy().with_roles(quasi_identifiers=["age", "sex"], sensitive=["illness"], identifiers=["name"])
    suite = suite_from(policy, k=5, l=2, t=0.3)
    assert [one.expectation_type for one in suite.expectations] == [
        "expect_table_to_be_k_anonymous",
        "expect_table_to_be_l_diverse",
        "expect_table_to_be_t_close",
    ]
    assert suite.expectations[0].columns == ["age", "sex"]  # type: ignore[attr-defined]


def test_k_is_a_count() -> None:
    """Nonsense is refused when the expectation is made."""
    from anonkit.checks import expectations as ax

    with pytest.raises(ValueError, match="k must be 1 or more"):
        ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=0)


@pytest.mark.slow
def test_an_import_never_ends_the_process_with_success() -> None:
    """`python -c` with pyspark and without grpcio: an error or a working import, never a silent exit."""
    code = "import anonkit.checks.expectations; print('imported')"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert ("imported" in done.stdout) == (done.returncode == 0)


def test_a_suite_requires_what_it_was_given() -> None:
    """Without l or t neither is required; people are counted where the policy has them."""
    from anonkit.checks.expectations import suite_from

    policy = Policy().with_roles(quasi_identifiers=["age"], sensitive=["illness", "income"])
    assert [one.expectation_type for one in suite_from(policy, k=5).expectations] == ["expect_table_to_be_k_anonymous"]
    kinds = [one.expectation_type for one in suite_from(policy, k=5, t=0.3).expectations[1:]]
    assert kinds == ["expect_table_to_be_t_close"] * 2
    people = Policy.from_dict({"columns": {"who": {"role": "unit"}, "age": {"role": "quasi_identifier"}}})
    assert suite_from(people, k=5).expectations[0].unit == "who"  # type: ignore[attr-defined]


def test_the_go_ahead_of_an_earlier_run_never_counts(frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
    """It is written after a run in which everything holds, and gone after one in which something does not."""
    from anonkit.checks import expectations as ax

    go_ahead = tmp_path / "go"
    action = ax.RefusePublication(name="publish", declared=1, go_ahead=str(go_ahead))
    batch = batch_of(context, "pandas", frame, tmp_path)
    result = run(context, batch, [ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=1)])
    assert action.run(result) == {"go_ahead": str(go_ahead)}
    assert go_ahead.read_text() == "expect_table_to_be_k_anonymous\n"
    told = ax.RefusePublication(name="publish", declared=2, go_ahead=str(go_ahead)).run(result)
    assert told["go_ahead"] is None
    assert told["code"]
    assert not go_ahead.exists()


@pytest.mark.parametrize(("ends", "words"), [(ImportError, "Great Expectations"), (SystemExit, "pyspark lacks grpcio")])
def test_an_import_that_cannot_be_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, ends: type[BaseException], words: str
) -> None:
    """Absent, or an import of pyspark that would end the process with success: exit code 4 and what to install."""
    import anonkit.integrations.great_expectations.class_expectations as whole

    def refuse(name: str, *more: Any) -> Any:
        if name.startswith("great_expectations"):
            raise ends(0)
        return real(name, *more)

    real = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", refuse)
    path = whole.__file__
    spec = importlib.util.spec_from_file_location("expectations_without", path)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(MissingDependencyError, match=words) as found:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert found.value.exit_code == 4
    assert "pip install" in str(found.value.hint)


def test_a_database_that_was_not_tried_keeps_its_collation() -> None:
    """Collations of other dialects are not guessed: their columns are grouped as they are."""
    from types import SimpleNamespace

    from anonkit.integrations.great_expectations import batch_counts

    (column,) = batch_counts._keys(SimpleNamespace(dialect_name="mysql"), ["q"])
    assert str(column) == "q"
