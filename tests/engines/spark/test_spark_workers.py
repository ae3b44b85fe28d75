"""Executors read the files of a release: what they find is what one machine finds, and they refuse what it refuses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from s3_server import BUCKET, SECRET, keys, s3_server

import anonkit
from anonkit.bundle import object_store
from anonkit.bundle.data_files import PartWorkers, count_rows, parts_of, workers_of
from anonkit.bundle.release_place import PAGE, PARAMS, REPORT
from anonkit.engines import Local, Spark
from anonkit.errors import EngineError, GuaranteeError, ReleaseFormatError

PARTS = 4


@pytest.fixture(scope="module")
def workers(spark: Any) -> Iterator[PartWorkers]:
    """The executors of the session of the tests."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as engine:
        found = workers_of(engine)
        assert found is not None
        yield found


@pytest.fixture(scope="module")
def released(small_customers: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A k-anonymous release in four files."""
    data = tmp_path_factory.mktemp("release") / "out.parquet"
    parts = small_customers.num_rows // PARTS
    anonkit.release(small_customers, method="mondrian", k=5, output=data, part_rows=parts, ledger=None)
    assert len(parts_of(data)) == PARTS
    return data


@pytest.mark.slow
def test_a_release_is_validated_as_on_one_machine(workers: PartWorkers, released: Path) -> None:
    """The same checks with the same figures."""
    together, alone = anonkit.validate(released, workers=workers), anonkit.validate(released)

    assert alone.passed
    assert together.checks == alone.checks
    assert together.disclosure == alone.disclosure


@pytest.mark.slow
def test_a_forged_file_is_refused(workers: PartWorkers, released: Path, tmp_path: Path) -> None:
    """Its hash, its classes and its combinations, none of which this machine has looked at."""
    shutil.copytree(released.parent, tmp_path / "forged")
    part = parts_of(tmp_path / "forged" / released.name)[-1]
    table = pq.read_table(part)
    age = pa.array(["[17, 18)", *table.column("age").to_pylist()[1:]])
    forged = table.set_column(table.column_names.index("age"), "age", age)
    pq.write_table(forged.replace_schema_metadata(table.schema.metadata), part)
    found = anonkit.validate(tmp_path / "forged" / released.name, workers=workers).checks

    assert {"hash:data", "k_anonymity", "boxes"} <= {check.name for check in found if not check.passed}


def _refused(part: Path) -> int:
    raise ReleaseFormatError("this is said", "so is this")


def _broken(part: Path) -> int:
    raise ValueError("a cell: 1,000,000")


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_files(workers: PartWorkers, released: Path) -> None:
    """One of each, however many there are, also of none."""
    parts = parts_of(released)

    assert workers.each(count_rows, parts) == [count_rows(part) for part in parts]
    assert workers.each(count_rows, []) == []
    assert workers.tasks >= 1


@pytest.mark.slow
def test_what_a_worker_says_is_said_here(workers: PartWorkers, released: Path) -> None:
    """Errors of ours as they are; of any other, nothing that could hold a cell; a file that is not there."""
    with pytest.raises(ReleaseFormatError, match="this is said") as told:
        workers.each(_refused, parts_of(released))
    assert told.value.told == ("this is said", "so is this")
    with pytest.raises(EngineError, match="a batch function failed") as hidden:
        workers.each(_broken, parts_of(released))
    assert "cell" not in str(hidden.value)
    with pytest.raises(EngineError, match="does not see the files of the release"):
        workers.each(count_rows, [released / "part-99999.parquet"])
    with pytest.raises(EngineError, match="does not see the files of the release"):
        workers.each(len, [(released / "part-99999.parquet",)])


@pytest.mark.slow
def test_a_choice_of_spark_has_executors(spark: Any, released: Path) -> None:
    """In the session that is there; the local engine has none."""
    with Spark().workers() as executors:
        assert executors is not None
        assert executors.each(count_rows, parts_of(released)[:1]) == [count_rows(parts_of(released)[0])]
    with Local().workers() as nobody:
        assert nobody is None


@pytest.fixture(scope="module")
def store(spark: Any) -> Iterator[Any]:
    """An S3 server that this machine and the executors find."""
    with s3_server() as client:
        told = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        spark.sparkContext.environment.update(told)
        try:
            yield client
        finally:
            for name in told:
                del spark.sparkContext.environment[name]


@pytest.mark.slow
def test_a_release_in_a_store_is_fetched_by_executors(
    store: Any, workers: PartWorkers, released: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Descriptor and sidecars come to this machine, which says what it says when it fetches everything."""
    address = f"s3://{BUCKET}/fetched/out.parquet"
    anonkit.load(released).save(address)
    alone = anonkit.validate(address)
    here: list[str] = []
    fetch = object_store.fetch_object
    monkeypatch.setattr(
        object_store,
        "fetch_object",
        lambda bucket, key, to, facts: (here.append(key), fetch(bucket, key, to, facts)),
    )
    together = anonkit.validate(address, workers=workers)

    assert alone.passed
    assert together.checks == alone.checks
    assert together.disclosure == alone.disclosure
    assert {key.rpartition("/")[2] for key in here} == {f"out{suffix}" for suffix in (PARAMS, REPORT, PAGE)}


@pytest.mark.slow
def test_a_file_in_a_store_that_was_changed_is_refused_by_the_executor(
    store: Any, workers: PartWorkers, released: Path
) -> None:
    """In the words of one machine, with the hint, and no word of the credentials."""
    address = f"s3://{BUCKET}/forged/out.parquet"
    anonkit.load(released).save(address)
    part = next(key for key in keys(store) if "forged/" in key and key.endswith("part-00002.parquet"))
    content = store.get_object(Bucket=BUCKET, Key=part)["Body"].read()
    store.put_object(Bucket=BUCKET, Key=part, Body=content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(GuaranteeError) as alone:
        anonkit.validate(address)
    with pytest.raises(GuaranteeError) as together:
        anonkit.validate(address, workers=workers)
    assert together.value.told == alone.value.told
    assert SECRET not in str(together.value)
    store.delete_object(Bucket=BUCKET, Key=part)
    with pytest.raises(GuaranteeError, match="is not there"):
        anonkit.validate(address, workers=workers)
