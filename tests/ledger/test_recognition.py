"""A dataset is known again by what its rows hold, whatever the columns are called and however the rows are ordered."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import anonkit
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import BudgetError, DatasetError, GuaranteeError
from anonkit.ledger import NAME, Ledger

pytestmark = pytest.mark.usefixtures("ledger_beside")

N = 400


@pytest.fixture(scope="module")
def customers() -> pa.Table:
    """Simulated customers with an amount that is different in nearly every row."""
    amounts = np.random.default_rng(5).integers(0, 10**9, N)
    return bank_customers(N, seed=1).append_column("amount", pa.array(amounts))


def draw(table: Any, output: Path | None, **more: Any) -> anonkit.Release:
    """Release one column with randomized answers; nothing else is declared, no name is given."""
    policy = replace(bank_customers_policy(), dataset=None)
    if isinstance(table, pa.Table):
        kept = {name: column for name, column in policy.columns.items() if name in table.column_names}
        policy = replace(policy, columns=kept)
        others = [name for name in table.column_names if name not in kept]
        policy = policy.with_roles(identifiers=others)
    return anonkit.release(table, method="rr", epsilon=1.0, policy=policy, output=output, **more)


def names(folder: Path) -> list[str]:
    """Return the datasets of the ledger."""
    return [one.dataset for one in Ledger(folder / NAME).datasets()]


CHANGES: dict[str, Any] = {
    "column dropped": lambda table: table.drop_columns(["amount"]),
    "column added": lambda table: table.append_column("more", pa.array([str(n) for n in range(table.num_rows)])),
    "half the rows": lambda table: table.take(np.random.default_rng(1).permutation(table.num_rows)[: N // 2]),
    "rows appended": lambda table: pa.concat_tables([table, table.slice(0, 40)]),
    "one row doubled": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "dropped and halved": lambda table: table.drop_columns(["amount"]).slice(0, N // 2),
}


@pytest.mark.quick_cases("column dropped", "dropped and halved", "one row doubled")
@pytest.mark.parametrize("change", CHANGES)
def test_a_table_that_looks_alike_is_not_booked_as_a_new_one(customers: pa.Table, tmp_path: Path, change: str) -> None:
    """The release stops with a request for a name: exit code 1, nothing written, nothing booked; a name settles it."""
    draw(customers, tmp_path / "a.parquet")
    other = CHANGES[change](customers)
    with pytest.raises(GuaranteeError, match="looks like dataset 'table'") as refused:
        draw(other, tmp_path / "b.parquet")
    assert refused.value.exit_code == 1
    assert "dataset=" in str(refused.value.hint)
    assert not (tmp_path / "b.parquet").exists()
    assert names(tmp_path) == ["table"]

    named = draw(other, tmp_path / "b.parquet", dataset="other")
    assert any("looks like dataset 'table'" in note for note in named.owner["ledger"]["notes"])
    with pytest.raises(BudgetError, match="randomized before"):
        draw(other, tmp_path / "c.parquet", dataset="table")


def test_the_same_rows_under_other_names_and_in_another_order_are_the_same(customers: pa.Table, tmp_path: Path) -> None:
    """Renamed out of its alphabetical place, columns turned, rows turned: a second draw is refused without a word."""
    draw(customers, tmp_path / "a.parquet")
    order = [*reversed(customers.column_names)]
    turned = customers.take(np.arange(N)[::-1]).select(order)
    renamed = turned.rename_columns(["a_" + name if name == "amount" else name for name in order])
    with pytest.raises(BudgetError, match="randomized before"):
        draw(renamed, tmp_path / "b.parquet")


@pytest.mark.slow
def test_two_hundred_thousand_rows_in_another_order_are_the_same(tmp_path: Path) -> None:
    """Every row counts, wherever it is."""
    generator = np.random.default_rng(3)
    table = pa.table({"answer": pa.array(generator.integers(0, 2, 200_000)), "x": generator.random(200_000)})
    policy = anonkit.Policy.from_dict(
        {"columns": {"answer": {"role": "quasi_identifier", "categories": ["0", "1"]}, "x": {"role": "identifier"}}}
    )
    given: dict[str, Any] = {"method": "rr", "epsilon": 1.0, "policy": policy, "ledger": tmp_path / "l.sqlite"}
    anonkit.release(table, output=tmp_path / "a.parquet", **given)
    with pytest.raises(BudgetError, match="randomized before"):
        anonkit.release(table.take(generator.permutation(200_000)), output=tmp_path / "b.parquet", **given)


@pytest.mark.slow
def test_another_table_of_the_same_kind_is_a_new_dataset(customers: pa.Table, tmp_path: Path) -> None:
    """Other people with the same columns, and the other half of one table."""
    draw(customers, tmp_path / "a.parquet")
    draw(bank_customers(N, seed=2), tmp_path / "b.parquet")
    half = bank_customers(2 * N, seed=3)
    draw(half.slice(0, N), tmp_path / "c.parquet")
    draw(half.slice(N), tmp_path / "d.parquet")
    assert names(tmp_path) == ["table", "table-2", "table-3", "table-4"]


def test_a_file_is_the_same_table_in_every_form(customers: pa.Table, tmp_path: Path) -> None:
    """Text, Parquet and pandas: 12 and 12.0 are one cell, categories and texts too."""
    plain = pa.table(
        {
            name: column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(customers.column_names, customers.columns, strict=True)
        }
    )
    draw(plain, tmp_path / "a.parquet")
    floats = plain.set_column(plain.column_names.index("amount"), "amount", plain["amount"].cast(pa.float64()))
    pa.parquet.write_table(floats, tmp_path / "in.parquet")
    pa.csv.write_csv(plain, tmp_path / "in.csv")
    policy = replace(bank_customers_policy(), dataset=None).with_roles(identifiers=["amount"])
    for source in (tmp_path / "in.parquet", tmp_path / "in.csv", customers.to_pandas(), floats.to_pandas()):
        with pytest.raises(BudgetError, match="randomized before"):
            anonkit.release(source, method="rr", epsilon=1.0, policy=policy, output=tmp_path / "b.parquet")


SAME_NAMES = {"decomposed": "Zu\u0308rich 1", "blank behind": "Z\u00fcrich 1 "}
ALIKE_NAMES = {
    "case": "z\u00dcrich 1",
    "two blanks": "Z\u00fcrich  1",
    "a blank that does not break": "Z\u00fcrich\u00a01",
    "a digit of full width": "Z\u00fcrich \uff11",
    "a character nobody sees": "Z\u00fcrich\u200b 1",
}


@pytest.mark.parametrize("spelling", SAME_NAMES)
def test_the_same_name_in_other_characters_is_the_same_dataset(tmp_path: Path, spelling: str) -> None:
    """An umlaut of two characters gives no second budget, and the ledger no second dataset."""
    table = bank_customers(60, seed=1)
    draw(table, tmp_path / "a.parquet", dataset="Z\u00fcrich 1", budget=1.5)
    with pytest.raises(BudgetError, match="overspent"):
        draw(table, tmp_path / "b.parquet", dataset=SAME_NAMES[spelling])
    assert names(tmp_path) == ["Z\u00fcrich 1"]


@pytest.mark.quick_cases("case", "a character nobody sees", "a digit of full width")
@pytest.mark.parametrize("spelling", ALIKE_NAMES)
def test_a_name_that_reads_the_same_is_refused(tmp_path: Path, spelling: str) -> None:
    """The ledger requires the meant spelling: another one would be a second budget for the same people."""
    table = bank_customers(60, seed=1)
    draw(table, tmp_path / "a.parquet", dataset="Z\u00fcrich 1", budget=1.5)
    with pytest.raises(DatasetError, match="is spelled 'Z\u00fcrich 1' in the ledger"):
        draw(table, tmp_path / "b.parquet", dataset=ALIKE_NAMES[spelling])
    assert names(tmp_path) == ["Z\u00fcrich 1"]


def test_names_that_a_ledger_has_side_by_side_stay_two(tmp_path: Path) -> None:
    """An older ledger may hold both spellings: each goes on being charged by itself, to the letter."""
    table = bank_customers(60, seed=1)
    draw(table, tmp_path / "a.parquet", dataset="one")
    with sqlite3.connect(tmp_path / NAME) as connection:
        connection.execute("INSERT INTO dataset (name) VALUES ('One')")
    draw(table, tmp_path / "b.parquet", dataset="One")
    assert [(one.dataset, len(one.counted)) for one in Ledger(tmp_path / NAME).datasets()] == [("One", 1), ("one", 1)]
