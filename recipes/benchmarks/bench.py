"""Run the benchmark, write its page: `make bench`, or `python recipes/benchmarks/bench.py [--only NAME …] [--large]`.

Each part is a generator of records that runs in a process of its own, so that one that fails, hangs or is killed loses
no other, and what it had measured before is kept. A part leaves `RESULTS/NAME.json`; the page is made of all of them,
those of earlier runs too. The exit code is 1 when a part failed, else 0: a target that is missed is on the page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from benchmark_page import TABLES, Missing, Part, Record, page, parts_in

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
PEERS = Path(__file__).parent / "peers"
PARTS = {
    "k-rr": "measured_speed:k_rr",
    "ppnb-release": "measured_speed:ppnb_release",
    "consumer": "measured_speed:consumer",
    "rfka-time": "measured_speed:rfka_time",
    "selection": "measured_speed:selection",
    "class-sizes": "measured_speed:class_sizes",
    "tree-times": "measured_speed:tree_times",
    "tree-growth": "measured_speed:tree_growth",
    "release-times": "measured_speed:release_times",
    "start": "measured_speed:start",
    "counting": "measured_speed:counting",
    "k-anonymous": "measured_classes:k_anonymous",
    "held-out": "measured_classes:held_out",
    "published-rfka": "measured_classes:published_rfka",
    "other-tables": "measured_classes:other_tables",
    "dp-adult": "measured_noise:dp_adult",
    "dp-car": "measured_noise:dp_car",
    "dp-tables": "measured_noise:dp_tables",
    "dp-left-out": "left_out_tables:left_out",
    "dp-rows": "measured_noise:dp_rows",
    "dp-marginals": "measured_marginals:marginals",
    "dp-marginals-tables": "measured_marginals:marginals_tables",
    "randomized": "measured_noise:randomized",
    "bounds": "measured_noise:bounds",
    "attacks": "measured_noise:attacks",
}
"""The generator of each table that is measured: module and function."""
SIZES = ("quick", "full", "large")
MINUTES = {"quick": 10, "full": 30, "large": 90}
"""After which a part is ended; its records are kept."""
PEER_MINUTES = {"quick": 6, "full": 12, "large": 45}
"""After which a peer is ended, and named as missing."""
BASES = ("anonkit", "numpy", "pandas", "pyarrow", "duckdb", "scikit-learn")


_RUNNING: set[subprocess.Popen[bytes]] = set()
_INTERRUPTED = threading.Event()


@dataclass(frozen=True, kw_only=True)
class Given:
    """The input of a part."""

    size: str
    environments: Path
    """The folder of the environments of the peers."""
    data: Path
    """The public tables."""
    work: Path
    """A folder of the part's own."""

    def pick(self, quick: Any, full: Any, large: Any = None) -> Any:
        """Return the value for the size of this run."""
        return {"quick": quick, "full": full, "large": full if large is None else large}[self.size]

    def peer(self, name: str, job: str, **parameters: Any) -> list[dict[str, Any]] | Missing:
        """Return what a peer's script prints, one object a line; or why there is nothing."""
        environment = self.environments / name
        if not (environment / ".installed").exists():
            log = environment / "pip.log"
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
            said = [line for line in said if line.startswith("ERROR")] or said
            return Missing(
                what=name, reason=f"not installed ({_short(said[-1]) if said else 'make bench installs it'})"
            )
        command = [environment / "bin" / "python", "-W", "ignore", PEERS / name / "run.py", job, json.dumps(parameters)]
        minutes = PEER_MINUTES[self.size]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=60 * minutes, cwd=self.work
            )
        except subprocess.TimeoutExpired:
            return Missing(what=name, reason=f"not done after {minutes} minutes")
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if any(map(str.isalnum, line))] or ["no message"]
            return Missing(what=name, reason=f"does not run: {_short(said[-1].strip())}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def measure(name: str, given: Given) -> Iterator[Record | Missing]:
    """Run one part in this process."""
    module, _, function = PARTS[name].partition(":")
    yield from getattr(import_module(module), function)(given)


def run(name: str, size: str, environments: Path) -> Part:
    """Run one part in a process of its own, and return what it left."""
    begun, load, date = time.perf_counter(), os.getloadavg()[0], f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    failed = None
    with tempfile.TemporaryDirectory(prefix="anonkit-bench-") as folder:
        told = Path(folder) / "records.jsonl"
        log = Path(folder) / "stderr"
        command = [
            sys.executable, "-W", "ignore", __file__, "--part", name, "--into", told, "--size", size,
            "--environments", environments,
        ]  # fmt: skip
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(__file__).parent))),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles what it installs; a checkout compiles it once
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(command, stdout=errors, stderr=errors, env=environment, start_new_session=True)
            _RUNNING.add(process)
            try:
                if _INTERRUPTED.is_set():
                    raise SystemExit
                if process.wait(60 * MINUTES[size]):
                    failed = (log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["no message"])[
                        -1
                    ]
            except subprocess.TimeoutExpired:
                failed = f"not done after {MINUTES[size]} minutes"
            finally:
                _end(process)
                _RUNNING.discard(process)
        if failed is not None:
            print(log.read_text(encoding="utf-8", errors="replace")[-3000:], file=sys.stderr)
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    documents = [json.loads(line) for line in lines]
    missing = [Missing(**one["missing"]) for one in documents if "missing" in one]
    return Part(
        name=name,
        date=date,
        load=load,
        seconds=time.perf_counter() - begun,
        size=size,
        records=[Record(**one["record"]) for one in documents if "record" in one],
        missing=missing,
        versions={**_bases(), **_peers(environments)},
        machine=_machine(),
        failed=None if failed is None else _short(failed.replace(str(ROOT), "").replace(str(Path.home()), "~")),
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a part that still runs, and all that it has started: it is the first of a session of its own."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()


def _ended(number: int, frame: object) -> NoReturn:
    """End the parts that still run, those of other threads too; those that wait are not begun."""
    _INTERRUPTED.set()
    for process in list(_RUNNING):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whoever waits for it goes on
    raise SystemExit(128 + number)


def _bases() -> dict[str, str]:
    return {"Python": platform.python_version(), **{name: version(name) for name in BASES}}


def _peers(environments: Path) -> dict[str, str]:
    """Return the version of every peer that is installed, as its environment has it."""
    found = {}
    for folder in sorted(PEERS.iterdir()):
        if not (environments / folder.name / ".installed").exists():
            continue
        named = (folder / "requirements.txt").read_text(encoding="utf-8").split(">")[0].split("=")[0].strip()
        metadata = environments.joinpath(folder.name).glob(f"lib/*/site-packages/{named.replace('-', '?')}-*.dist-info")
        for one in metadata:
            found[named] = one.name.removesuffix(".dist-info").rpartition("-")[2]
    return found


def _machine() -> dict[str, str]:
    """Return what of this machine figures depend on, and nothing that names it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory:.0f} GB",
        "processor": platform.machine(),
        "system": platform.system(),
        "Python": platform.python_version(),
    }


def main(words: list[str] | None = None) -> int:
    """Run the parts, then write the page; or, for one part, write its records. Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these parts alone")
    parser.add_argument("--large", action="store_true", help="with what takes tens of minutes or Spark")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see whether it runs")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--environments", type=Path, default=ROOT / ".benchmarks")
    parser.add_argument("--results", type=Path, help="where parts leave their files (ENVIRONMENTS/results)")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks.md")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--size", choices=SIZES, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.list:
        print("\n".join(PARTS))
        return 0
    if given.part is not None:
        with (
            tempfile.TemporaryDirectory(prefix="anonkit-bench-") as work,
            given.into.open("a", encoding="utf-8") as file,
        ):
            told = Given(size=given.size, environments=given.environments.resolve(), data=DATA, work=Path(work))
            for one in measure(given.part, told):
                file.write(json.dumps({"record" if isinstance(one, Record) else "missing": asdict(one)}) + "\n")
                file.flush()
        return 0
    unknown = set(given.only) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for number in (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ():
        signal.signal(number, _ended)
    results = given.results or given.environments / "results"
    results.mkdir(parents=True, exist_ok=True)
    size = "large" if given.large else "quick" if given.quick else "full"
    failed = []
    for part in _all(given.only or list(PARTS), size, given.environments.resolve()):
        aside = results / f".{part.name}.json"
        aside.write_text(part.to_json(), encoding="utf-8")
        aside.replace(results / f"{part.name}.json")
        earlier = given.page.read_text(encoding="utf-8") if given.page.exists() else ""
        given.page.write_text(page(parts_in(results), earlier), encoding="utf-8")
        missed = sum(one.met is False for one in part.records)
        outcome = "FAILED: " + part.failed if part.failed else f"{len(part.records)} lines, {missed} missed"
        print(f"{part.name:16} {part.seconds:6.0f} s  {outcome}", flush=True)
        failed += [part.name] if part.failed else []
    print(f"wrote {given.page}")
    return 1 if failed else 0


def _all(names: list[str], size: str, environments: Path) -> Iterator[Part]:
    """Run the parts whose figures are times one after the other, then the others, two at a time."""
    timed = [name for name in names if PARTS[name].startswith("measured_speed")]
    for name in timed:
        yield run(name, size, environments)
    with ThreadPoolExecutor(min(2, len(os.sched_getaffinity(0)))) as pool:
        waiting = [pool.submit(run, name, size, environments) for name in names if name not in timed]
        for one in as_completed(waiting):
            yield one.result()


assert {table.name for table in TABLES if table.left_out is None} == set(PARTS), "every table has its part"

if __name__ == "__main__":
    sys.exit(main())
