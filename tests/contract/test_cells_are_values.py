"""Cells that methods of noise show are values of their column, and one odd cell changes the meaning of no other."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.bundle.private_files import PrivateFolder
from anonkit.domains.cell_values import codes_of_cells
from anonkit.domains.number_bins import Categories, Grid
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading.declared_tables import settled
from anonkit.methods import make_method
from anonkit.pipeline.declared_source import declared_source
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.public_domains import NumericAttribute, public_attribute

FIRST = date(2020, 1, 1)
COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "integer": {"type": "integer", "bounds": [-3, 17]},
    "decimal": {"step": 0.25, "bounds": [0, 10]},
    "date": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"], "levels": ["month", "quarter"]},
    "boolean": {"type": "boolean"},
}
CELLS: Mapping[str, st.SearchStrategy[Any]] = {
    "integer": st.one_of(st.integers(-9, 25), st.floats(-3, 17).map(lambda x: round(x, 2))),
    "decimal": st.floats(-1, 11).map(lambda x: round(x, 2)),
    "date": st.integers(0, 400).map(lambda days: FIRST + timedelta(days)),
    "boolean": st.booleans(),
}
METHODS: Mapping[str, Mapping[str, Any]] = {
    "rr": {"epsilon": 2.0},
    "errph": {"epsilon": 2.0, "bins": 4},
    "dp-nb": {"epsilon": 1.0},
    "dp-forest": {"epsilon": 1.0},
    "dp-marginals": {"epsilon": 1.0},
    "dp-tree": {"epsilon": 1.0},
    "edprf": {"epsilon": 1.0},
    "diffprf": {"epsilon": 1.0},
    "diffgen": {"epsilon": 1.0},
    "c45-halving": {"epsilon": 1.0},
}


def _policy(kind: str) -> anonkit.Policy:
    return anonkit.Policy.from_dict(
        {
            "columns": {
                "x": {"role": "quasi_identifier", **COLUMNS[kind]},
                "c": {"categories": ["a", "b"]},
                "y": {"role": "target", "categories": ["p", "q"]},
            }
        }
    )


def _is_value(kind: str, cell: Any, domain: Categories | None) -> bool:
    """Return whether a cell is a value of a column, by the declaration alone."""
    if cell is None:
        return True
    if kind == "integer":
        return isinstance(cell, int) and -3 <= cell <= 17
    if kind == "decimal":
        return 0 <= cell <= 10 and (Fraction(str(cell)) / Fraction(1, 4)).denominator == 1
    if kind == "boolean":
        return isinstance(cell, bool)
    assert domain is not None
    return cell in domain.values


@pytest.mark.quick_cases("rr-date", "dp-nb-decimal", "dp-marginals-boolean")
@pytest.mark.parametrize(("method", "kind"), [(method, kind) for method in METHODS for kind in COLUMNS])
def test_a_shown_cell_is_a_value_of_its_column(method: str, kind: str) -> None:
    """An integer is shown as an integer within its bounds, a decimal as a multiple of its step, others as declared."""
    policy = _policy(kind)
    attribute = public_attribute(policy.column("x")) if kind == "date" else None
    domain = getattr(attribute, "domain", None)

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.tuples(st.one_of(st.none(), CELLS[kind]), st.sampled_from("abz")), min_size=30, max_size=80))
    def shown(rows: list[tuple[Any, str]]) -> None:
        cells = [cell for cell, _ in rows]
        kinds = {"date": pa.date32(), "boolean": pa.bool_()}
        table = pa.table(
            {
                "x": pa.array(cells, kinds.get(kind, pa.float64())),
                "c": [letter for _, letter in rows],
                "y": ["p" if letter == "a" else "q" for _, letter in rows],
            }
        )
        release = anonkit.release(
            table, method=method, policy=policy, ledger=None, seed=1, utility=False, **METHODS[method]
        )
        made = release.to_arrow()
        if "x" in made.schema.names:
            assert all(_is_value(kind, cell, domain) for cell in made.column("x").to_pylist())

    shown()


PLAIN: Mapping[str, list[Any]] = {
    "integer": [0, 1, 2, 7, 9, 3, 17, -3],
    "decimal": [0, 0.25, 2.5, 7.75, 9, 3, 10, 0.5],
    "date": ["2020-01-01", "2020-03-31", "2020-12-31", "2020-07-04"] * 2,
    "boolean": ["true", "false", "false", "true"] * 2,
}
ODD: Mapping[str, list[Any]] = {
    "integer": [2.5, None, "many", 77, "0x1F"],
    "decimal": [2.6, None, "many", -5, "1e400"],
    "date": ["2020-02-30", None, "soon", "1999-01-01", "2020"],
    "boolean": ["perhaps", None, "2", "yes and no"],
}


def _codes(source: Any, kind: str) -> tuple[list[int], Any]:
    """Return the code of each row as a release of noise reads it, and the declaration of the column."""
    request = ReleaseRequest(method=make_method("dp-nb", {"epsilon": 1.0}), policy=_policy(kind))
    with closing(PrivateFolder()) as private, closing(LocalEngine()) as engine:
        found = declared_source(source, request, request.declared(), engine, private)
        attribute = public_attribute(found.rows.policy.column("x"))
        grid: Grid | Categories = attribute.grid(7) if isinstance(attribute, NumericAttribute) else attribute.domain
        rows = settled(found.rows.table, found.rows.policy, engine)
        codes = [code for batch in rows.batches(["x"]) for code in codes_of_cells(batch, "x", grid).tolist()]
    return codes, found.rows.policy.column("x")


@pytest.mark.quick_cases("date-CSV", "boolean-JSON Lines", "decimal-pandas")
@pytest.mark.parametrize("source", ["CSV", "JSON Lines", "Excel", "SQLite", "pandas"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_one_odd_cell_changes_no_other_code(source: str, kind: str, tmp_path: Path) -> None:
    """In every source without types the codes of all other rows, and what is declared, stay what they were."""
    plain, declared = _codes(_table(source, PLAIN[kind], tmp_path), kind)
    assert len(set(plain)) > 1
    for odd in ODD[kind]:
        cells = list(PLAIN[kind])
        cells[4] = odd
        codes, column = _codes(_table(source, cells, tmp_path), kind)
        assert codes[:4] + codes[5:] == plain[:4] + plain[5:], odd
        assert column == declared


def _table(source: str, cells: list[Any], folder: Path) -> Any:
    """Return a source whose first column has these cells."""
    rows = [(cell, "a", "p") for cell in cells]
    if source == "CSV":
        with (folder / "t.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("x", "c", "y"), *(("" if r[0] is None else r[0], *r[1:]) for r in rows)])
        return folder / "t.csv"
    if source == "JSON Lines":
        lines = (json.dumps(dict(zip("xcy", row, strict=True))) + "\n" for row in rows)
        (folder / "t.jsonl").write_text("".join(lines))
        return folder / "t.jsonl"
    if source == "Excel":
        book = openpyxl.Workbook()
        for row in (("x", "c", "y"), *rows):
            book.active.append(row)
        book.save(folder / "t.xlsx")
        return folder / "t.xlsx"
    if source == "SQLite":
        (folder / "t.db").unlink(missing_ok=True)
        with closing(sqlite3.connect(folder / "t.db")) as base:
            base.execute("CREATE TABLE t (x, c TEXT, y TEXT)")
            base.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            base.commit()
        return f"sqlite:///{folder / 't.db'}?table=t"
    return pd.DataFrame({"x": pd.Series(cells, dtype=object), "c": "a", "y": "p"})
