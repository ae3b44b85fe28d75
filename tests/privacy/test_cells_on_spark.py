"""Rows of Spark are coded one by one, here and in the executors, as the local engine codes them; odd ones too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.domains.cell_values import cell_keys
from anonkit.dp_trees.release.coded_rows import CodeRows, UnitKeys, first_rows_of_units
from anonkit.dp_trees.release.declared_schema import schema_of
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.policy.column_declarations import Column, ColumnType, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.public_domains import public_domains
from anonkit.published.tree_model import Split
from tests.contract.test_methods import CENTRAL, QUICK, RANDOMIZED

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

POLICY = Policy(
    columns={
        "who": Column(name="who", role=Role.UNIT),
        "code": Column(name="code", categories=("1", "2", "2.5", "x")),
        "text": Column(name="text", type=ColumnType.TEXT, categories=("1", "01", "1.0")),
        "n": Column(name="n", bounds=(0, 10)),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1"), missing=Missing.CATEGORY),
    },
    cell_by_cell=True,
)
NAMES = list(POLICY.columns)
CODE = CodeRows(schema_of(public_domains(POLICY), 5, number=Split.CUT, category=Split.MULTIWAY))

TEXTS = ["1", "1.0", " 1", "01", "2", "2.50", "x", " x", "", "many", "1e1", "inf", "2020-01-01", "1e400", None]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), TEXTS),
    "bigint": (pa.int64(), [0, 1, 2, 2**53, 2**53 + 1, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), 1e300, None]),
    "float": (pa.float32(), [0.0, 1.0, 2.5, float("nan"), None]),
    "decimal(9,2)": (pa.decimal128(9, 2), [Decimal("1.00"), Decimal("2.50"), Decimal("0.00"), None]),
    "decimal(38,20)": (pa.decimal128(38, 20), [Decimal("1.00"), Decimal("2.5"), None]),
    "boolean": (pa.bool_(), [True, False, None]),
}
NUMBERS = [name for name in KINDS if name != "boolean"]

few = settings(
    max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)


@pytest.fixture(scope="module")
def engine(spark: Any) -> Iterator[Any]:
    """The engine in the session of the tests."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as opened:
        yield opened


def codes_of(engine: Any, data: Any) -> list[tuple[Any, ...]]:
    """Return whose each row is and its codes, found where the engine has its rows, in row order."""
    source = engine.scan(data, POLICY)
    keys = engine.map_batches(source, UnitKeys("who"), pa.schema([("who", pa.string())]))
    codes = engine.map_batches(source, CODE, CODE.columns)
    whose = [cell for batch in keys.batches() for cell in batch.column(0).to_pylist()]
    found = [tuple(row.values()) for batch in codes.batches() for row in batch.to_pylist()]
    here = [cell for batch in source.batches(["who"]) for cell in cell_keys(batch.column(0)).to_pylist()]
    assert whose == here
    return [(who, *row) for who, row in zip(whose, found, strict=True)]


def used(engine: Any, data: Any) -> list[bool]:
    """Return which rows are the first of their unit."""
    kept: list[bool] = first_rows_of_units(engine, engine.scan(data, POLICY), "who", 1).tolist()
    return kept


def frame_of(spark: Any, kinds: Sequence[str], rows: Sequence[tuple[Any, ...]], names: Sequence[str] = NAMES) -> Any:
    """Return a data frame of Spark."""
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    return spark.createDataFrame([*rows], schema)


