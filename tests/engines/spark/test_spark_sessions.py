"""Sessions of Spark: settings are heeded where they are made, and what fails is said in one line without a cell."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anonkit.errors import AnonkitError, EngineError, MissingDependencyError, ParameterError
from anonkit.policy.declaration import Policy

SCRATCH, TASK_ROWS = "spark.anonkit.scratch", "spark.anonkit.taskRows"


@pytest.fixture
def settings(spark: Any) -> Iterator[Any]:
    """The settings of a session that runs; ours are taken back."""
    yield spark.conf
    for name in (SCRATCH, TASK_ROWS):
        spark.conf.unset(name)


def test_settings_of_a_running_session_are_heeded(spark: Any, settings: Any, tmp_path: Path) -> None:
    """Copies go to the scratch the session names, and tasks read as many rows as it says."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(SCRATCH, str(tmp_path))
    settings.set(TASK_ROWS, "3")
    with SparkEngine(session=spark) as engine:
        source = engine.scan(pa.table({"a": list(range(10))}), Policy())
        assert source.splits.n_splits == 4
        assert len(list(tmp_path.glob("*/*/rows.parquet"))) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rows", ["many", "0", "-3", "1.5"])
def test_a_task_reads_a_number_of_rows(spark: Any, settings: Any, rows: str) -> None:
    """The setting is named, before anything is read."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(TASK_ROWS, rows)
    with pytest.raises(ParameterError, match=f"{TASK_ROWS} .* must be a whole number above 0"):
        SparkEngine(session=spark)


def test_a_scratch_that_is_not_there_is_named(spark: Any, settings: Any, tmp_path: Path) -> None:
    """It is the scratch that is to be corrected, not the temporary folder of this machine."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    settings.set(SCRATCH, str(tmp_path / "none"))
    with SparkEngine(session=spark) as engine, pytest.raises(EngineError, match=r"none'.*No such file") as refused:
        engine.scan(pa.table({"a": [1]}), Policy())
    assert "TMPDIR" not in str(refused.value)


def test_a_master_has_one_of_a_few_forms(spark_is_there: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself would print a traceback of Java."""
    from pyspark.sql import SparkSession

    from anonkit.engines.spark.spark_sessions import open_session

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(ParameterError, match="no master of the form 'sparc://host'"):
        open_session("sparc://host", {}, None)


def _failing(spark_is_there: None, error: Exception, doing: str) -> AnonkitError:
    from anonkit.engines.spark.spark_sessions import during

    def action() -> None:
        raise error

    with pytest.raises(AnonkitError) as refused:
        during(doing, action)
    return refused.value


def test_why_spark_does_not_start_is_told_apart(
    spark_is_there: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No Java; a Java that ended; a master that does not answer; a session that somebody stopped."""
    from pyspark.errors import PySparkRuntimeError

    from anonkit.engines.spark.spark_sessions import STARTING

    exited = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert isinstance(_failing(spark_is_there, exited, STARTING), MissingDependencyError)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(mode=0o755)
    assert _failing(spark_is_there, exited, STARTING).message == "Java ended before Spark had started"
    stopped = RuntimeError("Cannot call methods on a stopped SparkContext. SECRET")
    assert "master of the Spark cluster does not answer" in _failing(spark_is_there, stopped, STARTING).message
    for error in (stopped, AttributeError("'NoneType' object has no attribute 'sc'")):
        said = _failing(spark_is_there, error, "counting")
        assert said.message == "counting failed: the Spark session was stopped"
        assert said.__cause__ is said.__context__ is None


def test_pyspark_does_not_print_the_cell_that_failed(spark: Any, capfd: pytest.CaptureFixture[str]) -> None:
    """A cast in the owner's own data frame fails: not even the log of PySpark quotes the cell."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    frame = spark.sql("SELECT int('MARKER' || id) AS a FROM range(3)")
    with SparkEngine(session=spark) as engine, pytest.raises(EngineError, match="CAST_INVALID_INPUT") as refused:
        engine.scan(frame, Policy())
    out, err = capfd.readouterr()
    assert "MARKER" not in out + err + str(refused.value)


@pytest.mark.slow
def test_java_says_nothing_to_the_user(spark_is_there: None, tmp_path: Path) -> None:
    """Neither its log4j profile, nor its warnings: all that is on stderr is ours."""
    (tmp_path / "in.csv").write_text("zip,y\n" + "1,a\n2,b\n" * 20, encoding="utf-8")
    options = "--engine spark --spark-master local[1] --method mondrian --k 5 --no-ledger in.csv out.parquet"
    done = subprocess.run(
        [sys.executable, "-m", "anonkit", "release", *options.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith(("Note:", "Hint:"))] == []
