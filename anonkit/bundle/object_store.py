# SPDX-License-Identifier: Apache-2.0
"""A release in an object store: files under a folder of their own, read and put as the descriptor lists them.

Files are under `out.NUMBER/`, where NUMBER is random and of one run. The descriptor is beside that folder and lists
them by their paths in it, with sizes and SHA-256; on this machine it lists them as those of any release. They are a
release from the moment `out.datapackage.json` lists them. Objects that no descriptor lists are none: a killed run left
them, or a run is at work on them.

Read: files are fetched at their first use and compared with the descriptor.

Put: nothing is renamed there. Files are put whole, and the descriptor last: one put, on the condition that the
descriptor there is the one from when the work began. Objects that no descriptor lists are deleted when nobody can be at
work on them any more.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from anonkit.bundle.data_files import SUFFIX, each_part, joint_digest
from anonkit.bundle.json_documents import parse_json, to_json
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.s3_store import SCHEME, ConditionUnmetError, ListedObject, ObjectStore, open_bucket
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError, ReleaseFormatError
from anonkit.report.descriptors import BYTES, FILES

_NUMBER_BYTES = 16
_DIGEST = re.compile("sha256:([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file as a descriptor lists it."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The content of a descriptor."""

    run: str
    """The folder of the files."""
    files: Mapping[str, ListedFile]
    """Files by their names in that folder."""
    data_sha256: str


def new_run(stem: str) -> str:
    """Return the name of a folder for the files of a new run."""
    return f"{stem}.{secrets.token_hex(_NUMBER_BYTES)}"


def run_pattern(stem: str) -> str:
    """Return the regular expression of the folders of all runs."""
    return rf"{re.escape(stem)}\.[0-9a-f]{{{2 * _NUMBER_BYTES}}}"


def listing_of(content: bytes, stem: str, shown: str) -> Listing:
    """Return the entries of a descriptor.

    A descriptor comes from others: what it lists must lie in the one folder of its run, under names of a release.

    Raises
    ------
    ReleaseFormatError, KeyError, TypeError, ValueError, AttributeError
        It lists none, or otherwise than anonkit does.
    """
    document = parse_json(content, repr(shown))
    found: dict[str, ListedFile] = {}
    data_sha256 = ""
    for resource in document["resources"]:
        if resource["name"] == "data":
            data_sha256 = _digest(resource["hash"])
        parted = isinstance(resource["path"], list)
        for entry in resource[FILES] if parted else [resource]:
            size = entry["bytes" if parted else BYTES]
            if entry["path"] in found or type(size) is not int or size < 0:
                raise ValueError
            found[entry["path"]] = ListedFile(size=size, sha256=_digest(entry["hash"]))
        if parted and resource["path"] != [entry["path"] for entry in resource[FILES]]:
            raise ValueError
    name = re.escape(stem)
    part = rf"{name}{re.escape(SUFFIX)}/part-[0-9]{{5,}}\.parquet"
    allowed = re.compile(rf"({run_pattern(stem)})/({name}\.[a-z.]+|{part})")
    matched = [allowed.fullmatch(path) for path in found]
    runs = {match[1] if match else None for match in matched}
    (run,) = runs
    if run is None:
        raise ValueError
    files = {path.partition("/")[2]: facts for path, facts in found.items()}
    data = f"{stem}{SUFFIX}"
    parts = {
        file.removeprefix(f"{data}/"): facts.sha256 for file, facts in files.items() if file.startswith(f"{data}/")
    }
    if (joint_digest(parts) if parts else files[data].sha256) != data_sha256:
        raise ValueError
    return Listing(run=run, files=files, data_sha256=data_sha256)


def _digest(stated: str) -> str:
    match = _DIGEST.fullmatch(stated)
    if match is None:
        raise ValueError
    return match[1]


def moved(content: bytes, before: str, after: str) -> bytes:
    """Return a descriptor that lists its files under another folder."""
    document: dict[str, Any] = parse_json(content, "the descriptor")

    def moved_path(path: str) -> str:
        return f"{after}{path.removeprefix(before)}"

    for resource in document["resources"]:
        path = resource["path"]
        resource["path"] = [moved_path(one) for one in path] if isinstance(path, list) else moved_path(path)
        for entry in resource.get(FILES, ()):
            entry["path"] = moved_path(entry["path"])
    return to_json(document)


