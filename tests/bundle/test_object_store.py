"""A release in an object store is read as its descriptor lists it, and refused when it is another.

A descriptor that lists its files otherwise than anonkit does describes no release in an object store.

A release is put into an object store whole or not at all.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from objects_in_memory import Bucket, Killed
from part_workers import Elsewhere

import anonkit
from anonkit.bundle.data_files import read_by
from anonkit.bundle.release_place import DATA, DESCRIPTOR, PARAMS, Place
from anonkit.errors import EngineError, GuaranteeError, ParameterError, ReleaseFormatError

OUT = "s3://bucket/monthly/out.parquet"
KEY = "monthly/out.datapackage.json"


@pytest.mark.quick_cases("False")
@pytest.mark.parametrize("replacing", [False, True])
def test_killed_after_any_put_leaves_the_old_release_or_the_new_one(
    bucket: Bucket, released: anonkit.Release, tmp_path: Path, replacing: bool
) -> None:
    """Nothing is half there at any step, and the next release comes through."""
    other = anonkit.load(released.place.file(PARAMS)).save(tmp_path / "out.parquet")  # type: ignore[union-attr]
    if replacing:
        other.save(OUT)
    before = dict(bucket.objects)
    for at in range(7):
        bucket.revive()
        bucket.objects = dict(before)
        bucket.killed_at = at
        with pytest.raises(Killed):
            released.save(OUT, force=replacing)
        bucket.revive()
        assert bucket.objects.get(KEY) == before.get(KEY)
        assert {key: bucket.objects[key] for key in before} == before
        if replacing:
            assert anonkit.validate(OUT).passed
        else:
            with pytest.raises(ReleaseFormatError):
                anonkit.load(OUT)
        released.save(OUT, force=replacing)
        assert anonkit.validate(OUT).passed


def test_a_put_that_fails_leaves_nothing_behind(bucket: Bucket, released: anonkit.Release) -> None:
    """At any step: what was put before it is deleted."""
    for at in range(1, 8):
        bucket.revive()
        bucket.fails_at = at
        with pytest.raises(EngineError, match="the store does not answer"):
            released.save(OUT)
        assert bucket.objects == {}


def test_of_two_at_once_one_wins(bucket: Bucket, released: anonkit.Release) -> None:
    """The second of two writers gets an error, its files are deleted, and the release of the first is untouched."""
    bucket.before_the_last = lambda: released.save(OUT)
    with pytest.raises(EngineError, match=r"another release was put in 's3://bucket/monthly/out.datapackage.json'"):
        released.save(OUT)
    assert anonkit.validate(OUT).passed
    assert len(bucket.objects) == 7


def test_of_two_that_replace_at_once_one_wins(bucket: Bucket, released: anonkit.Release) -> None:
    """Only the release that was read before is replaced."""
    released.save(OUT)
    bucket.before_the_last = lambda: released.save(OUT, force=True)
    with pytest.raises(EngineError, match="another release was put"):
        released.save(OUT, force=True)
    assert anonkit.validate(OUT).passed
    assert len(bucket.objects) == 7


@pytest.mark.parametrize("heeds", [set(), {"absent"}, {"version"}])
def test_a_store_without_the_condition_is_refused(bucket: Bucket, released: anonkit.Release, heeds: set[str]) -> None:
    """Before anything is put that stays."""
    bucket.heeds = frozenset(heeds)
    with pytest.raises(EngineError, match="puts an object on no condition"):
        released.save(OUT)
    assert bucket.objects == {}


def test_what_killed_runs_left_is_deleted_when_it_is_old(bucket: Bucket, released: anonkit.Release) -> None:
    """Not what another run may be putting now; the files of the release that is replaced go at once."""
    bucket.killed_at = 3
    with pytest.raises(Killed):
        released.save(OUT)
    bucket.revive()
    bucket.now += timedelta(hours=23)
    released.save(OUT)
    assert Place.of(OUT).stray_objects == 3
    bucket.now += timedelta(hours=2)
    bucket._store("monthly/out.readme/anything", b"not ours")
    bucket._store("monthly/out.other.parquet", b"not ours")
    released.save(OUT, force=True)
    assert Place.of(OUT).stray_objects == 0
    assert len(bucket.objects) == 7 + 2


def test_an_answer_that_is_lost_takes_nothing_away(bucket: Bucket, released: anonkit.Release) -> None:
    """The descriptor was put: its files stay, with any answer to the writer."""
    bucket.loses_answer = True
    with pytest.raises(EngineError, match="the answer was lost"):
        released.save(OUT)
    assert anonkit.validate(OUT).passed


def test_files_that_the_store_holds_otherwise_than_they_were_put_are_no_release(
    bucket: Bucket, released: anonkit.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is read back before the descriptor lists it."""
    put = Bucket.put

    def torn(self: Bucket, key: str, content: Path | bytes) -> tuple[int, str]:
        done = put(self, key, content)
        if key.endswith("part-00001.parquet"):
            self.objects[key] = self.objects[key][:-1]
        return done

    monkeypatch.setattr(Bucket, "put", torn)
    with pytest.raises(EngineError, match="is not what was made"):
        released.save(OUT)
    assert bucket.objects == {}


def test_workers_put_the_parts(bucket: Bucket, released: anonkit.Release, tmp_path: Path) -> None:
    """Workers that read the parts write them, one a task; this machine writes the sidecars."""
    workers, own = Elsewhere(), released.save(tmp_path / "out.parquet")
    with read_by(workers):
        own.save(OUT)
    assert workers.calls == [3]
    assert anonkit.validate(OUT).passed


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
