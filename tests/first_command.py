"""The result of a first command on a table, judged from the files of the release and the source alone."""

from __future__ import annotations

import contextlib
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from undeclared_tables import UndeclaredTable

from anonkit.cli import anonkit
from anonkit.cli.boundary import run

K = 10


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of `anonkit release --k 10` on a table."""

    exit_code: int
    printed: str
    """Standard output and standard error."""
    unprotected: tuple[str, ...] = ()
    """Why somebody is unprotected in what was released; empty where nobody is."""
    columns: tuple[str, ...] = ()
    """Released columns."""
    rows: int = 0
    target: str | None = None


def first_command(table: UndeclaredTable, folder: Path, *options: str) -> Outcome:
    """Run the first command of the README on a table, and judge what it publishes."""
    source, output = folder / "in.csv", folder / "out.parquet"
    source.write_text(table.csv(), encoding="utf-8")
    code, printed = _run("release", "--k", str(K), *options, str(source), str(output))
    if code:
        leftover = ("it left a file",) if output.exists() else ()
        return Outcome(exit_code=code, printed=printed, unprotected=(*leftover, *_cells_in(table, printed)))
    report = json.loads(output.with_suffix(".report.json").read_text(encoding="utf-8"))
    data = pq.read_table(output)
    files = "\n".join(
        path.read_text(encoding="utf-8") for path in folder.glob("out.*") if path.suffix in {".json", ".html"}
    )
    released = "\n".join(sorted({str(cell) for column in data.columns for cell in column.unique().to_pylist()}))
    return Outcome(
        exit_code=code,
        printed=printed,
        unprotected=(
            *_cells_in(table, "\n".join((files, released, printed, *data.schema.names))),
            *_small_classes(table, data.to_pylist()),
            *_whose_rows(table, report, printed),
        ),
        columns=tuple(data.schema.names),
        rows=data.num_rows,
        target=next((column["name"] for column in report["columns"] if column["role"] == "target"), None),
    )


def _run(*arguments: str) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(anonkit, list(arguments), "anonkit")
    return code, printed.getvalue()


def _cells_in(table: UndeclaredTable, text: str) -> list[str]:
    """Return the identifying columns a cell of which is in a text; without a header the first record counts too."""
    records = table.records()
    found = [name for name in table.never if any(str(row[name]) in text for row in records[:300])]
    if not table.header and any(len(str(cell)) > 4 and str(cell) in text for cell in records[0].values()):
        found.append("the first record")
    return [f"cells of {name} in a file" for name in found]


def _small_classes(table: UndeclaredTable, rows: list[dict[str, Any]]) -> list[str]:
    """Return whether somebody is in a class below k, were every column known but a harmless label."""
    classes = Counter(tuple(str(cell) for name, cell in row.items() if name != table.label) for row in rows)
    alone = sum(size for size in classes.values() if size < K)
    return [f"{alone} of {len(rows)} rows in classes below {K}"] if alone else []


def _whose_rows(table: UndeclaredTable, report: dict[str, Any], printed: str) -> list[str]:
    """Return whether classes may hold the rows of one person: prevented where a column is a key, else to be said."""
    if table.rows_a_person == 1:
        return []
    if not table.has_key:
        return [] if "one person" in printed else ["nothing is said of rows that come in runs"]
    counted = report["guarantee"]["parameters"].get("candidates", ())
    return [] if counted and min(one["values"] for one in counted) >= K else ["no class is known to hold ten people"]
