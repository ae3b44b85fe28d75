"""Time and memory of a whole release as rows grow, on one machine and on a standalone Spark cluster of two workers.

Every run is a process of its own, start-up included. Customers are simulated once, a million to a file. Processor
seconds are those of all processes together; they say more than wall time where other work runs beside.

Run it:  python recipes/benchmarks/engines_growth.py --rows 1000000 10000000 --methods ppnb rfka --plot growth.svg
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NoReturn

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from spark_cluster import Cluster

from anonkit.datasets import bank_customers, bank_customers_policy_toml

REPOSITORY = Path(__file__).parents[2]
PER_FILE = 1_000_000
OPTIONS: dict[str, list[str]] = {
    "ppnb": ["--p-keep", "0.5"],
    "rfka": ["--k", "10"],
    "mondrian": ["--k", "10"],
    "edprf": ["--epsilon", "1"],
    "dp-forest": ["--epsilon", "1"],
    "c45-arithmetic": ["--epsilon", "1"],
}
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "1500m",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "8",
    "spark.log.level": "OFF",
}

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end the benchmark, with all that it has started."""


def simulate(folder: Path, rows: int) -> Path:
    """Return a folder of customers, made when it is not there; categories are texts."""
    place = folder / f"customers-{rows}"
    if not place.exists():
        aside = place.with_name(f".{place.name}")  # what an interrupted call has left is not taken for all of it
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        for at, start in enumerate(range(0, rows, PER_FILE)):
            table = bank_customers(min(PER_FILE, rows - start), seed=at)
            texts = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
            pq.write_table(
                pa.table(texts, names=table.column_names), aside / f"{at:04d}.parquet", row_group_size=1 << 18
            )
        aside.rename(place)
    return place


class Watch(threading.Thread):
    """Watches processes and all that they start, twice a second: peak memory, and processor time as last seen.

    Nobody waits for the Java machine of a driver, or for the Pythons of an executor: the system's sums over children
    that have ended lack them.
    """

    def __init__(self, pids: dict[str, list[int]]) -> None:
        super().__init__(daemon=True)
        self._pids = pids
        self._peaks = dict.fromkeys(pids, 0)
        self._used: dict[str, dict[tuple[int, float], float]] = {name: {} for name in pids}
        self._before = {name: _look(each)[1] for name, each in pids.items()}
        self._read = dict.fromkeys(pids, 0)
        self._over = threading.Event()

    def run(self) -> None:
        """Sample the memory until `stop` is set."""
        while not self._over.wait(0.5):
            for name, pids in self._pids.items():
                memory, used = _look(pids)
                self._peaks[name] = max(self._peaks[name], memory)
                self._used[name].update(used)
                self._read[name] = max(self._read[name], sum(_bytes_read(pid) for pid in pids))

    def bytes_read(self) -> dict[str, int]:
        """Return the bytes that the watched processes themselves have read, without what they have started.

        Of a driver that is its Python: files, and what Java hands it; the modules it imports are some 60 MB of it.
        """
        return dict(self._read)

    def stop(self) -> tuple[dict[str, int], dict[str, float]]:
        """Stop; return the peaks in MB, and the processor seconds since the start."""
        self._over.set()
        self.join()
        seconds = {
            name: sum(now - self._before[name].get(process, 0.0) for process, now in used.items())
            for name, used in self._used.items()
        }
        return {name: peak >> 20 for name, peak in self._peaks.items()}, seconds


def _look(pids: list[int]) -> tuple[int, dict[tuple[int, float], float]]:
    """Return the memory of processes with all they have started, in bytes, and the processor seconds of each."""
    memory, used = 0, {}
    for pid in pids:
        with suppress(psutil.Error):
            root = psutil.Process(pid)
            for process in [root, *root.children(recursive=True)]:
                with suppress(psutil.Error):
                    memory += int(process.memory_info().rss)
                    used[process.pid, process.create_time()] = sum(process.cpu_times()[:2])
    return memory, used


def _bytes_read(pid: int) -> int:
    """Return the bytes a process has read by calls of the system, from the page cache too; 0 where nobody counts."""
    with suppress(psutil.Error, AttributeError):
        return int(psutil.Process(pid).io_counters().read_chars)
    return 0


