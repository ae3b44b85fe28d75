"""The left join of two private files, compared with pandas."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anonkit.engines.local.left_join import KeyedRows, LeftJoin
from anonkit.errors import EngineError

KEY = st.none() | st.sampled_from(["7", "007", " 7", "a", "A", ""])
PEOPLE = st.lists(st.tuples(KEY, st.none() | st.integers(0, 9)), max_size=6)
VISITS = st.lists(st.tuples(KEY, st.none() | st.sampled_from(["x", "y"])), max_size=8)


def written(table: pa.Table, key: list[str], path: Path) -> list[str]:
    """Write a table in the form to be joined; return the names of its columns."""
    names = [name for name in table.column_names if name not in key]
    keyed = KeyedRows.of(table.schema, key, names)
    batches = [keyed(batch, 0) for batch in table.combine_chunks().to_batches()]
    pq.write_table(pa.Table.from_batches(batches, keyed.schema), path)
    return names


def joined(people: pa.Table, visits: pa.Table, folder: Path) -> tuple[pa.Table, LeftJoin]:
    """Join two tables whose key is `k`."""
    first, second = folder / "a.parquet", folder / "b.parquet"
    own, others = written(people, ["k"], first), written(visits, ["k"], second)
    join = LeftJoin(first=first, second=second, folder=folder)
    fields = [pa.field("who", pa.string())]
    for table, names in ((people, own), (visits, others)):
        kinds = [table.schema.field(name).type for name in names]
        fields += [
            pa.field(name, kind.value_type if pa.types.is_dictionary(kind) else kind)
            for name, kind in zip(names, kinds, strict=True)
        ]
    n_rows = join.write(folder / "out.parquet", pa.schema(fields), len(own))
    out = pq.read_table(folder / "out.parquet")
    assert out.num_rows == n_rows
    return out, join


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(PEOPLE, VISITS)
def test_it_joins_as_pandas_does_with_keys_that_are_missing_left_alone(
    tmp_path: Path, people: list[tuple[str | None, int | None]], visits: list[tuple[str | None, str | None]]
) -> None:
    """Every person is there, once a visit or once without; a missing key joins nothing; counts are those by hand."""
    first = pa.table(
        {"k": pa.array([p[0] for p in people], pa.string()), "age": pa.array([p[1] for p in people], pa.int64())}
    )
    second = pa.table(
        {"k": pa.array([v[0] for v in visits], pa.string()), "ward": pa.array([v[1] for v in visits], pa.string())}
    )
    out, join = joined(first, second, tmp_path)

    keys = [key for key, _ in people if key is not None]
    rows = []
    for key, age in people:
        mine = [ward for of, ward in visits if key is not None and of == key] or [None]
        rows += [(age, ward) for ward in mine]
    assert list(zip(out["age"].to_pylist(), out["ward"].to_pylist(), strict=True)) == rows
    if None not in [key for key, _ in [*people, *visits]]:
        merged = first.to_pandas().merge(second.to_pandas(), on="k", how="left")
        assert len(merged) == out.num_rows
    counts = join.counts()
    assert counts.first_rows == len(people)
    assert counts.first_without_key == len(people) - len(keys)
    assert counts.repeated_keys == len(keys) - len(set(keys))
    assert counts.first_alone == sum(key is None or key not in [of for of, _ in visits] for key, _ in people)
    assert counts.second_rows == len(visits)
    assert counts.second_without_key == sum(of is None for of, _ in visits)
    assert counts.orphans == sum(of is not None and of not in keys for of, _ in visits)


def test_cells_of_every_type_come_through_unchanged(tmp_path: Path) -> None:
    """Dates, times, durations, decimals, unsigned and large integers, categories and names that differ in case only."""
    time = dt.datetime(2020, 1, 2, 3, 4, 5, 123456, tzinfo=dt.UTC)
    visits = pa.table(
        {
            "k": ["a", "a"],
            "n": pa.array([2**64 - 1, None], pa.uint64()),
            "N": pa.array([2**62 + 1, 0], pa.int64()),
            "day": pa.array([dt.date(1700, 1, 1), None]),
            "at": pa.array([time, None], pa.timestamp("ns", "UTC")),
            "clock": pa.array([dt.time(1, 2, 3), None], pa.time64("us")),
            "took": pa.array([dt.timedelta(seconds=5), None], pa.duration("us")),
            "price": pa.array([Decimal("12345678901234567890.12"), None], pa.decimal128(38, 2)),
            "share": pa.array([0.1, None]),
            "sure": pa.array([True, None]),
            "ward": pa.array(["x", "y"]).dictionary_encode(),
        }
    )
    out, _ = joined(pa.table({"k": ["a"], "age": [3]}), visits, tmp_path)

    for name in visits.column_names[1:]:
        column = visits[name]
        plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        assert out[name].combine_chunks().equals(plain.combine_chunks()), name


def test_rows_come_in_the_order_of_both_tables(tmp_path: Path) -> None:
    """Ten thousand people and their visits: people in their order, visits of each in theirs."""
    people = pd.DataFrame({"k": [f"p{n}" for n in range(10_000)], "age": range(10_000)})
    visits = pd.DataFrame({"k": [f"p{n * 7919 % 10_000}" for n in range(20_000)], "visit": range(20_000)})
    out, _ = joined(pa.Table.from_pandas(people), pa.Table.from_pandas(visits), tmp_path)
    wanted = people.merge(visits, on="k", how="left")

    assert out["age"].to_pylist() == wanted["age"].tolist()
    assert out["visit"].to_pylist() == wanted["visit"].tolist()


def test_a_failure_quotes_no_cell(tmp_path: Path) -> None:
    """Files that are gone end in one line that says nothing of what was in them."""
    join = LeftJoin(first=tmp_path / "secret.parquet", second=tmp_path / "b.parquet", folder=tmp_path)
    with pytest.raises(EngineError, match="joining the tables failed") as caught:
        join.counts()

    assert "secret" not in str(caught.value)
