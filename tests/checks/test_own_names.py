# SPDX-License-Identifier: Apache-2.0
"""Columns whose names SQL takes for one: each is counted by itself, in every form a table may have."""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from part_workers import Elsewhere, without_rows

import anonkit
from anonkit.bundle.data_files import parts_of, read_by
from anonkit.bundle.sql_names import alike_names, own_names
from anonkit.checks import class_relation, table_scans
from anonkit.checks.disclosure import Disclosure, fewest_alike, fewest_values, measure
from anonkit.checks.table_scans import columns_of, combined, count_combinations, opened, read_once
from anonkit.errors import EngineError

NAMES = (
    "Age",
    "age",
    "AGE",
    "age_1",
    "Ä",
    "ä",
    "ß",
    "SS",
    "ss",
    'a"b',
    "a.b",
    "A.B",
    "c0",
    "C0",
    "n",
    "N",
    "Class",
    "s0",
)
N = 60


def _table(names: Sequence[str]) -> pa.Table:
    """Return columns none of which is like another one: the first has 2 values, the second 3, and so on."""
    return pa.table({name: [at % (2 + place) for at in range(N)] for place, name in enumerate(names)})


def _parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def _parts(table: pa.Table, folder: Path) -> Path:
    """Files of seven rows, and one without any."""
    data = folder / "t.parquet"
    data.mkdir()
    for at in range(N // 7 + 2):
        pq.write_table(table.slice(at * 7, 7), data / f"part-{at:05d}.parquet")
    return data


def _turned_parts(table: pa.Table, folder: Path) -> Path:
    """Files whose columns are in another order than those of the first."""
    data = _parts(table, folder)
    for part in parts_of(data)[1:]:
        rows = pq.read_table(part, partitioning=None)
        pq.write_table(rows.select(rows.column_names[::-1]), part)
    return data


def _oddly_called(table: pa.Table, folder: Path) -> Path:
    """Files in a folder that DuckDB takes for a pattern however it is spelled."""
    (folder / "a\\[b]*").mkdir()
    return _turned_parts(table, folder / "a\\[b]*")


def _partitioned(table: pa.Table, folder: Path) -> Path:
    """Folders that represent a column of another name."""
    data = folder / "t.parquet"
    for at, start in enumerate((0, N // 2)):
        (data / f"day={at}").mkdir(parents=True)
        pq.write_table(table.slice(start, N // 2), data / f"day={at}" / "part-00000.parquet")
    return data


def _csv(table: pa.Table, folder: Path) -> Path:
    pa_csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def _zipped_tsv(table: pa.Table, folder: Path) -> Path:
    plain = folder / "plain.tsv"
    pa_csv.write_csv(table, plain, pa_csv.WriteOptions(delimiter="\t"))
    (folder / "t.tsv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    return folder / "t.tsv.gz"


def _json(table: pa.Table, folder: Path) -> Path:
    rows = (dict(reversed(row.items())) if at % 3 else row for at, row in enumerate(table.to_pylist()))
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return folder / "t.jsonl"


FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "in memory": lambda table, folder: table,
    "Parquet": _parquet,
    "parts": _parts,
    "turned parts": _turned_parts,
    "oddly called": _oddly_called,
    "partitioned": _partitioned,
    "CSV": _csv,
    "TSV": _zipped_tsv,
    "JSON Lines": _json,
}


def _classes(table: pa.Table, names: Sequence[str]) -> list[int]:
    """Return the sizes of the classes under some columns, counted by Python."""
    return sorted(Counter(zip(*(table.column(name).to_pylist() for name in names), strict=True)).values())


def _sizes(found: Any) -> list[int]:
    return sorted(size for size, classes in found.sizes for _ in range(classes))


@pytest.mark.quick_cases("parts")
@pytest.mark.parametrize("form", FORMS)
def test_each_column_is_counted_by_its_own_name(form: str, tmp_path: Path) -> None:
    """Classes under any two columns of names that differ in capitals, quotes or dots are those that Python counts."""
    rows = _table(NAMES)
    table = FORMS[form](rows, tmp_path)
    assert [name for name in columns_of(table) if name != "day"] == list(NAMES)
    for one, other in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True):
        assert _sizes(measure(table, [one, other])) == _classes(rows, [one, other])
        for unit in (None, "n"):
            found = measure(table, [one], sensitive=[other], unit=unit, target=other)
            assert _figures(found, other) == _under_plain_names(one, other, unit)


@functools.cache
def _under_plain_names(one: str, other: str, unit: str | None) -> tuple[Any, ...]:
    """Return the figures of the same columns in memory, once for all forms."""
    called = {name: f"plain {at}" for at, name in enumerate(NAMES)}
    plain = _table(NAMES).rename_columns(list(called.values()))
    whose = None if unit is None else called[unit]
    sensitive = called[other]
    return _figures(measure(plain, [called[one]], sensitive=[sensitive], unit=whose, target=sensitive), sensitive)


def _figures(found: Disclosure, sensitive: str) -> tuple[Any, ...]:
    assert found.uniform is not None
    return found.class_sizes, found.people_sizes, found.sensitive[sensitive], found.uniform.share


@pytest.mark.slow
@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True), data=st.data())
@settings(deadline=None)
def test_what_is_counted_does_not_depend_on_names(names: list[str], data: st.DataObject) -> None:
    """Classes, people, values, target and whole sets of a table are those of the same columns under plain names."""
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2) | st.none() for _ in names]), min_size=1, max_size=12))
    table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)})
    plain = table.rename_columns([f"plain {at}" for at in range(len(names))])
    *asked, last = names
    *others, end = plain.column_names
    for unit in (None, 0):
        whose, of_plain = (None, None) if unit is None else (names[unit], others[unit])
        found = measure(table, asked, sensitive=[last], unit=whose, target=last)
        expected = measure(plain, others, sensitive=[end], unit=of_plain, target=end)
        assert _figures(found, last) == _figures(expected, end)
    assert fewest_alike(table, asked, last) == fewest_alike(plain, others, end)
    assert fewest_values(table, asked, last) == fewest_values(plain, others, end)


