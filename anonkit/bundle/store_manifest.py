# SPDX-License-Identifier: Apache-2.0
"""A release in an object store: what its descriptor lists, under a prefix of its own; the descriptor is put last.

Nothing is renamed there. The files of a release are put whole under `out.NUMBER/`, where NUMBER is random, and stay.
They are a release from the moment `out.datapackage.json` lists them, each with its size and SHA-256: one put, on the
condition that what stands there is what stood there when the work began. Objects that no descriptor lists are what a
killed run left.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from anonkit.bundle.data_files import SUFFIX, joint_digest
from anonkit.bundle.json_documents import parse_json, to_json
from anonkit.bundle.part_workers import each_part
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.s3_store import SCHEME, ConditionUnmetError, Listed, ObjectStore, open_bucket
from anonkit.errors import AnonkitError, EngineError, GuaranteeError, ParameterError, ReleaseFormatError
from anonkit.report.listed_files import BYTES, FILES

LEFT_AFTER = timedelta(days=1)
"""Age at which the youngest object of a run that no descriptor lists says that nobody works on it any more."""
_NUMBER_BYTES = 16
_CONDITION = "condition"
_DIGEST = re.compile("sha256:([0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class ListedFile:
    """A file as a descriptor lists it."""

    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """What stands under the name of a descriptor."""

    version: str
    """By which the store knows this very object."""
    content: bytes
    run: str | None = None
    """The folder of the files; None where the object lists none: it is no descriptor of a release in a store."""
    files: Mapping[str, ListedFile] = field(default_factory=dict)
    """Files by their names in that folder."""
    data_sha256: str | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class StorePlace:
    """The place of one release in a store, and a private folder with what was fetched of it.

    A file is fetched when it is asked for, and refused unless it has the size and SHA-256 that the descriptor lists.
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
    _standing: _Standing | None = None

    @property
    def mirror(self) -> Path:
        """The private folder, in which files stand as those of a release on this machine."""
        folder = self._private.path / "release"
        folder.mkdir(exist_ok=True)
        return folder

    def address(self, name: str) -> str:
        """Return how a file is told to people."""
        return f"{SCHEME}://{self.bucket}/{self.prefix}{name}"

    @property
    def _store(self) -> ObjectStore:
        return open_bucket(self.bucket)

    # --- reading -------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Look anew at what the store holds.

        Raises
        ------
        EngineError
            The store cannot be asked.
        """
        there = self._store.read(f"{self.prefix}{self.descriptor}")
        before, self._looked = self._standing, True
        if there is None:
            self._standing = None
        elif before is None or before.version != there[1]:
            self._standing = self._read(*there)
        if before is not None and self._standing is not before:
            shutil.rmtree(self.mirror)  # what was fetched is of another release

    @property
    def _there(self) -> _Standing | None:
        if not self._looked:
            self.look()
        return self._standing

    @property
    def is_empty(self) -> bool:
        """True when nothing stands in the place."""
        return self._there is None

    @property
    def data_sha256(self) -> str | None:
        """SHA-256 of the data as the descriptor states it; None where there is no release."""
        return None if self._there is None else self._there.data_sha256

    @property
    def descriptor_sha256(self) -> str | None:
        """SHA-256 of the descriptor as it stands in the store."""
        return None if self._there is None else hashlib.sha256(self._there.content).hexdigest()

    def listed(self, name: str) -> dict[str, ListedFile]:
        """Return the files under a name that the descriptor lists: one, those of a folder, or none."""
        files: Mapping[str, ListedFile] = {} if self._there is None else self._there.files
        return {file: facts for file, facts in files.items() if file == name or file.startswith(f"{name}/")}

    def shown(self, name: str) -> str:
        """Return the address of a file where it stands."""
        return self.address(f"{self._there.run}/{name}" if self._there and self.listed(name) else name)

    def require(self) -> None:
        """Refuse a place without a release.

        Raises
        ------
        ReleaseFormatError
            Nothing stands there, or what stands there is no descriptor of a release in a store.
        """
        if self._there is None:
            raise ReleaseFormatError(
                f"{self.address(self.descriptor)!r} does not exist", "what no descriptor lists is no release"
            )
        if self._there.run is None:
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
        if self._there is None or self._there.run is None:
            return
        root = f"{self.prefix}{self._there.run}/"
        if name == self.descriptor:
            if not (self.mirror / name).exists():
                (self.mirror / name).write_bytes(_moved(self._there.content, f"{self._there.run}/", ""))
            return
        if name == self.signature and not (self.mirror / name).exists():
            found = self._store.read(f"{root}{name}")
            if found is not None:
                (self.mirror / name).write_bytes(found[0])
            return
        for file, facts in self.listed(name).items():
            to = self.mirror / file
            if not to.exists():
                to.parent.mkdir(exist_ok=True)
                self._fetch(f"{root}{file}", to, facts)

    def _fetch(self, key: str, to: Path, facts: ListedFile) -> None:
        pieces, shown = self._store.pieces(key), f"{SCHEME}://{self.bucket}/{key}"
        if pieces is None:
            raise GuaranteeError(
                f"{shown!r} is listed by the descriptor of its release, and is not there",
                "run it again if the release was replaced meanwhile, else ask its owner",
            )
        aside = to.with_name(f".{to.name}")
        try:
            if _written(pieces, aside, facts.size) != (facts.size, facts.sha256):
                raise GuaranteeError(
                    f"{shown!r} was changed after the release: its size or SHA-256 is not that of the descriptor",
                    "do not use it; its owner can put it back as it was released",
                )
            aside.rename(to)
        finally:
            aside.unlink(missing_ok=True)

    def _read(self, content: bytes, version: str) -> _Standing:
        try:
            run, files, data_sha256 = _listing(content, self.stem, self.address(self.descriptor))
        except (AnonkitError, KeyError, TypeError, ValueError, AttributeError):
            return _Standing(version=version, content=content)
        return _Standing(version=version, content=content, run=run, files=files, data_sha256=data_sha256)

    # --- what no descriptor lists --------------------------------------------------------------------------------

    def strays(self) -> dict[str, list[Listed]]:
        """Return the objects of runs that the descriptor does not list, by run."""
        own = None if self._there is None else self._there.run
        number = re.compile(rf"{re.escape(self.prefix)}({re.escape(self.stem)}\.[0-9a-f]{{{2 * _NUMBER_BYTES}}})/")
        found: dict[str, list[Listed]] = {}
        for item in self._store.listed(f"{self.prefix}{self.stem}."):
            run = number.match(item.key)
            if run is not None and run[1] != own:
                found.setdefault(run[1], []).append(item)
        return found

    # --- writing -------------------------------------------------------------------------------------------------

    def refuse_unfit(self) -> None:
        """Refuse a store that puts an object where another stands although it was told not to.

        Raises
        ------
        EngineError
            It does, or cannot be written to: of two releases both would be told that theirs is the one.
        """
        store, key = self._store, f"{self.prefix}{self.stem}.{secrets.token_hex(_NUMBER_BYTES)}/{_CONDITION}"
        unfit = EngineError(
            f"the store of the bucket {self.bucket!r} puts an object on no condition, and a release needs one",
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

    def put(self, folder: Path) -> None:
        """Put the files of a release that stand in a folder, the descriptor last; then delete what nobody lists.

        Files of a folder of data are put by whoever reads its parts, and read back by them.

        Raises
        ------
        EngineError
            A file was not put as it was made, or another release was put there meanwhile. What was put is deleted, as
            far as the store lets it; nothing was released.
        """
        run = f"{self.stem}.{secrets.token_hex(_NUMBER_BYTES)}"
        content = _moved((folder / self.descriptor).read_bytes(), "", f"{run}/")
        _, files, _ = _listing(content, self.stem, self.address(self.descriptor))
        standing = self._there
        try:
            self._put_files(folder, run, files)
            try:
                self._store.put_if(f"{self.prefix}{self.descriptor}", content, standing.version if standing else None)
            except ConditionUnmetError:
                raise EngineError(
                    f"another release was put in {self.address(self.descriptor)!r} meanwhile",
                    "run it again: what stands there now is looked at first",
                ) from None
        except BaseException:
            with suppress(AnonkitError):
                self._delete_unless_listed(run)
            raise
        self.look()
        with suppress(AnonkitError):  # the release is there; what is left is deleted by the next one
            self._sweep(None if standing is None else standing.run)

    def _put_files(self, folder: Path, run: str, files: Mapping[str, ListedFile]) -> None:
        parts = [name for name in files if "/" in name]
        single = [name for name in files if "/" not in name]
        single += [self.signature] if (folder / self.signature).exists() else []
        root = f"{self.prefix}{run}/"
        made: dict[str, tuple[int, str]] = {}
        if parts:
            data = (folder / parts[0]).resolve().parent
            put = PutFile(bucket=self.bucket, prefix=f"{root}{parts[0].partition('/')[0]}/")
            paths = [data / name.partition("/")[2] for name in parts]
            made = dict(zip(parts, each_part(put, paths), strict=True))
        here = PutFile(bucket=self.bucket, prefix=root)
        made |= {name: here(folder / name) for name in single}
        for name, facts in files.items():
            if made[name] != (facts.size, facts.sha256):
                raise _not_as_made(f"{SCHEME}://{self.bucket}/{root}{name}")

    def _delete_unless_listed(self, run: str) -> None:
        """Delete the files of a run that failed, unless its descriptor stands: an answer of the store may be lost."""
        self.look()
        if self._standing is None or self._standing.run != run:
            self._delete(run)

    def _delete(self, run: str) -> None:
        self._store.delete([item.key for item in self._store.listed(f"{self.prefix}{run}/")])

    def _sweep(self, replaced: str | None) -> None:
        """Delete the files of the release that was replaced, and those of runs on which nobody works any more."""
        if self._standing is None:
            return
        at = next(
            item.modified
            for item in self._store.listed(f"{self.prefix}{self.descriptor}")
            if item.key == f"{self.prefix}{self.descriptor}"
        )
        for run, items in self.strays().items():
            if run == replaced or all(at - item.modified > LEFT_AFTER for item in items):
                self._store.delete([item.key for item in items])


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
        if pieces is None or _measured(pieces) != put:
            raise _not_as_made(f"{SCHEME}://{self.bucket}/{key}")
        return put


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


def _listing(content: bytes, stem: str, shown: str) -> tuple[str, dict[str, ListedFile], str]:
    """Return the run that a descriptor lists, its files by their names there, and the SHA-256 of the data.

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
    run_folder, part = (
        rf"({name}\.[0-9a-f]{{{2 * _NUMBER_BYTES}}})",
        rf"{name}{re.escape(SUFFIX)}/part-[0-9]{{5,}}\.parquet",
    )
    allowed = re.compile(rf"{run_folder}/({name}\.[a-z.]+|{part})")
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
    return run, files, data_sha256