@dataclass(frozen=True, kw_only=True)
class DescriptorObject:
    """The object under the name of a descriptor."""

    version: str
    """By which the store knows this very object."""
    content: bytes
    listing: Listing | None
    """None where it lists no files: it is no descriptor of a release in a store."""


@dataclass(kw_only=True, eq=False, repr=False)
class StorePlace:
    """The place of one release in a store, and a private folder with what was fetched of it.

    A file is fetched at its first use, and refused unless it has the size and SHA-256 that the descriptor lists.
    """

    bucket: str
    prefix: str
    """Of the folder: empty, or with a slash at its end."""
    stem: str
    descriptor: str
    """Name of the descriptor."""
    signature: str
    """Name of the signature, which the descriptor cannot list since it is over the descriptor too."""
    _private: PrivateFolder = field(default_factory=PrivateFolder)
    _looked: bool = False
    _standing: DescriptorObject | None = None

    @property
    def mirror(self) -> Path:
        """The private folder, with the files of the release as on this machine."""
        folder = self._private.path / "release"
        folder.mkdir(exist_ok=True)
        return folder

    def start_from(self, other: StorePlace) -> None:
        """Take over what another place saw when it looked: the release that was there then."""
        self._looked, self._standing = other._looked, other._standing

    def close(self) -> None:
        """Delete what was fetched."""
        self._private.close()

    @property
    def beside(self) -> str:
        """Prefix of the keys beside the release: beside its folder, where it has one for itself."""
        return self.prefix.removesuffix(f"{self.stem}/") if self.has_own_folder else self.prefix

    @property
    def has_own_folder(self) -> bool:
        """True when the release is a folder, which is handed out as a whole."""
        return f"/{self.prefix}".endswith(f"/{self.stem}/")

    def address(self, name: str) -> str:
        """Return the address of a file for people."""
        return f"{SCHEME}://{self.bucket}/{self.prefix}{name}"

    @property
    def objects(self) -> ObjectStore:
        """The bucket."""
        return open_bucket(self.bucket)

    def look(self) -> None:
        """Look anew at what the store holds.

        Raises
        ------
        EngineError
            The store does not answer.
        """
        there = self.objects.read(f"{self.prefix}{self.descriptor}")
        before, self._looked = self._standing, True
        if there is None:
            self._standing = None
        elif before is None or before.version != there[1]:
            self._standing = self._described(*there)
        if before is not None and self._standing is not before:
            shutil.rmtree(self.mirror)  # what was fetched is of another release

    @property
    def standing(self) -> DescriptorObject | None:
        """The object in the place, as of the last look; None where there is none."""
        if not self._looked:
            self.look()
        return self._standing

    @property
    def _listing(self) -> Listing | None:
        return None if self.standing is None else self.standing.listing

    @property
    def is_empty(self) -> bool:
        """True when nothing is in the place."""
        return self.standing is None

    @property
    def data_sha256(self) -> str | None:
        """SHA-256 of the data as the descriptor states it; None where there is no release."""
        return None if self._listing is None else self._listing.data_sha256

    @property
    def descriptor_sha256(self) -> str | None:
        """SHA-256 of the descriptor in the store."""
        return None if self.standing is None else hashlib.sha256(self.standing.content).hexdigest()

    def listed(self, name: str) -> dict[str, ListedFile]:
        """Return the files under a name that the descriptor lists: one, those of a folder, or none."""
        files = {} if self._listing is None else self._listing.files
        return {file: facts for file, facts in files.items() if file == name or file.startswith(f"{name}/")}

    def shown(self, name: str) -> str:
        """Return the address of a file."""
        return self.address(f"{self._listing.run}/{name}" if self._listing and self.listed(name) else name)

    def key(self, name: str) -> str:
        """Return the key of a file that the descriptor lists."""
        run = "" if self._listing is None else self._listing.run
        return f"{self.prefix}{run}/{name}"

    def require(self) -> None:
        """Refuse a place without a release.

        Raises
        ------
        ReleaseFormatError
            Nothing is there, or the object is no descriptor of a release in a store.
        """
        if self.standing is None:
            raise ReleaseFormatError(
                f"{self.address(self.descriptor)!r} does not exist", "what no descriptor lists is no release"
            )
        if self._listing is None:
            raise ReleaseFormatError(f"{self.address(self.descriptor)!r} is not the descriptor of a release in a store")

    def fetch(self, name: str) -> None:
        """Bring the files under a name to this machine, unless they are here already.

        Raises
        ------
        GuaranteeError
            A file is not the one that was released, or is gone.
        EngineError
            The store cannot be read.
        """
        if self.standing is None or self._listing is None:
            return
        if name == self.descriptor:
            if not (self.mirror / name).exists():
                (self.mirror / name).write_bytes(moved(self.standing.content, f"{self._listing.run}/", ""))
            return
        if name == self.signature and not (self.mirror / name).exists():
            found = self.objects.read(self.key(name))
            if found is not None:
                (self.mirror / name).write_bytes(found[0])
            return
        absent = {file: facts for file, facts in self.listed(name).items() if not (self.mirror / file).exists()}
        self._bring(absent)

    def _bring(self, files: Mapping[str, ListedFile]) -> None:
        for file, facts in files.items():
            to = self.mirror / file
            to.parent.mkdir(exist_ok=True)
            fetch_object(self.bucket, self.key(file), to, facts)

    def strays(self) -> dict[str, list[ListedObject]]:
        """Return the objects of runs that the descriptor does not list, by run."""
        own = None if self._listing is None else self._listing.run
        number = re.compile(rf"{re.escape(self.prefix)}({run_pattern(self.stem)})/")
        found: dict[str, list[ListedObject]] = {}
        for item in self.objects.listed(f"{self.prefix}{self.stem}."):
            run = number.match(item.key)
            if run is not None and run[1] != own:
                found.setdefault(run[1], []).append(item)
        return found

    def _described(self, content: bytes, version: str) -> DescriptorObject:
        try:
            listing = listing_of(content, self.stem, self.address(self.descriptor))
        except (AnonkitError, KeyError, TypeError, ValueError, AttributeError):
            listing = None
        return DescriptorObject(version=version, content=content, listing=listing)


