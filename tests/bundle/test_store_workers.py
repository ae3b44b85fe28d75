"""Releases in an object store whose files workers fetch: the answers are those of one machine, which fetches no row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from objects_in_memory import Bucket
from part_workers import Elsewhere

import anonkit
from anonkit.bundle.data_files import Message, joint_digest
from anonkit.bundle.private_files import _PREFIX
from anonkit.bundle.release_place import DATA, DESCRIPTOR, PARAMS
from anonkit.checks.table_scans import scanned
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import GuaranteeError, ReleaseFormatError

OUT = "s3://bucket/monthly/out.parquet"
METHODS: dict[str, dict[str, Any]] = {
    "ppnb": {"p_keep": 0.5},
    "rr": {"epsilon": 2.0, "allocation": "sample"},
    "dp-forest": {"epsilon": 1.0},
    "dp-marginals": {"epsilon": 1.0},
    "mondrian": {"k": 5},
    "bounds": {"method": "mondrian", "k": 5, "cells": "bounds"},
}


class Counted(Elsewhere):
    """Workers that return the objects that they fetched, and leave nothing where they fetched them."""

    def __init__(self, bucket: Bucket, scratch: Path) -> None:
        super().__init__()
        self.bucket, self.scratch = bucket, scratch
        self.fetched: list[str] = []
        self.regroupings = 0

    def each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Count what is fetched meanwhile."""
        with self._counting():
            return super().each(function, items)

    def regrouped(self, deal: Any, steps: Any, items: Sequence[Any], groups: int) -> list[Message]:
        """Count what is fetched meanwhile."""
        self.regroupings += 1
        with self._counting():
            return super().regrouped(deal, steps, items, groups)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """Return the fetched files; this machine's own folders are the same before and after."""
        before, standing = len(self.bucket.read_keys), set(self.scratch.iterdir())
        try:
            yield
        finally:
            self.fetched += self.bucket.read_keys[before:]
            del self.bucket.read_keys[before:]
            assert set(self.scratch.iterdir()) == standing


