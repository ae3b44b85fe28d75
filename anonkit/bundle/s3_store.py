# SPDX-License-Identifier: Apache-2.0
"""Objects of an S3 store: put whole, put on a condition, read, listed and deleted; nothing there is renamed.

Credentials and endpoint are those of the store's own tools: AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL and the like, ~/.aws,
or a role of the machine. They are never in an address. Amazon's own library is used, since a release is replaced on
the condition that the object is the one that was looked at (`If-Match`), which file systems over stores do not offer.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from anonkit.errors import AnonkitError, EngineError, MissingDependencyError, ParameterError

SCHEME = "s3"
LARGEST_PUT = 5 << 30
"""Bytes of an object that is put whole."""
_PIECE = 1 << 20
_AT_ONCE = 1000  # keys that are deleted together
_UNMET = {"PreconditionFailed", "412", "ConditionalRequestConflict", "409"}
_ABSENT = {"NoSuchKey", "NoSuchBucket", "404", "NotFound"}
_DENIED = {"AccessDenied", "403", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "401", "ExpiredToken",
           "InvalidToken"}  # fmt: skip
_WHOSE = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws, or a role of the machine"

Answer = TypeVar("Answer")


class ConditionUnmetError(Exception):
    """The object under a key is not the expected one."""


@dataclass(frozen=True, kw_only=True)
class ListedObject:
    """An object in a list of the store."""

    key: str
    size: int
    modified: datetime
    """When it was put, by the clock of the store."""


class ObjectStore(Protocol):
    """One bucket of a store."""

    def put(self, key: str, content: Path | bytes) -> tuple[int, str]:
        """Put an object whole; return its size and SHA-256, which the store compared with what it received."""
        ...

    def put_if(self, key: str, content: bytes, before: str | None) -> None:
        """Put an object over the version `before`, or over nothing where that is None; both in one step.

        Raises
        ------
        ConditionUnmetError
            Another object is there.
        """
        ...

    def read(self, key: str) -> tuple[bytes, str] | None:
        """Return a small object and its version; None where there is none."""
        ...

    def pieces(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object, some at a time; None where there is none."""
        ...

    def listed(self, prefix: str) -> list[ListedObject]:
        """Return all objects whose keys begin so."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; those that are not there are passed over."""
        ...


