"""Workbooks of released rows: cells of Excel, texts where it has none, and limits refused before a file is there."""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.bundle.exports.sheets import MOST_COLUMNS, MOST_LETTERS, MOST_ROWS, Sheet
from anonkit.errors import ParameterError
from tests.bundle.test_opened_targets import failed
from tests.pipeline.test_exporting import names


@pytest.mark.slow
def test_limits_of_a_sheet_are_refused_with_a_hint(tmp_path: Path) -> None:
    """Rows, columns, letters of a cell, control characters: before anything is put in place, the column named."""
    long = "x" * (MOST_LETTERS + 1)
    tables = {
        f"{MOST_ROWS} rows": pa.table({"a": pa.nulls(MOST_ROWS, pa.int8())}),
        f"{MOST_COLUMNS + 1} columns": pa.table({str(at): [1] for at in range(MOST_COLUMNS + 1)}),
        "'a'": pa.table({"a": [long]}),
        "column 'b'": pa.table({"b": ["secret\x01"]}),
        "name of column 1": pa.table({long: [1]}),
    }
    for words, table in tables.items():
        pq.write_table(table, tmp_path / "t.parquet")
        with (
            closing(form_of(Target.of(tmp_path / "t.xlsx"))) as form,
            pytest.raises(ParameterError, match=words) as caught,
        ):
            form.write(ReleasedTable(data=tmp_path / "t.parquet"), {"datapackage.json": b"{}"})
        assert "CSV" in str(caught.value)
        assert "secret" not in str(caught.value)
        assert names(tmp_path) == {"t.parquet"}
    emoji = "😀" * (MOST_LETTERS // 2)
    pq.write_table(pa.table({"a": [emoji, "x" * MOST_LETTERS]}), tmp_path / "t.parquet")
    with closing(form_of(Target.of(tmp_path / "t.xlsx"))) as form:
        form.write(
            ReleasedTable(data=tmp_path / "t.parquet"), {"datapackage.json": b'{"resources": [{"name": "data"}]}'}
        )


DESCRIBED = {"datapackage.json": b'{"resources": [{"name": "data"}]}'}


def sheet_of(table: pa.Table, folder: Path) -> list[tuple[Any, ...]]:
    """The cells of a table as another program reads them from its sheet, the names first."""
    pq.write_table(table, folder / "t.parquet")
    with closing(form_of(Target.of(folder / "t.xlsx"))) as form:
        form.write(ReleasedTable(data=folder / "t.parquet"), DESCRIBED)
        form.commit()
    return list(openpyxl.load_workbook(folder / "t.xlsx").active.iter_rows(values_only=True))


def test_cells_that_excel_has_are_its_own_and_others_are_texts(tmp_path: Path) -> None:
    """A formula stays a text; long integers, decimals and dates before March 1900 are texts too."""
    table = pa.table(
        {
            "text": ["=1+1", "", None],
            "whole": [999_999_999_999_999, 10**15, None],
            "real": [0.5, 1e309, -2.25],
            "money": pa.array([Decimal("1.50"), None, Decimal("-3.00")], pa.decimal128(5, 2)),
            "day": pa.array([date(1900, 3, 1), date(1900, 2, 28), None]),
            "truth": [True, False, None],
        }
    )
    assert sheet_of(table, tmp_path) == [
        ("text", "whole", "real", "money", "day", "truth"),
        ("=1+1", 999_999_999_999_999, 0.5, "1.50", datetime(1900, 3, 1), True),
        (None, "1000000000000000", "inf", None, "1900-02-28", False),
        (None, None, -2.25, "-3.00", None, None),
    ]


def test_a_text_that_looks_like_an_escape_is_escaped_and_comes_back(tmp_path: Path) -> None:
    """Excel writes letters by their codes as _x0041_: the underscore of such a text is written by its own."""
    table = pa.table({"a": ["_x0041_", "_x_"]})
    assert sheet_of(table, tmp_path)[1:] == [("_x005F_x0041_",), ("_x_",)]
    with closing(form_of(Target.of(tmp_path / "t.xlsx"))) as form:
        assert failed(form, ReleasedTable(data=tmp_path / "t.parquet")) == []


def test_a_sheet_refuses_names_and_sizes_before_there_are_rows() -> None:
    """One row is for the names."""
    sheet = Sheet(Target.of("t.xlsx"))
    sheet.refuse_size(MOST_ROWS - 1)
    with pytest.raises(ParameterError, match="a header"):
        sheet.refuse_size(MOST_ROWS)
    sheet.refuse_unheld(["a"] * MOST_COLUMNS, {"a": ["x"]})
    with pytest.raises(ParameterError, match="columns"):
        sheet.refuse_unheld(["a"] * (MOST_COLUMNS + 1), {})
    with pytest.raises(ParameterError, match="the name of column 2"):
        sheet.refuse_unheld(["a", "b\x01"], {})
