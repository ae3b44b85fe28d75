"""A release into a store on a real cluster: a master and two workers, and an S3 server that all of them see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_server import BUCKET, SECRET, keys, s3_server
from spark_cluster import Cluster

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy_toml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FILES, ROWS = 4, 1_000


def _rows(release: anonkit.Release) -> pa.Table:
    table = release.to_arrow()
    plain = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    named = pa.table(plain, names=table.column_names)
    return named.sort_by([(name, "ascending") for name in named.column_names])


def _command(folder: Path, output: str, *engine: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "anonkit", "release", "--method", "ppnb", "--p-keep", "0.5", "--part-rows", str(ROWS)]
    line += ["--policy", str(folder / "policy.toml"), "--seed", "3", "--not-for-release", "--no-ledger", "--json"]
    done = subprocess.run([*line, *engine, str(folder / "in"), output], capture_output=True, text=True, check=False)
    assert SECRET not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _validated(output: str, *engine: str) -> dict[str, Any]:
    line = [sys.executable, "-m", "anonkit", "validate", "--json", *engine, output]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert SECRET not in done.stdout + done.stderr
    assert done.returncode == 1, done.stderr  # the test's seed
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_executors_put_the_files(spark_is_there: None, tmp_path: Path, repository: Path) -> None:
    """The rows are those of one machine, the scratch is empty, and a replacement deletes the old files."""
    table = bank_customers(FILES * ROWS, seed=1)
    for folder in ("in", "scratch"):
        (tmp_path / folder).mkdir()
    for at in range(FILES):
        pq.write_table(table.slice(at * ROWS, ROWS), tmp_path / "in" / f"{at}.parquet")
    (tmp_path / "policy.toml").write_text(bank_customers_policy_toml(), encoding="utf-8")
    output = f"s3://{BUCKET}/monthly/out.parquet"

    with s3_server() as client, Cluster(tmp_path / "cluster", repository, repository / "tests") as cluster:
        settings = {
            "spark.anonkit.scratch": str(tmp_path / "scratch"),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executorEnv.AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"],
        }
        confs = [word for key, value in settings.items() for word in ("--spark-conf", f"{key}={value}")]
        on_spark = ("--engine", "spark", "--spark-master", cluster.url, *confs)
        told = _command(tmp_path, output, *on_spark)
        parts = [key for key in keys(client) if "/part-" in key]
        assert len(parts) == FILES
        assert told["files"]["descriptor"] == f"s3://{BUCKET}/monthly/out.datapackage.json"
        _command(tmp_path, str(tmp_path / "out.parquet"))
        assert _rows(anonkit.load(output)).equals(_rows(anonkit.load(tmp_path / "out.parquet")))
        alone = anonkit.validate(output)
        assert [check.name for check in alone.checks if not check.passed] == ["randomness"]  # the test's seed
        told, expected = _validated(output, *on_spark), alone.to_dict()
        assert (told["checks"], told["disclosure_risk"]) == (expected["checks"], expected["disclosure_risk"])
        assert list((tmp_path / "scratch").iterdir()) == []

        _command(tmp_path, output, "--force", *on_spark)
        assert len(keys(client)) == FILES + 4
        assert not set(parts) & set(keys(client))
