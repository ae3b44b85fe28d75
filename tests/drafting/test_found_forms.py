"""Written forms that nobody declared: found under k-anonymity where all cells settle them, said, and never guessed."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.cli.summary import owner_block, public_warnings
from anonkit.domains.cell_values import NumberForm
from anonkit.drafting.found_forms import CountForms, FoundForms, ReadFound, found_forms, with_found
from anonkit.engines import open_engine
from anonkit.errors import EngineError
from anonkit.policy.column_declarations import Column
from anonkit.policy.declaration import Policy

NUMBERS = [1234.5, 0.25, 7.0, 999.0, 1000.0, 1234567.5, 3.0, 12.3]
DAYS = [date(2019, 1, 31), date(2020, 2, 29), date(1999, 12, 5), date(2021, 7, 14)] * 2
MOMENTS = [datetime(day.year, day.month, day.day, 9 + at, 30) for at, day in enumerate(DAYS)]

FORMS: dict[str, tuple[Callable[[Any], str], Sequence[Any]]] = {
    "1,234.50": (lambda x: f"{x:,.2f}", NUMBERS),
    "1.234,50": (lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")), NUMBERS),
    "1 234,50": (lambda x: f"{x:,.2f}".replace(",", "\u202f").replace(".", ","), NUMBERS),
    "1'234.50": (lambda x: f"{x:,.2f}".replace(",", "'"), NUMBERS),
    "$1,234.50": (lambda x: f"${x:,.2f}", NUMBERS),
    "1234.50 €": (lambda x: f"{x:.2f} €", NUMBERS),
    "12.3%": (lambda x: f"{x:.2f}%", NUMBERS),
    "−5": (lambda x: f"\u2212{-x:.2f}", [-x for x in NUMBERS]),
    "31.01.2020": (lambda x: x.strftime("%d.%m.%Y"), DAYS),
    "01/31/2020": (lambda x: x.strftime("%m/%d/%Y"), DAYS),
    "2020/01/31": (lambda x: x.strftime("%Y/%m/%d"), DAYS),
    "20200131": (lambda x: x.strftime("%Y%m%d"), DAYS),
    "31-Jan-20": (lambda x: x.strftime("%d-%b-%y"), DAYS),
    "2020-01-31 10:00": (lambda x: x.strftime("%Y-%m-%d %H:%M"), MOMENTS),
    "2020-01-31T10:00Z": (lambda x: x.strftime("%Y-%m-%dT%H:%MZ"), MOMENTS),
    "+01:00": (lambda x: x.strftime("%Y-%m-%dT%H:%M+00:00"), MOMENTS),
    "31.01.2020 10:00": (lambda x: x.strftime("%d.%m.%Y %H:%M"), MOMENTS),
    "31/01/2020": (lambda x: x.strftime("%d/%m/%Y"), DAYS),
    "01/31/2020 10:00 AM": (lambda x: x.strftime("%m/%d/%Y %I:%M %p"), MOMENTS),
    "whole number 20200131": (lambda x: int(x.strftime("%Y%m%d")), DAYS),
}
TEXTS = [name for name in FORMS if not name.startswith("whole")]


def _csv(path: Path, table: pa.Table) -> object:
    table.to_pandas().to_csv(path.with_suffix(".csv"), sep=";", index=False)
    return path.with_suffix(".csv")


def _parquet(path: Path, table: pa.Table) -> object:
    pq.write_table(table, path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _lines(path: Path, table: pa.Table) -> object:
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path.with_suffix(".jsonl")


def _sqlite(path: Path, table: pa.Table) -> object:
    with sqlite3.connect(path.with_suffix(".db")) as connection:
        table.to_pandas().to_sql("t", connection, index=False)
    connection.close()
    return f"sqlite:///{path.with_suffix('.db')}?table=t"


def _workbook(path: Path, table: pa.Table) -> object:
    book = openpyxl.Workbook()
    book.active.append(table.column_names)
    for row in table.to_pylist():
        book.active.append(list(row.values()))
    book.save(path.with_suffix(".xlsx"))
    return path.with_suffix(".xlsx")


SOURCES: dict[str, Callable[[Path, pa.Table], object]] = {
    "csv": _csv,
    "json lines": _lines,
    "parquet": _parquet,
    "pandas": lambda _, table: table.to_pandas(),
    "sqlite": _sqlite,
    "workbook": _workbook,
}


def _written() -> pa.Table:
    """Return a column of each form, 32 rows, and a class."""
    columns = {name: [write(value) for value in values] * 4 for name, (write, values) in FORMS.items()}
    return pa.table({**columns, "group": ["u", "v"] * 16, "label": ["a", "b"] * 16})


def _found(table: pa.Table, policy: Policy | None = None) -> FoundForms:
    engine = open_engine("local")
    declared = Policy() if policy is None else policy
    try:
        return found_forms(engine.scan(table, declared), declared, engine)
    finally:
        engine.close()


QUICK = {("csv", "mondrian"), ("parquet", "rfka")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "method"),
    [
        pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.slow)
        for pair in product(SOURCES, ("mondrian", "rfka"))
    ],
)
def test_every_form_is_found_and_read_in_every_source(tmp_path: Path, source: str, method: str) -> None:
    """Every released value is one of those that were written, and the notes say each form."""
    table = _written()
    policy = Policy.from_dict({"columns": {name: {"role": "insensitive"} for name in FORMS}})
    release = anonkit.release(
        SOURCES[source](tmp_path / "t", table), method=method, k=2, policy=policy, target="label", seed=1
    )
    released = release.to_arrow()
    for name, (_, values) in FORMS.items():
        assert sorted(set(released[name].to_pylist())) == sorted(set(values)), name
        assert any(note.startswith(f"Column {name!r} is read as ") for note in release.report["notes"]), name


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "rfka"])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
def test_the_table_of_forms_sources_and_methods(tmp_path: Path, form: str, source: str, method: str) -> None:
    """One form alone, 240 releases: found, said, every released value one of the written, and the release validates."""
    table = _written().select([form, "group", "label"])
    policy = Policy.from_dict({"columns": {form: {"role": "insensitive"}}})
    given = SOURCES[source](tmp_path / "t", table)
    release = anonkit.release(given, method=method, k=2, policy=policy, target="label", utility=False)
    assert sorted(set(release.to_arrow()[form].to_pylist())) == sorted(set(FORMS[form][1]))
    assert any(note.startswith(f"Column {form!r} is read as ") for note in release.report["notes"])
    release.save(tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_the_guide_lists_every_form() -> None:
    """Each that is tested in every source is in a table of the guide, and no other one is missing."""
    guide = Path("docs/how-to/read-any-source.md").read_text(encoding="utf-8")
    listed = {cell.strip("`") for line in guide.splitlines() if line.startswith("| ") for cell in line.split("`")[1::2]}
    assert [name for name in TEXTS if name not in listed] == []


def test_labels_of_per_cent_are_in_per_cent() -> None:
    """`12.3%` is 12.3 in the ranges of the release, and the note says the unit."""
    table = pa.table({"rate": [f"{at / 2:.1f}%" for at in range(80)], "label": ["a", "b"] * 40})
    release = anonkit.release(table, method="mondrian", k=10, target="label")
    labels = release.to_arrow()["rate"].to_pylist()
    ends = {float(word) for label in labels for word in label.split() if word[-1].isdigit()}
    assert 1 < max(ends) < 40
    assert any("numbers in per cent" in note for note in release.report["notes"])


@given(st.sampled_from(TEXTS), st.sampled_from(["x", "n/a", "1.2.3", "#"]), st.integers(0, 31))
def test_one_cell_that_contradicts_leaves_the_column_as_it_is(form: str, odd: str, at: int) -> None:
    """Nothing is lost for a word among numbers."""
    write, values = FORMS[form]
    texts = [write(value) for value in values] * 4
    texts[at] = odd
    assert not _found(pa.table({"x": texts})).columns


@pytest.mark.parametrize(
    ("texts", "undecided"),
    [
        (["1,234", "5,678"], True),
        (["1.234 €", "5.678 €"], True),
        (["03/04/2020", "05/06/2021"], True),
        (["01.02.03", "04.05.06"], True),
        (["31-Jan-45", "30-Jan-20"], False),
        (["2020-01-01 10:00", "2020-01-01T10:00+01:00"], False),
        (["2020-01-01T10:00:00.123456789", "2020-01-01T10:00:00.123456780"], False),
        (["01234", "1,234"], False),
        (["$1", "2"], False),
        (["5%", "7"], False),
        (["1234567890123456,5", "1,5"], False),
        (["0123 €", "1234 €"], False),
        (["900", "1.5"], False),
        (["low", "high"], False),
        (["3 x", "4 x"], False),
    ],
)
def test_what_no_cell_settles_stays_text(texts: list[str], undecided: bool) -> None:
    """Two numbers or two days are not one; codes, signs that only some have and years of either century are left."""
    found = _found(pa.table({"x": texts * 10}))
    assert not found.columns
    assert bool(found.undecided) is undecided
    for note in found.notes():
        assert not any(text in note for text in texts)


@pytest.mark.parametrize("settling", ["1,234.5", "1,234,567"])
def test_one_cell_settles_the_others(settling: str) -> None:
    """`1,234` is a thousand and more beside a cell that can be nothing else."""
    found = _found(pa.table({"x": ["1,234"] * 9 + [settling]}))
    assert found.columns["x"].number_form == NumberForm(thousands=",")


@pytest.mark.parametrize(
    ("name", "cells", "found"),
    [
        ("visit_date", [20200131, 20200201], True),
        ("x", [20200101 + at for at in range(28)] * 5, True),
        ("x", [20200131, 20200201] * 9, True),
        ("x", [20200131.0, None, 20200201.0] * 9, True),
        ("x", [Decimal(20200131), Decimal(20200201)] * 9, True),
        ("x", ["20200131", "20200201"] * 9, True),
        ("x", [20200131.5, 20200201.0] * 9, False),
        ("x", [20200131, 20200230] * 9, False),
        ("x", [18991231, 20200201] * 9, False),
        ("visit_date", [20200131, 20201301], False),
        ("visit_date", ["20200131", "20200201"], True),
        ("case_id", [20200101 + at for at in range(28)], False),
        ("case_id", [f"{20200101 + at}" for at in range(28)], False),
    ],
)
def test_integers_are_days_where_all_cells_are(name: str, cells: list[Any], found: bool) -> None:
    """Integer columns of any type are days where all cells are; a key that begins with a year stays a key."""
    assert bool(_found(pa.table({name: cells})).columns) is found


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(19)])
def test_days_are_read_from_numbers_of_any_type(tmp_path: Path, kind: pa.DataType) -> None:
    """Found or declared: a missing cell makes the integers of a data frame floats."""
    days = [date(2020, 1, 31), None, date(2020, 2, 29)] * 8
    numbers = pa.array([day and int(day.strftime("%Y%m%d")) for day in days], pa.int64()).cast(kind)
    table = pa.table({"x": numbers, "g": ["u", "v"] * 12})
    roles = {"x": {"role": "insensitive"}, "g": {"role": "quasi_identifier"}}
    drafted = {**roles, "x": {"role": "insensitive", "type": "date", "format": "%Y%m%d"}}
    for columns in (roles, drafted):
        policy = Policy.from_dict({"unit": "none", "columns": columns})
        released = anonkit.release(table, method="mondrian", k=2, policy=policy, no_target=True).to_arrow()
        assert Counter(released["x"].to_pylist()) == Counter(days)


def test_an_identifier_stays_one() -> None:
    """Telephone numbers in groups of three are no numbers."""
    rng = np.random.default_rng(1)
    texts = [f"+49 {a} {b}" for a, b in rng.integers(100, 999, (200, 2))]
    assert not _found(pa.table({"phone": texts})).columns


def test_declared_bounds_read_what_is_found() -> None:
    """Numbers within public bounds may be written in any form, too."""
    policy = Policy.from_dict({"columns": {"x": {"role": "insensitive", "bounds": [0, 5000]}, "y": {}}})
    table = pa.table({"x": ["1,234.5", "2,000"] * 10, "y": [0, 1] * 10})
    released = anonkit.release(table, method="mondrian", k=2, policy=policy, no_target=True).to_arrow()
    assert set(released["x"].to_pylist()) == {1234.5, 2000.0}


@pytest.mark.parametrize("column", [{"type": "text"}, {"categories": ["1,234.5", "2"]}, {"role": "identifier"}])
def test_what_is_declared_is_not_searched(column: dict[str, Any]) -> None:
    """A declaration is the owner's word."""
    policy = Policy.from_dict({"columns": {"x": column}})
    assert _found(pa.table({"x": ["1,234.5", "2"] * 10}), policy) == FoundForms()


