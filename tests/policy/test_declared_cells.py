"""k-anonymous releases of columns with declared domains: one rule of cells, top and bottom coding, the next batch."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.errors import GuaranteeError, PolicyError, SourceError
from anonkit.policy.column_declarations import Column, Missing, Outside, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.declared_cells import settling

N = 400
RNG = np.random.default_rng(3)
GRADE, AGE, PAY = RNG.integers(1, 5, N), RNG.integers(-20, 140, N), RNG.choice(["low", "high"], N)
TABLE = pa.table({"grade": GRADE, "age": AGE, "pay": PAY})
POLICY = Policy(
    columns={
        "grade": Column(name="grade", categories=("1", "2", "3", "4")),
        "age": Column(name="age", bounds=(17, 90), outside=Outside.CLAMP),
        "pay": Column(name="pay", role=Role.INSENSITIVE),
    }
)


def parquet(table: pa.Table, folder: Path) -> Path:
    """Write a Parquet file."""
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def text(table: pa.Table, folder: Path, ending: str) -> Path:
    """Write a text file."""
    frame, path = table.to_pandas(), folder / f"t.{ending}"
    if ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    return path


SOURCES: dict[str, Any] = {
    "Arrow": lambda table, folder: table,
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas floats": lambda table, folder: table.to_pandas().astype({"grade": "float64"}),
    "pandas objects": lambda table, folder: table.to_pandas().astype({"grade": object}),
    "polars": lambda table, folder: pl.from_arrow(table),
    "Parquet": parquet,
    "CSV": lambda table, folder: text(table, folder, "csv"),
    "TSV": lambda table, folder: text(table, folder, "tsv"),
    "JSON Lines": lambda table, folder: text(table, folder, "jsonl"),
}


def released(source: Any, policy: Policy = POLICY, **given: Any) -> anonkit.Release:
    """A release in memory with a fixed seed."""
    return anonkit.release(source, method="mondrian", k=5, policy=policy, seed=1, ledger=None, **given)


@pytest.fixture(scope="module")
def wanted() -> dict[str, Any]:
    """The recoding of the table as it is in memory."""
    return dict(released(TABLE).params["recoding"])


@pytest.mark.quick_cases("CSV", "JSON Lines", "pandas floats")
@pytest.mark.parametrize("source", SOURCES)
def test_integers_find_declared_categories_in_every_source(source: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    """Cells that only CSV allowed once give one release, for any source."""
    release = released(SOURCES[source](TABLE, tmp_path))
    assert release.params["recoding"] == wanted
    assert release.params["columns"][0]["domain"] == {"categories": ["1", "2", "3", "4"]}


@pytest.mark.quick_cases("greedy-hamdist")
@pytest.mark.parametrize("method", ["rfka", "mondrian", "greedy-hamdist"])
def test_numbers_beyond_bounds_are_shown_as_the_bound(method: str) -> None:
    """Top and bottom coding, said in the report; no cut lies beyond a bound, and nothing beyond one is released.

    Without generalization each part is one integer: those of the bounds are [17, 18) and [90, 91).
    """
    policy = Policy(columns={**POLICY.columns, "age": replace(POLICY.columns["age"], generalize=False)})
    for each in (POLICY, policy):
        release = anonkit.release(
            TABLE.drop(["grade"]),
            method=method,
            k=2,
            policy=Policy(columns={"age": each.columns["age"], "pay": Column(name="pay", role=Role.TARGET)}),
            seed=1,
            ledger=None,
        )
        entry = next(one for one in release.report["columns"] if one["name"] == "age")
        assert entry["action"] == "dropped" or entry["coding"].endswith("below 17 is 17, above 90 is 90")
        cells = release.to_arrow()
        if "age" in cells.column_names and pa.types.is_integer(cells.schema.field("age").type):
            assert set(cells.column("age").to_pylist()) <= set(range(17, 91))
        axes = release.params["recoding"].get("columns") or release.params["recoding"].get("axes") or []
        cuts = [float(cut) for axis in axes for cut in axis.get("cuts", [])]
        assert all(17 < cut <= 90 for cut in cuts) if each is POLICY else all(17 <= cut <= 91 for cut in cuts)
    assert release.owner["cells_not_as_declared"]["age"]["outside"] == int(((AGE < 17) | (AGE > 90)).sum())


def test_outside_may_be_refused_or_missing(tmp_path: Path) -> None:
    """As the policy says; a text among numbers is missing unless it is refused."""
    refusing = {**POLICY.columns, "age": Column(name="age", bounds=(17, 90), outside=Outside.REFUSE)}
    count = int(((AGE < 17) | (AGE > 90)).sum())
    with pytest.raises(PolicyError, match=f"column 'age' has {count} cells outside its declared bounds"):
        released(TABLE, Policy(columns=refusing))
    path = tmp_path / "t.csv"
    path.write_text("grade,age,pay\n" + "1,many,low\n" * 9 + "2,30,high\n" * 9)
    with pytest.raises(SourceError, match="column 'age': the cell in row 1 is not of type number"):
        released(path, Policy(columns=refusing))
    assert released(path).owner["cells_not_as_declared"] == {"age": {"outside": 9}}
    strangers = TABLE.set_column(0, "grade", pa.array(GRADE + 1))
    with pytest.raises(GuaranteeError, match=r"column 'grade' has .* cells outside its declared categories"):
        released(strangers)
    lenient = {
        **POLICY.columns,
        "grade": Column(name="grade", categories=("1", "2", "3", "4"), outside=Outside.MISSING),
    }
    assert released(strangers, Policy(columns=lenient)).report["rows"]["out"] > 300


@pytest.mark.slow
def test_the_next_batch_is_read_by_the_same_declaration(tmp_path: Path) -> None:
    """`apply` clamps, and finds categories by their decimal, in whatever the batch comes as."""
    released(text(TABLE, tmp_path, "csv"), output=tmp_path / "out.parquet")
    batches = [parquet(TABLE, tmp_path), TABLE.to_pandas().astype({"grade": "float64"}), TABLE]
    made = [anonkit.apply(tmp_path / "out.parquet", one, max_suppression=0.2, seed=1, ledger=None) for one in batches]
    for one in made:
        assert one.report["rows"]["suppressed"] == made[0].report["rows"]["suppressed"]
        assert one.params["recoding"] == made[0].params["recoding"]


def test_units_are_one_however_they_are_spelled(tmp_path: Path) -> None:
    """k counts people: four spellings of an id are one, also when another id is a word."""
    spelled = ["{}", "{}.0", " {}", "{}.0e0"]
    people = [form.format(person) for person in range(3) for form in spelled] + ["x7"]
    path = tmp_path / "t.csv"
    path.write_text("who,grade\n" + "".join(f'"{one}",1\n' for one in people))
    policy = Policy(columns={"who": Column(name="who", role=Role.UNIT), "grade": Column(name="grade")})
    with pytest.raises(anonkit.errors.GuaranteeError, match="the table has 4 people"):
        anonkit.release(path, method="mondrian", k=5, policy=policy, seed=1, ledger=None)


CELLS = st.sampled_from(["1", "1.0", "2", "x", " 1", "", None, "17", "1e400", "-5"])


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.booleans(), st.sampled_from(list(Outside)))
def test_rows_are_settled_one_by_one(rows: list[tuple[str | None, ...]], folded: bool, outside: Outside) -> None:
    """No cell looks at another, in texts and in dictionaries."""
    columns = {
        "who": Column(name="who", role=Role.UNIT),
        "c": Column(name="c", categories=("1", "2"), outside=None if outside is Outside.CLAMP else outside),
        "n": Column(name="n", bounds=(0, 10), outside=None if outside is Outside.REFUSE else outside),
    }
    arrays = [pa.array([row[at] for row in rows], pa.string()) for at in range(3)]
    arrays[1] = arrays[1].dictionary_encode() if folded else arrays[1]
    batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
    settle = settling(batch.schema, Policy(columns=columns))
    assert settle is not None
    alone = [settle(batch.slice(at, 1), 0).to_pylist()[0] for at in range(len(rows))]
    assert settle(batch, 0).to_pylist() == alone
    again = settling(settle.schema, Policy(columns=columns))
    assert again is not None
    assert again(settle(batch, 0), 0).to_pylist() == alone


@pytest.mark.parametrize(
    ("array", "cells"),
    [
        (pa.array([-5, 5, 99, None], pa.int8()), [0, 5, 10, None]),
        (pa.array([5, 2**63, None], pa.uint64()), [5, 10, None]),
        (pa.array([-5.5, 5.5, 99.0, None]), [0.0, 5.5, 10.0, None]),
        (pa.array([Decimal("-5.5"), Decimal("5.5"), None]), [0.0, 5.5, None]),
        (pa.array(["many", "5", "1e400"]), [None, 5.0, 10.0]),
    ],
    ids=lambda one: str(getattr(one, "type", "")),
)
def test_numbers_of_every_type_are_clamped(array: pa.Array, cells: list[Any]) -> None:
    """Integers stay integers."""
    policy = Policy(columns={"n": Column(name="n", bounds=(0, 10))})
    settle = settling(pa.schema([("n", array.type)]), policy)
    assert settle is not None
    found = settle(pa.RecordBatch.from_arrays([array], names=["n"]), 0).column("n")
    assert found.to_pylist() == cells
    first = settling(
        pa.schema([("n", array.type)]), Policy(columns={"n": Column(name="n", bounds=(0, 10), missing=Missing.FIRST)})
    )
    assert first is not None
    assert None not in first(pa.RecordBatch.from_arrays([array], names=["n"]), 0).column("n").to_pylist()


@pytest.mark.slow
def test_spark_reads_cells_by_the_same_rule(spark: Any, wanted: dict[str, Any], tmp_path: Path) -> None:
    """A data frame of Spark and a file on Spark: the same recoding, top coding and people."""
    assert released(parquet(TABLE, tmp_path), engine="spark").params["recoding"] == wanted
    frame = spark.createDataFrame(list(zip(*(TABLE.column(at).to_pylist() for at in range(3)), strict=True)), [*"gap"])
    frame = frame.toDF(*TABLE.column_names)
    assert released(frame).params["recoding"] == wanted
