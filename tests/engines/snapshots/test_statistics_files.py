"""Files of SPSS, Stata and SAS: types, labels, missing values and dates, each cell by itself; and damaged files."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from anonkit.errors import MissingDependencyError, ParameterError, SourceError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

_DAY, _MOMENT = datetime.date(1912, 6, 23), datetime.datetime(2020, 1, 31, 10, 5, 1)


def _people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": [1.0, 2.0, 3.0, 9.0, None],
            "age": [30.0, 41.5, 52.0, -9.0, 999.0],
            "name": ["007", "5", "", "  ", "MARK"],
            "born": [_DAY, None, _DAY, _DAY, datetime.date(1582, 10, 20)],
            "seen": [_MOMENT, None, _MOMENT, _MOMENT, _MOMENT],
            "at": [datetime.time(10, 5), None, datetime.time(23, 59, 59), datetime.time(0), datetime.time(1)],
        }
    )


def _sav(path: Path, **how: Any) -> Path:
    pyreadstat.write_sav(
        _people(),
        str(path),
        variable_value_labels={"sex": {1: "male", 2: "female"}, "age": {999: "999 or more"}},
        missing_ranges={"age": [-9], "sex": [9]},
        variable_measure={"sex": "nominal", "age": "scale"},
        **how,
    )
    return path


@pytest.mark.parametrize("compressed", [False, True])
def test_spss_brings_types_labels_and_missing_values(tmp_path: Path, read: Any, compressed: bool) -> None:
    """Labels replace codes, unlabelled codes stay; declared missing values and blank texts are missing."""
    table = read(_sav(tmp_path / ("in.zsav" if compressed else "in.sav"), compress=compressed))

    assert table.column("sex").to_pylist() == ["male", "female", "3", None, None]
    assert table.column("age").to_pylist() == [30.0, 41.5, 52.0, None, 999.0]
    assert table.column("name").to_pylist() == ["007", "5", None, None, "MARK"]
    assert table.column("born").to_pylist() == [_DAY, None, _DAY, _DAY, datetime.date(1582, 10, 20)]
    assert table.column("seen").to_pylist() == [_MOMENT, None, _MOMENT, _MOMENT, _MOMENT]
    assert table.column("at").to_pylist()[:3] == [datetime.time(10, 5), None, datetime.time(23, 59, 59)]


def test_a_column_that_the_policy_declares_a_number_stays_one_of_codes(tmp_path: Path, read: Any) -> None:
    """Bounds decide for codes before any row is read: no label is put among the numbers."""
    policy = Policy(columns={"sex": Column(name="sex", bounds=(0.0, 5.0))})

    assert read(_sav(tmp_path / "in.sav"), policy).column("sex").to_pylist() == [1.0, 2.0, 3.0, None, None]


def test_the_numbers_of_people_come_as_texts(tmp_path: Path, read: Any) -> None:
    """SPSS has no integers: floats of other sources would be refused where noise makes a promise."""
    policy = Policy(columns={"age": Column(name="age", role=Role.UNIT)})

    assert read(_sav(tmp_path / "in.sav"), policy).column("age").to_pylist() == ["30", "41.5", "52", None, "999"]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_moments_are_read_to_the_digit_that_was_written(tmp_path: Path, read: Any, ending: str) -> None:
    """10:00:00.123 was 10:00:00.123001 of an SPSS file: its seconds are counted from 1582."""
    seen = [_MOMENT + datetime.timedelta(days=at, milliseconds=7 * at) for at in range(100)]
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(pd.DataFrame({"seen": seen}), str(tmp_path / f"in.{ending}"))

    assert read(tmp_path / f"in.{ending}").column("seen").to_pylist() == seen


@pytest.mark.parametrize("at", range(5))
def test_no_cell_changes_how_another_is_read(tmp_path: Path, read: Any, at: int) -> None:
    """A file without one of its rows gives the same types and the same cells of all other rows."""
    whole, part = tmp_path / "whole.sav", tmp_path / "part.sav"
    _sav(whole)
    kept = [row for row in range(5) if row != at]
    form = dict.fromkeys(("sex", "age"), "F8.2") | {"name": "A8", "born": "DATE11", "seen": "DATETIME20", "at": "TIME8"}
    pyreadstat.write_sav(
        _people().iloc[kept],
        str(part),
        variable_value_labels={"sex": {1: "male", 2: "female"}, "age": {999: "999 or more"}},
        missing_ranges={"age": [-9], "sex": [9]},
        variable_measure={"sex": "nominal", "age": "scale"},
        variable_format=form,
    )
    all_rows, fewer = read(whole), read(part)

    assert fewer.schema == all_rows.schema
    assert fewer.to_pylist() == all_rows.take(kept).to_pylist()


def test_a_label_of_two_codes_is_followed_by_the_code(tmp_path: Path, read: Any) -> None:
    """Two codes under one label stay two values."""
    path = tmp_path / "in.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"q": [1.0, 2.0, 3.0], "r": [1.0, 1.0, 1.0]}),
        str(path),
        variable_value_labels={"q": {1: "yes", 2: "yes", 3: "no"}},
        variable_measure={"q": "nominal"},
    )

    assert read(path).column("q").to_pylist() == ["yes (1)", "yes (2)", "no"]


def test_stata_brings_integers_dates_and_missing_values(tmp_path: Path, read: Any) -> None:
    """Integers are integers, extended missing values are missing, moments are moments."""
    path, other = tmp_path / "in.dta", tmp_path / "missing.dta"
    people = _people().assign(n=pd.array([1, 2, 3, 4, 5], dtype="int32"))[["sex", "n", "name", "seen"]]
    pyreadstat.write_dta(people, str(path), variable_value_labels={"sex": {1: "male", 2: "female"}})
    pyreadstat.write_dta(pd.DataFrame({"a": [1.0, "b", 3.0]}), str(other), missing_user_values={"a": ["b"]})
    table = read(path)

    assert table.schema.field("n").type == pa.int64()
    assert table.column("sex").to_pylist() == ["male", "female", "3", "9", None]
    assert table.column("seen").to_pylist() == [_MOMENT, None, _MOMENT, _MOMENT, _MOMENT]
    assert read(other).column("a").to_pylist() == [1.0, None, 3.0]


def test_sas_transport_and_spss_portable_files_are_read(tmp_path: Path, read: Any) -> None:
    """Numbers, texts and moments come back."""
    xpt, por = tmp_path / "in.xpt", tmp_path / "in.por"
    pyreadstat.write_xport(_people()[["sex", "name", "seen"]], str(xpt))
    pyreadstat.write_por(pd.DataFrame({"AGE": [1.5, 2.0], "NAME": ["a", "b"]}), str(por))
    table = read(xpt)

    assert table.column("sex").to_pylist() == [1.0, 2.0, 3.0, 9.0, None]
    assert table.column("name").to_pylist() == ["007", "5", None, None, "MARK"]
    assert table.column("seen").to_pylist() == [_MOMENT, None, _MOMENT, _MOMENT, _MOMENT]
    assert read(por).to_pydict() == {"AGE": [1.5, 2.0], "NAME": ["a", "b"]}


def test_chunks_give_the_rows_of_the_whole_file(tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows at a time give what all rows at once give."""
    path = _sav(tmp_path / "in.sav")
    whole = read(path)
    monkeypatch.setattr("anonkit.engines.snapshots.statistics_files._CHUNK", 2)

    assert read(path).equals(whole)


