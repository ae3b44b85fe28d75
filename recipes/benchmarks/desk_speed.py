"""Speed of `anonkit desk` as somebody at the browser has it: by the clock, from the command on, with peak memory.

Tables: `adult` (48,842 rows; from `../shared/data`), `simulated` (20,000 bank customers), `million` (1,000,000 of them)
and `wide` (4,000 rows, 300 columns). Measured of each, with the classes of k:

* `first page`: from the command to the answer with the first question;
* `columns`: from the answer to that question until every column, and the classes of the table, are on the page Table;
* `table`: until what makes people unique is there too, in sets of up to three columns;
* `station`: the slowest answer of the five stations, and `change`: of a form that changes roles or the promise, with
  the page after it (each is sent five times; the slowest of the medians);
* `first point`: from the start of a comparison to its first point on the page, and `frontier`: to its last;
* `memory`: peak of the resident memory of all processes of the desk together, in MB; pages that they share count once.

Each figure is beside what is wanted, with their ratio; above 1 is too slow. What else the machine does counts too:
`load` is its mean load of the last minute at the begin.

Run it:  python recipes/benchmarks/desk_speed.py [TABLE …] [--until table|station|frontier]
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from statistics import median
from urllib.parse import urlencode, urlsplit

import numpy as np
import pyarrow as pa
from pyarrow import csv

from anonkit.datasets import bank_customers

ADULT = Path(__file__).parents[2].parent / "shared" / "data" / "adult.csv.gz"
WANTED = {
    "first page": 1.0,
    "columns": 10.0,
    "station": 0.3,
    "change": 0.3,
    "first point": 3.0,
    "memory": 2000.0,
}
"""Seconds, and megabytes, at most; the time of the columns is wanted of one million rows."""
STATIONS = ("table", "roles", "promise", "compare", "decide")
_TARGETS = {"adult": "income", "simulated": "customer_value", "million": "customer_value", "wide": "c299"}


def written(name: str, folder: Path) -> Path:
    """Write a table, and return its file."""
    path = folder / f"{name}.csv"
    if name == "adult":
        path.write_bytes(gzip.decompress(ADULT.read_bytes()))
    elif name == "wide":
        drawn = np.random.default_rng(1)
        columns = {f"c{at}": drawn.integers(0, 2 + at % 40, 4_000) for at in range(299)}
        csv.write_csv(pa.table({**columns, "c299": np.where(columns["c1"] > 1, "yes", "no")}), path)
    else:
        csv.write_csv(bank_customers(1_000_000 if name == "million" else 20_000, seed=1), path)
    return path


class Peak:
    """Peak of the memory of a process and of all that it has started."""

    def __init__(self, process: int) -> None:
        self._process, self.most, self._is_ending = process, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more."""
        self._is_ending.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_ending.wait(1.0):
            self.most = max(self.most, sum(_megabytes(one) for one in self._family()))

    def _family(self) -> list[int]:
        found = [self._process]
        for process in found:
            for task in Path(f"/proc/{process}/task").glob("*/children"):
                with suppress(OSError):
                    found += map(int, task.read_text().split())
        return found


