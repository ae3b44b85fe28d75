"""Speed of two trees of the project in one run, as ratios: is a redesign as fast as the old design?

Run it:  python recipes/benchmarks/before_after.py OLD NEW [--rows 100000] [--rounds 3] [--csv-rows 1000000]
OLD and NEW are checkouts (`git worktree add ../old COMMIT`). Each has a process of its own that lives through the run;
every task is done by both in turn, now the one first, now the other, and the best of all rounds counts: a machine that
is busy for a while is busy for both. The same checkout given twice shows how far two equal trees lie apart.

Tasks: releases of simulated customers, Parquet to Parquet, by each method; `validate` of each release; `apply` of the
k-anonymous recodings; `import anonkit` and `anonkit --help` in fresh processes; with `--csv-rows` a ppnb release of a
CSV file of so many rows. Releases are seeded, so that both trees do the same work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"k": 10},
    "mondrian": {"k": 10},
    "rr": {"epsilon": 4.0},
    "ppnb": {"p_keep": 0.5},
    "dp-forest": {"epsilon": 1.0},
    "dp-nb": {"epsilon": 1.0},
    "diffprfs": {"epsilon": 1.0, "trees": 5, "depth": 3},
}
RECODING = ("rfka", "mondrian")
"""Methods whose recoding can be applied to the next batch."""


# --- the process of one tree -----------------------------------------------------------------------------------------


def _tasks(folder: Path, inputs: Path) -> dict[str, Callable[[], Any]]:
    """Return what is timed in a process that has imported the package, by name."""
    import anonkit

    policy = anonkit.Policy.load(inputs / "policy.toml")
    table, text = inputs / "customers.parquet", inputs / "customers.csv"

    def release(source: Path, method: str, name: str) -> Callable[[], Any]:
        output = folder / f"{name}.parquet"
        return lambda: anonkit.release(
            source, method=method, policy=policy, output=output, seed=1, ledger=None, force=True, **METHODS[method]
        )

    tasks: dict[str, Callable[[], Any]] = {}
    for method in METHODS:
        tasks[f"release {method}"] = release(table, method, method)
        tasks[f"validate {method}"] = lambda method=method: anonkit.validate(folder / f"{method}.parquet")
        if method in RECODING:
            tasks[f"apply {method}"] = lambda method=method: anonkit.apply(
                folder / f"{method}.params.json", table, output=folder / "next.parquet", seed=1, ledger=None, force=True
            )
    if text.exists():
        tasks["release ppnb, CSV"] = release(text, "ppnb", "text")
    return tasks


def _work(tree: Path, folder: Path, inputs: Path) -> None:
    """Do the tasks that are read from standard input, one a line; answer with the seconds of clock and processor."""
    sys.path.insert(0, str(tree))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a task prints is no answer
    import anonkit

    if not Path(str(anonkit.__file__)).resolve().is_relative_to(tree.resolve()):
        raise RuntimeError("the package of another tree was imported")
    tasks = _tasks(folder, inputs)
    print(json.dumps(list(tasks)), file=answers, flush=True)
    for line in sys.stdin:
        clock, processor = time.perf_counter(), time.process_time()
        tasks[line.strip()]()
        took = (time.perf_counter() - clock, time.process_time() - processor)
        print(json.dumps(took), file=answers, flush=True)


class Tree:
    """One checkout and the process that works for it."""

    def __init__(self, path: Path, folder: Path, inputs: Path) -> None:
        self.path = path
        folder.mkdir()
        command = [sys.executable, "-W", "ignore", __file__, "--work", str(path), str(folder), str(inputs)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder)
        self.tasks: list[str] = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def seconds(self, task: str) -> tuple[float, float]:
        """Do a task; return its seconds by the clock and of the processor."""
        if task in FRESH:
            return _fresh(self.path, FRESH[task])
        assert self._process.stdin is not None
        print(task, file=self._process.stdin, flush=True)
        clock, processor = self._answer()
        return clock, processor

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.path} has ended: its error stands above")
        return json.loads(line)


FRESH = {"import anonkit": ("-c", "import anonkit"), "anonkit --help": ("-m", "anonkit", "--help")}
"""The commands that are timed, each in a fresh process."""


def _fresh(tree: Path, arguments: tuple[str, ...]) -> tuple[float, float]:
    before, clock = os.times(), time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    subprocess.run([sys.executable, *arguments], env=environment, cwd=tree, capture_output=True, check=True)
    took, after = time.perf_counter() - clock, os.times()
    return took, after.children_user + after.children_system - before.children_user - before.children_system


# --- the run ---------------------------------------------------------------------------------------------------------


def _inputs(tree: Path, folder: Path, rows: int, csv_rows: int) -> None:
    """Write the tables and their policy, by the simulation of one of the trees."""
    code = (
        "import sys, pyarrow.parquet as pq, pyarrow.csv as pc; from anonkit import datasets; from pathlib import Path\n"
        "folder, rows, csv_rows = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])\n"
        "pq.write_table(datasets.bank_customers(rows, 1), folder / 'customers.parquet')\n"
        "(folder / 'policy.toml').write_text(datasets.bank_customers_policy_toml(), encoding='utf-8')\n"
        "if csv_rows: pc.write_csv(datasets.bank_customers(csv_rows, 2), folder / 'customers.csv')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", code, str(folder), str(rows), str(csv_rows)]
    subprocess.run(command, env=environment, cwd=folder, check=True)


def rounds(old: Tree, new: Tree, n_rounds: int, only: str) -> Iterator[tuple[str, list[tuple[float, ...]]]]:
    """Yield for each task, round by round, the seconds by the clock and of the processor: old, new, old, new."""
    for task in [task for task in (*FRESH, *new.tasks) if only in task]:
        took = []
        for at in range(n_rounds * (5 if task in FRESH else 1)):
            pair = (old, new) if at % 2 == 0 else (new, old)
            seconds = {id(tree): tree.seconds(task) for tree in pair}
            took.append((*seconds[id(old)], *seconds[id(new)]))
        yield task, took


def main() -> None:
    """Measure two trees and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the simulated table")
    parser.add_argument("--rounds", type=int, default=3, help="how often each task is done by each tree")
    parser.add_argument("--csv-rows", type=int, default=0, help="also a ppnb release of a CSV file of so many rows")
    parser.add_argument("--only", default="", help="tasks with this in their name; validate and apply need the release")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = folder / "inputs"
        inputs.mkdir()
        _inputs(asked.new.resolve(), inputs, asked.rows, asked.csv_rows)
        with (
            Tree(asked.old.resolve(), folder / "old", inputs) as old,
            Tree(asked.new.resolve(), folder / "new", inputs) as new,
        ):
            print(f"{asked.rows} rows, best of {asked.rounds}; seconds of the clock; ratios new / old, all rounds' too")
            print(f"{'':24s} {'old':>8s} {'new':>8s} {'ratio':>7s} {'processor':>10s}   ratios of the rounds")
            for task, took in rounds(old, new, asked.rounds, asked.only):
                best = [min(column) for column in zip(*took, strict=True)]
                each = " ".join(f"{one[2] / one[0]:.2f}" for one in took[:10])
                ratios = f"{best[2] / best[0]:7.2f} {best[3] / best[1]:10.2f}"
                print(f"{task:24s} {best[0]:8.3f} {best[2]:8.3f} {ratios}   {each}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        _work(*map(Path, sys.argv[2:5]))
    else:
        main()
