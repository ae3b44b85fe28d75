"""Nothing in the data decides between a release and a refusal: every private method, the oddest tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.cli import anonkit as command
from anonkit.cli.boundary import run
from anonkit.methods import METHODS, method_class
from anonkit.parameters import parameters_of
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from tests.contract.test_methods import CENTRAL, DRAWN, K_ANONYMOUS, QUICK, RANDOMIZED

PRIVATE = (*RANDOMIZED, *CENTRAL)
SETTINGS: Mapping[str, Mapping[str, Any]] = {**QUICK, "errph": {"epsilon": 1.0, "bins": 4}}
NAMES = ("who", "code", "n", "y")

Row = tuple[str, str, str, str]
Write = Callable[[Sequence[Row], Path], Any]

PLAIN: list[Row] = [(f"p{at}", "12"[at % 2], str(at % 9), str(at % 2)) for at in range(30)]
ODD: Mapping[str, list[Row]] = {
    "no rows": [],
    "one row": PLAIN[:1],
    "all missing": [("", "", "", "")] * 5,
    "mixed columns": [
        *PLAIN,
        ("", "", "", ""),
        ("x", "2.50", "1e400", "1.0"),
        ("1e1", "q", "nan", "?"),
        ("7", "1", "many", "0"),
    ],
    "one class": [(who, code, n, "1") for who, code, n, _ in PLAIN],
    "labels missing": [(who, code, n, "") for who, code, n, _ in PLAIN],
    "labels outside": [(who, code, n, "?") for who, code, n, _ in PLAIN],
    "nobody's rows": [("", code, n, y) for _, code, n, y in PLAIN],
    "one person": [("p", code, n, y) for _, code, n, y in PLAIN],
    "numbers missing": [(who, code, "", y) for who, code, _, y in PLAIN],
    "texts for numbers": [(who, code, "many", y) for who, code, _, y in PLAIN],
    "all outside": [(who, "q", "-1e400", y) for who, _, _, y in PLAIN],
}
DECISIVE = ("no rows", "one row", "all missing", "mixed columns")
"""Between them all that was ever refused."""


def policy_of(method: str) -> Policy:
    """Return the public domains; only central methods know units, and `trr` numbers alone."""
    unit = Role.IDENTIFIER if method in RANDOMIZED else Role.UNIT
    code = Column(name="code", role=Role.INSENSITIVE) if method == "trr" else None
    return Policy(
        columns={
            "who": Column(name="who", role=unit),
            "code": code or Column(name="code", categories=("1", "2", "2.5", "x")),
            "n": Column(name="n", bounds=(0, 10)),
            "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
        }
    )


def toml_of(policy: Policy) -> str:
    """Return the policy as a file says it."""
    lines = ["[columns]"]
    for name, column in policy.columns.items():
        told = [f'role = "{column.role}"'] if column.role is not Role.QUASI_IDENTIFIER else []
        told += [f"categories = {json.dumps(column.categories)}"] if column.categories else []
        told += [f"bounds = [{column.bounds[0]}, {column.bounds[1]}]"] if column.bounds else []
        lines.append(f"{name} = {{ {', '.join(told)} }}")
    return "\n".join(lines) + "\n"


def test_every_method_with_such_a_promise_is_here() -> None:
    """A method that is added is tested here, or shows true rows: of an odd table perhaps none."""
    assert sorted((*PRIVATE, *K_ANONYMOUS, *DRAWN)) == sorted(METHODS)


# --- sources -------------------------------------------------------------------------------------------------------


def delimited(delimiter: str, ending: str) -> Write:
    """Write CSV or TSV."""

    def write(rows: Sequence[Row], folder: Path) -> Path:
        path = folder / f"t.{ending}"
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows([NAMES, *rows])
        return path

    return write


def literal(cell: str) -> Any:
    """Return a cell as a number where it is one that JSON has, null where it is empty."""
    return None if cell == "" else int(cell) if cell.isdecimal() else cell


def json_lines(rows: Sequence[Row], folder: Path) -> Path:
    """Write JSON Lines whose columns change from number to string and back."""
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps(dict(zip(NAMES, map(literal, row), strict=True))) + "\n" for row in rows))
    return path


def texts(rows: Sequence[Row], folder: Path) -> pa.Table:
    """Return columns of texts."""
    return pa.table({name: pa.array([row[at] or None for row in rows], pa.string()) for at, name in enumerate(NAMES)})


def decimals(rows: Sequence[Row], folder: Path) -> pa.Table:
    """Return numbers as decimals of another scale; what they cannot hold is missing."""
    cells = [Decimal(row[2]) if row[2].isdecimal() else None for row in rows]
    return texts(rows, folder).set_column(2, "n", pa.array(cells, pa.decimal128(38, 11)))


def floats(rows: Sequence[Row], folder: Path) -> pa.Table:
    """Return numbers as floats, with NaN and infinities."""
    spelled = [None if row[2] == "" else float(row[2]) if row[2] != "many" else float("nan") for row in rows]
    return texts(rows, folder).set_column(2, "n", pa.array(spelled, pa.float64()))


def parquet(rows: Sequence[Row], folder: Path) -> Path:
    """Write Parquet."""
    pq.write_table(texts(rows, folder), folder / "t.parquet")
    return folder / "t.parquet"


SOURCES: Mapping[str, Write] = {
    "CSV": delimited(",", "csv"),
    "TSV": delimited("\t", "tsv"),
    "JSON Lines": json_lines,
    "Parquet": parquet,
    "Arrow": texts,
    "Arrow decimals": decimals,
    "Arrow floats": floats,
    "Arrow nulls": lambda rows, folder: pa.table({name: pa.nulls(len(rows)) for name in NAMES}),
    "pandas": lambda rows, folder: pd.DataFrame([[literal(cell) for cell in row] for row in rows], columns=[*NAMES]),
    "polars": lambda rows, folder: pl.from_arrow(texts(rows, folder)),
}


def released(method: str, data: Any, **more: Any) -> anonkit.Release:
    """Return a release in memory."""
    return anonkit.release(data, method=method, policy=policy_of(method), ledger=None, **{**SETTINGS[method], **more})


@pytest.mark.quick_cases("rr", "errph", "dp-forest", "dp-marginals", "dp-nb", "dp-tables", "edprf", "c45-arithmetic")
@pytest.mark.parametrize("method", PRIVATE)
def test_odd_tables_end_as_plain_ones_do(
    method: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rows, one row, no cell, every kind of cell: the command line writes a release and ends with 0."""
    monkeypatch.delenv("ANONKIT_DEBUG", raising=False)
    told = {"as_": "as", "p_keep": "p-keep"}
    options = [word for name, value in SETTINGS[method].items() for word in (f"--{told.get(name, name)}", str(value))]
    policy = tmp_path / "policy.toml"
    policy.write_text(toml_of(policy_of(method)))
    for at, name in enumerate(DECISIVE):
        data, out = SOURCES["CSV"](ODD[name], tmp_path), tmp_path / f"out{at}.parquet"
        words = ["release", data, out, "--method", method, "--policy", policy, "--no-ledger", *options]
        code = run(command, [*map(str, words)], "anonkit")
        assert (code, name) == (0, name), capfd.readouterr().err
        assert out.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("method", PRIVATE)
def test_odd_tables_of_every_source_are_released(method: str, source: str, tmp_path: Path) -> None:
    """Tables of any source are released; rows of a local release are all answered."""
    for rows in ODD.values():
        release = released(method, SOURCES[source](rows, tmp_path))
        assert method in CENTRAL or release.report["rows"]["out"] == len(rows)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("method", CENTRAL)
def test_odd_tables_are_released_with_every_option(method: str, tmp_path: Path) -> None:
    """Both neighbours, several rows a person, cells, every score, a bound on rows below and above the table's own."""
    known = {one.name: one for one in parameters_of(method_class(method))}
    options: list[dict[str, Any]] = [{"rows_per_unit": 3}, {"max_rows": 10}, {"max_rows": 1000}]
    for name in ("adjacency", "as_", "score"):
        options += [{name: choice} for choice in (known[name].choices or () if name in known else ())]
    if "max_rows" in known:
        options = [{"max_rows": 20, **option} for option in options]
    for option in options:
        if option.keys() <= known.keys():
            for rows in ODD.values():
                released(method, texts(rows, tmp_path), **option)
