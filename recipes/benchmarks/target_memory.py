"""Peak memory of k-anonymous releases with 100,000 different target values; not run by the tests.

    python recipes/benchmarks/target_memory.py [METHOD ...]

Each release is a process of its own: once with numbers to predict, once with as many words, which methods that are
guided by the target refuse.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd

import anonkit
from anonkit.errors import AnonkitError

METHODS = ("mondrian", "datafly", "incognito", "greedy-hamdist", "rfka")
ROWS = 100_000


def table(kind: str) -> pd.DataFrame:
    """Return 100,000 rows, each with a target of its own."""
    random = np.random.default_rng(0)
    age, job = random.integers(18, 80, ROWS), random.choice(list("abcdefgh"), ROWS)
    pay = 100.0 * age + np.arange(ROWS) / ROWS
    target = pay if kind == "numbers" else [f"word {at}" for at in range(ROWS)]
    return pd.DataFrame({"age": age, "job": job, "place": random.integers(0, 50, ROWS), "pay": target})


def released(method: str, kind: str) -> None:
    """Release and print what it took."""
    started = time.perf_counter()
    try:
        anonkit.release(table(kind), method=method, k=10, target="pay", ledger=None)
        outcome = "released"
    except AnonkitError as error:
        outcome = f"refused: {error.message}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{method:15} {kind:8} {peak:5.2f} GB {time.perf_counter() - started:6.0f} s  {outcome}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[2] in ("numbers", "words"):
        released(sys.argv[1], sys.argv[2])
    else:
        for name in sys.argv[1:] or METHODS:
            for kind in ("numbers", "words"):
                subprocess.run([sys.executable, __file__, name, kind], check=True)
