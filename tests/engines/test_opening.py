"""Engines by name: what is absent is said before any data is opened."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import anonkit
from anonkit.engines import LocalEngine, is_spark_frame, open_engine
from anonkit.errors import MissingDependencyError, ParameterError


def test_spark_without_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 4, and what to install."""
    for name in [name for name in sys.modules if name.startswith("anonkit.engines.spark.spark_engine")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("pyspark", "pyspark.sql", "pyspark.errors", "py4j", "py4j.protocol"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError) as absent:
        open_engine("spark")
    assert absent.value.exit_code == 4
    assert "anonkit[spark]" in str(absent.value.hint)


@pytest.mark.slow
def test_spark_without_java_says_so(spark_is_there: None, repository: Path, tmp_path: Path) -> None:
    """Exit code 4 on the command line, one line and a hint, no file."""
    environment = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"} | {"PYTHONPATH": str(repository)}
    done = subprocess.run(
        [sys.executable, "-m", "anonkit", "release", "--engine", "spark", "in.csv", "out.parquet"],
        env=environment | {"PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "Java" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", [{"spark_master": "local[1]"}, {"spark_conf": {"a": "b"}}])
def test_settings_of_spark_belong_to_spark(given: dict[str, object]) -> None:
    """Given to another engine, or to an open one, they would be ignored silently."""
    table = pa.table({"a": [1]})
    with pytest.raises(ParameterError, match="has no master and no settings"):
        anonkit.release(table, **given)  # type: ignore[arg-type]
    with LocalEngine() as engine, pytest.raises(ParameterError, match="an engine that is open"):
        anonkit.release(table, engine=engine, **given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_engine_that_was_open_stays_open(small_customers: pa.Table) -> None:
    """It can release again."""
    with LocalEngine() as engine:
        for _ in range(2):
            release = anonkit.release(small_customers, method="mondrian", k=20, engine=engine, target="customer_value")
            assert release.report["rows"]["out"] == 400


def test_only_data_frames_of_spark_are_taken_for_them() -> None:
    """Nothing is imported to find out."""
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
    assert is_spark_frame(type("DataFrame", (kind,), {"__module__": "elsewhere"})())
    assert not is_spark_frame(pa.table({"a": [1]}))
