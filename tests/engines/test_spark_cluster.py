"""A real cluster: workers are killed in the middle of releases, tasks run twice, nothing is drawn or counted twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_workers import SECONDS, STRAGGLER
from spark_cluster import Cluster, free_port, kill, read_json

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy_toml

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FILES, ROWS = 16, 2_500
HELD = 10_000
"""Rows a search may hold: fewer than there are, so that the rows stay on the cluster."""
TASKS = 8
"""Tasks of a job that counts for a tree: four to each of the two cores."""
BEGUN = ("ACTIVE", "COMPLETE")
"""Spark keeps stages that it can skip in its list, too."""
PARAMETERS: dict[str, dict[str, Any]] = {
    "ppnb": {"p_keep": 0.5},
    "c45-arithmetic": {"epsilon": 1.0},
    "dp-forest": {"epsilon": 1.0},
    "rfka": {"k": 10, "trees": 20},
}
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.anonkit.taskRows": str(ROWS),
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    "spark.python.daemon.module": "slow_workers",
    f"spark.executorEnv.{SECONDS}": "0.2",
}


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers in sixteen files, one task each, and the policy beside them."""
    folder = tmp_path_factory.mktemp("customers")
    table = bank_customers(FILES * ROWS, seed=1)
    texts = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    table = pa.table(texts, names=table.column_names)
    (folder / "in").mkdir()
    for at in range(FILES):
        pq.write_table(table.slice(at * ROWS, ROWS), folder / "in" / f"{at:02d}.parquet")
    (folder / "policy.toml").write_text(bank_customers_policy_toml(), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def machines(spark_is_there: None, customers: Path, repository: Path) -> Iterator[Cluster]:
    """A master and its workers."""
    with Cluster(customers / "cluster", repository, repository / "tests") as running:
        yield running


@pytest.fixture
def cluster(machines: Cluster) -> Cluster:
    """A master and two workers that live."""
    machines.complete()
    return machines


class Scene:
    """A release on the cluster, in a process of its own."""

    def __init__(
        self,
        method: str,
        customers: Path,
        folder: Path,
        cluster: Cluster,
        settings: Mapping[str, str] | None = None,
        part_rows: int | None = None,
    ) -> None:
        self._method, self._customers, self._folder, self._part_rows = method, customers, folder, part_rows
        for name in ("events", "scratch", "out"):
            (folder / name).mkdir()
        self._api = free_port()
        every = {
            **SETTINGS,
            "spark.ui.port": str(self._api),
            "spark.eventLog.dir": (folder / "events").as_uri(),
            "spark.anonkit.scratch": str(folder / "scratch"),
            **(settings or {}),
        }
        command = [sys.executable, "-m", "anonkit", "release", "--method", method, "--search-rows", str(HELD)]
        for name, value in PARAMETERS[method].items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        command += ["--policy", str(customers / "policy.toml"), "--target", "customer_value"]
        command += ["--engine", "spark", "--spark-master", cluster.url]
        command += [part for key, value in every.items() for part in ("--spark-conf", f"{key}={value}")]
        command += [] if part_rows is None else ["--part-rows", str(part_rows)]
        command += ["--seed", "3", "--not-for-release", "--no-ledger", "--quiet", "--json"]
        self.process = subprocess.Popen(
            [*command, str(customers / "in"), str(folder / "out" / "out.parquet")],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            cwd=Path(anonkit.__file__).parents[1],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *error: object) -> None:
        kill(self.process)  # type: ignore[arg-type]

    def _ask(self, what: str) -> list[dict[str, Any]]:
        """Return what Spark shows of the release while it runs."""
        base = f"http://127.0.0.1:{self._api}/api/v1/applications"
        return [each for one in read_json(base) or [] for each in read_json(f"{base}/{one['id']}/{what}") or []]

    def _wait(self, found: Callable[[], Any]) -> Any:
        while not (answer := found()):
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)
        return answer

    def wait_for_the_middle(self, tasks: int, nth: int) -> int:
        """Wait for the n-th stage of so many tasks to have done a third of them; return its number."""

        def middle() -> dict[str, Any] | None:
            begun = [one for one in self._ask("stages") if one["numTasks"] == tasks and one["status"] in BEGUN]
            stage = sorted(begun, key=_number)[nth] if len(begun) > nth else None
            return stage if stage is not None and 3 * stage["numCompleteTasks"] >= tasks else None

        stage = self._wait(middle)
        assert stage["status"] == "ACTIVE", "the stage was over before anything could happen in its middle"
        return _number(stage)

    def wait_for_nobody(self) -> None:
        """Wait until Spark knows that all executors are gone."""
        self._wait(lambda: [one["id"] for one in self._ask("executors")] == ["driver"])

    def finish(self, code: int) -> dict[str, Any]:
        """Wait for the end, and for this exit code; return what the command says."""
        out, said = self.process.communicate(timeout=400)
        assert self.process.returncode == code, (out, said[-3000:])
        assert not list((self._folder / "scratch").iterdir())
        document: dict[str, Any] = json.loads(out)
        return document

    def left(self) -> list[str]:
        """Return the names of the files beside the output."""
        return sorted(path.name for path in (self._folder / "out").iterdir())

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the events of one kind in Spark's log of the release."""
        (log,) = (self._folder / "events").iterdir()
        found = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        return [event for event in found if event["Event"] == f"SparkListener{name}"]

    def done(self) -> list[dict[str, Any]]:
        """Return the tasks that came to a good end."""
        return [event for event in self.events("TaskEnd") if event["Task End Reason"]["Reason"] == "Success"]

    def check_release(self) -> None:
        """Check that the release is that of one machine: every row in its place, the params, the report."""
        local = anonkit.release(
            self._customers / "in",
            method=self._method,
            policy=self._customers / "policy.toml",
            target="customer_value",
            search_rows=HELD,
            seed=3,
            output=self._folder / "out" / "local.parquet",
            part_rows=self._part_rows,
            ledger=None,
            **PARAMETERS[self._method],
        )
        made = anonkit.load(self._folder / "out" / "out.parquet")
        checks = anonkit.validate(self._folder / "out" / "out.parquet").checks
        assert [check.name for check in checks if not check.passed] == ["randomness"]  # the test's seed
        assert _in_order(made, self._method).equals(_in_order(local, self._method))
        assert made.params == local.params
        volatile = {"created", "utility"}
        assert {k: v for k, v in made.report.items() if k not in volatile} == {
            k: v for k, v in local.report.items() if k not in volatile
        }
        ends = (".datapackage.json", ".params.json", ".parquet", ".report.html", ".report.json")
        assert self.left() == sorted(stem + end for stem in ("local", "out") for end in ends)


