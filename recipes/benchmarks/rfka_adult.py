"""Time of the whole `rfka` command on Adult against fitting scikit-learn's forest on the same codes, one run.

Run it:  python recipes/benchmarks/rfka_adult.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv.gz"


@dataclass(frozen=True)
class Taken:
    """The cost of a job: seconds by the clock, and of all processors, those of its threads and children among them."""

    clock: float
    processor: float


@contextmanager
def timed() -> Iterator[list[Taken]]:
    """Measure what is done inside; on a shared machine seconds of the processor are steadier than the clock."""
    taken: list[Taken] = []
    clock, before = time.perf_counter(), os.times()
    yield taken
    after = os.times()
    taken.append(Taken(clock=time.perf_counter() - clock, processor=sum(after[:4]) - sum(before[:4])))


def command(output: Path, *more: str, method: str = "rfka", source: Path = ADULT) -> Taken:
    """Return what one release takes, process start included."""
    words = ["release", "--method", method, "--k", "10", "--quiet", "--no-ledger", *more, source, output]
    with timed() as taken:
        done = subprocess.run([sys.executable, "-m", "anonkit", *words], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ChildProcessError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return taken[0]


def baseline() -> Taken:
    """Return what the reference fit takes."""
    frame = pd.read_csv(ADULT, keep_default_na=False)
    codes = np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in frame.columns[:-1]])
    labels = pd.factorize(frame["income"])[0]
    with timed() as taken:
        RandomForestClassifier(1000, oob_score=True, n_jobs=-1).fit(codes, labels)
    return taken[0]


def main() -> None:
    """Print the ratio of every round; the machine is shared, so both are timed in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    ratios = []
    for _ in range(parser.parse_args().rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours = command(Path(folder) / "out.parquet")
        fit = baseline()
        ratios.append((ours.clock / fit.clock, ours.processor / fit.processor))
        print(
            f"release {ours.clock:.1f} s, {ours.processor:.1f} CPU s; reference fit {fit.clock:.1f} s, "
            f"{fit.processor:.1f} CPU s; ratios {ratios[-1][0]:.2f}, {ratios[-1][1]:.2f}",
            flush=True,
        )
    print(f"median ratios {np.median(ratios, axis=0).round(2).tolist()}")


if __name__ == "__main__":
    main()
