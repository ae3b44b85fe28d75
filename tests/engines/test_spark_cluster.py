"""A real cluster: a worker is killed in the middle of a release, and no record is drawn twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster, free_port, kill, read_json

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy_toml

FILES, ROWS = 40, 4_000


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers in forty files, one task each, and the policy beside them."""
    folder = tmp_path_factory.mktemp("cluster")
    table = bank_customers(FILES * ROWS, seed=1)
    texts = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    table = pa.table(texts, names=table.column_names)
    (folder / "in").mkdir()
    for at in range(FILES):
        pq.write_table(table.slice(at * ROWS, ROWS), folder / "in" / f"{at:02d}.parquet")
    (folder / "policy.toml").write_text(bank_customers_policy_toml(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cluster(spark_is_there: None, customers: Path, repository: Path) -> Iterator[Cluster]:
    """A master and two workers."""
    with Cluster(customers / "cluster", repository) as running:
        yield running


def _release(customers: Path, cluster: Cluster, ui: int, repository: Path) -> subprocess.Popen[str]:
    settings = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.port": str(ui),
        "spark.anonkit.taskRows": str(ROWS),
        "spark.sql.shuffle.partitions": "2",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (customers / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.anonkit.scratch": str(customers / "scratch"),
    }
    for name in ("events", "scratch"):
        (customers / name).mkdir()
    command = [sys.executable, "-m", "anonkit", "release", "--method", "ppnb", "--p-keep", "0.5"]
    command += ["--policy", str(customers / "policy.toml"), "--engine", "spark", "--spark-master", cluster.url]
    command += [part for key, value in settings.items() for part in ("--spark-conf", f"{key}={value}")]
    command += ["--seed", "3", "--not-for-release", "--no-ledger", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(repository), "PYSPARK_PYTHON": sys.executable}
    return subprocess.Popen(
        [*command, str(customers / "in"), str(customers / "out.parquet")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _wait_for_the_middle(release: subprocess.Popen[str], ui: int) -> None:
    """Wait until a stage of all files has done some of its tasks, and has some to do."""
    base = f"http://127.0.0.1:{ui}/api/v1/applications"
    while release.poll() is None:
        for application in read_json(base) or []:
            for stage in read_json(f"{base}/{application['id']}/stages?status=active") or []:
                if stage["numTasks"] == FILES and 4 <= stage["numCompleteTasks"] < FILES - 6:
                    return
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_worker_killed_in_the_middle_changes_no_record(
    customers: Path, cluster: Cluster, repository: Path, tmp_path: Path
) -> None:
    """An executor is lost with its part of the shuffle; the release is that of one machine, row by row."""
    ui = free_port()
    release = _release(customers, cluster, ui, repository)
    try:
        _wait_for_the_middle(release, ui)
        kill(cluster.workers[0])
        out, said = release.communicate(timeout=280)
    finally:
        kill(release)  # type: ignore[arg-type]
    assert release.returncode == 0, said[-3000:]
    assert json.loads(out)["rows"]["out"] == FILES * ROWS

    (log,) = (customers / "events").iterdir()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert any(event["Event"] == "SparkListenerExecutorRemoved" for event in events)
    done = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    tasks = [(event["Stage ID"], event["Task Info"]["Partition ID"]) for event in done]
    assert len(tasks) > len(set(tasks)), "no task was run again"

    local = anonkit.release(
        customers / "in",
        method="ppnb",
        p_keep=0.5,
        policy=customers / "policy.toml",
        seed=3,
        output=tmp_path / "local.parquet",
        ledger=None,
    )
    assert anonkit.load(customers / "out.parquet").to_arrow().equals(local.to_arrow())
    assert not list((customers / "scratch").iterdir())
    assert not [path for path in customers.iterdir() if path.name.startswith(".out")]
