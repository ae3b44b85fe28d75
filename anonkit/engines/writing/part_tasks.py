# SPDX-License-Identifier: Apache-2.0
"""Work on files of a release, an item a task: what a function makes of it goes out, pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from anonkit.engines.writing.row_maps import in_our_words, split_numbers
from anonkit.errors import EngineError

MADE = pa.schema([("at", pa.int64()), ("made", pa.binary())])
"""What a task hands out: the place of an item, and what was made of it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTask:
    """Applies a function to items by their numbers."""

    function: Callable[[Any], Any]
    items: Sequence[Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do the work; see `in_our_words`."""
        return in_our_words(self._made(batches))

    def _made(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for at in split_numbers(batches):
            item = self.items[at]
            refuse_unseen(one for one in (item if isinstance(item, list | tuple) else [item]) if isinstance(one, Path))
            made = pickle.dumps(self.function(item), protocol=pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_arrays([pa.array([at], pa.int64()), pa.array([made], pa.binary())], schema=MADE)


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