def _megabytes(process: int) -> float:
    """Return the memory of a process, shared pages in proportion."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return 0.0 if found is None else int(found.group(1)) / 1000


class Desk:
    """A desk, and its client."""

    def __init__(self, table: Path, folder: Path) -> None:
        self.begun = time.perf_counter()
        words = [sys.executable, "-m", "anonkit", "desk", str(table), "--output", str(folder), "--no-browser"]
        environment = {**os.environ, "ANONKIT_LEDGER": str(folder / "ledger")}
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        self.peak = Peak(self._process.pid)
        assert self._process.stdout is not None
        self._address = urlsplit(self._process.stdout.readline().strip())
        self._cookie, self._form = "", ""
        self.get(f"/open?{self._address.query}")

    def close(self) -> None:
        """End it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self._process.communicate(timeout=60)
        self.peak.end()

    def get(self, path: str) -> str:
        """Return a page."""
        return self._ask("GET", path)

    def post(self, path: str, **fields: str) -> str:
        """Send a form, and return the page that it leads to."""
        given = {"form": self._form, "at": path.strip("/").partition("/")[0], **fields}
        return self._ask("POST", path, urlencode({name.replace("_", "-"): value for name, value in given.items()}))

    def _ask(self, method: str, path: str, body: str | None = None) -> str:
        headers = {"Cookie": self._cookie}
        if body is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
            headers["Origin"] = f"http://{self._address.netloc}"
        with closing(http.client.HTTPConnection(self._address.netloc, timeout=600)) as asked:
            asked.request(method, path, body, headers)
            answer = asked.getresponse()
            text = answer.read().decode()
        if answer.getheader("set-cookie"):
            self._cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        if answer.status == 303:
            return self._ask("GET", str(answer.getheader("location")))
        if answer.status != 200:
            raise RuntimeError(
                f"{method} {path}: {answer.status} {' '.join(re.sub('<[^>]+>', ' ', text).split())[:300]}"
            )
        found = re.search('name="form" value="([^"]+)"', text)
        self._form = found.group(1) if found is not None else self._form
        return text

    def until(self, path: str, holds: Callable[[str], bool]) -> float:
        """Ask for a page until something holds of it; return the seconds."""
        begun = time.perf_counter()
        while not holds(self.get(path)):
            if time.perf_counter() - begun > 900:
                raise TimeoutError(f"{path} is not done")
            time.sleep(0.05)
        return time.perf_counter() - begun


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _is_at_work(text: str) -> bool:
    return 'class="job at-work"' in text


def _point(text: str) -> bool:
    if 'class="job failed"' in text:
        raise RuntimeError("the comparison has failed")
    return '<svg class="frontier"' in text


def measured(name: str, folder: Path, until: str) -> dict[str, float]:
    """Return the figures of a table."""
    table, found = written(name, folder), {}
    with table.open(encoding="utf-8") as lines:
        n_columns = lines.readline().count(",") + 1
    desk = Desk(table, folder / "out")
    try:
        assert "Noise or classes?" in desk.get("/")
        found["first page"] = time.perf_counter() - desk.begun
        begun = time.perf_counter()
        desk.post("/begin", approach="classes")
        desk.until("/table", lambda text: "smallest group" in text and text.count('class="column"') == n_columns)
        found["columns"] = time.perf_counter() - begun
        desk.until("/table", lambda text: not _is_at_work(text))
        found["table"] = time.perf_counter() - begun
        if until == "table":
            return found
        found["station"] = max(median(timed(lambda at=at: desk.get(f"/{at}")) for _ in range(5)) for at in STATIONS)
        roles = desk.get("/roles")
        at = re.search(rf'for="role-(\d+)"(?:(?!</label>).)*<bdi>{_TARGETS[name]}</bdi>', roles, re.DOTALL)
        assert at is not None
        number = at.group(1)
        turns = ["insensitive", "target"] * 2
        changes = [timed(lambda role=role: desk.post("/roles", **{f"role_{number}": role})) for role in turns]
        answers = [{"receiver": "named" if at % 2 else "secure", "by": "answers"} for at in range(5)]
        promised = [timed(lambda given=given: desk.post("/promise", **given)) for given in answers]
        found["change"] = max(median(changes), median(promised))
        if until == "station":
            return found
        desk.until("/table", lambda text: not _is_at_work(text))
        desk.post("/start/compare", at="compare")
        found["first point"] = desk.until("/compare", _point)
        found["frontier"] = found["first point"] + desk.until("/compare", lambda text: not _is_at_work(text))
        return found
    finally:
        desk.close()
        found["memory"] = desk.peak.most


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(_TARGETS))
    parser.add_argument("--until", choices=("table", "station", "frontier"), default="frontier")
    given = parser.parse_args()
    print("| table | figure | measured | wanted | ratio |\n| --- | --- | --- | --- | --- |")
    for name in given.tables:
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory() as folder:
            for figure, value in measured(name, Path(folder), given.until).items():
                wanted = WANTED.get(figure)
                beside = "| |" if wanted is None else f"| {wanted:g} | {value / wanted:.2f} |"
                print(f"| {name} (load {load:.1f}) | {figure} | {value:.2f} {beside}", flush=True)


if __name__ == "__main__":
    main()
