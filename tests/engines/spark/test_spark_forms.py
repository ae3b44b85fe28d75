"""Written forms on Spark: those that are declared and those that are found, as the local engine reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.drafting.found_forms import found_forms, with_found
from anonkit.engines import LocalEngine
from anonkit.policy.declaration import Policy

DECLARED = Policy.from_dict({"columns": {"declared": {"decimal": ",", "thousands": "."}}})


def _table(rows: int = 200) -> pa.Table:
    numbers = [
        1234.5 + 7 * (at * 37 % rows) + at % 3 / 4 for at in range(rows)
    ]  # at equal steps they would number the rows
    return pa.table(
        {
            "declared": [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in numbers],
            "found": [f"${x:,.2f}" for x in numbers],
            "share": [f"{at % 40 / 2:.1f}%" for at in range(rows)],
            "day": [f"{1 + at % 28:02}.{1 + at % 12:02}.20{10 + at % 9}" for at in range(rows)],
            "open": ["1,234", "5,678"] * (rows // 2),
            "points": ["1.234", "900"] * (rows // 2),
            "label": ["a", "b"] * (rows // 2),
        }
    )


@pytest.mark.slow
def test_forms_are_read_as_the_local_engine_reads_them(spark: Any, tmp_path: Path) -> None:
    """The same forms are found, the same cells are read, and a release of both engines is the same rows."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    for at in range(4):
        pq.write_table(_table().slice(50 * at, 50), tmp_path / f"{at}.parquet")
    read, forms = [], []
    with SparkEngine(session=spark, search_rows=60) as engine, LocalEngine() as local:
        for each in (engine, local):
            source = each.scan(tmp_path, DECLARED)
            found = found_forms(source, DECLARED, each)
            forms.append((found.forms, found.undecided))
            whole = with_found(source, found, each)
            read.append(pa.Table.from_batches(whole.batches(), whole.schema).sort_by("declared"))
    assert forms[0] == forms[1]
    assert set(forms[0][0]) == {"found", "share", "day"}
    assert set(forms[0][1]) == {"open"}
    assert read[0].equals(read[1])
    made = [
        anonkit.release(tmp_path, method="mondrian", k=10, policy=DECLARED, target="label", engine=engine, seed=1)
        for engine in ("local", "spark")
    ]
    assert [each.owner["points_between_figures"] for each in made] == [["points"]] * 2
    rows = [each.to_arrow() for each in made]
    assert rows[0].column_names == rows[1].column_names
    assert {"share", "day"} <= set(rows[0].column_names)
    by_all = [(name, "ascending") for name in rows[0].column_names]
    assert rows[0].sort_by(by_all).equals(rows[1].sort_by(by_all))