@pytest.mark.parametrize("ending", [".sav", ".por", ".dta", ".sas7bdat", ".xpt"])
def test_a_damaged_file_is_refused_without_its_cells(tmp_path: Path, read: Any, ending: str) -> None:
    """A text that is no such file, and a file cut short, are named with one clear line."""
    path = tmp_path / f"in{ending}"
    path.write_bytes(b"MARK,MARK\n" * 200)
    with pytest.raises(SourceError, match="cannot be read to its end") as refused:
        read(path)

    assert "MARK" not in repr(vars(refused.value)) + str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("share", [0.3, 0.9, 0.99])
def test_a_file_cut_short_is_no_shorter_table(tmp_path: Path, read: Any, share: float) -> None:
    """Lost rows are reported, not left out."""
    path = _sav(tmp_path / "in.sav")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SourceError) as refused:
        read(path)

    assert "MARK" not in str(refused.value)


def test_a_sheet_means_nothing_for_it_and_a_missing_extra_is_named(
    tmp_path: Path, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option of another kind of source is refused; without the library the extra is named, exit code 4."""
    path = _sav(tmp_path / "in.sav")
    with pytest.raises(ParameterError, match="sheet"):
        read(path, sheet="x")
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(MissingDependencyError) as refused:
        read(path)

    assert refused.value.exit_code == 4
    assert "anonkit[stats]" in str(refused.value)
