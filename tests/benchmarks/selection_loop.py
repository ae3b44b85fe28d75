"""The selection loop (without the forest) on 5 M rows x 8 columns against one DuckDB group-by of all eight, one run.

Run it:  python tests/benchmarks/selection_loop.py [--rows 5000000]
"""

from __future__ import annotations

import argparse
import resource
import time

import duckdb
import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import AtLeastK
from anonkit.k_anonymity.search.features import column_features
from anonkit.k_anonymity.search.greedy_selection import select_features

SIZES = (74, 9, 16, 7, 15, 5, 2, 42)
"""Distinct values of Adult's usual eight quasi-identifiers."""


def columns(n_rows: int) -> list[CodedColumn]:
    """Return eight skewed columns."""
    rng = np.random.default_rng(0)
    out = []
    for at, size in enumerate(SIZES):
        shares = 1 / np.arange(1, size + 1)
        codes = rng.choice(size, n_rows, p=shares / shares.sum()).astype(np.int32)
        out.append(CodedColumn(name=f"q{at}", codes=codes, values=[str(v) for v in range(size)], ordered=False))
    return out


def main() -> None:
    """Print both times, their ratio, and the peak memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    coded = columns(given.rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = pa.table({column.name: column.codes for column in coded})
    names = ", ".join(table.column_names)
    features = column_features(coded)
    ratios = []
    for _ in range(given.rounds):
        begun = time.perf_counter()
        selection = select_features(coded, features, [AtLeastK(10)], given.rows // 100)
        ours = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connection = duckdb.connect()
        connection.register("t", table)
        begun = time.perf_counter()
        classes = connection.execute(f"SELECT count(*) FROM (SELECT count(*) FROM t GROUP BY {names})").fetchone()
        group_by = time.perf_counter() - begun
        connection.close()
        ratios.append(ours / group_by)
        print(
            f"selection {ours:.2f} s (kept {len(selection.kept)} of 8), group-by {group_by:.2f} s "
            f"({classes[0]:,} classes), ratio {ratios[-1]:.2f}, "
            f"memory above the codes {(after - before) / 1024:.0f} MB",
            flush=True,
        )
    print(f"median ratio {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
