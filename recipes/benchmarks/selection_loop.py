"""The selection loop (without the forest) on 5 M rows x 8 columns against one DuckDB group-by of all eight, one run.

Run it:  python recipes/benchmarks/selection_loop.py [--rows 5000000]
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import AtLeastK
from anonkit.k_anonymity.search.greedy_selection import column_features, select_features

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


def rounds(n_rows: int, n_rounds: int) -> Iterator[dict[str, float]]:
    """Yield the seconds of both, and the memory of ours above its codes in MB, a round at a time."""
    coded = columns(n_rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = pa.table({column.name: column.codes for column in coded})
    names = ", ".join(table.column_names)
    features = column_features(coded)
    for _ in range(n_rounds):
        begun = time.perf_counter()
        selection = select_features(coded, features, [AtLeastK(10)], n_rows // 100)
        ours = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connection = duckdb.connect()
        connection.register("t", table)
        begun = time.perf_counter()
        classes = connection.execute(f"SELECT count(*) FROM (SELECT count(*) FROM t GROUP BY {names})").fetchone()
        group_by = time.perf_counter() - begun
        connection.close()
        yield {
            "selection": ours, "kept": len(selection.kept_features), "group_by": group_by, "classes": classes[0],
            "megabytes": (after - before) / 1024,
        }  # fmt: skip


def main() -> None:
    """Print both times, their ratio, and the peak memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ratios = []
    for one in rounds(given.rows, given.rounds):
        ratios.append(one["selection"] / one["group_by"])
        print(
            f"selection {one['selection']:.2f} s (kept {one['kept']} of 8), group-by {one['group_by']:.2f} s "
            f"({one['classes']:,} classes), ratio {ratios[-1]:.2f}, memory above the codes {one['megabytes']:.0f} MB",
            flush=True,
        )
    print(f"median ratio {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