@pytest.mark.parametrize("people", [None, "AGE"])
def test_workers_count_each_column_by_its_own_name(
    people: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Combinations that workers count, and rows that they hand each other, are of the columns that were requested."""
    rows = pa.table({"Age": [at % 2 for at in range(N)], "age": [at % 5 for at in range(N)], "AGE": list(range(N))})
    expected = measure(rows, ["age"], sensitive=["Age"], unit=people, target="Age")
    data = _parts(rows, tmp_path)
    with read_by(without_rows(data, tmp_path / "there")):
        assert measure(data, ["age"], sensitive=["Age"], unit=people, target="Age") == expected
        monkeypatch.setattr(table_scans, "_FEW", -1)
        monkeypatch.setattr(table_scans, "_SHARE", 1_000_000)
        monkeypatch.setattr(class_relation, "_TOGETHER", 8)
        assert measure(data, ["age"], sensitive=["Age"], unit=people, target="Age") == expected
        assert fewest_alike(data, ["age"], "AGE") == fewest_alike(rows, ["age"], "AGE")


def test_combinations_are_counted_of_files_that_one_worker_reads(tmp_path: Path) -> None:
    """Each column is in them under its own name."""
    data = _parts(_table(("Age", "age")), tmp_path)
    assert count_combinations(parts_of(data), ["age", "Age"]) is not None
    with read_by(Elsewhere()), combined(data, ["age", "Age"]) as lines:
        assert lines.weight is not None
        found = lines.connection.execute(
            f"SELECT {lines.column('Age')}, {lines.rows()} FROM {lines.source} GROUP BY 1 ORDER BY 1"
        ).fetchall()
    assert found == [(0, 30), (1, 30)]


@pytest.mark.quick_cases("CSV", "parts", "in memory", "oddly called", "partitioned", "JSON Lines")
@pytest.mark.parametrize("form", FORMS)
def test_a_plain_table_is_validated_by_the_columns_that_are_named(form: str, tmp_path: Path) -> None:
    """`validate --k 21` of 60 rows: 30 share an `Age`, 20 an `age`; either order of the columns."""
    for at, names in enumerate((("Age", "age"), ("age", "Age"))):
        (tmp_path / str(at)).mkdir()
        table = FORMS[form](_table(("Age", "age")).select(names), tmp_path / str(at))
        assert anonkit.validate(table, k=21, quasi_identifiers=["Age"]).passed
        assert not anonkit.validate(table, k=21, quasi_identifiers=["age"]).passed


def test_a_row_number_is_found_under_the_name_of_another_column() -> None:
    """`id` beside `ID`: one of them numbers the rows."""
    table = pa.table({"id": [1] * N, "ID": list(range(N))})
    checks = {check.name: check for check in anonkit.validate(table, k=2, quasi_identifiers=["id"]).checks}
    assert checks["identifiers_in_clear"].observed == 1


def test_a_name_that_the_table_does_not_have_is_refused(tmp_path: Path) -> None:
    """Another spelling of a name is another name."""
    for table in (_table(("Age", "b")), _parquet(_table(("Age", "b")), tmp_path), _csv(_table(("Age", "b")), tmp_path)):
        with pytest.raises(EngineError, match="recounting the table failed"):
            measure(table, ["age"])


def test_a_text_file_is_read_once_and_its_types_stay(tmp_path: Path) -> None:
    """As private Parquet with its names; where these are alike, and of any other table, as it was given."""
    (tmp_path / "t.csv").write_text('day,n,"a ""b"""\n2020-01-02,1,x\n2021-01-02,,y\n', encoding="utf-8")
    with read_once(tmp_path / "t.csv") as given:
        assert given != tmp_path / "t.csv"
        assert columns_of(given) == ["day", "n", 'a "b"']
        with opened(given) as copied, opened(tmp_path / "t.csv") as plain:
            for lines in (copied, plain):
                kinds = [str(kind) for kind in lines.connection.sql(f"SELECT * FROM {lines.source}").types]
                assert kinds == ["DATE", "BIGINT", "VARCHAR"]
        assert measure(given, ["n"]) == measure(tmp_path / "t.csv", ["n"])
    assert not Path(given).exists()
    for table in (_csv(_table(("Age", "age")), tmp_path), _parquet(_table(("a",)), tmp_path), _table(("a",))):
        with read_once(table) as given:
            assert given is table


def test_lines_have_the_requested_columns_alone() -> None:
    """Another one is named by no SQL."""
    with combined(_table(("Age", "age")), ["Age"]) as lines, pytest.raises(EngineError, match="recounting"):
        lines.column("age")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Nobody can say which of them is meant."""
    (tmp_path / "t.csv").write_text("a,a\n1,2\n", encoding="utf-8")
    for table in (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "t.csv"):
        with pytest.raises(EngineError, match="two columns of the table have the same name"):
            measure(table, ["a"])


def test_folders_that_name_a_column_in_other_capitals_are_refused(tmp_path: Path) -> None:
    """DuckDB would take the name of the folder for the column in its files."""
    (tmp_path / "rows" / "Age=1").mkdir(parents=True)
    pq.write_table(pa.table({"age": [5, 6]}), tmp_path / "rows" / "Age=1" / "part-00000.parquet")
    with pytest.raises(EngineError, match="differ in capitals alone"):
        measure(tmp_path / "rows", ["age"])


def test_own_names_are_by_place() -> None:
    """Own names depend on the place, not on the names of columns; names that fold to one are alike."""
    assert own_names(["Age", "age", "c0"]) == {"Age": "c0", "age": "c1", "c0": "c2"}
    assert alike_names(["Age", "age"])
    assert alike_names(["ß", "SS"])
    assert not alike_names(["a", "b"])


@pytest.mark.parametrize("name", ["t.parquet", "t.csv.gz", "none.parquet"])
def test_what_is_no_table_is_refused(name: str, tmp_path: Path) -> None:
    """A file that is none of its kind, or a folder without files."""
    (tmp_path / "none.parquet").mkdir()
    if not (tmp_path / name).exists():
        (tmp_path / name).write_bytes(b"no table")
    with pytest.raises(EngineError):
        columns_of(tmp_path / name)
    if (tmp_path / name).is_file():
        with pytest.raises(EngineError):
            measure(tmp_path / name, ["a"])


def test_a_text_file_without_quotes_is_named_by_its_header(tmp_path: Path) -> None:
    """Behind a mark of the byte order, and with a column that is called as DuckDB would call another."""
    (tmp_path / "t.csv").write_text("age_1,Age,age\n1,2,3\n1,2,4\n", encoding="utf-8-sig")
    assert columns_of(tmp_path / "t.csv") == ["age_1", "Age", "age"]
    assert _sizes(measure(tmp_path / "t.csv", ["age"])) == [1, 1]
    (tmp_path / "u.csv").write_text("age,age_1\n1,2\n", encoding="utf-8")
    assert columns_of(tmp_path / "u.csv") == ["age", "age_1"]
