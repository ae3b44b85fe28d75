"""The values of a sensitive column: one published list, folded by two codes, alike."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.counted_as import ReadValues, folding, read_lines
from anonkit.checks.table_scans import opened
from anonkit.domains.coded_columns import CodedColumn, folded_column, folded_text
from anonkit.promises.no_values import NO_VALUES


def _read(table: pa.Table, reading: ReadValues) -> list[object]:
    with opened(table) as found:
        lines = read_lines(found, ["s"], reading)
        asked = f"SELECT {lines.column('q')}, {lines.column('s')} FROM {lines.source} ORDER BY 1"
        return [s for (_, s) in lines.connection.sql(asked).fetchall()]


@given(st.text())
def test_both_fold_a_text_alike_and_folding_twice_changes_nothing(text: str) -> None:
    """The auditor's folding is the methods' one."""
    assert folding(text) == folded_text(text)
    assert folded_text(folded_text(text)) == folded_text(text)


def test_the_list_is_of_folded_texts_each_once() -> None:
    """A mark that folding changes would never be found."""
    assert [text for text in NO_VALUES if folded_text(text) != text] == []
    assert len(set(NO_VALUES)) == len(NO_VALUES)


@pytest.mark.parametrize(
    "mark", ["", " ", "NA", "N/A", "?", "NULL", "nan", "None", "-", "unknown", "n.k.", "UNBEKANNT ", "Keine Angabe"]
)
def test_a_mark_is_no_value(mark: str) -> None:
    """A mark is no value, in any case and with any blanks around it."""
    table = pa.table({"q": [0, 1], "s": ["hiv", mark]})
    assert _read(table, ReadValues()) == ["hiv", None]


def test_a_single_text_is_read_as_a_column_is() -> None:
    """A single string is folded as a column of strings is."""
    reading = ReadValues(categories={"s": ["none"]})
    assert [reading.value_of(text, "s") for text in ("HIV ", "None", "?")] == ["hiv", "none", None]


def test_spellings_are_one_value() -> None:
    """{hiv, HIV, "hiv "} is one, full-width letters too; a missing cell stays missing."""
    table = pa.table({"q": [0, 1, 2, 3, 4], "s": ["hiv", "HIV", "hiv ", "\uff48\uff49\uff56", None]})
    assert _read(table, ReadValues()) == ["hiv", "hiv", "hiv", "hiv", None]


def test_a_declared_category_is_a_value() -> None:
    """A declared category is a value, even if it is on the list of marks."""
    table = pa.table({"q": [0, 1], "s": ["Unknown", "none"]})
    assert _read(table, ReadValues(categories={"s": ["unknown", "a"]})) == ["unknown", None]


def test_numbers_dates_and_truth_values_stay() -> None:
    """No list of texts is about them, and texts that are folded already stay where they are."""
    for cells in ([3, None, 1], [True, False, None], ["b", None, "a"]):
        assert _read(pa.table({"q": [0, 1, 2], "s": cells}), ReadValues()) == cells


def test_the_methods_read_a_column_as_the_checks_do() -> None:
    """Codes of one value are merged, marks get the missing code."""
    column = CodedColumn(
        name="s",
        codes=np.array([0, 1, 2, 3, 4], dtype=np.int32),
        values=["?", "Flu", "HIV", "hiv ", None],
        ordered=False,
    )
    read = folded_column(column, frozenset(NO_VALUES))
    assert read.values == ["flu", "hiv", None]
    assert read.codes.tolist() == [2, 0, 1, 1, 2]


def test_the_methods_leave_a_column_of_numbers() -> None:
    """As it is."""
    column = CodedColumn(name="s", codes=np.array([0, 1], dtype=np.int32), values=[1.0, 2.0], ordered=True)
    assert folded_column(column, frozenset(NO_VALUES)) is column
