"""The expectations in a real context on pandas, SQLite, DuckDB and Spark, and what must not pass silently."""

from __future__ import annotations

import builtins
import importlib.util
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.errors import GuaranteeError, MissingDependencyError, ParameterError, UncheckedError
from anonkit.policy.declaration import Policy

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("great_expectations_is_there", "duckdb_engine_is_there"),
]

COLUMNS = ["age", "sex"]
BACKENDS = ("pandas", "sqlite", "duckdb", "spark")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """A thousand rows, nine classes, a missing value that is one of them."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": random.integers(0, 3, 1000) * 10,
            "sex": random.choice(["F", "M", None], 1000, p=[0.48, 0.48, 0.04]),
            "illness": random.choice(["a", "b", "c"], 1000),
        }
    )


@pytest.fixture
def context() -> Any:
    """An ephemeral context without progress bars."""
    import great_expectations as gx

    found = gx.get_context(mode="ephemeral")
    found.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    return found


def batch_of(
    context: Any, backend: str, frame: pd.DataFrame, folder: Path, request: pytest.FixtureRequest | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a batch definition of the frame on a backend, and what a run needs besides."""
    if backend == "pandas":
        asset = context.data_sources.add_pandas("s").add_dataframe_asset("a")
        return asset.add_batch_definition_whole_dataframe("b"), {"dataframe": frame}
    if backend == "spark":
        assert request is not None
        spark = request.getfixturevalue("spark")  # that of all tests: another one would be theirs, with other settings
        frame.to_parquet(folder / "t.parquet")
        asset = context.data_sources.add_spark("s").add_dataframe_asset("a")
        return asset.add_batch_definition_whole_dataframe("b"), {
            "dataframe": spark.read.parquet(str(folder / "t.parquet"))
        }
    if backend == "sqlite":
        with sqlite3.connect(folder / "x.db") as connection:
            frame.to_sql("t", connection, index=False)
        source = context.data_sources.add_sqlite("s", connection_string=f"sqlite:///{folder / 'x.db'}")
    else:
        with duckdb.connect(str(folder / "x.duckdb")) as opened:
            opened.register("frame", frame)
            opened.execute("CREATE TABLE t AS SELECT * FROM frame")
        source = context.data_sources.add_sql("s", connection_string=f"duckdb:///{folder / 'x.duckdb'}")
    return source.add_table_asset("a", table_name="t").add_batch_definition_whole_table("b"), {}


def run(context: Any, batch: tuple[Any, dict[str, Any]], expectations: list[Any], **parameters: Any) -> Any:
    """Run a suite as a validation definition."""
    import great_expectations as gx

    suite = context.suites.add(gx.ExpectationSuite("suite", expectations=expectations))
    definition = context.validation_definitions.add(gx.ValidationDefinition(name="v", data=batch[0], suite=suite))
    return definition.run(batch_parameters=batch[1] or None, expectation_parameters=parameters or None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_finds_the_same(
    backend: str, frame: pd.DataFrame, context: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """k, l and t as the independent recount has them, null a value; what is asked beyond fails; k given at run time."""
    import pyarrow as pa

    from anonkit.checks import expectations as ax
    from anonkit.checks.disclosure import measure

    own = measure(pa.Table.from_pandas(frame, preserve_index=False), COLUMNS, sensitive=["illness"])
    batch = batch_of(context, backend, frame, tmp_path, request)
    distinct, t = own.sensitive["illness"]["l"], own.sensitive["illness"]["t"]
    result = run(
        context,
        batch,
        [
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k={"$PARAMETER": "k"}),
            ax.ExpectTableToBeKAnonymous(columns=COLUMNS, k=own.k + 1),
            ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="illness", l=distinct),
            ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="illness", l=distinct + 1),
            ax.ExpectTableToBeLDiverse(columns=COLUMNS, sensitive="illness", l=distinct, entropy=True),
            ax.ExpectTableToBeTClose(columns=COLUMNS, sensitive="illness", t=t),
            ax.ExpectTableToBeTClose(columns=COLUMNS, sensitive="illness", t=t / 2),
        ],
        k=own.k,
    )
    observed = [one.result["observed_value"] for one in result.results]

    assert [one.success for one in result.results] == [True, False, True, False, False, True, False]
    assert observed[:2] == [own.k, own.k]
    assert observed[2:4] == [distinct, distinct]
    assert observed[4] == pytest.approx(own.sensitive["illness"]["entropy_l"])
    assert observed[5:] == pytest.approx([t, t])
    with pytest.raises(GuaranteeError, match="do not hold"):
        ax.require_all(result, 7)


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
    """SQLite reads a quoted unknown name as a text, one large class; k would be the number of rows."""
    from anonkit.checks import expectations as ax

    result = run(
        context,
        batch_of(context, backend, frame, tmp_path),
        [ax.ExpectTableToBeKAnonymous(columns=["Marital-Status"], k=2)],
    )
    assert not result.success
    with pytest.raises((UncheckedError, GuaranteeError)):
        ax.require_all(result, 1)


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
    """A metric that raises is `success: False` like one that was not met: told apart here."""
    from anonkit.checks import batch_counts
    from anonkit.checks import expectations as ax

    def broken(*args: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(batch_counts, "require_columns", broken)
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


def test_a_suite_asks_for_what_it_was_given() -> None:
    """Without l or t neither is asked; with missing as a value, it is one; a policy of people has no such suite."""
    from anonkit.checks.expectations import suite_from

    policy = Policy().with_roles(quasi_identifiers=["age"], sensitive=["illness", "income"])
    assert [one.expectation_type for one in suite_from(policy, k=5).expectations] == ["expect_table_to_be_k_anonymous"]
    kinds = [one.expectation_type for one in suite_from(policy, k=5, t=0.3).expectations[1:]]
    assert kinds == ["expect_table_to_be_t_close"] * 2
    people = Policy.from_dict({"columns": {"who": {"role": "unit"}, "age": {"role": "quasi_identifier"}}})
    with pytest.raises(ParameterError, match="count rows, not people"):
        suite_from(people, k=5)


def test_the_go_ahead_of_an_earlier_run_never_stands(frame: pd.DataFrame, context: Any, tmp_path: Path) -> None:
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
    import anonkit.checks.expectations as whole

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