@pytest.fixture
def workers(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Workers whose private folders, and those of this machine, are made in one folder of the test."""
    for threads in (None, 1):  # a process keeps its database, and what that spills to: the first user opens it
        with scanned(pa.table({"a": [1]}), threads=threads):
            pass
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    return Counted(bucket, tmp_path / "scratch")


@pytest.fixture(scope="module")
def made() -> dict[str, anonkit.Release]:
    """Releases in four files that were made already, by what was requested."""
    return {}


@pytest.fixture
def stored(
    made: dict[str, anonkit.Release], bucket: Bucket, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., anonkit.Release]:
    """Put a release of 400 customers in four files."""

    def put(method: str) -> anonkit.Release:
        if method not in made:
            made[method] = anonkit.release(
                bank_customers(400, seed=1),
                policy=bank_customers_policy(),
                target="customer_value",
                output=tmp_path_factory.mktemp("release") / "out.parquet",
                part_rows=100,
                emit=["croissant"],
                ledger=None,
                **{"method": method, **METHODS[method]},
            )
        return made[method].save(OUT, force=True)

    return put


def _rows(keys: Sequence[str]) -> list[str]:
    return [key for key in keys if "/part-" in key]


@pytest.mark.quick_cases("ppnb")
@pytest.mark.parametrize("method", METHODS)
def test_the_checks_are_the_same_and_no_row_is_fetched_here(
    method: str, stored: Callable[..., anonkit.Release], bucket: Bucket, workers: Counted
) -> None:
    """Descriptor and sidecars alone come to this machine; workers fetch every file of rows, and leave none of it."""
    stored(method)
    alone = anonkit.validate(OUT)
    bucket.read_keys.clear()
    together = anonkit.validate(OUT, workers=workers)

    assert alone.passed
    assert together.checks == alone.checks
    assert together.disclosure == alone.disclosure
    assert _rows(bucket.read_keys) == []
    assert set(_rows(list(bucket.objects))) == set(_rows(workers.fetched))
    assert list(workers.scratch.glob(f"{_PREFIX}*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mondrian", "bounds"])
def test_rows_that_this_machine_reads_are_brought_to_it(
    method: str,
    stored: Callable[..., anonkit.Release],
    bucket: Bucket,
    workers: Counted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With hardly fewer combinations than rows each file is fetched once, and the answer is the same."""
    stored(method)
    monkeypatch.setattr("anonkit.checks.table_scans._FEW", 1)
    monkeypatch.setattr("anonkit.checks.table_scans._SHARE", 1000)
    alone = anonkit.validate(OUT)
    bucket.read_keys.clear()
    assert anonkit.validate(OUT, workers=workers).checks == alone.checks
    assert len(_rows(bucket.read_keys)) == 4


@pytest.mark.slow_cases("bounds")
@pytest.mark.parametrize("method", ["mondrian", "bounds"])
def test_sensitive_numbers_are_counted_where_the_files_are_fetched(
    method: str,
    stored: Callable[..., anonkit.Release],
    bucket: Bucket,
    workers: Counted,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hardly two rows are alike in them: what is counted goes from worker to worker, and no row comes here."""
    stored(method)
    alone = anonkit.validate(OUT)
    monkeypatch.setattr("anonkit.checks.table_scans._FEW", 150)
    bucket.read_keys.clear()
    together = anonkit.validate(OUT, workers=workers)

    assert together.checks == alone.checks
    assert together.disclosure == alone.disclosure
    assert _rows(bucket.read_keys) == []
    assert workers.regroupings > 0


def _part(bucket: Bucket) -> str:
    return _rows(sorted(bucket.objects))[1]


def _append(bucket: Bucket) -> None:
    bucket.objects[_part(bucket)] += b"x"


def _same_length(bucket: Bucket) -> None:
    content = bucket.objects[_part(bucket)]
    bucket.objects[_part(bucket)] = content[:100] + bytes([content[100] ^ 1]) + content[101:]


def _swap(bucket: Bucket) -> None:
    first, second = _rows(sorted(bucket.objects))[:2]
    bucket.objects[first], bucket.objects[second] = bucket.objects[second], bucket.objects[first]


def _take(bucket: Bucket) -> None:
    del bucket.objects[_part(bucket)]


def _params(bucket: Bucket) -> None:
    key = next(key for key in bucket.objects if key.endswith(PARAMS))
    bucket.objects[key] = bucket.objects[key].replace(b"0", b"1")


@pytest.mark.parametrize("forge", [_append, _same_length, _swap, _take, _params])
def test_another_file_than_was_released_is_refused(
    forge: Callable[[Bucket], None], stored: Callable[..., anonkit.Release], bucket: Bucket, workers: Counted
) -> None:
    """In the words in which this machine refuses it."""
    stored("ppnb")
    forge(bucket)
    with pytest.raises(GuaranteeError) as alone:
        anonkit.validate(OUT)
    with pytest.raises(GuaranteeError) as together:
        anonkit.validate(OUT, workers=workers)
    assert together.value.told == alone.value.told


def test_a_file_that_is_changed_while_it_is_validated_is_refused(
    stored: Callable[..., anonkit.Release], bucket: Bucket, workers: Counted
) -> None:
    """A changed file that is fetched anew is compared anew."""
    stored("ppnb")

    class Late(Counted):
        def each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
            found = super().each(function, items)
            _same_length(self.bucket)
            return found

    with pytest.raises(GuaranteeError, match="was changed after the release"):
        anonkit.validate(OUT, workers=Late(bucket, workers.scratch))


def test_a_descriptor_that_vouches_for_other_rows_does_not_pass(
    stored: Callable[..., anonkit.Release], bucket: Bucket, workers: Counted, tmp_path: Path
) -> None:
    """Rows of another release with hashes that fit: what workers count is compared with what is said of them."""
    stored("ppnb")
    key = f"monthly/out{DESCRIPTOR}"
    document = json.loads(bucket.objects[key])
    data = next(resource for resource in document["resources"] if resource["name"] == "data")
    first, second = data["anonkit:files"][:2]
    second["bytes"], second["hash"] = first["bytes"], first["hash"]
    bucket.objects[f"monthly/{second['path']}"] = bucket.objects[f"monthly/{first['path']}"]
    files = {Path(entry["path"]).name: entry["hash"].removeprefix("sha256:") for entry in data["anonkit:files"]}
    data["hash"] = f"sha256:{joint_digest(files)}"
    bucket.objects[key] = json.dumps(document).encode()
    alone, together = anonkit.validate(OUT), anonkit.validate(OUT, workers=workers)
    assert not alone.passed
    assert together.checks == alone.checks


def test_what_is_no_parquet_file_is_told(
    stored: Callable[..., anonkit.Release], workers: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though its size and SHA-256 are those that are listed."""
    stored("ppnb")
    for content in (b"", b"PAR1", b"\xff" * 40):
        monkeypatch.setattr(
            "anonkit.bundle.store_workers.fetch_object",
            lambda bucket, key, to, facts, content=content: to.write_bytes(content),
        )
        monkeypatch.setattr("anonkit.checks.validation.hash_checks", lambda place, descriptor: ())
        with pytest.raises(ReleaseFormatError, match="is not a readable Parquet file"):
            anonkit.validate(OUT, workers=workers)


def test_a_release_that_was_loaded_has_its_rows_afterwards(
    stored: Callable[..., anonkit.Release], workers: Counted
) -> None:
    """Files without rows are nobody's but the validation's."""
    release = stored("ppnb")
    assert anonkit.validate(release, workers=workers).passed
    assert release.to_arrow().num_rows == 400
    assert release.place is not None
    assert release.place.file(DATA).is_dir()
