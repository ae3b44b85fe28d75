"""Releases as files of SPSS and Stata: every cell comes back, codes have labels, and limits are said."""

from __future__ import annotations

import math
import sys
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.bundle.exports import statistics_tables
from anonkit.bundle.exports.opened_targets import ReleasedTable, copy_at, write_copy
from anonkit.bundle.exports.statistics_tables import SPSS, STATA
from anonkit.checks.exported_rows import export_checks
from anonkit.errors import EngineError, MissingDependencyError, ParameterError, ReleaseFormatError

FORMS = {"sav": SPSS, "dta": STATA}
READERS = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
MILLIS = st.datetimes(datetime(1600, 1, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)
CELLS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "text": (TEXTS.map(lambda text: text.rstrip(" ")), pa.string()),
    "lengthy": (st.sampled_from(["ü" * 61, "b" * 300, "", "c"]), pa.string()),
    "label": (st.sampled_from(["[1, 2)", "{a, b}", "*"]), pa.dictionary(pa.int32(), pa.string())),
    "truth": (st.booleans(), pa.bool_()),
    "whole": (st.integers(-(2**53), 2**53), pa.int64()),
    "small": (st.integers(-128, 127), pa.int8()),
    "real": (st.floats(-8.9e307, 8.9e307), pa.float64()),
    "single": (st.floats(width=32, allow_infinity=False), pa.float32()),
    "day": (st.dates(date(1582, 10, 15)), pa.date32()),
    "moment": (MILLIS, pa.timestamp("us")),
    "zone": (MILLIS.map(lambda moment: moment.replace(tzinfo=UTC)), pa.timestamp("us", "UTC")),
    "clock": (st.times(), pa.time64("us")),
    "money": (st.decimals(-(10**12), 10**12, places=2), pa.decimal128(15, 2)),
    "much": (st.decimals(-(10**20), 10**20, places=4), pa.decimal128(38, 4)),
}
ROWS = st.lists(st.tuples(*(st.none() | cells for cells, _ in CELLS.values())), max_size=5)


def released(folder: Path, table: pa.Table) -> ReleasedTable:
    """The rows of a table, as a release has them."""
    pq.write_table(table, folder / "release.parquet")
    return ReleasedTable(data=folder / "release.parquet")


def copied(folder: Path, form: str, table: pa.Table) -> Path:
    """A table in another form."""
    data, path = released(folder, table).data, folder / f"out.{form}"
    path.unlink(missing_ok=True)
    write_copy(data, path)
    return path


def failed(path: Path, rows: ReleasedTable) -> list[str]:
    """The checks that fail."""
    with closing(copy_at(path)) as form:
        return [check.name for check in export_checks(form, rows) if not check.passed]


@pytest.mark.quick_cases("dta")
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=12)
@given(rows=ROWS)
def test_every_cell_comes_back(form: str, rows: list[tuple[Any, ...]], tmp_path_factory: Any) -> None:
    """Texts, truth values, numbers, days, moments and decimals, missing ones among them."""
    folder = tmp_path_factory.mktemp("form")
    columns = [
        pa.array([row[at] for row in rows], pa.string()).dictionary_encode()
        if pa.types.is_dictionary(kind)
        else pa.array([row[at] for row in rows], kind)
        for at, (_, kind) in enumerate(CELLS.values())
    ]
    table = pa.table(columns, names=list(CELLS))
    assert failed(copied(folder, form, table), released(folder, table)) == []


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_codes_with_labels_in_the_order_of_their_list(form: str, tmp_path: Path) -> None:
    """An analyst sees codes from 1 on, in the order that the owner declared, and the texts as their labels."""
    listed = pa.DictionaryArray.from_arrays([2, 0, 1, None], ["low", "middle", "high"])
    table = pa.table({"income": listed, "group": ["b", "a", None, "b"], "truth": [True, False, None, True]})
    cells, described = READERS[form](str(copied(tmp_path, form, table)), output_format="dict")
    assert cells == {"income": [3, 1, 2, None], "group": [2, 1, None, 2], "truth": [1, 0, None, 1]}
    assert described.variable_value_labels == {
        "income": {1: "low", 2: "middle", 3: "high"},
        "group": {1: "a", 2: "b"},
        "truth": {0: "false", 1: "true"},
    }


@pytest.mark.parametrize("form", FORMS)
def test_many_or_long_texts_are_strings(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label is never cut, and no list of labels is longer than anybody reads."""
    monkeypatch.setattr(statistics_tables, "MOST_LABELS", 3)
    long = "ü" * 61 if form == "sav" else "ü" * 16_001
    table = pa.table({"many": list("abcd"), "lengthy": [long, "b", "c", "a"], "few": ["a", "b", "c", ""]})
    path = copied(tmp_path, form, table)
    cells, described = READERS[form](str(path), output_format="dict")
    assert set(described.variable_value_labels) == {"few"}
    assert (cells["many"], cells["lengthy"][0]) == (list("abcd"), long)
    assert failed(path, released(tmp_path, table)) == []


@pytest.mark.parametrize("form", FORMS)
def test_chunks_give_the_rows_of_the_whole_file(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows at a time are compared as all at once."""
    monkeypatch.setattr(statistics_tables, "_CHUNK_ROWS", 2)
    for n_rows in (0, 3, 4):
        table = pa.table({"a": pa.array(list(range(n_rows)), pa.int64())})
        assert failed(copied(tmp_path, form, table), released(tmp_path, table)) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (pa.array([2**53 + 1]), "whole numbers beyond 9,007,199,254,740,992"),
        (pa.array([-(2**63)]), "whole numbers beyond"),
        (pa.array([math.inf]), "numbers beyond 8.9e"),
        (pa.array([datetime(2020, 1, 1, 0, 0, 0, 1)]), "moments finer than a millisecond"),
        (pa.array([date(99, 12, 31)]), "dates before"),
        (pa.array([datetime(99, 12, 31, 23, 59)]), "dates before"),
        (pa.array(["a\0"]), r"U\+0000 in a text"),
    ],
)
def test_what_no_cell_holds_is_refused(form: str, cells: pa.Array, message: str, tmp_path: Path) -> None:
    """One line that names the column and the rule."""
    with pytest.raises(ParameterError, match=f"column 'col' has {message}.*{FORMS[form].called}"):
        copied(tmp_path, form, pa.table({"col": cells}))
    assert not (tmp_path / f"out.{form}").exists()