def test_under_noise_nothing_is_found() -> None:
    """The release is the same byte by byte whether the search could have found a form or not."""
    column = {"role": "quasi_identifier", "bounds": [0, 5000], "outside": "clamp"}
    policy = Policy.from_dict({"columns": {"x": column, "y": {"categories": ["0", "1"]}}})

    def released(texts: list[str]) -> pa.Table:
        table = pa.table({"x": texts, "y": ["0", "1"] * 20})
        made = anonkit.release(table, method="rr", epsilon=2.0, policy=policy, no_target=True, seed=1)
        assert not any("is read as" in note for note in made.report.get("notes", []))
        return made.to_arrow()

    assert released(["1,234.5"] * 40).equals(released(["1,234.5"] * 39 + ["x"]))


def test_a_cell_that_changes_between_passes_is_refused() -> None:
    """It does not become missing in silence."""
    engine = open_engine("local")
    changed = engine.scan(pa.table({"x": ["1,234.5", "a word"]}), Policy())
    found = _found(pa.table({"x": ["1,234.5", "2,000.5"]}))
    with pytest.raises(EngineError, match="column 'x' has changed"):
        list(with_found(changed, found, engine).batches())
    engine.close()


@pytest.mark.slow
def test_the_next_batch_is_read_by_the_found_form(tmp_path: Path) -> None:
    """Numbers and dates; the release validates, and its recoding applies to a batch of texts."""
    names = ["group", "1.234,50", "31.01.2020", "2020-01-31T10:00Z", "31-Jan-20"]
    table = _written().select([*names, "label"])
    anonkit.release(table, method="mondrian", k=4, target="label").save(tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed
    batch = anonkit.apply(tmp_path / "out.params.json", table)
    assert batch.report["rows"]["out"] == 32


def test_counts_add_up_over_batches() -> None:
    """A form is found by all batches, wherever they are cut."""
    table = _written()
    forms = _found(table).forms
    assert set(forms) == set(FORMS)
    parts = pa.concat_tables([table.slice(0, 5), table.slice(5)])
    assert _found(parts).forms == forms
    assert CountForms(tried={}).size == 0
    column = replace(Column(name="x"), number_form=NumberForm(percent=True))
    schema = pa.schema([("x", pa.float64())])
    read = ReadFound(columns={"x": column}, schema=schema)(pa.record_batch({"x": ["5%", None]}), 0)
    assert read["x"].to_pylist() == [5.0, None]


def test_pandas_missing_cells_stay_missing() -> None:
    """A missing cell contradicts nothing."""
    frame = pd.DataFrame({"x": pd.Series(["1,234.5", None, "2"] * 10, dtype=object)})
    assert _found(pa.Table.from_pandas(frame)).columns
    assert not _found(pa.table({"x": pa.array([None] * 5, pa.string())})).columns


@pytest.mark.slow
def test_a_draft_declares_what_is_found_and_has_questions_on_the_rest(tmp_path: Path) -> None:
    """The draft loads as it is, and a release by it reads the cells as one without it does."""
    table = _written().append_column("two", [["1,234", "5,678"] * 16])
    draft = anonkit.draft_policy(table)
    (tmp_path / "policy.toml").write_text(draft)
    policy = Policy.load(tmp_path / "policy.toml")
    found = _found(table)
    for name, column in found.columns.items():
        declared = policy.column(name)
        assert (declared.number_form, declared.type) == (column.number_form, column.type), name
        assert declared.calendar is None or declared.calendar.format == column.calendar.format
    assert not _found(table, policy).columns
    assert "declare which of both it is" in " ".join(line.strip("# ") for line in draft.splitlines())


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1.234", "900"], True),
        (["1.234", "2.345"], False),
        (["0.125", "900"], False),
        (["1.5", "900"], False),
        (["900", "12"], False),
        (["1.234", "1000"], False),
        (["1.234", "x"], False),
    ],
)
def test_a_point_that_may_part_thousands_is_pointed_out(tmp_path: Path, cells: list[str], said: bool) -> None:
    """`1.234` beside `900` is a public warning under k-anonymity; no cell is quoted."""
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{cell},{at % 2}\n" for at, cell in enumerate(cells * 10)))
    release = anonkit.release(tmp_path / "t.csv", method="mondrian", k=2, no_target=True)
    warned = [line for line in public_warnings(release) if "parts thousands" in line]
    assert len(warned) == said
    assert not any("234" in line for line in warned)


