"""The treatment of a row depends on that row and on declarations: codes, units, refusals, in every source."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.domains.cell_values import cell_keys, codes_of_cells, labels_of_cells
from anonkit.domains.number_bins import Categories, Grid
from anonkit.dp_trees import aggregate_tables
from anonkit.dp_trees.release import coded_rows
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.contract.test_methods import CENTRAL, QUICK

ENGINE = LocalEngine()
NUMBERED, SPELLED, CLASSES = ("1", "2", "2.5", "x"), ("1", "01", "1.0"), ("0", "1")
POLICY = Policy(
    columns={
        "who": Column(name="who", role=Role.UNIT),
        "code": Column(name="code", categories=NUMBERED),
        "text": Column(name="text", type=ColumnType.TEXT, categories=SPELLED),
        "n": Column(name="n", bounds=(0, 10)),
        "y": Column(name="y", role=Role.TARGET, categories=CLASSES),
    },
    cell_by_cell=True,
)
NAMES = list(POLICY.columns)
DOMAINS: Mapping[str, Categories | Grid] = {
    "code": Categories(values=NUMBERED, has_missing=True),
    "text": Categories(values=SPELLED, has_missing=True, texts_alone=True),
    "n": Grid(lower=0, upper=10, cells=5, has_missing=True),
}
LABELS = Categories(values=CLASSES)

Row = tuple[Any, ...]
Codes = list[tuple[Any, ...]]


def codes_of(data: Any, policy: Policy = POLICY) -> Codes:
    """The method's view of each row: its unit, its codes, its label."""
    found: Codes = []
    source = ENGINE.scan(data, policy)
    for batch in source.batches(NAMES):
        columns = [cell_keys(batch.column("who")).to_pylist()]
        columns += [codes_of_cells(batch, name, domain).tolist() for name, domain in DOMAINS.items()]
        found += zip(*columns, labels_of_cells(batch, "y", LABELS).tolist(), strict=True)
    return found


# --- tables of every source, and rows of them ---------------------------------------------------------------------

WORDS = ["1", "1.0", " 1", "01", "2", "2.5", "2.50", "x", " x", "", "4.5", "many", "1e1", "inf", "nan", "2020-01-01"]
LITERALS = [
    "1", "1.0", "2.5", "2.50", "-0", "9007199254740993", "9007199254740992", "4.5", "1e400", '"1"', '"1.0"', '" 01"',
    '"x"', '""', "null", "true", '"2020-01-01"', "[1]", '{"a": 1}', "99",
]  # fmt: skip
OBJECTS = [1, 1.0, 2.5, None, float("nan"), "1", "1.0", "x", True, Decimal("2.50"), 2**53 + 1, pd.NA, " 01", "", 99]
TYPED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int64(), [0, 1, 2, 2**53 + 1, 2**53, None]),
    (pa.float64(), [0.0, 1.0, 2.5, float("nan"), 1e300, None]),
    (pa.float32(), [0.0, 1.0, 2.5, None]),
    (pa.decimal128(9, 2), [Decimal("1.00"), Decimal("2.50"), Decimal("0.00"), None]),
    (pa.string(), [*WORDS, None]),
    (pa.dictionary(pa.int8(), pa.string()), ["1", "1.0", "x", "many", None]),
]
NUMBERS = TYPED[:5]


def delimited(delimiter: str) -> Callable[[Sequence[Row], Path], Path]:
    """Write rows as CSV or TSV."""

    def write(rows: Sequence[Row], folder: Path) -> Path:
        text = io.StringIO()
        writer = csv.writer(text, delimiter=delimiter)
        writer.writerows([NAMES, *rows])
        path = folder / ("t.csv" if delimiter == "," else "t.tsv")
        path.write_text(text.getvalue())
        return path

    return write


def json_lines(rows: Sequence[Row], folder: Path) -> Path:
    """Write rows of literals as JSON Lines."""
    path = folder / "t.jsonl"
    lines = (", ".join(f'"{name}": {cell}' for name, cell in zip(NAMES, row, strict=True)) for row in rows)
    path.write_text("".join(f"{{{line}}}\n" for line in lines))
    return path


