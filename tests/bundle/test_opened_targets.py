"""Times in exports: times of day everywhere, nanoseconds cut and said, and no error quotes a cell."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.bundle.exports.export_files import Target
from anonkit.bundle.exports.opened_targets import ReleasedTable, form_of
from anonkit.checks.exported_rows import export_checks
from anonkit.cli import anonkit as command_line
from anonkit.cli.boundary import run
from anonkit.errors import ParameterError

SIDECARS = {"datapackage.json": b'{"resources": [{"name": "data"}]}'}
FORMS = (
    "{}/o.csv",
    "{}/o.tsv",
    "{}/o.xlsx",
    "{}/o.arrow",
    "sqlite:///{}/o.db?table=t",
    "duckdb:///{}/o.duckdb?table=t",
)
DAY = 86_400 * 10**9
OF_DAY = {
    "seconds": pa.array([0, 43_201, None, 86_399], pa.time32("s")),
    "millis": pa.array([0, 43_201_005, None, 86_399_999], pa.time32("ms")),
    "micros": pa.array([0, 43_201_000_005, None, 86_399_999_999], pa.time64("us")),
    "nanos": pa.array([0, 1_999, None, DAY - 1], pa.time64("ns")),
}


def written(folder: Path, table: pa.Table, target: str) -> tuple[str, ReleasedTable]:
    """Export a table, compared before it is put in place."""
    pq.write_table(table, folder / "release.parquet")
    rows, target = ReleasedTable(data=folder / "release.parquet"), target.format(folder)
    with closing(form_of(Target.of(target))) as form:
        form.write(rows, SIDECARS)
        assert failed(form, rows) == []
        form.commit()
    return target, rows


def failed(form: Any, rows: ReleasedTable) -> list[str]:
    """The checks that fail."""
    return [check.name for check in export_checks(form, rows) if not check.passed]


@pytest.mark.parametrize("target", FORMS)
def test_times_of_day_are_kept(target: str, tmp_path: Path) -> None:
    """Of any unit, the first and the last of a day, and missing ones; another time is found."""
    place, rows = written(tmp_path, pa.table(OF_DAY), target)

    with closing(form_of(Target.of(place))) as form:
        assert failed(form, rows) == []
    other = {**OF_DAY, "micros": pa.array([0, 43_201_000_006, None, 86_399_999_999], pa.time64("us"))}
    pq.write_table(pa.table(other), rows.data)
    with closing(form_of(Target.of(place))) as form:
        assert failed(form, ReleasedTable(data=rows.data)) == ["exported_cells"]


@pytest.mark.parametrize("target", FORMS)
def test_nanoseconds_are_cut_towards_the_past(target: str, tmp_path: Path) -> None:
    """Before 1970 too, with a zone and without; the columns that lost some are named, the others not."""
    ticks = [-1, -1_001, 1_999, None]
    table = pa.table(
        {
            "local": pa.array(ticks, pa.timestamp("ns")),
            "zone": pa.array(ticks, pa.timestamp("ns", "Europe/Berlin")),
            "whole": pa.array([-1_000, 0, 2_000, None], pa.timestamp("ns")),
        }
    )
    _, rows = written(tmp_path, table, target)

    assert rows.cut_columns == ("local", "zone")
    (batch,) = rows.batches()
    for name in ("local", "zone"):
        assert batch.column(name).cast(pa.int64()).to_pylist() == [-1, -2, 1, None]
    assert batch.column("whole").cast(pa.int64()).to_pylist() == [-1, 0, 2, None]


@pytest.mark.parametrize("target", FORMS)
@pytest.mark.parametrize(
    "cells",
    [
        pa.array([4_242_424], pa.date32()),
        pa.array([-4_242_424], pa.date32()),
        pa.array([4_242_424_242_424_242], pa.timestamp("ms")),
        pa.array([4_242_424_242_424_242_424], pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_years_beyond_four_digits_are_refused_unquoted(target: str, cells: pa.Array, tmp_path: Path) -> None:
    """The column is named, and no form shows the cell; nothing is left."""
    pq.write_table(pa.table({"born": cells}), tmp_path / "release.parquet")
    rows = ReleasedTable(data=tmp_path / "release.parquet")
    with closing(form_of(Target.of(target.format(tmp_path)))) as form, pytest.raises(ParameterError) as caught:
        form.write(rows, SIDECARS)

    assert "'born' has dates or times outside the years 1 to 9999" in str(caught.value)
    assert "4242" not in str(caught.value).replace("_", "")
    assert [path.name for path in tmp_path.iterdir()] == ["release.parquet"]


@pytest.mark.slow
def test_a_release_with_times_leaves_and_the_command_says_what_was_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the table to the text: a column that a release keeps as it is, with a nanosecond in one row."""
    n = 60
    table = pa.table(
        {
            "age": [20 + at % 9 for at in range(n)],
            "at": pa.array([10**18 + at * 60 * 10**9 + (at == 7) for at in range(n)], pa.timestamp("ns")),
            "of_day": pa.array([at * 10**9 for at in range(n)], pa.time64("ns")),
            "class": [str(at % 2) for at in range(n)],
        }
    )
    out = str(tmp_path / "out.parquet")
    kept = ["at", "of_day"]
    anonkit.release(table, method="mondrian", k=5, target="class", sensitive=kept, output=out, ledger=None)

    assert run(command_line, ["export", out, str(tmp_path / "o.csv")], "anonkit") == 0
    shown = capsys.readouterr().out
    assert "Cut        times of 'at' to microseconds" in shown
    assert "of_day" not in shown
    assert run(command_line, ["validate", str(tmp_path / "o.csv"), "--against", out], "anonkit") == 0
