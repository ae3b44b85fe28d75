"""Wall time of the whole `rfka` command on Adult against fitting scikit-learn's forest on the same codes, one run.

Run it:  python tests/benchmarks/rfka_adult.py [--rounds 3]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv.gz"


def command(output: Path, *more: str) -> float:
    """Return the seconds one release takes, process start included."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "anonkit", "release", "--method", "rfka", "--k", "10", "--quiet", *more, ADULT, output],
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begun


def baseline() -> float:
    """Return the seconds of the reference fit."""
    frame = pd.read_csv(ADULT, keep_default_na=False)
    codes = np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in frame.columns[:-1]])
    labels = pd.factorize(frame["income"])[0]
    begun = time.perf_counter()
    RandomForestClassifier(1000, oob_score=True, n_jobs=-1).fit(codes, labels)
    return time.perf_counter() - begun


def main() -> None:
    """Print the ratio of every round; the machine is shared, so both are timed in turn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    ratios = []
    for _ in range(parser.parse_args().rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours = command(Path(folder) / "out.parquet")
        reference = baseline()
        ratios.append(ours / reference)
        print(f"release {ours:.1f} s, reference fit {reference:.1f} s, ratio {ratios[-1]:.2f}", flush=True)
    print(f"median ratio {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
