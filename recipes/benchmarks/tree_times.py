"""Processor seconds of trees: fit + predict beside scikit-learn and diffprivlib in one run, growth with the table.

* `peers`: Adult, 32,561 rows to fit and 16,281 to predict, imports apart, the least of some repeats. Ours start from
  the table as it was read and end with probabilities; the peers get their numbers made beforehand, which favours them.
  diffprivlib needs a scikit-learn older than ours: it runs under the interpreter given with `--peer`, on one core too.
* `growth`: one tree of depth 5 on 10,000 to 10 million rows, and on 14 to 112 attributes.

Run it:  python recipes/benchmarks/tree_times.py [--peer other/bin/python] [--only growth]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from published_trees import BOUNDS, ENGINE, Bench, Task, adult  # type: ignore[import-not-found]
from sklearn.ensemble import RandomForestClassifier

from anonkit.consumers import Forest
from anonkit.methods.dp_forest import DPForest
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness

PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "edprf, 25 trees, 5 splits": ("edprf", {"trees": 25, "depth": 6}),
    "diffprfs, 25 trees, depth 5": ("diffprfs", {"trees": 25, "depth": 5}),
    "diffprf, 25 trees, depth 5": ("diffprf", {"trees": 25, "depth": 5}),
    "c45-arithmetic, depth 5": ("c45-arithmetic", {"depth": 5}),
    "sulq-id3, depth 5": ("sulq-id3", {"depth": 5, "stop": "depth"}),
    "diffp-id3, depth 5": ("diffp-id3", {"depth": 5, "stop": "depth"}),
    "diffp-c45, depth 5": ("diffp-c45", {"depth": 5, "stop": "depth"}),
    "diffgen, 6 steps": ("diffgen", {"steps": 6}),
    "dt-diff, 6 steps": ("dt-diff", {"steps": 6}),
}
SIZES = ((25, 5), (10, 5), (25, 12))
"""Trees and depths of the peers."""

PEER = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.models import RandomForestClassifier
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
bounds = (data["low"], data["high"])
found = {}
for trees, depth in json.loads(sys.argv[2]):
    best = float("inf")
    for _ in range(int(sys.argv[3])):
        start = time.process_time()
        model = RandomForestClassifier(trees, epsilon=1.0, bounds=bounds, classes=[0, 1], max_depth=depth, n_jobs=1)
        model.fit(data["train"], data["labels"]).predict_proba(data["test"])
        best = min(best, time.process_time() - start)
    found[f"{trees} trees, depth {depth}"] = best
print(json.dumps(found))
"""


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Return the least processor time of some repeats."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def default_forest(task: Task) -> Any:
    """Release by dp-forest, params and rows in memory, and predict the test table by the model."""
    source = ENGINE.scan(task.train, task.policy)
    draft = DPForest(epsilon=1.0).release(source, task.policy, engine=ENGINE, rng=Randomness.secure())
    return Forest(draft.params).fit().predict_proba(task.test)


def numbers(task: Task) -> dict[str, np.ndarray]:
    """Return what the peers are given: numbers as they are, categories as codes, and their public bounds."""
    names = [name for name in task.train.column_names if name != task.target]
    columns = [task.policy.column(name) for name in names]

    def matrix(table: pa.Table) -> np.ndarray:
        out = []
        for name, column in zip(names, columns, strict=True):
            cells = table.column(name).to_pylist()
            code = {value: at for at, value in enumerate(column.categories or ())}
            out.append([float(cell) if name in BOUNDS else code.get(str(cell), len(code)) for cell in cells])
        return np.array(out, dtype=np.float64).T

    low = [0.0 if one.bounds is None else one.bounds[0] for one in columns]
    high = [float(len(one.categories or ())) if one.bounds is None else one.bounds[1] for one in columns]
    labels = np.array(task.train.column(task.target).to_pylist()) == ">50K"
    return {
        "train": matrix(task.train),
        "test": matrix(task.test),
        "labels": labels.astype(np.int64),
        "low": np.array(low),
        "high": np.array(high),
    }


