"""A bucket in memory that keeps the rules of a store, and fails, or is killed, at the put that a test names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from anonkit.bundle import object_store
from anonkit.bundle.s3_store import ConditionUnmetError, ListedObject
from anonkit.errors import EngineError


class Killed(BaseException):
    """The process is no more: anyone who cleans up after it is killed too."""


def _killed() -> None:
    raise Killed


@dataclass
class Bucket:
    """Objects by key; see `anonkit.bundle.s3_store.ObjectStore`."""

    objects: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    fails_at: int | None = None
    """Number of the put, from 1, that fails; probes of the condition are not counted."""
    killed_at: int | None = None
    """Number of the put after which nothing works any more."""
    heeds: frozenset[str] = frozenset({"absent", "version"})
    """Conditions that are heeded."""
    before_the_last: Any = None
    """Called once right before a descriptor is put."""
    dies: Callable[[], Any] = _killed
    """The function that is called at that put."""
    loses_answer: bool = False
    """True: the descriptor is put, and its answer is lost."""
    puts: int = 0
    read_keys: list[str] = field(default_factory=list)
    dead: bool = False

    def _step(self, key: str) -> None:
        if self.dead:
            raise Killed
        if key.endswith("/condition"):
            return
        self.puts += 1
        if self.puts == self.fails_at:
            raise EngineError("the store does not answer")
        if self.killed_at is not None and self.puts > self.killed_at:
            self.dead = True
            self.dies()

    def _store(self, key: str, content: bytes) -> None:
        self.objects[key], self.times[key] = content, self.now
        self.versions[key] = f'"{hashlib.sha256(content).hexdigest()[:8]}-{len(self.versions)}-{self.puts}"'

    def put(self, key: str, content: Path | bytes) -> tuple[int, str]:
        """Put an object."""
        self._step(key)
        self._store(key, content if isinstance(content, bytes) else content.read_bytes())
        return len(self.objects[key]), hashlib.sha256(self.objects[key]).hexdigest()

    def put_if(self, key: str, content: bytes, before: str | None) -> None:
        """Put an object on a condition."""
        self._step(key)
        if key.endswith(".datapackage.json") and self.before_the_last is not None:
            then, self.before_the_last = self.before_the_last, None
            then()
        there = self.versions.get(key) if key in self.objects else None
        if there != before and ("absent" if before is None else "version") in self.heeds:
            raise ConditionUnmetError
        self._store(key, content)
        if self.loses_answer and key.endswith(".datapackage.json"):
            raise EngineError("the answer was lost")

    def read(self, key: str) -> tuple[bytes, str] | None:
        """Return an object and its version."""
        if self.dead:
            raise Killed
        self.read_keys.append(key)
        return (self.objects[key], self.versions[key]) if key in self.objects else None

    def pieces(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object."""
        found = self.read(key)
        return None if found is None else iter([found[0][:5], found[0][5:]])

    def listed(self, prefix: str) -> list[ListedObject]:
        """Return objects by prefix."""
        if self.dead:
            raise Killed
        return [
            ListedObject(key=key, size=len(content), modified=self.times[key])
            for key, content in sorted(self.objects.items())
            if key.startswith(prefix)
        ]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        if self.dead:
            raise Killed
        for key in keys:
            self.objects.pop(key, None)

    def revive(self) -> None:
        """Let the next process work."""
        self.dead, self.killed_at, self.fails_at, self.puts = False, None, None, 0
        self.loses_answer = False


def bucket_in_memory(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """Let every bucket be one in memory."""
    bucket = Bucket()
    for module in (object_store, object_store):
        monkeypatch.setattr(module, "open_bucket", lambda name: bucket)
    return bucket