@pytest.mark.quick_cases("csv", "jsonl")
@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet", "arrow"])
def test_points_are_pointed_out_in_every_source_of_texts(tmp_path: Path, source: str) -> None:
    """Under noise for the owner alone, in columns that are declared as numbers; a decimal comma leaves no doubt."""
    cells = ["1.234", "900", " 12 "] * 10
    table = pa.table({"x": cells, "y": ["0", "1"] * 15})
    path = tmp_path / f"t.{source}"
    if source == "csv":
        path.write_text("x;y\n" + "".join(f"{cell};{at % 2}\n" for at, cell in enumerate(cells)))
    elif source == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif source == "parquet":
        pq.write_table(table, path)
    given: object = table if source == "arrow" else path
    by_k = anonkit.release(given, method="mondrian", k=2, no_target=True)
    assert len([line for line in public_warnings(by_k) if "'x'" in line and "parts thousands" in line]) == 1
    assert "parts thousands" in anonkit.draft_policy(given).replace("\n# ", " ")
    columns = {"x": {"bounds": [0, 2000]}, "y": {"categories": ["0", "1"]}}
    policy = Policy.from_dict({"columns": columns})
    noisy = anonkit.release(given, method="rr", epsilon=2.0, policy=policy, no_target=True)
    assert public_warnings(noisy) == []
    assert noisy.owner["points_between_figures"] == ["x"]
    assert any("parts thousands" in line for line in owner_block(noisy))
    comma = Policy.from_dict({"decimal": ",", "columns": columns})
    noisy = anonkit.release(given, method="rr", epsilon=2.0, policy=comma, no_target=True)
    assert "points_between_figures" not in noisy.owner
