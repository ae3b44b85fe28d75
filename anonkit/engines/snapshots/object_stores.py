# SPDX-License-Identifier: Apache-2.0
"""Files and folders in object stores (S3, Google Cloud Storage, Azure): copied byte by byte, by `pyarrow.fs`.

Credentials are those of the store's own tools: AWS_ACCESS_KEY_ID and ~/.aws, GOOGLE_APPLICATION_CREDENTIALS,
AZURE_STORAGE_ACCOUNT and the like, or a role of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from anonkit.engines.reading.failures import shielded
from anonkit.engines.reading.parquet_tables import LOGS, FileTable, lake_table
from anonkit.engines.snapshots.addresses import SourceAddress, format_of_name
from anonkit.engines.snapshots.dispatch import of_fetched
from anonkit.engines.snapshots.postgresql_tables import refuse_parameters
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

_PART = 8 << 20  # bytes copied at a time
_WILD = frozenset("*?[")
_OF_S3 = ("region", "endpoint_override", "scheme", "anonymous")
_PATIENCE = {"connect_timeout": 15.0, "request_timeout": 60.0}
_RETRIES = timedelta(seconds=30)
_WHOSE = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfss": "AZURE_STORAGE_ACCOUNT and the credentials of `az login`",
}
_DENIED = ("access denied", "access_denied", "forbidden", "invalid_access_key", "invalidaccesskey", "signature",
           "credential", "unauthorized", "permission", "http status 403", "http status 401", "code 403")  # fmt: skip
_ABSENT = ("no_such_bucket", "no such bucket", "not found", "does not exist", "http status 404", "no_such_key")
_UNREACHED = ("couldn't connect", "could not connect", "connection refused", "resolve host", "network_connection",
              "timeout", "timed out")  # fmt: skip


def live_table(address: SourceAddress, policy: Policy) -> StoredObjects:
    """Return the objects of a store; no request is sent yet."""
    address.refuse("query", of="an object store")
    refuse_parameters(address, *(_OF_S3 if address.scheme == "s3" else ()))
    return StoredObjects(address=address, policy=policy)


@dataclass(frozen=True, kw_only=True, repr=False)
class StoredObjects:
    """One object, or the Parquet files of a folder or a pattern; see `anonkit.engines.snapshots.dispatch.LiveTable`."""

    address: SourceAddress
    policy: Policy

    def copy(self, folder: Path) -> FileTable:
        """Copy what is there; it must not change meanwhile.

        Raises
        ------
        SourceError
            The store cannot be reached or refuses, the object is not there, ends before its last byte, or changes.
        """
        store, path = shielded(self._opened, self._refusal)
        infos = self._listed(store, path)
        kinds = {self.address.format or format_of_name(info.path) for info in infos}
        whole = len(infos) == 1 and (infos[0].path == path or kinds != {"parquet"})
        if not whole and kinds != {"parquet"}:
            raise SourceError(f"{self.address.shown} is more than one file, and not of Parquet", "copy them here first")
        root = path if whole else _root(path)
        places = [folder / "rows" / _within(root, info.path, whole=whole) for info in infos]
        for info, place in zip(infos, places, strict=True):
            place.parent.mkdir(parents=True, exist_ok=True)
            shielded(partial(self._copied, store, info, place), self._cut)
        if [_state(info) for info in self._listed(store, path)] != [_state(info) for info in infos]:
            raise SourceError(f"{self.address.shown} changed while it was read", "run the command again")
        if whole:
            return of_fetched(self.address, places[0], self.policy)
        return FileTable(paths=[folder / "rows"], format="parquet", named=self.address.place)

    def _opened(self) -> tuple[pafs.FileSystem, str]:
        """Return the store, and the path in it."""
        address = self.address
        if address.scheme in ("gs", "gcs"):  # `from_uri` would ask for a quarter of an hour
            return pafs.GcsFileSystem(retry_time_limit=_RETRIES), unquote(address.bare.partition("://")[2])
        if address.scheme != "s3":
            store, path = pafs.FileSystem.from_uri(address.bare)
            return store, path
        parts, given = urlsplit(address.bare), address.parameters
        user, at, bucket = parts.netloc.rpartition("@")
        key, _, secret = user.partition(":")
        # `from_uri` would ask Amazon for the region of the bucket, wherever the bucket is
        region = given.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        endpoint = given.get("endpoint_override") or (
            os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        )
        how = {"region": region, "endpoint_override": endpoint, "scheme": given.get("scheme")}
        credentials = {"access_key": unquote(key), "secret_key": unquote(secret)} if at else {}
        store = pafs.S3FileSystem(
            anonymous=given.get("anonymous") == "true",
            retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=3),
            **_PATIENCE,
            **credentials,
            **{name: value for name, value in how.items() if value},
        )
        return store, bucket + unquote(parts.path)

    def _listed(self, store: pafs.FileSystem, path: str) -> list[pafs.FileInfo]:
        """Return one object, or the files that are the table of a folder or a pattern, by name."""
        if _WILD.isdisjoint(path):
            info = shielded(lambda: store.get_file_info(path), self._refusal)
            if info.type == pafs.FileType.File:
                return [info]
            if info.type == pafs.FileType.NotFound:
                raise SourceError(f"{self.address.shown} does not exist", "or its store does not tell you")
        root = _root(path)
        found = shielded(lambda: store.get_file_info(pafs.FileSelector(root, recursive=True)), self._refusal)
        files = sorted((info for info in found if info.type == pafs.FileType.File), key=lambda info: info.path)
        self._refuse_lake([PurePosixPath(info.path) for info in files])
        if not _WILD.isdisjoint(path):
            files = [info for info in files if _matches(info.path, path)]
        files = [info for info in files if not _is_marker(PurePosixPath(info.path).relative_to(root))]
        if not files:
            raise SourceError(f"{self.address.shown} holds no file", None)
        return files

    def _refuse_lake(self, paths: Sequence[PurePosixPath]) -> None:
        """Refuse the files of a lake table, whose log says which of their rows still count."""
        for path in paths:
            kind = next((LOGS[part] for part in path.parts if part in LOGS), None)
            if kind is None and path.name.endswith(".metadata.json") and path.parent.name == "metadata":
                kind = "Apache Iceberg"
            if kind is not None:
                raise lake_table(self.address.place, kind, "is, or holds,")

    def _copied(self, store: pafs.FileSystem, info: pafs.FileInfo, place: Path) -> None:
        n_bytes = 0
        with store.open_input_stream(info.path, compression=None) as stream, place.open("xb") as file:
            while part := stream.read(_PART):
                n_bytes += len(part)
                file.write(part)
        if n_bytes != info.size:
            raise SourceError(f"{self.address.shown} ended before its last byte", "run the command again")

    def _refusal(self, error: Exception) -> SourceError:
        words, named = str(error).lower(), self.address.shown
        if any(word in words for word in _DENIED):
            return self._denied()
        if isinstance(error, FileNotFoundError) or any(word in words for word in _ABSENT):
            return SourceError(f"{named} does not exist", "or its store does not tell you")
        if any(word in words for word in _UNREACHED):
            return SourceError(f"the store of {named} cannot be reached", "is its endpoint or region spelled so?")
        return self._cut(error)

    def _cut(self, error: Exception) -> SourceError:
        """Return the message for a failure after the store had answered."""
        if any(word in str(error).lower() for word in _DENIED):
            return self._denied()
        return SourceError(f"{self.address.shown} cannot be read to its last byte", "run the command again")

    def _denied(self) -> SourceError:
        return SourceError(f"the store refuses to let you read {self.address.shown}", _WHOSE.get(self.address.scheme))


def _root(path: str) -> str:
    """Return the folder of a pattern, or a folder without its last slash."""
    parts = path.rstrip("/").split("/")
    wild = next((at for at, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
    return "/".join(parts[:wild])


def _matches(path: str, pattern: str) -> bool:
    """Return True if a path matches a pattern, in which `*` does not reach over a slash."""
    own, wanted = path.split("/"), pattern.split("/")
    return len(own) == len(wanted) and all(map(fnmatchcase, own, wanted))


def _is_marker(path: PurePosixPath) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def _within(root: str, path: str, *, whole: bool) -> str:
    return PurePosixPath(path).name if whole else str(PurePosixPath(path).relative_to(root))


def _state(info: pafs.FileInfo) -> tuple[str, int, int]:
    return info.path, info.size, info.mtime_ns