def table_of(kinds: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return the same cells in memory."""
    return pa.table([pa.array([row[at] for row in rows], KINDS[kind][0]) for at, kind in enumerate(kinds)], NAMES)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Types of the columns, and a few rows."""
    kinds = [draw(st.sampled_from(NUMBERS if name == "n" else [*KINDS])) for name in NAMES]
    rows = st.tuples(*(st.sampled_from(KINDS[kind][1]) for kind in kinds))
    return kinds, draw(st.lists(rows, min_size=1, max_size=4))


@few
@given(table=tables())
def test_rows_of_a_spark_frame_are_coded_one_by_one(spark: Any, engine: Any, table: Any) -> None:
    """The codes and units of a data frame are those of its rows alone, and those of the local engine."""
    kinds, rows = table
    whole = codes_of(engine, frame_of(spark, kinds, rows))
    assert whole == [codes_of(engine, frame_of(spark, kinds, [row]))[0] for row in rows]
    with LocalEngine() as local:
        assert whole == codes_of(local, table_of(kinds, rows))
        assert used(engine, frame_of(spark, kinds, rows)) == used(local, table_of(kinds, rows))


@pytest.mark.parametrize("source", ["csv", "parquet", "folder"])
def test_rows_of_a_file_on_spark_are_coded_one_by_one(engine: Any, source: str, tmp_path: Path) -> None:
    """A file on Spark has the codes and units that its rows have alone on this machine, wherever tasks are cut."""
    odd = [tuple(TEXTS[(at + 3 * shift) % len(TEXTS)] for shift in range(5)) for at in range(len(TEXTS))]
    rows = [*odd, *(("p1", "1", "1", "3", "1"),) * 3, ("1", "1", "1", "3", "1")]

    def written(some: Sequence[tuple[Any, ...]], name: str) -> Path:
        table = pa.table([pa.array([row[at] for row in some], pa.string()) for at in range(5)], NAMES)
        path = tmp_path / f"{name}.{source}"
        if source == "csv":
            table.to_pandas().to_csv(path, index=False)
        elif source == "parquet":
            pq.write_table(table, path, row_group_size=3)
        else:
            path.mkdir()
            for at, start in enumerate(range(0, len(some), 4)):
                pq.write_table(table.slice(start, 4), path / f"{at}.parquet")
        return path

    path = written(rows, "whole")
    with LocalEngine() as local:
        whole = codes_of(engine, path)
        assert whole == [codes_of(local, written([row], f"row{at}"))[0] for at, row in enumerate(rows)]
        assert used(engine, path) == used(local, path)


SOLID = [(f"p{at}", "1", "1", "3", str(at % 2)) for at in range(40)]
ODD: dict[str, list[tuple[Any, ...]]] = {
    "odd cells": [
        *SOLID,
        ("x7", "2.5", "01", "many", "?"),
        (None, None, None, None, None),
        ("1e1", "", "", "1e400", "1"),
    ],
    "missing units": [(None, *row[1:]) for row in SOLID],
    "one class": [(*row[:4], "1") for row in SOLID],
    "no rows": [],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("method", ["rr", "dp-nb", "edprf"])
def test_no_row_of_spark_decides_about_a_release(engine: Any, spark: Any, method: str, odd: str) -> None:
    """Odd cells, rows that are nobody's, one class, no rows: released, and the owner is informed who was not used."""
    who = Role.IDENTIFIER if method == "rr" else Role.UNIT
    policy = Policy(columns={**POLICY.columns, "who": Column(name="who", role=who)})
    frame = frame_of(spark, ["string"] * 5, ODD[odd])
    release = anonkit.release(frame, method=method, epsilon=1.0, policy=policy, engine=engine, ledger=None)
    if method == "rr":
        assert release.report["rows"]["out"] == len(ODD[odd])
    elif odd in ("odd cells", "missing units"):
        assert release.owner["rows_not_used"]["rows_without_unit"] == (1 if odd == "odd cells" else 40)


@pytest.mark.parametrize("odd", ["odd cells", "no rows"])
@pytest.mark.parametrize("method", [*RANDOMIZED, *CENTRAL])
def test_no_row_decides_where_executors_count(spark: Any, method: str, odd: str) -> None:
    """Tables too large for the driver: executors code, count and answer odd rows as any others."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    given: dict[str, Any] = {**QUICK, "errph": {"epsilon": 1.0, "bins": 4}}[method]
    unused = ("who", "code", "text") if method == "trr" else ("who",)
    hidden = {name: Column(name=name, role=Role.IDENTIFIER) for name in unused}
    policy = Policy(columns={**POLICY.columns, **hidden})
    frame = frame_of(spark, ["string"] * 5, ODD[odd])
    with SparkEngine(session=spark, search_rows=1) as opened:
        release = anonkit.release(frame, method=method, policy=policy, engine=opened, ledger=None, **given)
    assert method in CENTRAL or release.report["rows"]["out"] == len(ODD[odd])


def test_columns_of_every_type_are_released(spark: Any) -> None:
    """Numbers with missing cells, decimals and truth values where categories are declared: no type is refused."""
    kinds = ["bigint", "double", "decimal(9,2)", "decimal(38,20)", "boolean"]
    cells = [KINDS[kind][1] for kind in kinds]
    rows = [tuple(some[at % len(some)] for some in cells) for at in range(12)]
    frame = frame_of(spark, kinds, rows)
    for method in ("dp-nb", "edprf"):
        policy = Policy(columns=POLICY.columns)
        release = anonkit.release(frame, method=method, epsilon=1.0, policy=policy, ledger=None)
        assert release.owner["cells_not_as_declared"]["code"]["missing"] == sum(
            row[1] is None or row[1] != row[1] for row in rows
        )
