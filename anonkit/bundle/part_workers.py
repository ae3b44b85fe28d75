# SPDX-License-Identifier: Apache-2.0
"""Readers of the files of a folder of data: this machine, or workers of a cluster that see the same files.

What is counted, hashed or checked is one function of one file, wherever it runs; sums of what the files gave are made
here. So a folder of a billion rows costs this machine some kilobytes a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from pathlib import Path
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

Item = TypeVar("Item")
Found = TypeVar("Found")

Message: TypeAlias = tuple[int, bytes]
"""The number of a group, 0 or more, and the message to it."""
GroupStep: TypeAlias = Callable[[int, Sequence[bytes]], Iterable[Message]]
"""Makes messages of a group and of all that it was sent."""


class PartWorkers(Protocol):
    """Workers that see the files of a release under the names they have here, such as those of a Spark cluster."""

    @property
    def tasks(self) -> int:
        """Number of tasks, 1 or more, into which work on many files is divided well."""
        ...

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return the results of a function on every item, in order.

        Parameters
        ----------
        function : callable
            Picklable, as is what it returns; it may be called twice for an item, of which one answer counts.
        items : sequence
            Paths of files, or sequences of them; files that lie elsewhere may be named otherwise.

        Raises
        ------
        AnonkitError
            What the function raised; or a file is not seen by the workers.
        """
        ...

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups, wherever in the files lies what belongs together: workers hand it to each other.

        Parameters
        ----------
        deal : callable
            Makes messages of an item, for groups below `groups`. It is picklable, as the steps are; all may be called
            twice, of which one answer counts.
        steps : sequence of callable
            Each is called once for every group that was sent something, with the group and all that it was sent, in no
            order. What it makes is sent to the groups of the next step.
        items : sequence
            As for `each`.
        groups : int
            Number of groups, 1 or more.

        Returns
        -------
        list of (int, bytes)
            What the last step has made, in no order.

        Raises
        ------
        AnonkitError
            As for `each`.
        """
        ...


_WORKERS: ContextVar[PartWorkers | None] = ContextVar("part_workers", default=None)


@contextmanager
def read_by(workers: PartWorkers | None) -> Iterator[None]:
    """Let workers read the folders of data within the context; with None this machine reads them.

    Who reads is no matter of what is checked: it is in no signature on the way. Data in one file are read here.
    """
    before = _WORKERS.set(workers)
    try:
        yield
    finally:
        _WORKERS.reset(before)


@runtime_checkable
class HasWorkers(Protocol):
    """An object with workers that move and count rows, such as the engine of a cluster."""

    @property
    def workers(self) -> PartWorkers:
        """Those that read the files of a release."""
        ...

    def shared_folder(self) -> Path:
        """Return a new private folder that the workers see under the same name; it goes with the engine."""
        ...


@runtime_checkable
class BringsParts(Protocol):
    """Workers that alone have the rows of the files they read."""

    def bring(self, parts: Sequence[Path]) -> None:
        """Bring the rows of files to this machine; files that have them are left as they are."""
        ...


def bring_here(parts: Sequence[Path]) -> None:
    """Let this machine have the rows of files that it is about to read; nearly always it has them."""
    workers = _WORKERS.get()
    if isinstance(workers, BringsParts):
        workers.bring(parts)


def workers_of(engine: object) -> PartWorkers | None:
    """Return the workers of an engine; None for one that has none."""
    return engine.workers if isinstance(engine, HasWorkers) else None


def workers_for(parts: Sequence[Path]) -> PartWorkers | None:
    """Return the workers that read these files; None when it is this machine, which reads a single one in any case."""
    return _WORKERS.get() if len(parts) > 1 else None


def each_part(function: Callable[[Path], Found], parts: Sequence[Path]) -> list[Found]:
    """Return the results of a function on each file of some data, in order; see `PartWorkers.each`."""
    workers = workers_for(parts)
    return [function(part) for part in parts] if workers is None else workers.each(function, parts)


def all_dealt(deal: Callable[[Item], Iterable[Message]], item: Item) -> list[Message]:
    """Return all messages of an item at once, for who deletes its files then."""
    return list(deal(item))


def runs_of(parts: Sequence[Path], runs: int) -> list[tuple[Path, ...]]:
    """Divide files into at most so many runs of neighbours, nearly equal in number; none is empty."""
    n_runs = min(len(parts), runs)
    ends = [len(parts) * at // n_runs for at in range(n_runs + 1)]
    return [tuple(parts[start:end]) for start, end in pairwise(ends)]
