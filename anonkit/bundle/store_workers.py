# SPDX-License-Identifier: Apache-2.0
"""A release in an object store whose files of rows workers fetch: this machine has their footers, and no row of them.

A task fetches the files it works on into a private folder of the worker, refuses what is not listed, works on them as
on files that lie there, and deletes them. What this machine keeps in their place are files of the same names and
sizes with nothing but their first and last bytes: names, types and numbers of rows are read from them, and whoever
looks for a row in one finds none. Rows that have to be read here are brought (`part_workers.bring_here`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from anonkit.bundle.data_files import (
    GroupStep,
    Message,
    Outline,
    PartWorkers,
    all_dealt,
    file_digest,
    outline_of,
    read_by,
)
from anonkit.bundle.object_store import ListedFile, StorePlace, fetch_object
from anonkit.bundle.private_files import PrivateFolder
from anonkit.bundle.release_place import Place

Item = TypeVar("Item")
Found = TypeVar("Found")

_SEVERAL = 2
"""Files from which on workers fetch them; a single one is read here in any case."""


@dataclass(frozen=True, kw_only=True)
class StoredPart:
    """A file of rows in a store, as whoever fetches it has to know it."""

    bucket: str
    key: str
    facts: ListedFile

    def fetch(self, folder: Path) -> Path:
        """Bring it into a folder of its own; see `fetch_object`."""
        path = folder / self.key.rpartition("/")[2]
        fetch_object(self.bucket, self.key, path, self.facts)
        return path


Stored: TypeAlias = StoredPart | Sequence[StoredPart]


@dataclass(frozen=True, kw_only=True)
class OnFetched(Generic[Found]):
    """Applies a function of a file, or of several, to what is fetched for it: what one task does."""

    function: Callable[[Any], Found]

    def __call__(self, item: Stored) -> Found:
        """Return the function's result on the fetched files, which are removed.

        Raises
        ------
        GuaranteeError
            A file is not the one that was released, or is gone.
        EngineError
            The store cannot be read.
        """
        with closing(PrivateFolder()) as scratch:
            if isinstance(item, StoredPart):
                return self.function(item.fetch(scratch.path))
            return self.function([part.fetch(scratch.path) for part in item])


@dataclass(kw_only=True, eq=False, repr=False)
class FetchedByWorkers(StorePlace):
    """The place of a release in a store, and the workers that fetch its files of rows. See `PartWorkers`."""

    workers: PartWorkers
    _digests: dict[str, str] = field(default_factory=dict)
    """SHA-256, as a worker found it, of each file that has an outline here."""
    _brought: set[str] = field(default_factory=set)

    @property
    def tasks(self) -> int:
        """Number of tasks of the workers."""
        return self.workers.tasks

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return the result of a function on every item, as a worker fetches it. See `PartWorkers.each`.

        A SHA-256 is computed once: whoever fetches the file later compares it again.
        """
        if function is file_digest:
            return [self._digests[self._name(item)] for item in items]  # type: ignore[misc, arg-type]
        return self.workers.each(OnFetched(function=function), [self._stored(item) for item in items])

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups of what is dealt of every item, as a worker fetches it. See `PartWorkers.regrouped`."""
        work = OnFetched(function=partial(all_dealt, deal))
        return self.workers.regrouped(work, steps, [self._stored(item) for item in items], groups)

    def bring(self, parts: Sequence[Path]) -> None:
        """Bring files whose rows are read here; those that lie elsewhere are here already."""
        for path in parts:
            name = self._name(path) if path.is_relative_to(self.mirror) else ""
            if name in self._digests.keys() - self._brought:
                path.unlink()
                self._bring(self.listed(name))
                self._brought.add(name)

    def _bring(self, files: Mapping[str, ListedFile]) -> None:
        if len(files) < _SEVERAL:
            super()._bring(files)
            return
        paths = [self.mirror / name for name in files]
        outlines: list[Outline] = self.workers.each(OnFetched(function=outline_of), [self._stored(p) for p in paths])
        for name, path, outline in zip(files, paths, outlines, strict=True):
            path.parent.mkdir(exist_ok=True)
            outline.write(path)
            self._digests[name] = outline.sha256
        self._brought -= files.keys()

    def _stored(self, item: Any) -> Stored:
        if not isinstance(item, Path):
            return [self._part(path) for path in item]
        return self._part(item)

    def _part(self, path: Path) -> StoredPart:
        name = self._name(path)
        return StoredPart(bucket=self.bucket, key=self.key(name), facts=self.listed(name)[name])

    def _name(self, path: Path) -> str:
        return path.relative_to(self.mirror).as_posix()


@contextmanager
def fetched_by(workers: PartWorkers | None, place: Place) -> Iterator[Place]:
    """Let workers read the folder of data of a release, and fetch its files where it is in a store.

    Yields
    ------
    Place
        Where it is looked at meanwhile: the place itself, or another one with a private folder that goes with the
        context, so that no file without rows is left where someone looks for rows.
    """
    if place.store is None or workers is None:
        with read_by(None if place.store is not None else workers):
            yield place
        return
    there = FetchedByWorkers(
        bucket=place.store.bucket,
        prefix=place.store.prefix,
        stem=place.store.stem,
        descriptor=place.store.descriptor,
        signature=place.store.signature,
        workers=workers,
    )
    there.start_from(place.store)
    try:
        with read_by(there):
            yield replace(place, folder=there.mirror, store=there)
    finally:
        there.close()