def place_in_store(address: str) -> tuple[str, str, str]:
    """Return bucket, folder and name of an address; the folder is empty or ends in a slash.

    Raises
    ------
    ParameterError
        It has a user, a password or parameters in it, or names no bucket.
    """
    if any(mark in address for mark in "@?#"):
        raise ParameterError(
            f"{address} has more in it than a bucket and a path",
            "credentials and the endpoint come from the environment: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ~/.aws",
        )
    bucket, _, key = address.partition("://")[2].partition("/")
    folder, slash, name = key.rpartition("/")
    if not bucket or any(part in (".", "..", "") for part in folder.split("/") if folder):
        raise ParameterError(f"{address} names no place in a bucket", "s3://BUCKET/FOLDER/out.parquet")
    return bucket, f"{folder}{slash}", name


def fetch_object(bucket: str, key: str, to: Path, facts: ListedFile) -> None:
    """Bring an object to this machine: the file appears when it has the size and SHA-256 that are listed.

    Raises
    ------
    GuaranteeError
        It is not the one that was released, or is gone.
    EngineError
        The store cannot be read.
    """
    pieces, shown = open_bucket(bucket).pieces(key), f"{SCHEME}://{bucket}/{key}"
    if pieces is None:
        raise GuaranteeError(
            f"{shown!r} is listed by the descriptor of its release, and is not there",
            "run it again if the release was replaced meanwhile, else ask its owner",
        )
    aside = to.with_name(f".{to.name}")
    try:
        with aside.open("xb") as file:
            fetched = measured(pieces, file, at_most=facts.size)
        if fetched != (facts.size, facts.sha256):
            raise GuaranteeError(
                f"{shown!r} was changed after the release: its size or SHA-256 is not that of the descriptor",
                "do not use it; its owner can put it back as it was released",
            )
        aside.rename(to)
    finally:
        aside.unlink(missing_ok=True)


def measured(pieces: Iterable[bytes], to: BinaryIO | None = None, *, at_most: int | None = None) -> tuple[int, str]:
    """Return size and SHA-256 of an object, and write it where `to` says so.

    Of one with more bytes than it may have no more are read, and none of them is written.
    """
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        size += len(piece)
        if at_most is not None and size > at_most:
            break
        digest.update(piece)
        if to is not None:
            to.write(piece)
    return size, digest.hexdigest()


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
