"""Rows that follow from the published values of a statement: a table that is not made of them is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from checks.forgeries import Edit, Files, forged, verdict
from checks.forging import at, both
from checks.stated_releases import CELLS, LINES, made


def _without_a_row(files: Files) -> None:
    files.table = files.table.slice(1)


def _rows_of_another_cell(files: Files) -> None:
    rows = files.table.to_pylist()
    other = next(at for at, row in enumerate(rows) if row != rows[0])
    files.table = pa.concat_tables([files.table.slice(1), files.table.slice(other, 1)])


def _another_column(files: Files) -> None:
    files.table = files.table.append_column("secret", pa.array(range(files.table.num_rows)))


def _other_number(files: Files) -> None:
    values = files.table.column("value").to_pylist()
    values[1] += 1
    files.table = files.table.set_column(files.table.num_columns - 1, "value", pa.array(values, pa.float64()))


def _other_type(files: Files) -> None:
    values = files.table.column("value").cast(pa.float32())
    files.table = files.table.set_column(files.table.num_columns - 1, "value", values)


TABLES: dict[str, tuple[str, Edit]] = {
    "a row less": (CELLS, both(_without_a_row, at("report", "rows", "out", to=lambda rows: rows - 1))),
    "a row of another cell": (CELLS, _rows_of_another_cell),
    "a column that nobody describes": (CELLS, _another_column),
    "a line less": (LINES, both(_without_a_row, at("report", "rows", "out", to=lambda rows: rows - 1))),
    "another number": (LINES, _other_number),
    "numbers of another type": (LINES, _other_type),
    "a column more": (LINES, _another_column),
}


@pytest.mark.parametrize("what", TABLES)
def test_a_table_that_is_not_made_of_the_values_is_refused(what: str, tmp_path: Path) -> None:
    """True rows in place of those of noisy cells would be in such a table."""
    kind, edit = TABLES[what]
    code, failed = verdict(forged(made(kind), edit, tmp_path))

    assert code == 1
    assert any(name.startswith(("rows_from_values", "undescribed_columns", "domain")) for name in failed)
