"""Objects of a real S3 server: whole, on a condition, and refused in our words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from s3_server import BUCKET, SECRET, clear, keys, s3_server

from anonkit.bundle import s3_store
from anonkit.bundle.s3_store import ConditionUnmetError, S3Bucket, open_bucket
from anonkit.errors import EngineError, MissingDependencyError, ParameterError


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server."""
    with s3_server() as client:
        yield client


@pytest.fixture
def bucket(server: Any) -> S3Bucket:
    """Its bucket, empty."""
    clear(server)
    opened = open_bucket(BUCKET)
    assert isinstance(opened, S3Bucket)
    return opened


def test_objects_are_put_read_listed_and_deleted(bucket: S3Bucket, tmp_path: Path) -> None:
    """From bytes and from a file; what is not there is none."""
    content = b"x" * (3 << 20)
    (tmp_path / "file").write_bytes(content)

    assert bucket.put("a/file", tmp_path / "file") == (len(content), hashlib.sha256(content).hexdigest())
    assert bucket.put("a/bytes", b"few") == (3, hashlib.sha256(b"few").hexdigest())
    pieces = bucket.pieces("a/file")
    assert pieces is not None
    assert b"".join(pieces) == content
    assert [(item.key, item.size) for item in bucket.listed("a/")] == [("a/bytes", 3), ("a/file", len(content))]
    assert bucket.read("a/none") is None
    assert bucket.pieces("a/none") is None
    bucket.delete(["a/file", "a/none"])
    assert [item.key for item in bucket.listed("")] == ["a/bytes"]


def test_a_condition_is_met_or_nothing_is_put(bucket: S3Bucket) -> None:
    """Nothing must be there, or the very version that was read."""
    bucket.put_if("key", b"first", None)
    with pytest.raises(ConditionUnmetError):
        bucket.put_if("key", b"second", None)
    first = bucket.read("key")
    assert first is not None
    bucket.put_if("key", b"second", first[1])
    with pytest.raises(ConditionUnmetError):
        bucket.put_if("key", b"third", first[1])
    bucket.delete(["key"])
    with pytest.raises(ConditionUnmetError):  # what was to be replaced is gone
        bucket.put_if("key", b"third", first[1])
    assert bucket.read("key") is None


def test_a_put_whose_answer_was_lost_is_looked_up(bucket: S3Bucket) -> None:
    """The second try of one put finds its own object: that is no other release."""
    bucket.put_if("key", b"mine", None)
    bucket.put_if("key", b"mine", None)


def test_a_store_that_refuses_or_is_not_there_is_reported_in_our_words(
    bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither keys nor what the store says are quoted."""
    with pytest.raises(EngineError, match="the bucket 'nobodys' is not there"):
        open_bucket("nobodys").read("key")
    monkeypatch.setattr("moto.settings.INITIAL_NO_AUTH_ACTION_COUNT", 0.0)
    with pytest.raises(EngineError, match="the store refuses you the bucket 'people'") as refused:
        bucket.read("key")
    monkeypatch.undo()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(EngineError, match="does not answer as it should") as unreached:
        open_bucket(BUCKET).put("key", b"content")
    for error in (refused, unreached):
        assert SECRET not in str(error.value)
        assert error.value.__cause__ is None


def test_an_object_too_large_for_one_put_is_refused(bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of an object is no object."""
    monkeypatch.setattr(s3_store, "LARGEST_PUT", 3)
    with pytest.raises(ParameterError, match="at most 5 GB"):
        bucket.put("key", b"four")
    assert bucket.listed("") == []


def test_the_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra that brings it."""
    monkeypatch.setitem(__import__("sys").modules, "boto3", None)
    monkeypatch.setenv("AWS_PROFILE", "of-nobody")  # another state of the environment: asked anew
    with pytest.raises(MissingDependencyError, match=r"anonkit\[objects\]"):
        open_bucket(BUCKET)


def test_keys_are_those_of_the_bucket(bucket: S3Bucket, server: Any) -> None:
    """Another client of the store sees the keys that anonkit writes."""
    bucket.put("folder/name with blanks.json", b"{}")
    assert keys(server) == ["folder/name with blanks.json"]


def test_what_is_deleted_stays_readable_in_a_bucket_with_versions(server: Any) -> None:
    """As the page on object stores says: what is listed and what can be read are not the same there."""
    server.create_bucket(Bucket="versions")
    server.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
    bucket = open_bucket("versions")
    bucket.put("out.1/rows", b"replaced")
    bucket.delete(["out.1/rows"])
    assert bucket.listed("out.1/") == []
    (version,) = server.list_object_versions(Bucket="versions")["Versions"]
    found = server.get_object(Bucket="versions", Key="out.1/rows", VersionId=version["VersionId"])
    assert found["Body"].read() == b"replaced"
    page = (Path(__file__).parents[2] / "docs/how-to/release-into-an-object-store.md").read_text()
    assert "In a bucket with versioning a deleted object stays readable" in page
