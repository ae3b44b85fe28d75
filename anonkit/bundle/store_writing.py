# SPDX-License-Identifier: Apache-2.0
"""A release put into an object store: its files whole under a folder of their own, and the descriptor last.

Nothing is renamed there. What is put stays, and is a release from the moment the descriptor lists it: one put, on the
condition that the descriptor there is the one from when the work began. Objects that no descriptor lists are deleted
when nobody can be at work on them any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from anonkit.bundle.object_store_reading import (
    DescriptorObject,
    ListedFile,
    StorePlace,
    listing_of,
    measured,
    moved,
    new_run,
)
from anonkit.bundle.part_workers import each_part
from anonkit.bundle.s3_store import SCHEME, ConditionUnmetError, open_bucket
from anonkit.errors import AnonkitError, EngineError

LEFT_AFTER = timedelta(days=1)
"""Age at which the youngest object of a run that no descriptor lists says that nobody works on it any more."""
_CONDITION = "condition"


def refuse_unfit(place: StorePlace) -> None:
    """Refuse a store that puts an object over another although the request forbids it.

    Raises
    ------
    EngineError
        It does, or cannot be written to: of two releases both would seem to be the one.
    """
    store, key = place.objects, f"{place.prefix}{new_run(place.stem)}/{_CONDITION}"
    unfit = EngineError(
        f"the store of the bucket {place.bucket!r} puts an object on no condition, and a release needs one",
        "name a folder, or a store that knows If-None-Match and If-Match: two releases could replace each other",
    )
    try:
        try:
            store.put_if(key, b"1", None)
        except ConditionUnmetError:
            raise unfit from None
        version = (store.read(key) or (b"", ""))[1]
        for content, before in ((b"2", None), (b"3", '"0"')):
            with suppress(ConditionUnmetError):
                store.put_if(key, content, before)
                raise unfit
        try:
            store.put_if(key, b"4", version)
        except ConditionUnmetError:
            raise unfit from None
    finally:
        with suppress(AnonkitError):
            store.delete([key])


def put_release(place: StorePlace, folder: Path) -> None:
    """Put the files of a release in a folder, the descriptor last; then delete the files that nobody lists.

    Files of a folder of data are put by whoever reads its parts, and read back by them.

    Raises
    ------
    EngineError
        A file was not put as it was made, or another release was put there meanwhile. What was put is deleted, as
        far as the store lets it; nothing was released.
    """
    run = new_run(place.stem)
    content = moved((folder / place.descriptor).read_bytes(), "", f"{run}/")
    files = listing_of(content, place.stem, place.address(place.descriptor)).files
    standing = place.standing
    try:
        _put_files(place, folder, run, files)
        try:
            place.objects.put_if(f"{place.prefix}{place.descriptor}", content, standing.version if standing else None)
        except ConditionUnmetError:
            raise EngineError(
                f"another release was put in {place.address(place.descriptor)!r} meanwhile",
                "run it again: what is there now is checked first",
            ) from None
    except BaseException:
        with suppress(AnonkitError):
            _delete_unless_listed(place, run)
        raise
    place.look()
    with suppress(AnonkitError):  # the release is there; what is left is deleted by the next one
        _sweep(place, _run_of(standing))


def _put_files(place: StorePlace, folder: Path, run: str, files: Mapping[str, ListedFile]) -> None:
    parts = [name for name in files if "/" in name]
    single = [name for name in files if "/" not in name]
    single += [place.signature] if (folder / place.signature).exists() else []
    root = f"{place.prefix}{run}/"
    made: dict[str, tuple[int, str]] = {}
    if parts:
        data = (folder / parts[0]).resolve().parent
        put = PutFile(bucket=place.bucket, prefix=f"{root}{parts[0].partition('/')[0]}/")
        paths = [data / name.partition("/")[2] for name in parts]
        made = dict(zip(parts, each_part(put, paths), strict=True))
    here = PutFile(bucket=place.bucket, prefix=root)
    made |= {name: here(folder / name) for name in single}
    for name, facts in files.items():
        if made[name] != (facts.size, facts.sha256):
            raise _not_as_made(f"{SCHEME}://{place.bucket}/{root}{name}")


def _delete_unless_listed(place: StorePlace, run: str) -> None:
    """Delete the files of a run that failed, unless its descriptor is there: an answer of the store may be lost."""
    place.look()
    if _run_of(place.standing) != run:
        place.objects.delete([item.key for item in place.objects.listed(f"{place.prefix}{run}/")])


def _sweep(place: StorePlace, replaced: str | None) -> None:
    """Delete the files of the release that was replaced, and those of runs on which nobody works any more."""
    if place.standing is None:
        return
    at = next(
        item.modified
        for item in place.objects.listed(f"{place.prefix}{place.descriptor}")
        if item.key == f"{place.prefix}{place.descriptor}"
    )
    for run, items in place.strays().items():
        if run == replaced or all(at - item.modified > LEFT_AFTER for item in items):
            place.objects.delete([item.key for item in items])


def _run_of(standing: DescriptorObject | None) -> str | None:
    """Return the folder of the files of the release there; None where there is no release."""
    return None if standing is None or standing.listing is None else standing.listing.run


@dataclass(frozen=True, kw_only=True)
class PutFile:
    """Puts a file into a store, whole, under its own name, and reads it back: run twice, it puts the same bytes."""

    bucket: str
    prefix: str

    def __call__(self, path: Path) -> tuple[int, str]:
        """Return size and SHA-256 of what the store holds now.

        Raises
        ------
        EngineError
            It is not what was put.
        """
        store, key = open_bucket(self.bucket), f"{self.prefix}{path.name}"
        put = store.put(key, path)
        pieces = store.pieces(key)
        if pieces is None or measured(pieces) != put:
            raise _not_as_made(f"{SCHEME}://{self.bucket}/{key}")
        return put


def _not_as_made(shown: str) -> EngineError:
    return EngineError(f"{shown!r} is not what was made", "nothing was released; does something else write there?")
