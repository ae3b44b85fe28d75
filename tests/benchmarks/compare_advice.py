"""The advice of `compare` from a sample, beside its advice from the whole table.

The ten tables of `kept_columns.py`, rfka and mondrian at k = 5, 10, 50. The sample is what a user gets: 20,000 rows, of
which models learn from 4,000 and are scored on 4,000. The whole is every row, for the releases and the models. The cost
of the advice is what the release that the sample advises has less than the one that the whole advises, both measured
on the whole.

Run it:  python tests/benchmarks/compare_advice.py [TABLE …]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pyarrow as pa
from kept_columns import TABLES, Table

from anonkit.comparing import train_test_halves
from anonkit.comparing.comparison import ROWS, compare

EVERY = 10**9


def advised(table: Table, rows: int, learned: int) -> tuple[str, dict[str, float], float]:
    """Return the label of the advised release, the AUC of every release, and processor seconds."""
    frame, labels = table
    source = pa.Table.from_pandas(frame.assign(label=np.where(labels, "yes", "no")), preserve_index=False)
    policy: dict[str, Any] = {"columns": {name: {"role": "quasi_identifier"} for name in frame.columns}}
    train_test_halves.LEARNED = learned
    begun = time.process_time()
    found = compare(source, target="label", methods=["rfka", "mondrian"], policy=policy, rows=rows)
    seconds = time.process_time() - begun
    scores = {point.label: point.auc for point in found.points if point.auc is not None}
    return found.advice[0]["label"], scores, seconds


def main() -> None:
    """Print one line a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    learned = train_test_halves.LEARNED
    print("| table | advised by the sample | by the whole | cost of the advice, AUC | CPU s, sample | whole |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in parser.parse_args().tables:
        table = TABLES[name]()
        by_sample, _, quick = advised(table, ROWS, learned)
        by_whole, scores, slow = advised(table, EVERY, EVERY)
        size = f"{len(table[0]):,} × {table[0].shape[1]}"
        cost = scores[by_whole] - scores[by_sample]
        print(f"| {name}, {size} | {by_sample} | {by_whole} | {cost:.4f} | {quick:.0f} | {slow:.0f} |", flush=True)


if __name__ == "__main__":
    main()