def _digest(stated: str) -> str:
    match = _DIGEST.fullmatch(stated)
    if match is None:
        raise ValueError
    return match[1]


def _moved(content: bytes, before: str, after: str) -> bytes:
    """Return a descriptor that lists its files under another folder."""
    document: dict[str, Any] = parse_json(content, "the descriptor")

    def moved(path: str) -> str:
        return f"{after}{path.removeprefix(before)}"

    for resource in document["resources"]:
        path = resource["path"]
        resource["path"] = [moved(one) for one in path] if isinstance(path, list) else moved(path)
        for entry in resource.get(FILES, ()):
            entry["path"] = moved(entry["path"])
    return to_json(document)


def _written(pieces: Iterator[bytes], to: Path, at_most: int) -> tuple[int, str]:
    """Write the bytes of an object; return its size and SHA-256. More bytes than the file may have are not written."""
    digest, size = hashlib.sha256(), 0
    with to.open("xb") as file:
        for piece in pieces:
            size += len(piece)
            if size > at_most:
                break
            digest.update(piece)
            file.write(piece)
    return size, digest.hexdigest()


def _measured(pieces: Iterator[bytes]) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        size += len(piece)
        digest.update(piece)
    return size, digest.hexdigest()


def _not_as_made(shown: str) -> EngineError:
    return EngineError(f"{shown!r} is not what was made", "nothing was released; does something else write there?")
