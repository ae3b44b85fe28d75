"""Columns of integers: by the policy or a public type, never by the cells of a table."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.bundle.private_files import PrivateFolder
from anonkit.domains.cell_values import codes_of_cells
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.pipeline.declared_source import DeclaredSource, declared_source
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import NumericAttribute, public_attribute

PLAIN = [0, 1, 2, 7, 9, 3] * 4
COLUMN: Mapping[str, Any] = {"role": "quasi_identifier", "bounds": [0, 9]}
TARGET: Mapping[str, Any] = {"role": "target", "categories": ["a", "b"]}


def declared(source: Any, *, from_data: bool = False, **column: Any) -> DeclaredSource:
    """The source as a release of numbers declares it."""
    columns = {"n": {"role": "quasi_identifier"} if from_data else {**COLUMN, **column}, "y": TARGET}
    request = ReleaseRequest(
        method=make_method("dp-nb", {"epsilon": 1.0}),
        policy=Policy.from_dict({"columns": columns}),
        domains_min_people=2 if from_data else None,
    )
    with closing(PrivateFolder()) as private, closing(LocalEngine()) as engine:
        found = declared_source(source, request, request.declared(), engine, private)
        attribute = public_attribute(found.rows.policy.column("n"))
        assert isinstance(attribute, NumericAttribute)
        batches = list(found.rows.table.batches(["n"]))
        object.__setattr__(
            found, "codes", [c for b in batches for c in codes_of_cells(b, "n", attribute.grid(4)).tolist()]
        )
    return found


def is_whole(found: DeclaredSource) -> bool:
    """Return whether the column holds multiples of a step."""
    return found.rows.policy.column("n").whole_values is not None


# --- sources of every kind, from cells ----------------------------------------------------------------------------


def csv(cells: list[Any], folder: Path) -> Any:
    """A text file."""
    path = folder / "t.csv"
    path.write_text("n,y\n" + "".join(f"{'' if cell is None else cell},a\n" for cell in cells))
    return path


def json_lines(cells: list[Any], folder: Path) -> Any:
    """JSON Lines."""
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps({"n": cell, "y": "a"}) + "\n" for cell in cells))
    return path


def excel(cells: list[Any], folder: Path) -> Any:
    """A workbook."""
    book = openpyxl.Workbook()
    for row in (("n", "y"), *((cell, "a") for cell in cells)):
        book.active.append(row)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def sqlite(cells: list[Any], folder: Path) -> Any:
    """A base whose types say nothing."""
    path = folder / "t.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE t (n INTEGER, y TEXT)")
        base.executemany("INSERT INTO t VALUES (?, 'a')", [(cell,) for cell in cells])
        base.commit()
    return f"sqlite:///{path}?table=t"


def pandas(cells: list[Any], folder: Path) -> Any:
    """A data frame whose types NumPy gives by the cells."""
    return pd.DataFrame({"n": cells, "y": "a"})


def arrow(cells: list[Any], folder: Path) -> Any:
    """A table of Arrow."""
    return pa.table({"n": pa.array(cells, pa.int16()), "y": ["a"] * len(cells)})


def nullable(cells: list[Any], folder: Path) -> Any:
    """A data frame whose type holds missing cells."""
    return pd.DataFrame({"n": pd.array(cells, dtype="Int64"), "y": "a"})


def parquet(cells: list[Any], folder: Path) -> Any:
    """A Parquet file."""
    pq.write_table(arrow(cells, folder), folder / "t.parquet")
    return folder / "t.parquet"


def duck(cells: list[Any], folder: Path) -> Any:
    """A base with types."""
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as base:
        base.register("rows", arrow(cells, folder))
        base.sql("CREATE TABLE t AS SELECT n::INTEGER AS n, y FROM rows")
    return f"duckdb:///{path}?table=t"


BY_CELLS: Mapping[str, Callable[[list[Any], Path], Any]] = {
    "CSV": csv,
    "JSON Lines": json_lines,
    "Excel": excel,
    "SQLite": sqlite,
    "pandas": pandas,
}
BY_TYPE: Mapping[str, Callable[[list[Any], Path], Any]] = {
    "Arrow": arrow,
    "pandas Int64": nullable,
    "Parquet": parquet,
    "DuckDB": duck,
}


@pytest.mark.parametrize("source", BY_CELLS)
@pytest.mark.parametrize("odd", [2.5, None, "many", 77])
def test_one_odd_cell_changes_no_other_row(source: str, odd: Any, tmp_path: Path) -> None:
    """The integer type of a column, its bins, and the codes of all other rows are those of a plain table."""
    if source == "pandas" and odd == "many":
        odd = float("nan")
    for column in ({}, {"type": "integer"}, {"step": 3}):
        plain = declared(BY_CELLS[source](PLAIN, tmp_path), **column)
        other = declared(BY_CELLS[source]([*PLAIN[:5], odd, *PLAIN[6:]], tmp_path), **column)
        assert is_whole(plain) is is_whole(other) is bool(column)
        assert plain.rows.policy.column("n") == other.rows.policy.column("n")
        assert [*plain.codes[:5], *plain.codes[6:]] == [*other.codes[:5], *other.codes[6:]]
        assert plain.promise == other.promise


@pytest.mark.parametrize("source", BY_TYPE)
def test_a_public_type_says_that_numbers_are_whole(source: str, tmp_path: Path) -> None:
    """The promise names it as an assumption, whatever the cells are; a policy that says it needs none."""
    for cells in (PLAIN, [None, *PLAIN], [77, *PLAIN]):
        found = declared(BY_TYPE[source](cells, tmp_path))
        assert is_whole(found)
        (assumption,) = found.promise.to_dict()["assumptions"]
        assert assumption == "That all numbers of n are whole is public knowledge: the types of the source say so."
    assert declared(BY_TYPE[source](PLAIN, tmp_path), type="integer").promise.to_dict()["assumptions"] == []
    assert not is_whole(declared(BY_TYPE[source](PLAIN, tmp_path), type="number"))


def test_domains_from_the_table_say_under_a_condition_that_numbers_are_whole(tmp_path: Path) -> None:
    """Integers in all cells are stated as a condition; with one fraction the column has any numbers, without it."""
    found = declared(csv(PLAIN, tmp_path), from_data=True)
    assert is_whole(found)
    conditions = [text for text in found.promise.to_dict()["assumptions"] if "are whole was decided" in text]
    assert conditions
    assert all(text.startswith("CONDITIONAL: that all numbers of n are") for text in conditions)
    other = declared(csv([2.5, *PLAIN], tmp_path), from_data=True)
    assert not is_whole(other)
    assert not any("are whole" in text for text in other.promise.to_dict()["assumptions"])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"step": 0, "bounds": (0, 9)}, "above 0"),
        ({"step": True, "bounds": (0, 9)}, "above 0"),
        ({"step": 10, "bounds": (1, 9)}, "no two multiples"),
        ({"step": 0.5, "type": ColumnType.INTEGER, "bounds": (0, 9)}, "whole number"),
        ({"step": 1, "categories": ("1", "2")}, "for numbers"),
        ({"step": 1, "type": ColumnType.DATE}, "for numbers"),
        ({"type": ColumnType.INTEGER, "bounds": (0.1, 0.9)}, "no two multiples"),
    ],
)
def test_steps_that_cannot_be_are_refused(given: dict[str, Any], problem: str) -> None:
    """In one line that names the column."""
    with pytest.raises(PolicyError, match=f"'n'.*{problem}"):
        _ = Column(name="n", **given).whole_values


def test_bounds_end_at_multiples() -> None:
    """For any bounds of a policy, the public domain reaches from the first multiple to the last."""
    column = Column(name="n", bounds=(0.5, 9.9), type=ColumnType.INTEGER)
    attribute = public_attribute(column)
    assert isinstance(attribute, NumericAttribute)
    assert attribute.bounds == (1, 9)
    assert attribute.grid(100).cells == 9
    huge = Column(name="n", bounds=(0, 2.0**60), type=ColumnType.INTEGER)
    assert huge.whole_values is None