def pandas_objects(rows: Sequence[Row], folder: Path) -> pd.DataFrame:
    """Columns of Python objects of any kind."""
    return pd.DataFrame({name: pd.Series([row[at] for row in rows], dtype=object) for at, name in enumerate(NAMES)})


UNTYPED: dict[str, tuple[list[Any], Callable[[Sequence[Row], Path], Any]]] = {
    "CSV": (WORDS, delimited(",")),
    "TSV": (WORDS, delimited("\t")),
    "JSON Lines": (LITERALS, json_lines),
    "pandas objects": (OBJECTS, pandas_objects),
}


def parquet(table: pa.Table, folder: Path) -> Path:
    """Write a Parquet file."""
    path = folder / "t.parquet"
    pq.write_table(table, path)
    return path


TYPED_SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow": lambda table, folder: table,
    "Parquet": parquet,
    "pandas": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda table, folder: pl.from_arrow(table),
}

quick = settings(
    max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.mark.quick_cases("CSV", "JSON Lines")
@pytest.mark.parametrize("source", UNTYPED)
@quick
@given(data=st.data())
def test_rows_of_a_file_are_coded_one_by_one(source: str, data: st.DataObject, tmp_path: Path) -> None:
    """Coding a table is coding its rows as tables of their own: no type is guessed, no cell is refused."""
    cells, write = UNTYPED[source]
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(cells)] * len(NAMES)), min_size=1, max_size=6))
    alone = [codes_of(write([row], tmp_path))[0] for row in rows]
    assert codes_of(write(rows, tmp_path)) == alone


@pytest.mark.quick_cases("Parquet", "pandas")
@pytest.mark.parametrize("source", TYPED_SOURCES)
@quick
@given(data=st.data())
def test_rows_of_a_typed_table_are_coded_one_by_one(source: str, data: st.DataObject, tmp_path: Path) -> None:
    """The type of a column is the table's own, and the same for each row."""
    n_rows = data.draw(st.integers(1, 5))
    arrays = []
    for name in NAMES:
        kind, cells = data.draw(st.sampled_from(NUMBERS if name == "n" else TYPED))
        drawn = data.draw(st.lists(st.sampled_from(cells), min_size=n_rows, max_size=n_rows))
        plain = pa.array(drawn, kind.value_type if pa.types.is_dictionary(kind) else kind)
        arrays.append(plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else plain)
    table, make = pa.table(arrays, names=NAMES), TYPED_SOURCES[source]
    alone = [codes_of(make(table.slice(at, 1), tmp_path))[0] for at in range(n_rows)]
    assert codes_of(make(table, tmp_path)) == alone


GUESSED = [
    *(1, 2.5, float("inf"), -float("inf"), "x", " 01", None, True, pd.NA, Decimal("2.50"), 0),
    *(pd.Timestamp("2020-01-01 00:00:00.5"), pd.Timestamp("2020-01-01", tz="UTC"), pd.Timedelta("1s")),
    *(datetime.date(2020, 1, 1), datetime.time(1, 2, 3, 500_000), datetime.datetime(2020, 1, 1, 12)),
    *(pd.Period("2020-01", "M"), pd.Interval(0, 1), 1 + 2j),
]


@pytest.mark.quick_cases("plain")
@pytest.mark.parametrize("folded", [False, True], ids=["plain", "categories"])
@settings(quick, max_examples=40)
@given(data=st.data())
def test_rows_of_pandas_are_coded_one_by_one_whatever_type_it_found(folded: bool, data: st.DataObject) -> None:
    """One row more makes a column of numbers, truth values or times one of objects: the others mean what they did."""
    cells = [cell for cell in GUESSED if not (folded and cell is True)]  # pandas takes True and 1 for one category
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(cells)] * len(NAMES)), min_size=1, max_size=4))

    def frame(some: Sequence[Row]) -> pd.DataFrame:
        found = pd.DataFrame({name: pd.Series([row[at] for row in some]) for at, name in enumerate(NAMES)})
        return found.astype("category") if folded else found

    assert codes_of(frame(rows)) == [codes_of(frame([row]))[0] for row in rows]