def test_what_spss_alone_does_not_hold(tmp_path: Path) -> None:
    """Blanks at the end, long texts, and dates before the calendar of Gregory; Stata holds them."""
    tables = {
        "texts that end in blanks": ["a "],
        "texts of more than 32767 bytes": ["a" * 32_768],
        "dates before 1582-10-15": [date(1582, 10, 14)],
    }
    for message, cells in tables.items():
        table = pa.table({"col": cells})
        with pytest.raises(ParameterError, match=f"column 'col' has {message}"):
            copied(tmp_path, "sav", table)
        assert failed(copied(tmp_path, "dta", table), released(tmp_path, table)) == []


@pytest.mark.parametrize("form", FORMS)
def test_names_are_refused_before_there_are_rows(form: str) -> None:
    """Length, letters, words that the program keeps to itself, and capitals; declared categories too."""
    rules, table = FORMS[form], copy_at(Path(f"out.{form}"))
    table.refuse_unheld(["a" * rules.longest_name, "été", "A_1"], {"a": ["x", "y"]})
    for name in ("a" * (rules.longest_name + 1), "a b", "1a", "a-b", "", "with", "a\0"):
        with pytest.raises(ParameterError, match=f"column {name!r} .*{rules.called}".replace("\\", ".")):
            table.refuse_unheld([name], {})
    with pytest.raises(ParameterError, match=r"U\+0000"):
        table.refuse_unheld(["a"], {"a": ["x\0"]})
    with pytest.raises(ParameterError, match="32768 columns"):
        table.refuse_unheld([f"a{at}" for at in range(32_768)], {})
    alike = lambda: table.refuse_unheld(["Age", "age"], {})  # noqa: E731
    if form == "dta":
        alike()
    else:
        with pytest.raises(ParameterError, match="column 'age' is to SPSS the same name as 'Age'"):
            alike()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "labels",
    [{1: "a", 2: "a"}, {1: "a"}, {1: "a", 2: "c"}, {}],
    ids=["one label of two codes", "a code without a label", "another label", "no labels"],
)
def test_a_changed_label_is_found(form: str, labels: dict[int, str], tmp_path: Path) -> None:
    """The labels are the cells."""
    rows = released(tmp_path, pa.table({"a": ["a", "b", None]}))
    write = getattr(pyreadstat, f"write_{form}")
    frame, path = pd.DataFrame({"a": pd.array([1, 2, None], "Int32")}), tmp_path / f"out.{form}"
    write(frame, str(path), variable_value_labels={"a": {1: "a", 2: "b"}})
    assert failed(path, rows) == []
    write(frame, str(path), variable_value_labels={"a": labels})
    assert failed(path, rows) != []


@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_rounds_to_the_released_one_is_another(form: str, tmp_path: Path) -> None:
    """Decimals are compared digit by digit."""
    rows = released(tmp_path, pa.table({"a": pa.array([Decimal("1.50")], pa.decimal128(5, 2))}))
    path = tmp_path / f"out.{form}"
    for value, wrong in ((1.5, []), (1.504, ["exported_cells"])):
        getattr(pyreadstat, f"write_{form}")(pd.DataFrame({"a": [value]}), str(path))
        assert failed(path, rows) == wrong


@pytest.mark.parametrize("form", FORMS)
def test_damage_and_a_missing_library_are_said(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of no such form is unreadable; without the library the extra is named, exit code 4."""
    table = pa.table({"a": [1]})
    path = copied(tmp_path, form, table)
    path.write_bytes(path.read_bytes()[:200])
    with closing(copy_at(path)) as damaged, pytest.raises(ReleaseFormatError, match=f"cannot be read as {form}"):
        damaged.columns()
    path.unlink()
    monkeypatch.setattr(pyreadstat, f"write_{form}", _fails)
    with pytest.raises(EngineError, match="cannot be written as a file of"):
        copied(tmp_path, form, table)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingDependencyError, match=r"anonkit\[stats\]"):
        copied(tmp_path, form, table)


def _fails(*_: Any, **__: Any) -> None:
    raise pyreadstat.ReadstatError("a cell")


def test_times_of_day_are_native_in_spss_and_texts_in_stata(tmp_path: Path) -> None:
    """Stata has no format for them alone."""
    table = pa.table({"at": pa.array([time(23, 59, 59, 999_999)], pa.time64("us"))})
    assert READERS["sav"](str(copied(tmp_path, "sav", table)), output_format="dict")[0]["at"] == [
        time(23, 59, 59, 999_999)
    ]
    assert (
        "23:59:59.999999" in READERS["dta"](str(copied(tmp_path, "dta", table)))[1].variable_value_labels["at"].values()
    )