def open_bucket(bucket: str) -> ObjectStore:
    """Return a bucket of the store that the environment names; no request is sent yet.

    Raises
    ------
    MissingDependencyError
        The library of the store is not installed.
    """
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
    return S3Bucket(bucket=bucket, client=_client(settings))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class S3Bucket:
    """A bucket of S3, or of a store that answers as S3 does. See `ObjectStore`."""

    bucket: str
    client: Any

    def put(self, key: str, content: Path | bytes) -> tuple[int, str]:
        """Put an object whole. See `ObjectStore.put`.

        Raises
        ------
        ParameterError
            It is larger than a store takes in one put.
        EngineError
            The store does not take it.
        """
        if isinstance(content, bytes):
            digest, size = hashlib.sha256(content), len(content)
        else:
            with content.open("rb") as file:
                digest, size = hashlib.file_digest(file, "sha256"), content.stat().st_size
        if size > LARGEST_PUT:
            raise ParameterError("an object of a release is at most 5 GB", "divide the data into files of fewer rows")
        checked = base64.b64encode(digest.digest()).decode()

        def put() -> None:
            if isinstance(content, bytes):
                self.client.put_object(Bucket=self.bucket, Key=key, Body=content, ChecksumSHA256=checked)
                return
            with content.open("rb") as body:
                self.client.put_object(Bucket=self.bucket, Key=key, Body=body, ChecksumSHA256=checked)

        self._answer_of(put)
        return size, digest.hexdigest()

    def put_if(self, key: str, content: bytes, before: str | None) -> None:
        """Put an object on a condition. See `ObjectStore.put_if`.

        After a lost answer the object is read: its content shows whether it was this put.

        Raises
        ------
        EngineError
            The store does not take it, or gives no answer.
        """
        condition = {"IfNoneMatch": "*"} if before is None else {"IfMatch": before}
        checked = base64.b64encode(hashlib.sha256(content).digest()).decode()
        failure: AnonkitError | None = None
        try:
            self._answer_of(
                lambda: self.client.put_object(
                    Bucket=self.bucket, Key=key, Body=content, ChecksumSHA256=checked, **condition
                ),
                conditional=True,
            )
        except ConditionUnmetError:
            pass
        except EngineError as error:
            failure = error
        else:
            return
        there = self.read(key)
        if there is not None and there[0] == content:
            return
        if failure is not None:
            raise failure
        raise ConditionUnmetError

    def read(self, key: str) -> tuple[bytes, str] | None:
        """Return a small object. See `ObjectStore.read`."""

        def read() -> tuple[bytes, str]:
            answer = self.client.get_object(Bucket=self.bucket, Key=key)
            return answer["Body"].read(), str(answer["ETag"])

        return self._answer_of(read, absent=True)

    def pieces(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object. See `ObjectStore.pieces`."""
        answer = self._answer_of(lambda: self.client.get_object(Bucket=self.bucket, Key=key), absent=True)
        return None if answer is None else self._streamed(answer["Body"])

    def _streamed(self, body: Any) -> Iterator[bytes]:
        while piece := self._answer_of(lambda: body.read(_PIECE)):
            yield piece

    def listed(self, prefix: str) -> list[ListedObject]:
        """Return objects by prefix. See `ObjectStore.listed`."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        found = self._answer_of(lambda: [item for page in pages for item in page.get("Contents", ())]) or []
        return [ListedObject(key=item["Key"], size=int(item["Size"]), modified=item["LastModified"]) for item in found]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects. See `ObjectStore.delete`."""
        for start in range(0, len(keys), _AT_ONCE):
            named = [{"Key": key} for key in keys[start : start + _AT_ONCE]]
            delete = partial(self.client.delete_objects, Bucket=self.bucket)
            self._answer_of(partial(delete, Delete={"Objects": named, "Quiet": True}))

    def _answer_of(
        self, request: Callable[[], Answer], *, conditional: bool = False, absent: bool = False
    ) -> Answer | None:
        """Ask the store; what it says of a failure is not passed on, since it may quote addresses and keys."""
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        denied = False
        try:
            return request()
        except ClientError as error:
            answer = error.response
            codes = {
                str(answer.get("Error", {}).get("Code")),
                str(answer.get("ResponseMetadata", {}).get("HTTPStatusCode")),
            }
            # a version that was to be replaced and is gone is another state than the one that was looked at
            if conditional and codes & (_UNMET | {"NoSuchKey"}):
                raise ConditionUnmetError from None
            if absent and "NoSuchBucket" not in codes and codes & _ABSENT:
                return None
            denied = bool(codes & _DENIED)
            if codes & _ABSENT:
                failure = EngineError(f"the bucket {self.bucket!r} is not there", "or its store does not tell you")
            else:
                failure = self._failure()
        except NoCredentialsError:
            denied, failure = True, self._failure()
        except (BotoCoreError, OSError, ValueError):
            failure = self._failure()
        if denied:
            failure = EngineError(f"the store refuses you the bucket {self.bucket!r}", _WHOSE)
        raise failure

    def _failure(self) -> EngineError:
        return EngineError(
            f"the store of the bucket {self.bucket!r} does not answer as it should",
            "is its endpoint or region spelled so, and its network there?",
        )


@lru_cache(maxsize=1)
def _client(settings: tuple[tuple[str, str], ...]) -> Any:
    """Return the client of the store, one for each state of the environment: to begin costs a tenth of a second."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError:
        raise MissingDependencyError.of_extra("boto3, which reads and writes S3,", "objects") from None
    how = Config(connect_timeout=15, read_timeout=60, retries={"max_attempts": 5, "mode": "standard"})
    return boto3.client(SCHEME, config=how)
