"""Tables of simulated people, and whoever sits at a desk about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from desk.visitor import Visitor
from pyarrow import csv

from anonkit.datasets.bank_card_customers import bank_customers, bank_customers_policy_toml
from anonkit.desk.release_desk import Desk
from anonkit.policy.column_declarations import Role

MARKER = "MARKER-of-one-person"


def customers(rows: int) -> pa.Table:
    """Return simulated customers, with a cell that one of them alone has."""
    table = bank_customers(rows, seed=3, customer_id=True)
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    jobs = columns[table.column_names.index("occupation")].to_pylist()
    jobs[7] = MARKER
    columns[table.column_names.index("occupation")] = pa.array(jobs)
    return pa.table(columns, names=table.column_names)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 300 simulated customers."""
    path = tmp_path / "people.csv"
    csv.write_csv(customers(300), path)
    return path


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """Their policy, with every domain."""
    path = tmp_path / "declared.toml"
    path.write_text(bank_customers_policy_toml(customer_id=Role.IDENTIFIER), encoding="utf-8")
    return path


@pytest.fixture
def sits_at() -> Iterator[Callable[..., Visitor]]:
    """Opens a desk; gives back whoever sits at it."""
    opened: list[Desk] = []

    def sits(table: Path | str, folder: Path, **more: Any) -> Visitor:
        desk = Desk(str(table), folder, **more)
        opened.append(desk)
        visitor = Visitor(desk)
        desk.open()
        visitor.wait("names")
        return visitor

    yield sits
    for desk in opened:
        desk.close()
