"""The table of means beside intervals on docs/how-to/learn-from-a-k-anonymous-release.md: six tables, k = 5 and 20.

`python recipes/benchmarks/means_beside_intervals.py` prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

import anonkit
from anonkit.datasets.simulated_tables import simulated_table

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
_FEW = 12
"""Different numbers from which on a column of integers is released as a number."""


def tables() -> Iterator[tuple[str, pa.Table, str]]:
    """Yield each table with its name and target."""
    for name, file in (("Adult, training rows", "adult_train.csv.gz"), ("Adult, test rows", "adult_test.csv")):
        yield name, csv.read_csv(DATA / file).drop_columns(["fnlwgt"]), "income"
    yield "breast cancer", _cancer(), "Class"
    yield "simulated customers", simulated_table("customers", 10_000, 1).drop_columns(["customer_id"]), "customer_value"
    yield "simulated respondents", _whole(simulated_table("respondents", 10_000, 1)), "health"
    yield "simulated visits", _whole(simulated_table("visits", 10_000, 1)), "readmitted"


def _cancer() -> pa.Table:
    text = csv.ConvertOptions(null_values=["?"])
    return csv.read_csv(DATA / "breast_cancer_wisconsin.csv", convert_options=text).drop_columns(["Sample_code_number"])


def _whole(table: pa.Table) -> pa.Table:
    """Return the columns of numbers and of short texts."""
    kept = [
        name
        for name in table.column_names
        if pa.types.is_integer(table.schema.field(name).type)
        or pa.types.is_floating(table.schema.field(name).type)
        or pc.count_distinct(table[name]).as_py() <= _FEW
    ]
    return table.select(kept)


def policy_of(table: pa.Table, target: str) -> dict[str, Any]:
    """Return a policy that declares the ends of each column of numbers."""
    columns: dict[str, Any] = {target: {"role": "target"}}
    for name in table.column_names:
        kind = table.schema.field(name).type
        if name != target and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            ends = pc.min_max(table[name]).as_py()
            columns[name] = {"role": "quasi_identifier", "bounds": [ends["min"], ends["max"]], "missing": "drop"}
        elif name != target:
            columns[name] = {"role": "quasi_identifier"}
    return {"columns": columns, "unit": "none"}


def line(name: str, table: pa.Table, target: str, k: int) -> str:
    """Return one line of the table."""
    release = anonkit.release(
        table, method="mondrian", k=k, policy=policy_of(table, target), ledger=None, cells="means", utility=False
    )
    owner, counts = release.owner, release.report["means"]["columns"]
    found = owner["number_distances"]
    pairs = [
        " → ".join(f"{found[what].get(key, 0):.3f}" for what in ("middles", "means"))
        for key in ("il1s_per_cell", "eigenvalues", "correlations")
    ]
    shown = sum(each["classes"] for each in counts.values())
    rules = {
        rule: sum(each[rule] for each in owner["means"].values()) for rule in ("p_percent", "dominance", "near_end")
    }
    told = [f"{count / shown:.1%}".replace("%", " %") for count in rules.values()]
    return f"| {name} ({table.num_rows:,}) | {k} | {found['means']['columns']} | {' | '.join((*pairs, *told))} |"


if __name__ == "__main__":
    asked = sys.argv[1:]
    print("| table (rows) | k | numbers | IL1s a cell | eigenvalues | correlations | p-% | dominance | near an end |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, rows, of in tables():
        for size in (5, 20):
            if not asked or any(word in title for word in asked):
                print(line(title, rows, of, size), flush=True)
