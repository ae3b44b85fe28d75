"""Files that pages take for granted: simulated customers, and small tables of people."""

from __future__ import annotations

import csv
import random
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from pages.blocks import REPOSITORY
from pages.page import Maker

from anonkit.datasets import bank_customers, bank_customers_policy_toml, hospital_patients, hospital_visits
from anonkit.policy.column_declarations import Role

Column = Callable[[random.Random, int], object]
"""A cell, from a generator and the number of the row."""


def customers(rows: int = 400, seed: int = 1, *, customer_id: bool = False) -> Maker:
    """Return who writes simulated bank customers, as CSV, Parquet or whatever the name says."""

    def make(path: Path) -> None:
        _write(path, _customers(rows, seed, customer_id))

    return make


def first_customers(rows: int, of: int) -> Maker:
    """Return who writes the first of some simulated bank customers: a sample of those that `customers(of)` writes."""
    return lambda path: _write(path, _customers(of, 1, False).slice(0, rows))


@cache
def _customers(rows: int, seed: int, customer_id: bool) -> pa.Table:
    table = bank_customers(rows, seed=seed, customer_id=customer_id)
    plain = [one.cast(pa.string()) if pa.types.is_dictionary(one.type) else one for one in table.columns]
    return pa.table(plain, names=table.column_names)


def untargeted_policy(path: Path) -> None:
    """Write the policy of the simulated customers with no column as the target."""
    text = bank_customers_policy_toml(customer_id=None)
    path.write_text(text.replace('role = "target"', 'role = "sensitive"'), encoding="utf-8")


def customers_policy(*, target: str = "customer_value", customer_id: bool = False) -> Maker:
    """Return who writes the policy of the simulated customers, with one of its columns as the target."""

    def make(path: Path) -> None:
        text = bank_customers_policy_toml(customer_id=Role.IDENTIFIER if customer_id else None)
        text = text.replace('role = "target"', 'role = "quasi_identifier"')
        text = re.sub(rf'^({target} *= {{ role = )"\w+"', r'\1"target"', text, flags=re.MULTILINE)
        assert text.count('role = "target"') == 1, target
        path.write_text(text, encoding="utf-8")

    return make


def patients(people: int = 300) -> Maker:
    """Return who writes simulated patients."""
    return lambda path: _write(path, hospital_patients(people, seed=1))


def visits(people: int = 300) -> Maker:
    """Return who writes the visits of simulated patients."""
    return lambda path: _write(path, hospital_visits(people, seed=1))


def _write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".xlsx":
        table.to_pandas().to_excel(path, index=False)
    else:
        pyarrow.csv.write_csv(table, path)


def table(rows: int, **columns: Column) -> Maker:
    """Return who writes so many rows, the same each time, as CSV or Parquet."""

    def make(path: Path) -> None:
        draw = random.Random(1)
        made = [{name: cell(draw, at) for name, cell in columns.items()} for at in range(rows)]
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(made), path)
            return
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns))
            writer.writeheader()
            writer.writerows(made)

    return make


def one_of(*words: object) -> Column:
    """Return a column of these words, as often."""
    return lambda draw, at: draw.choice(words)


def whole(low: int, high: int) -> Column:
    """Return a column of integers."""
    return lambda draw, at: draw.randint(low, high)


def person(rows_each: int = 1) -> Column:
    """Return a column that says whose a row is."""
    return lambda draw, at: f"p{at // rows_each:05d}"


def text(content: str) -> Maker:
    """Return who writes a text."""
    return lambda path: path.write_text(content, encoding="utf-8")


def clone(*names: str) -> Maker:
    """Return who copies files and folders of the repository, as a clone has them."""

    def make(path: Path) -> None:
        for name in names:
            target = path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / name).is_dir():
                shutil.copytree(REPOSITORY / name, target, ignore=shutil.ignore_patterns("__pycache__", "out*"))
            else:
                shutil.copy(REPOSITORY / name, target)

    return make
