# SPDX-License-Identifier: Apache-2.0
"""Work on files of a release, an item a task: what a function makes of it goes out, pickled, or to groups of others."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.bundle.part_workers import GroupStep, Message
from anonkit.engines.writing.row_maps import in_our_words, split_numbers
from anonkit.errors import EngineError

MADE = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""Schema of the result of a task: the index of an item, and the value made of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTask:
    """Applies a function to items by their numbers."""

    function: Callable[[Any], Any]
    items: Sequence[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(self._made(batches))

    def _made(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for at, item in _seen(self.items, batches):
            made = pickle.dumps(self.function(item), protocol=pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays([pa.array([at], pa.int64()), pa.array([made], pa.binary())], schema=MADE)


SAID = pa.schema([("group", pa.int64()), ("said", pa.binary())])
"""Schema of messages from task to task: the number of a group, and the message to it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DealTask:
    """Makes messages of items by their numbers."""

    deal: Callable[[Any], Iterable[Message]]
    items: Sequence[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(_said(self._dealt(batches)))

    def _dealt(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        for _, item in _seen(self.items, batches):
            yield from self.deal(item)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupTask:
    """Works on groups whose messages come together."""

    step: GroupStep

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(_said(self._worked(batches)))

    def _worked(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
        messages = (pair for batch in batches for pair in zip(*batch.columns, strict=True))
        for group, said in groupby(messages, lambda pair: pair[0].as_py()):
            yield from self.step(group, [message.as_py() for _, message in said])


def _said(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    for group, said in messages:
        yield pa.RecordBatch.from_arrays([pa.array([group], pa.int64()), pa.array([said], pa.binary())], schema=SAID)


def _seen(items: Sequence[Any], batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
    """Yield the items of a task with their numbers, once their files are there."""
    for at in split_numbers(batches):
        item = items[at]
        refuse_unseen(one for one in (item if isinstance(item, list | tuple) else [item]) if isinstance(one, Path))
        yield at, item


def refuse_unseen(files: Iterable[Path]) -> None:
    """Refuse work on files that are not where they were named.

    Raises
    ------
    EngineError
        One is not there.
    """
    if not all(file.exists() for file in files):
        raise EngineError(
            "an executor does not see the files of the release",
            "put them into a folder that all nodes see under one name, or let this machine read them",
        )
