"""Coverage and width of the published intervals of the means of columns.

Run it:  python recipes/benchmarks/mean_coverage.py [--releases 10] [--epsilons .1 1 3] [--tables adult trips]

A line is a table, a method and an epsilon: the share of intervals that hold the mean of the table clamped to its bounds
(all columns of numbers of all releases), the median width in standard deviations, the share of columns of which the
report says that the rows carry the mean, and of these the share in which the mean of the rows is within half a
standard deviation. The last line counts all of them.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
from plausibility import TABLES, Table

import anonkit

METHODS = ("dp-marginals", "dp-forest")


def found(table: Table, method: str, epsilon: float, releases: int) -> list[tuple[bool, float, bool, bool]]:
    """Return for each column of each release: held, width, said to be carried, mean of the rows is near."""
    out = []
    for seed in range(releases):
        source = table.rows.sample(frac=2 / 3, random_state=seed)
        release = anonkit.release(
            source, method=method, policy=table.policy(plain=bool(seed % 2)), epsilon=epsilon, seed=seed, ledger=None
        )
        rows = release.to_arrow().to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
        for column in release.report["columns"]:
            if "mean" in column:
                name, mean = column["name"], column["mean"]
                numbers = source[name].dropna().clip(*table.columns[name]["bounds"])
                spread = float(numbers.std())
                of_rows = rows[name].mean()  # none where noise left no row with a number
                near = bool(pd.notna(of_rows)) and abs(float(of_rows) - numbers.mean()) <= spread / 2
                held = mean["low"] <= numbers.mean() <= mean["high"]
                out.append((bool(held), (mean["high"] - mean["low"]) / spread, mean["of_the_rows"], bool(near)))
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1, 3])
    parser.add_argument("--tables", nargs="+", default=[*TABLES], choices=[*TABLES])
    asked = parser.parse_args()
    print("| table | method | ε | intervals that hold | width | rows carry it | and are near |\n" + "| --- " * 7 + "|")
    every = []
    for name, method, epsilon in itertools.product(asked.tables, METHODS, asked.epsilons):
        one = found(TABLES[name](), method, epsilon, asked.releases)
        every += one
        carried = [near for _, _, said, near in one if said]
        held, width = sum(each[0] for each in one), np.median([each[1] for each in one])
        near = f"{sum(carried)} of {len(carried)}"
        print(
            f"| {name} | {method} | {epsilon:g} | {held} of {len(one)} | {width:.2f} | {len(carried)} | {near} |",
            flush=True,
        )
    print(f"all: {sum(each[0] for each in every)} of {len(every)}")


if __name__ == "__main__":
    main()