def measure(
    engine: str, method: str, rows: int, folder: Path, cluster: Cluster | None, part_rows: int | None
) -> dict[str, Any]:
    """Release once; return wall time in s and peak memory in MB, of the driver and of the executors."""
    source, policy = simulate(folder, rows), folder / "policy.toml"
    policy.write_text(bank_customers_policy_toml(), encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-m", "anonkit", "release", "--method", method, *OPTIONS[method]]
    command += ["--policy", str(policy), "--target", "customer_value", "--engine", engine, "--no-ledger", "--force"]
    command += ["--quiet", "--json", *([] if part_rows is None else ["--part-rows", str(part_rows)])]
    if cluster is not None:
        command += ["--spark-master", cluster.url]
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        settings = {**SETTINGS, "spark.anonkit.scratch": str(scratch)}
        command += [part for key, value in settings.items() for part in ("--spark-conf", f"{key}={value}")]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    output = folder / f"{engine}-{method}.parquet"
    before = sum(os.times()[2:4])
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        release = subprocess.Popen(
            [*command, str(source), str(output)], env=environment, stdout=said, stderr=subprocess.DEVNULL
        )
        try:
            workers = [] if cluster is None else [each.pid for each in cluster.workers]
            watch = Watch({"driver": [release.pid], "executors": workers})
            watch.start()
            code = release.wait()
            wall = time.perf_counter() - start
            peaks, seconds = watch.stop()
        finally:
            _end(release)
        said.seek(0)
        document = json.loads(said.read() or "{}")
    times = {
        "wall_s": round(wall, 1),
        "driver_cpu_s": round(max(seconds["driver"], sum(os.times()[2:4]) - before), 1),
        "executors_cpu_s": round(seconds["executors"], 1),
    }
    shown = {key: document.get(key) for key in ("rows", "message") if document.get(key) is not None}
    memory = {f"{name}_mb": peak for name, peak in peaks.items()}
    memory["driver_read_mb"] = watch.bytes_read()["driver"] >> 20
    parts = {} if part_rows is None else {"part_rows": part_rows}
    return {"engine": engine, "method": method, "rows_in": rows, **parts, **times, **memory, "exit": code, **shown}


def _end(release: subprocess.Popen[bytes]) -> None:
    """End a release that still runs; it has a minute to clear its scratch."""
    if release.poll() is None:
        release.terminate()
        try:
            release.wait(60)
        except subprocess.TimeoutExpired:
            release.kill()


def _interrupted(number: int, frame: object) -> NoReturn:
    """Unwind, so that the release and the cluster end too; nothing interrupts that."""
    for each in ENDINGS:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def plot(found: list[dict[str, Any]], path: Path) -> None:
    """Draw processor and wall seconds over rows: a colour a method, a kind of line an engine."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
    methods = list(dict.fromkeys(run["method"] for run in found))
    drawn = [run for run in found if run["exit"] == 0 and "part_rows" not in run]
    ticks = sorted({run["rows_in"] for run in drawn})
    for axes, title in zip(panels, ("processor seconds, all processes", "seconds by the clock"), strict=True):
        for at, method in enumerate(methods):
            for engine, line in (("local", "-"), ("spark", "--")):
                runs = sorted(
                    (run["rows_in"], _processor_s(run) if axes is panels[0] else run["wall_s"])
                    for run in drawn
                    if (run["method"], run["engine"]) == (method, engine)
                )
                if runs:
                    axes.plot(*zip(*runs, strict=True), line, marker="o", color=f"C{at}", label=f"{method}, {engine}")
        axes.set(title=title, xlabel="rows", xscale="log", yscale="log")
        axes.set_xticks(ticks, [f"{rows / 1e6:g} M" for rows in ticks])
        axes.minorticks_off()
        axes.set_yticks([3, 10, 30, 100, 300, 1000], ["3", "10", "30", "100", "300", "1,000"])
        axes.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=len(methods), fontsize=8)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path)


def _processor_s(run: dict[str, Any]) -> float:
    return float(run["driver_cpu_s"] + run["executors_cpu_s"])


def main() -> None:
    """Print a JSON line a run; draw the plot."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 30_000_000])
    parser.add_argument(
        "--methods", nargs="+", choices=tuple(OPTIONS), default=["ppnb", "rfka", "dp-forest", "c45-arithmetic"]
    )
    parser.add_argument("--engines", nargs="+", choices=("local", "spark"), default=["local", "spark"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "anonkit-growth")
    parser.add_argument("--part-rows", type=int, help="write folders of files of about so many rows")
    parser.add_argument("--plot", type=Path, help="draw all runs in FOLDER/runs.jsonl, those of earlier calls too")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.folder / "runs.jsonl"
    for number in ENDINGS:
        signal.signal(number, _interrupted)
    with ExitStack() as stack:
        cluster: Cluster | None = None
        for rows in given.rows:
            for method in given.methods:
                for engine in given.engines:
                    if engine == "spark" and cluster is None:
                        cluster = stack.enter_context(Cluster(given.folder / "cluster", REPOSITORY, memory="1600m"))
                    run = measure(
                        engine, method, rows, given.folder, cluster if engine == "spark" else None, given.part_rows
                    )
                    line = json.dumps(run)
                    print(line, flush=True)
                    with log.open("a", encoding="utf-8") as file:
                        file.write(line + "\n")
    if given.plot is not None:
        plot([json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()], given.plot)


if __name__ == "__main__":
    main()
