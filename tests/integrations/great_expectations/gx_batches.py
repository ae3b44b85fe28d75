"""Batches of Great Expectations on every backend: the same thousand rows on pandas, in three databases and on Spark."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlalchemy

COLUMNS = ["Age group", "sex"]
BACKENDS = ("pandas", "sqlite", "duckdb", "postgresql", "spark")


def two_regions() -> pd.DataFrame:
    """A thousand rows of 400 people, nine classes, missing values, two regions; names that must be quoted."""
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "Age group": random.integers(0, 3, 1000) * 10,
            "sex": random.choice(["F", "M", None], 1000, p=[0.48, 0.48, 0.04]),
            "illness": random.choice(["a", "b", "c", None], 1000, p=[0.4, 0.3, 0.2, 0.1]),
            "income": random.choice([1.5, 2.5, 7.0, 9.0, np.nan], 1000),
            "who": random.choice([*range(400), None], 1000),
            "select": random.choice(["north", "south"], 1000),
        }
    ).astype({"who": "Int64"})


def quiet_context(folder: Path | None = None) -> Any:
    """A context without progress bars: in memory, or in a folder, where it has data docs."""
    import great_expectations as gx

    place: dict[str, Any] = {"mode": "ephemeral"} if folder is None else {"mode": "file", "project_root_dir": folder}
    found = gx.get_context(**place)
    found.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    return found


def address_of(backend: str, folder: Path, request: pytest.FixtureRequest | None) -> str:
    """Return where SQLAlchemy finds a database of the tests."""
    if backend == "duckdb":
        return f"duckdb:///{folder / 'x.duckdb'}"
    assert request is not None
    address: str = request.getfixturevalue("postgresql").address
    return address.replace("postgresql://", "postgresql+psycopg://")


def batch_of(
    context: Any, backend: str, frame: pd.DataFrame, folder: Path, request: pytest.FixtureRequest | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a batch definition of the frame on a backend, and what a run needs besides."""
    if backend == "pandas":
        asset = context.data_sources.add_pandas("s").add_dataframe_asset("a")
        return asset.add_batch_definition_whole_dataframe("b"), {"dataframe": frame}
    if backend == "spark":
        assert request is not None
        spark = request.getfixturevalue("spark")  # that of all tests: another one would be theirs, with other settings
        frame.to_parquet(folder / "t.parquet")
        asset = context.data_sources.add_spark("s").add_dataframe_asset("a")
        return asset.add_batch_definition_whole_dataframe("b"), {
            "dataframe": spark.read.parquet(str(folder / "t.parquet"))
        }
    table = f"t_{folder.name}"[:60]
    if backend == "sqlite":
        with closing(sqlite3.connect(folder / "x.db")) as connection:
            frame.to_sql(table, connection, index=False)
        source = context.data_sources.add_sqlite("s", connection_string=f"sqlite:///{folder / 'x.db'}")
    else:
        if backend == "duckdb":
            with duckdb.connect(str(folder / "x.duckdb")) as opened:
                opened.register("frame", frame)
                opened.execute(f'CREATE TABLE "{table}" AS SELECT * FROM frame')
        else:
            engine = sqlalchemy.create_engine(address_of(backend, folder, request))
            frame.to_sql(table, engine, index=False)
            engine.dispose()
        # without a pool, which nobody would close
        options = {"poolclass": sqlalchemy.NullPool} if backend == "postgresql" else {}
        source = context.data_sources.add_sql(
            "s", connection_string=address_of(backend, folder, request), kwargs=options
        )
    return source.add_table_asset("a", table_name=table).add_batch_definition_whole_table("b"), {}


def run(context: Any, batch: tuple[Any, dict[str, Any]], expectations: list[Any], **parameters: Any) -> Any:
    """Run a suite as a validation definition."""
    import great_expectations as gx

    suite = context.suites.add(gx.ExpectationSuite("suite", expectations=expectations))
    definition = context.validation_definitions.add(gx.ValidationDefinition(name="v", data=batch[0], suite=suite))
    return definition.run(batch_parameters=batch[1] or None, expectation_parameters=parameters or None)
