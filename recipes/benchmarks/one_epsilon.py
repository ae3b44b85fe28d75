"""The ladder of methods at one total epsilon: what a model keeps when a person's whole row is protected by it.

`python recipes/benchmarks/one_epsilon.py [--rows 10000] [--seeds 5] [--methods rr]` releases simulated customers by
each method, the label under the same epsilon, reconstructs the model from the release alone, and prints its accuracy on
5,000 other rows, mean and standard deviation over the seeds: the table of docs/how-to/choose-epsilon.md. Each seed is
another draw of the noise and other customers.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory

import anonkit
from anonkit.consumers.learning_power import NothingLearnedWarning
from anonkit.datasets import bank_customers, bank_customers_policy

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
METHODS = ("dp-forest", "dp-nb", "dp-tree", "edprf", "diffprfs", "c45-arithmetic", "rr")


def accuracy(method: str, epsilon: float, rows: int, seed: int) -> float:
    """Release, reconstruct, and score on rows that no release has seen."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingLearnedWarning)
        out = Path(folder) / "out.parquet"
        anonkit.release(
            bank_customers(rows, seed=100 + seed),
            method=method, epsilon=epsilon, policy=bank_customers_policy(), ledger=None, output=out, seed=seed,
        )  # fmt: skip
        return float(anonkit.reconstruct(out, test=bank_customers(5_000, seed=2)).scores.accuracy)


def main() -> None:
    """Print the table as Markdown."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--rows", type=int, default=10_000)
    given.add_argument("--seeds", type=int, default=5)
    given.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    asked = given.parse_args()
    print(f"| epsilon of a row | {' | '.join(f'`{method}`' for method in asked.methods)} |")
    print(f"| --- |{' --- |' * len(asked.methods)}")
    for epsilon in EPSILONS:
        cells = []
        for method in asked.methods:
            found = [accuracy(method, epsilon, asked.rows, seed) for seed in range(asked.seeds)]
            spread = f" ({stdev(found):.3f})".replace("0.", ".") if len(found) > 1 else ""
            cells.append(f"{mean(found):.3f}".lstrip("0") + spread)
        print(f"| {epsilon:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
