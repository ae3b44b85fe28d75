"""Objects of a real S3 server (moto, in server mode): whole or not at all, and by whose key."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from engines.snapshots.live import quotes_nothing, read
from moto.server import ThreadedMotoServer

from anonkit.engines.snapshots import object_stores
from anonkit.errors import SourceError

MARKER = "a-cell-of-somebody"
ROWS = b"age,name\n" + b"\n".join(b"%d,%s" % (n, MARKER.encode()) for n in range(2000)) + b"\n"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An S3 server on this machine."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A bucket with objects, and the settings by which it is found."""
    for name, value in (
        *(("AWS_ACCESS_KEY_ID", "owner"), ("AWS_SECRET_ACCESS_KEY", "a-wrong-secret"), ("AWS_REGION", "us-east-1")),
        *(("AWS_ENDPOINT_URL", endpoint), ("AWS_EC2_METADATA_DISABLED", "true"), ("no_proxy", "*")),
    ):
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    client.create_bucket(Bucket="people")
    client.put_object(Bucket="people", Key="all.csv", Body=ROWS)
    client.put_object(Bucket="people", Key="all.csv.gz", Body=gzip.compress(ROWS))
    for at in range(2):
        key = f"parts/country=X{at}/part-{at}.parquet"
        client.put_object(Bucket="people", Key=key, Body=_parquet({"age": [at, at + 10]}))
    client.put_object(Bucket="people", Key="parts/_SUCCESS", Body=b"")
    yield client
    for item in client.list_objects_v2(Bucket="people").get("Contents", ()):
        client.delete_object(Bucket="people", Key=item["Key"])
    client.delete_bucket(Bucket="people")


def _parquet(columns: dict[str, list[int]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def test_objects_folders_and_patterns_are_read(bucket: Any) -> None:
    """Text, packed text, a folder with its keys, a pattern."""
    for key in ("all.csv", "all.csv.gz"):
        assert read(f"s3://people/{key}").column("age").to_pylist() == list(range(2000))
    whole = [{"age": 0, "country": "X0"}, {"age": 10, "country": "X0"}]
    whole += [{"age": 1, "country": "X1"}, {"age": 11, "country": "X1"}]
    assert read("s3://people/parts").to_pylist() == whole
    assert read("s3://people/parts/").to_pylist() == whole
    assert read("s3://people/parts/*/part-1.parquet").column("age").to_pylist() == [1, 11]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("s3://people/none.csv", "does not exist"),
        ("s3://nobody/all.csv", "does not exist"),
        ("s3://people/*.csv.zip", "holds no file"),
        ("s3://people/*.csv", None),
        ("s3://people/", "more than one file"),
        ("s3://people/all.csv?colour=red", "not known .colour."),
    ],
)
def test_what_is_not_there_is_reported(bucket: Any, place: str, said: str | None) -> None:
    """No such object, no such bucket, nothing that matches, files that are no one table."""
    if said is None:
        assert read(place, format="csv").num_rows == 2000
        return
    with pytest.raises((SourceError, ValueError), match=said):
        read(place)


def test_a_lake_table_in_a_store_is_not_read_as_plain_parquet(bucket: Any) -> None:
    """Its files hold rows that were deleted."""
    bucket.put_object(Bucket="people", Key="parts/_delta_log/00000000000000000000.json", Body=b"{}")
    for place in ("s3://people/parts", "s3://people/parts/*/part-1.parquet", "s3://people"):
        with pytest.raises(SourceError, match="rows that were deleted or replaced"):
            read(place)


def test_an_object_that_changes_meanwhile_is_refused(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy has two states of the object, or may have."""
    copied = object_stores.StoredObjects._copied

    def late(self: Any, *arguments: Any) -> None:
        copied(self, *arguments)
        bucket.put_object(Bucket="people", Key="all.csv", Body=ROWS + b"1,x\n")

    monkeypatch.setattr(object_stores.StoredObjects, "_copied", late)
    with pytest.raises(SourceError, match="changed while it was read"):
        read("s3://people/all.csv")


def test_a_connection_that_is_lost_midway_is_refused(
    bucket: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """The library's own error, which names hosts and requests, becomes one line; the private copy is deleted."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Lost(pafs.S3FileSystem):
        """A store that is gone when its bytes are requested."""

        def open_input_stream(self, *arguments: Any, **how: Any) -> Any:
            raise OSError(f"AWS Error NETWORK_CONNECTION during GetObject: {MARKER}")

    monkeypatch.setattr(pafs, "S3FileSystem", Lost)
    with pytest.raises(SourceError, match="cannot be read to its last byte") as caught:
        read("s3://people/all.csv")
    quotes_nothing(caught.value, MARKER)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_cut_short_is_refused(bucket: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The object is not read as if its first half were all; the private copy is deleted."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    opened = pafs.S3FileSystem.open_input_stream

    class Cut(pafs.S3FileSystem):
        """A store whose streams end early."""

        def open_input_stream(self, *arguments: Any, **how: Any) -> Any:
            with opened(self, *arguments, **how) as stream:
                return pa.BufferReader(stream.read()[: len(ROWS) // 2])

    monkeypatch.setattr(pafs, "S3FileSystem", Cut)
    with pytest.raises(SourceError, match="ended before its last byte") as caught:
        read("s3://people/all.csv")
    quotes_nothing(caught.value, MARKER)
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_the_store_does_not_know_is_refused(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 in one line, and neither the key nor the words of the store."""
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0.0)
    with pytest.raises(SourceError, match="refuses to let you read") as caught:
        read("s3://people/all.csv")
    quotes_nothing(caught.value, "a-wrong-secret")
    assert caught.value.exit_code == 3
    monkeypatch.undo()


def test_a_store_that_is_not_there_is_reported(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the address is used, and never shown."""
    assert read("s3://owner:a-wrong-secret@people/all.csv").num_rows == 2000
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(SourceError, match="cannot be reached") as caught:
        read("s3://owner:a-wrong-secret@people/all.csv")
    quotes_nothing(caught.value, "a-wrong-secret")