def _number(stage: dict[str, Any]) -> int:
    return int(stage["stageId"])


def _in_order(release: anonkit.Release, method: str) -> pa.Table:
    """Return the rows; where some were left out after a search on a sample, engines put them in different orders."""
    table = release.to_arrow()
    return table.sort_by([(name, "ascending") for name in table.column_names]) if method == "rfka" else table


def _place(task: dict[str, Any]) -> tuple[int, int]:
    """Return the stage and the part of a task."""
    return task["Stage ID"], task["Task Info"]["Partition ID"]


@dataclass(frozen=True)
class Moment:
    """When a worker is killed: in the n-th stage of so many tasks, counted from 0."""

    method: str
    tasks: int
    nth: int
    stays: bool = False
    """True where rows are written to the scratch: what was complete stays, and only the task cut off is run again."""
    part_rows: int | None = None
    """Rows of each file of a release in parts, which executors check, finish and hash."""


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(Moment("ppnb", FILES, 0), id="ppnb: noise is drawn"),
        pytest.param(Moment("c45-arithmetic", FILES, 0, stays=True), id="c45-arithmetic: rows are coded and kept"),
        pytest.param(Moment("c45-arithmetic", TASKS, 2), id="c45-arithmetic: the third level is counted"),
        pytest.param(Moment("dp-forest", TASKS, 4), id="dp-forest: the fifth question is counted"),
        pytest.param(Moment("rfka", FILES, 2), id="rfka: classes of the source are counted beside the search"),
        pytest.param(Moment("rfka", FILES, 5), id="rfka: classes are counted"),
        pytest.param(Moment("rfka", FILES, 6), id="rfka: rows are recoded"),
        pytest.param(
            Moment("ppnb", TASKS, 4, stays=True, part_rows=2 * ROWS), id="ppnb: cells of the files are checked"
        ),
        pytest.param(
            Moment("ppnb", TASKS, 5, stays=True, part_rows=2 * ROWS), id="ppnb: files are finished and hashed"
        ),
        pytest.param(
            Moment("rfka", TASKS, 6, stays=True, part_rows=2 * ROWS), id="rfka: classes of the files are recounted"
        ),
    ],
)
def test_a_worker_killed_in_the_middle_changes_nothing(
    moment: Moment, customers: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """The work of the lost executor is repeated; the release is that of one machine, each row, count and split."""
    with Scene(moment.method, customers, tmp_path, cluster, part_rows=moment.part_rows) as scene:
        stage = scene.wait_for_the_middle(moment.tasks, moment.nth)
        kill(cluster.workers[0])
        scene.finish(0)
    assert scene.events("ExecutorRemoved")
    done = [part for at, part in map(_place, scene.done()) if at == stage]
    ended = [part for at, part in map(_place, scene.events("TaskEnd")) if at == stage]
    assert set(done) == set(range(moment.tasks))
    assert len(ended if moment.stays else done) > moment.tasks, "no task of the stage was run again"
    scene.check_release()


def test_a_release_that_may_not_repeat_a_task_fails_cleanly(customers: Path, cluster: Cluster, tmp_path: Path) -> None:
    """An executor is killed where Spark may not try again: exit code 3, one line, and no file."""
    with Scene("c45-arithmetic", customers, tmp_path, cluster, {"spark.task.maxFailures": "1"}) as scene:
        scene.wait_for_the_middle(TASKS, 1)
        cluster.kill_executor()
        said = scene.finish(3)
    assert said == {
        "ok": False,
        "code": "ENGINE",
        "message": "counting failed in Spark",
        "hint": "the logs of the driver and of the executors say more",
    }
    assert scene.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_release_that_waits_for_workers_can_be_ended(
    number: signal.Signals, customers: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """Both workers are killed and Spark waits for others; who ends the command finds no file and no scratch."""
    with Scene("c45-arithmetic", customers, tmp_path, cluster) as scene:
        scene.wait_for_the_middle(TASKS, 1)
        for worker in cluster.workers:
            kill(worker)
        scene.wait_for_nobody()
        scene.process.send_signal(number)
        assert scene.finish(130)["code"] == "INTERRUPTED"
    assert scene.left() == []


def test_a_release_ended_while_executors_write_leaves_no_row(customers: Path, cluster: Cluster, tmp_path: Path) -> None:
    """Both workers write rows to the scratch when the command is ended: nothing of it stays, nothing comes later."""
    with Scene("c45-arithmetic", customers, tmp_path, cluster) as scene:
        scene.wait_for_the_middle(FILES, 0)
        scene.process.terminate()
        scene.finish(130)
    cluster.wait_for_idleness()
    assert not list((tmp_path / "scratch").iterdir())
    assert scene.left() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_release_ended_while_executors_count_beside_the_search_leaves_nothing(
    number: signal.Signals, customers: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """Jobs that a thread of the driver has started end too: no file, no scratch, and executors that are idle."""
    with Scene("rfka", customers, tmp_path, cluster) as scene:
        scene.wait_for_the_middle(FILES, 2)
        scene.process.send_signal(number)
        assert scene.finish(130)["code"] == "INTERRUPTED"
    cluster.wait_for_idleness()
    assert scene.left() == []
    ended = scene.events("JobEnd")
    assert [event["Job Result"]["Result"] for event in ended].count("JobFailed") == 1


SPECULATIVE = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    f"spark.executorEnv.{STRAGGLER}": "60",
}


@pytest.mark.parametrize("method", ["ppnb", "c45-arithmetic"])
def test_a_copy_of_a_running_task_changes_nothing(
    method: str, customers: Path, cluster: Cluster, tmp_path: Path
) -> None:
    """One task of every stage is slow; Spark runs a copy of it beside it, and takes what ends first."""
    with Scene(method, customers, tmp_path, cluster, SPECULATIVE) as scene:
        scene.finish(0)
    copies = {event["Stage ID"] for event in scene.done() if event["Task Info"]["Speculative"]}
    large = {
        event["Stage Info"]["Stage ID"]
        for event in scene.events("StageCompleted")
        if event["Stage Info"]["Number of Tasks"] in (FILES, TASKS)
    }
    assert copies == large
    scene.check_release()
