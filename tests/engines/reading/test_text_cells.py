"""Decimal commas: read where the policy or the option says so, cell by cell; a number has no point then."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.cell_values import cell_numbers
from anonkit.engines import open_engine
from anonkit.engines.reading.text_cells import with_points
from anonkit.engines.snapshots.addresses import source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import ParameterError, PolicyError, SourceError
from anonkit.policy.column_declarations import Column, ColumnType, Outside
from anonkit.policy.declaration import Policy

COMMA = Policy(decimal=",")


def _read(source: object, policy: Policy, **how: Any) -> pa.Table:
    with closing(open_engine("local")) as engine, snapshot(source_at(source, **how)) as stays:
        opened = stays.scan(engine, policy)
        return pa.Table.from_batches(opened.batches(), schema=opened.schema)


def _column(tmp_path: Path, cells: list[str], policy: Policy, **how: Any) -> pa.ChunkedArray:
    path = tmp_path / "in.csv"
    path.write_text("n;q\n" + "".join(f"{at};{cell}\n" for at, cell in enumerate(cells)), encoding="utf-8")
    return _read(path, policy, **how).column("q")


def _declared(**declared: Any) -> Policy:
    cell_by_cell = declared.pop("cell_by_cell", False)
    return Policy(columns={"q": Column(name="q", **declared)}, decimal=",", cell_by_cell=cell_by_cell)


def test_numbers_with_a_comma_are_numbers(tmp_path: Path) -> None:
    """By the policy or by the option, which goes first; without either they are texts."""
    cells, numbers = ["1,5", "-0,25", "7", "1e3", "2,5E-1", ""], [1.5, -0.25, 7.0, 1000.0, 0.25, None]

    assert _column(tmp_path, cells, COMMA).to_pylist() == numbers
    assert _column(tmp_path, cells, Policy(), decimal=",").to_pylist() == numbers
    assert _column(tmp_path, cells, Policy()).to_pylist() == [*cells[:-1], None]
    assert _column(tmp_path, ["1.5"], COMMA, decimal=".").to_pylist() == [1.5]


def test_a_point_is_neither_a_fraction_nor_a_thousand(tmp_path: Path) -> None:
    """Among commas a cell with a point makes a column of texts, spelled as they are; a declared number is refused."""
    cells = ["1,5", "1.500", "1.234,5", "MARK"]

    assert _column(tmp_path, cells, COMMA).to_pylist() == cells
    with pytest.raises(SourceError, match="row 2") as refused:
        _column(tmp_path, cells, _declared(type=ColumnType.NUMBER))
    assert "1.500" not in str(refused.value)


def test_bounded_numbers_are_read_cell_by_cell(tmp_path: Path) -> None:
    """A cell that is no number stays a string, counted as missing, and changes the reading of no other cell."""
    policy = _declared(bounds=(0.0, 9.0), outside=Outside.CLAMP)
    read = _column(tmp_path, ["1,5", "1.5", "x", "3"], policy)

    assert read.to_pylist() == ["1.5", "1,5", "x", "3"]
    assert str(cell_numbers(read.combine_chunks()).tolist()) == "[1.5, nan, nan, 3.0]"


def test_under_differential_privacy_declared_numbers_get_points_and_categories_stay(tmp_path: Path) -> None:
    """Texts of declared numbers are those that the next step reads; categories are what the policy spells."""
    cells = ["1,5", "1.5", "x", "3"]
    policy = _declared(bounds=(0.0, 9.0), cell_by_cell=True)
    categories = _declared(categories=("1,5", "3"), cell_by_cell=True)

    assert _column(tmp_path, cells, policy).to_pylist() == ["1.5", "1,5", "x", "3"]
    assert _column(tmp_path, cells, categories).to_pylist() == cells


@given(st.lists(st.text("0123456789.,+-eE x", max_size=8)))
def test_point_and_comma_change_places_in_figures_alone(cells: list[str]) -> None:
    """Twice done is not done, each cell by itself, and no cell of letters changes."""
    texts = pa.array(cells, pa.string())
    changed = with_points(texts)

    assert with_points(changed).equals(texts)
    assert changed.to_pylist() == [with_points(texts[at : at + 1])[0].as_py() for at in range(len(texts))]
    assert all(was == now for was, now in zip(cells, changed.to_pylist(), strict=True) if "x" in was)


def test_many_files_follow_the_policy_and_other_formats_do_not(tmp_path: Path) -> None:
    """A folder of CSV has commas; JSON Lines have points whatever the policy says, and the option is refused there."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("n;q\n1;2,5\n", encoding="utf-8")
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"q": 2.5}\n', encoding="utf-8")
    bounded = _declared(bounds=(0.0, 9.0), cell_by_cell=True)

    assert _read(f"{tmp_path}/*.csv", COMMA).column("q").to_pylist() == [2.5, 2.5]
    assert _read(lines, bounded).column("q").to_pylist() == ["2.5"]
    with pytest.raises(ParameterError, match="decimal"):
        _read(lines, Policy(), decimal=",")


def test_only_a_point_or_a_comma_is_taken() -> None:
    """Anything else in a policy or an option is refused."""
    assert Policy.from_dict({"decimal": ","}).decimal == ","
    with pytest.raises(PolicyError, match="decimal"):
        Policy.from_dict({"decimal": ";"})
    with pytest.raises(ParameterError, match="decimal"):
        source_at("in.csv", decimal=";")
