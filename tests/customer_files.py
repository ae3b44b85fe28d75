"""Simulated customers in several Parquet files, as Spark and the local engine both read them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.datasets import bank_customers


def write_customers(folder: Path, n_rows: int, n_files: int) -> Path:
    """Write customers, categories as texts, to files of as many rows each; return their folder."""
    table = bank_customers(n_rows, seed=1)
    texts = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    table, each = pa.table(texts, names=table.column_names), n_rows // n_files
    for at in range(n_files):
        pq.write_table(table.slice(at * each, each), folder / f"{at}.parquet", row_group_size=100)
    return folder