def of_peer(interpreter: str | None, data: dict[str, np.ndarray], repeats: int) -> dict[str, float] | str:
    """Return diffprivlib's times, or why there are none."""
    if interpreter is None:
        return "no interpreter was given (--peer)"
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "adult.npz", **data)  # type: ignore[arg-type]
        words = [interpreter, "-c", PEER, str(Path(folder) / "adult.npz"), json.dumps(SIZES), str(repeats)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return "it does not run there: " + (done.stderr.strip().splitlines() or ["no message"])[-1]
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def peers(interpreter: str | None, repeats: int) -> None:
    """Fit + predict on Adult: ours, scikit-learn's, diffprivlib's."""
    task = adult()
    data = numbers(task)
    taken = {}
    for trees, depth in SIZES:
        model = RandomForestClassifier(trees, max_depth=depth, n_jobs=1, random_state=0)
        taken[f"scikit-learn, {trees} trees, depth {depth}"] = seconds(
            lambda m=model: m.fit(data["train"], data["labels"]).predict_proba(data["test"]),  # type: ignore[misc]
            repeats,
        )
    unit = taken["scikit-learn, 25 trees, depth 5"]
    theirs = of_peer(interpreter, data, repeats)
    if not isinstance(theirs, str):
        taken |= {f"diffprivlib, {name}": took for name, took in theirs.items()}
    taken["dp-forest, rows drawn too"] = seconds(lambda: default_forest(task), repeats)
    for name, (method, more) in PRESETS.items():
        work = lambda m=method, x=more: Bench(task).forest(m, epsilon=1.0, **x).predict_proba(task.test)  # noqa: E731
        taken[name] = seconds(work, repeats)
    for name, took in taken.items():
        print(f"{name:40} {took:7.3f} CPU s  {took / unit:6.2f} x scikit-learn's 25 trees of depth 5", flush=True)
    if isinstance(theirs, str):
        print(f"diffprivlib is ABSENT from this run: {theirs}", flush=True)


def one_tree(task: Task) -> float:
    """Return the seconds of one tree, coding included."""
    bench = Bench(task)
    return seconds(lambda: bench.forest("diffp-c45", epsilon=1.0, depth=5, stop="depth"), 1)


def growth(most_rows: int) -> None:
    """One tree of depth 5 against rows, then against attributes."""
    task = adult()
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        if n > most_rows:
            continue
        rows = pa.concat_tables([task.train] * (n // task.train.num_rows + 1)).slice(0, n)
        took = one_tree(replace(task, train=rows))
        print(f"{n:>10} rows: {took:8.2f} CPU s, {took / n * 1e6:.2f} a million rows", flush=True)
    names = [name for name in task.train.column_names if name != task.target]
    for times in (1, 2, 4, 8):
        columns = {f"{name} {at}": task.train.column(name) for at in range(times) for name in names}
        policy = {
            f"{name} {at}": replace(task.policy.column(name), name=f"{name} {at}")
            for at in range(times)
            for name in names
        }
        target = {task.target: task.policy.column(task.target)}
        wide = pa.table({**columns, task.target: task.train.column(task.target)})
        took = one_tree(replace(task, train=wide, policy=Policy(columns={**policy, **target})))
        print(f"{times * len(names):>10} attributes: {took:.2f} CPU s, {took / times:.2f} for each 14", flush=True)


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peer", help="a Python that has diffprivlib and the scikit-learn it works with")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most-rows", type=int, default=10_000_000)
    parser.add_argument("--only", choices=("peers", "growth"))
    given = parser.parse_args()
    if given.only in (None, "peers"):
        peers(given.peer, given.repeats)
    if given.only in (None, "growth"):
        growth(given.most_rows)


if __name__ == "__main__":
    main()