def test_a_day_with_a_time_of_day_is_that_day() -> None:
    """Under differential privacy one cell that is not quite of its type refuses no table; it is cut off by itself."""
    days = pa.array([0, 86_400_000 + 5, 2**62, None], pa.int64()).cast(pa.date64())
    times = pa.array([0, 1, 2**31 - 1, None], pa.int32()).cast(pa.time32("s"))
    for odd in (days, times):
        table = pa.table({name: pa.array([1] * 4) if name == "n" else odd for name in NAMES})
        assert codes_of(table) == [codes_of(table.slice(at, 1))[0] for at in range(4)]
    assert [row[0] for row in codes_of(pa.table({n: [1] * 4 if n == "n" else days for n in NAMES}))][:2] == [
        "1970-01-01",
        "1970-01-02",
    ]


def test_a_number_is_the_same_in_every_source(tmp_path: Path) -> None:
    """One row of the same cells has the same codes, whatever it is written in."""
    table = pa.table({"who": [12], "code": [2], "text": [1], "n": [3], "y": [1]})
    rows = [("12", "2", "1", "3", "1")]
    found = [write(rows, tmp_path) for _, write in UNTYPED.values()]
    found += [make(table, tmp_path) for make in TYPED_SOURCES.values()]
    found.append(table.to_pandas().astype("float64"))
    assert {codes_of(one)[0] for one in found} == {("12", 1, 0, 1, 1)}


# --- every method, with and without a row that looks like no other --------------------------------------------------

PEOPLE = [
    (spelled.format(person), str(1 + person % 2), "1", str(person % 10), str(person % 2))
    for person in range(10, 30)
    for spelled in ("{}", "{}.0", " {}", "0{}e0")
]
ODD: list[Row] = [("x7", "2.5", "01", "many", "1"), ("4.5", "", "", "", "1"), ("", "x", "?", "1e400", "?")]
LOCAL = ("rr", "errph", "ppnb", "trr")
SETTINGS: dict[str, dict[str, Any]] = {**QUICK, "errph": {"epsilon": 1.0, "bins": 4}}


