"""Live sources on Spark: the private copy is what Spark reads."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engines.snapshots.lakes import delta_with_vector
from postgresql import Server

from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.policy.declaration import Policy

PEOPLE = pa.table({"id": pa.array(range(6), pa.int64()), "age": pa.array([30, 41, 41, 50, 62, 30], pa.int64())})


@pytest.mark.slow
def test_spark_reads_databases_and_lakes(spark: Any, tmp_path: Path, postgresql: Server) -> None:
    """Types and rows are those of the local engine; deleted people are not there."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with sqlite3.connect(tmp_path / "people.db") as lite:
        lite.execute("CREATE TABLE people (id, age)")
        lite.executemany("INSERT INTO people VALUES (?, ?)", zip(*PEOPLE.to_pydict().values(), strict=True))
        lite.execute("DELETE FROM people WHERE id IN (2, 4)")
    lite.close()
    with postgresql.connect() as server:
        server.execute("DROP TABLE IF EXISTS sparked; CREATE TABLE sparked (id numeric, age integer)")
        for row in ((0, 30), (1, 41), (3, 50), (5, 30)):
            server.execute("INSERT INTO sparked VALUES (%s, %s)", row)
    places = (
        f"sqlite:///{tmp_path / 'people.db'}?table=people",
        str(delta_with_vector(tmp_path / "people", PEOPLE, [2, 4])),
        f"{postgresql.address}?table=sparked",
    )
    with SparkEngine(session=spark) as engine:
        for place in places:
            with snapshot(place) as opened:
                rows = pa.Table.from_batches(list(opened.scan(engine, Policy()).batches()))
            assert rows.to_pydict() == {"id": [0, 1, 3, 5], "age": [30, 41, 50, 30]}
