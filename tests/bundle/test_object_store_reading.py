"""A release in an object store is read as its descriptor lists it, and refused when it is another.

A descriptor that lists its files otherwise than anonkit does describes no release in an object store.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from objects_in_memory import Bucket

import anonkit
from anonkit.bundle.release_place import DATA, DESCRIPTOR, Place
from anonkit.errors import GuaranteeError, ParameterError, ReleaseFormatError

OUT = "s3://bucket/monthly/out.parquet"
KEY = "monthly/out.datapackage.json"


def _edit(edit: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def edited(content: bytes) -> bytes:
        document = json.loads(content)
        edit(document)
        return json.dumps(document).encode()

    return edited


def _data(document: dict[str, Any]) -> dict[str, Any]:
    return next(resource for resource in document["resources"] if resource["name"] == "data")


def _rename(document: dict[str, Any], name: str) -> None:
    data = _data(document)
    data["path"][0] = data["anonkit:files"][0]["path"] = name


@pytest.mark.parametrize(
    "forge",
    [
        lambda content: b"no JSON",
        lambda content: content[: len(content) // 2],
        _edit(lambda document: _data(document).pop("anonkit:files")),
        _edit(lambda document: _data(document)["path"].reverse()),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(bytes=-1)),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(hash="sha256:0")),
        _edit(lambda document: _data(document)["anonkit:files"][0].update(hash="sha256:" + "0" * 64)),
        _edit(lambda document: _rename(document, "/etc/passwd")),
        _edit(lambda document: _rename(document, f"out.{'0' * 32}/../out.parquet")),
        _edit(lambda document: _rename(document, f"out.{'0' * 32}/out.parquet/part-00000.parquet")),
        _edit(lambda document: document["resources"][1].update(path="out.params.json")),
    ],
)
def test_a_descriptor_that_lists_otherwise_than_anonkit_is_none(
    bucket: Bucket, released: anonkit.Release, forge: Callable[[bytes], bytes]
) -> None:
    """Names outside of one run, hashes that do not add up, a torn document: there is no release."""
    released.save(OUT)
    bucket.objects[KEY] = forge(bucket.objects[KEY])

    with pytest.raises(ReleaseFormatError, match="is not the descriptor of a release in a store"):
        anonkit.load(OUT)
    with pytest.raises(ParameterError, match="exists"):  # and nobody replaces it unasked
        released.save(OUT)
    released.save(OUT, force=True)
    assert anonkit.validate(OUT).passed


def test_without_a_descriptor_there_is_no_release(bucket: Bucket, released: anonkit.Release) -> None:
    """Without a descriptor there is no release, with any other files."""
    released.save(OUT)
    del bucket.objects[KEY]

    with pytest.raises(ReleaseFormatError, match="does not exist"):
        anonkit.load(OUT)
    assert Place.of(OUT).stray_objects == 6


def _parts(bucket: Bucket) -> list[str]:
    return sorted(key for key in bucket.objects if "/part-" in key)


def test_what_is_put_is_the_release_and_is_fetched_again(
    bucket: Bucket, released: anonkit.Release, tmp_path: Path
) -> None:
    """Files under a number of their own, the descriptor in its place; the same rows, hashes and checks come back."""
    stored = released.save(OUT)

    (run,) = {key.split("/")[1] for key in bucket.objects} - {"out.datapackage.json"}
    assert run.startswith("out.")
    assert sorted(bucket.objects) == sorted(
        [
            KEY,
            *(f"monthly/{run}/out.{name}" for name in ("params.json", "report.html", "report.json")),
            *(f"monthly/{run}/out.parquet/part-0000{n}.parquet" for n in range(3)),
        ]
    )
    assert stored.to_arrow().equals(released.to_arrow())
    assert anonkit.validate(OUT).passed
    assert anonkit.validate(stored).passed
    told = stored.to_dict()
    assert told["files"]["descriptor"] == f"s3://bucket/{KEY}"
    assert told["files"]["data"] == f"s3://bucket/monthly/{run}/out.parquet"
    assert told["sha256"]["data"] == released.to_dict()["sha256"]["data"]
    back = anonkit.load(OUT).save(tmp_path / "out.parquet")
    assert anonkit.validate(back).passed
    assert (tmp_path / "out.datapackage.json").read_bytes() == Place.of(
        released.place.file(DATA)  # type: ignore[union-attr]
    ).file(DESCRIPTOR).read_bytes()


def test_only_what_is_looked_at_is_fetched(bucket: Bucket, released: anonkit.Release) -> None:
    """A reader of the params fetches no rows; each file is fetched once."""
    released.save(OUT)
    bucket.read_keys.clear()

    loaded = anonkit.load(OUT)
    assert loaded.params == released.params
    assert not [key for key in bucket.read_keys if "/part-" in key]
    loaded.to_arrow()
    loaded.to_arrow()
    assert sum("/part-" in key for key in bucket.read_keys) == 3


def _forge_a_part(bucket: Bucket) -> None:
    bucket.objects[_parts(bucket)[1]] += b"x"


def _same_length(bucket: Bucket) -> None:
    key = _parts(bucket)[1]
    bucket.objects[key] = b"x" + bucket.objects[key][1:]


def _swap_parts(bucket: Bucket) -> None:
    first, second = _parts(bucket)[:2]
    bucket.objects[first], bucket.objects[second] = bucket.objects[second], bucket.objects[first]


def _take_a_part(bucket: Bucket) -> None:
    del bucket.objects[_parts(bucket)[2]]


def _forge_the_params(bucket: Bucket) -> None:
    key = next(key for key in bucket.objects if key.endswith(".params.json"))
    bucket.objects[key] = bucket.objects[key].replace(b"0", b"1")


@pytest.mark.parametrize("forge", [_forge_a_part, _same_length, _swap_parts, _take_a_part, _forge_the_params])
def test_another_file_than_was_released_is_refused(
    bucket: Bucket, released: anonkit.Release, forge: Callable[[Bucket], None]
) -> None:
    """A changed, a swapped or a missing file breaks the promise: anyone who reads gets none of it."""
    released.save(OUT)
    forge(bucket)

    with pytest.raises(GuaranteeError):
        anonkit.validate(OUT)
    with pytest.raises(GuaranteeError):
        anonkit.load(OUT).to_arrow()


def test_an_object_that_nobody_lists_is_not_read(bucket: Bucket, released: anonkit.Release) -> None:
    """An extra part beside the listed ones changes nothing, and is counted as what nobody lists only in other runs."""
    released.save(OUT)
    run = _parts(bucket)[0].rpartition("/")[0]
    bucket._store(f"{run}/part-00003.parquet", b"rows of nobody")
    bucket._store(f"monthly/out.{'0' * 32}/out.params.json", b"{}")

    assert anonkit.load(OUT).to_arrow().num_rows == 300
    assert anonkit.validate(OUT).passed
    assert Place.of(OUT).stray_objects == 1


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:SECRET@bucket/out.parquet",
        "s3://bucket/out.parquet?token=SECRET",
        "s3://bucket/../out.parquet",
        "s3:///out.parquet",
        "s3://bucket/out.csv",
        "gs://bucket/out.parquet",
        "https://host/out.parquet",
    ],
)
def test_an_address_that_is_no_place_is_refused(released: anonkit.Release, address: str) -> None:
    """The error is one line without the secret, and no store is contacted."""
    with pytest.raises(ParameterError) as caught:
        released.save(address)
    assert "SECRET" not in str(caught.value)


def test_a_release_in_a_store_travels_by_its_address(bucket: Bucket, released: anonkit.Release) -> None:
    """Pickled or copied it fetches for itself; what was fetched goes with the one that fetched it."""
    stored = released.save(OUT)
    for there in (pickle.loads(pickle.dumps(stored)), copy.deepcopy(stored)):
        assert there.place.folder != stored.place.folder  # type: ignore[union-attr]
        assert there.to_arrow().equals(released.to_arrow())
    folder = stored.place.folder  # type: ignore[union-attr]
    stored.to_arrow()
    del stored
    assert not folder.exists()
    assert pickle.loads(pickle.dumps(released)).place == released.place