def fed(method: str, data: Any, policy: Policy, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The method's result for each row that it uses, in order: codes and labels, sums, or answers under a fixed key."""
    seen: list[Any] = []
    real, add = coded_rows._coded, aggregate_tables.CellSums.__call__

    def spy(*given: Any) -> Any:
        codes, labels = real(*given)
        seen.append([*zip(*codes.tolist(), labels.tolist(), strict=True)])
        return codes, labels

    def spy_on_sums(own: aggregate_tables.CellSums, batch: pa.RecordBatch, row: int) -> Any:
        seen.append([tuple(add(own, batch.slice(at, 1), row + at).tolist()) for at in range(batch.num_rows)])
        return add(own, batch, row)

    monkeypatch.setattr(coded_rows, "_coded", spy)
    monkeypatch.setattr(aggregate_tables.CellSums, "__call__", spy_on_sums)
    source = ENGINE.scan(data, policy)
    made = make_method(method, SETTINGS[method])
    draft = made.release(source, policy, engine=ENGINE, rng=Randomness.seeded(1))
    answers = [row for batch in draft.data.batches() for row in batch.to_pylist()]
    monkeypatch.undo()
    return answers if method in LOCAL else seen[0]


@pytest.mark.quick_cases(
    "rr-CSV",
    "errph-CSV",
    "ppnb-CSV",
    "dp-forest-CSV",
    "dp-marginals-CSV",
    "dp-nb-CSV",
    "dp-tables-CSV",
    "dp-tree-CSV",
    "edprf-CSV",
    "c45-arithmetic-CSV",
)
@pytest.mark.parametrize("source", ["CSV", *(pytest.param(one, marks=pytest.mark.slow) for one in (*UNTYPED,)[1:])])
@pytest.mark.parametrize("method", [*LOCAL, *CENTRAL])
def test_one_row_more_changes_no_other(
    method: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any last row, the others are coded as without it, one row a person, and the release is made."""
    columns = {name: POLICY.columns[name] for name in NAMES if method not in LOCAL or name != "who"}
    if method == "trr":  # takes numbers alone
        columns |= {name: Column(name=name, role=Role.INSENSITIVE) for name in ("code", "text")}
    policy = Policy(columns=columns, cell_by_cell=True)
    write = UNTYPED[source][1]
    spell = (lambda row: tuple(f'"{cell}"' for cell in row)) if source == "JSON Lines" else tuple
    before = fed(method, write([spell(row) for row in PEOPLE], tmp_path), policy, monkeypatch)
    assert len(before) == (len(PEOPLE) if method in LOCAL else 20)
    for odd in ODD:
        after = fed(method, write([spell(row) for row in (*PEOPLE, odd)], tmp_path), policy, monkeypatch)
        assert after[: len(before)] == before
        assert len(after) <= len(before) + 1


@pytest.mark.parametrize("method", ["rr", "dp-nb"])
@pytest.mark.parametrize("source", [*UNTYPED, "no rows"])
def test_no_cell_decides_between_a_release_and_a_refusal(method: str, source: str, tmp_path: Path) -> None:
    """Tables of the oddest cells are released, empty ones too, and the owner learns how many cells were lost."""
    columns = {name: column for name, column in POLICY.columns.items() if method != "rr" or name != "who"}
    policy = Policy(columns={**columns, "note": Column(name="note", role=Role.INSENSITIVE)})
    cells, write = UNTYPED["CSV" if source == "no rows" else source]
    rows = [tuple(cells[(at + shift) % len(cells)] for shift in range(len(NAMES))) for at in range(len(cells))]
    data = write([] if source == "no rows" else rows, tmp_path)
    if isinstance(data, pd.DataFrame):
        data = data.assign(note=pd.Series([[1], "x"] * len(rows), dtype=object)[: len(rows)])
    else:
        policy = Policy(columns=columns)
    if method == "rr" and isinstance(data, pd.DataFrame):
        data = data.drop(columns="who")
    elif method == "rr":
        policy = Policy(columns={**columns, "who": Column(name="who", role=Role.IDENTIFIER)})
    release = anonkit.release(data, method=method, epsilon=1.0, policy=policy, ledger=None)
    if source != "no rows":
        assert release.owner["cells_not_as_declared"]["code"]["outside"] > 0
        assert "cells_not_as_declared" not in str(release.report)


def test_rows_without_a_unit_are_told_to_the_owner_alone() -> None:
    """They are not used; how many there are is in no file of the release."""
    table = pa.table(
        {
            "who": [None if at < 50 else f"p{at}" for at in range(200)],
            "code": ["1"] * 200,
            "text": ["1"] * 200,
            "n": [1] * 200,
            "y": ["0", "1"] * 100,
        }
    )
    policy = Policy(columns=POLICY.columns)
    release = anonkit.release(table, method="dp-nb", epsilon=30.0, policy=policy, ledger=None)
    assert release.owner["rows_not_used"] == {"rows_without_unit": 50}
    assert "rows_without_unit" not in str(release.report)
    assert "rows_without_unit" not in str(release.params)
    assert abs(release.report["rows"]["out"] - 150) < 25


def test_ids_beyond_doubles_stay_apart(tmp_path: Path) -> None:
    """JSON Lines with an id of 4.5: two people whose ids differ in the last digit are two."""
    ids = ["9007199254740993", "9007199254740992", "4.5"]
    rows = [(one, '"1"', '"1"', "1", '"0"') for one in ids]
    assert [who for who, *_ in codes_of(json_lines(rows, tmp_path))] == ids
    assert np.unique([who for who, *_ in codes_of(json_lines(rows[:2], tmp_path))]).size == 2
