"""A release is put into an object store whole or not at all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from objects_in_memory import Bucket, Killed
from part_workers import Elsewhere

import anonkit
from anonkit.bundle.part_workers import read_by
from anonkit.bundle.release_place import PARAMS, Place
from anonkit.errors import EngineError, ReleaseFormatError

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
