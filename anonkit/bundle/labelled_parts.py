# SPDX-License-Identifier: Apache-2.0
"""A release with bounds, read as labels by all readers of its files: workers make the labels of a file they read.

A task writes its files with labels into a private folder of the worker, works on them, and deletes them. On this
machine their outlines are in a folder of their own (`anonkit.bundle.data_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from anonkit.bundle.bound_columns import BoundColumn, write_labelled
from anonkit.bundle.data_files import Outline, outline_of, parts_of
from anonkit.bundle.part_workers import BringsParts, GroupStep, Message, PartWorkers, all_dealt, read_by, workers_for
from anonkit.bundle.private_files import PrivateFolder

Item = TypeVar("Item")
Found = TypeVar("Found")

_NAME = "labels.parquet"


@dataclass(frozen=True, kw_only=True)
class OnLabelled(Generic[Found]):
    """Applies a function to a file, or to several, with labels in place of bounds: what one task does."""

    function: Callable[[Any], Found]
    columns: tuple[BoundColumn, ...]

    def __call__(self, item: Path | Sequence[Path]) -> Found:
        """Return the function's result on the labelled file, which is removed.

        Raises
        ------
        ReleaseFormatError
            A column is not there.
        """
        with closing(PrivateFolder()) as scratch:
            if isinstance(item, Path):
                return self.function(self._made(item, scratch.path))
            return self.function([self._made(path, scratch.path) for path in item])

    def _made(self, part: Path, folder: Path) -> Path:
        write_labelled(part, self.columns, folder / part.name)
        return folder / part.name


@dataclass(frozen=True, kw_only=True)
class LabelledOutline:
    """Makes the labels of a file, and counts by column the rows whose bounds are those of no label."""

    columns: tuple[BoundColumn, ...]

    def __call__(self, part: Path) -> tuple[dict[str, int], Outline]:
        """Return the number of rows without a label by column, and the outline of the file with labels."""
        with closing(PrivateFolder()) as scratch:
            strange = write_labelled(part, self.columns, scratch.path / part.name)
            return strange, outline_of(scratch.path / part.name)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledByWorkers:
    """Workers that read a folder of data as it is, and as labels where its outlines are. See `PartWorkers`."""

    workers: PartWorkers
    """Workers that read the files as they are."""
    data: Path
    columns: tuple[BoundColumn, ...]
    folder: Path
    """Of the outlines, which have the names of the files."""
    _brought: set[Path] = field(default_factory=set)

    def outline(self) -> dict[str, int]:
        """Make the outlines; return the number of rows without a label by column."""
        parts = parts_of(self.data)
        outlines = self.workers.each(LabelledOutline(columns=self.columns), parts)
        self.folder.mkdir()
        for part, (_, outline) in zip(parts, outlines, strict=True):
            outline.write(self.folder / part.name)
        return {column.name: sum(strange[column.name] for strange, _ in outlines) for column in self.columns}

    @property
    def tasks(self) -> int:
        """Number of tasks of the workers."""
        return self.workers.tasks

    def each(self, function: Callable[[Item], Found], items: Sequence[Item]) -> list[Found]:
        """Return the result of a function on every item, with labels where they are needed. See `PartWorkers.each`."""
        if not any(self._is_outline(item) for item in items):
            return self.workers.each(function, items)
        work = OnLabelled(function=function, columns=self.columns)
        return self.workers.each(work, [self._standing(item) for item in items])

    def regrouped(
        self,
        deal: Callable[[Item], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Item],
        groups: int,
    ) -> list[Message]:
        """Work on groups of what is dealt of every item, with labels where they are needed. See `PartWorkers`."""
        if not any(self._is_outline(item) for item in items):
            return self.workers.regrouped(deal, steps, items, groups)
        work = OnLabelled(function=partial(all_dealt, deal), columns=self.columns)
        return self.workers.regrouped(work, steps, [self._standing(item) for item in items], groups)

    def bring(self, parts: Sequence[Path]) -> None:
        """Make the labels of files here whose rows are read here; see `BringsParts`."""
        for path in parts:
            if self._is_outline(path) and path not in self._brought:
                path.unlink()
                write_labelled(self._standing(path), self.columns, path)
                self._brought.add(path)
        if isinstance(self.workers, BringsParts):
            self.workers.bring([path for path in parts if not self._is_outline(path)])

    def _is_outline(self, item: object) -> bool:
        first = item if isinstance(item, Path) else next(iter(item), None)  # type: ignore[call-overload]
        return isinstance(first, Path) and first.parent == self.folder

    def _standing(self, item: Any) -> Any:
        return self.data / item.name if isinstance(item, Path) else [self._standing(path) for path in item]


@contextmanager
def labelled_rows(data: Path, columns: Sequence[BoundColumn]) -> Iterator[tuple[Path, dict[str, int]]]:
    """Let a release be read as labels.

    Parameters
    ----------
    data : Path
        The file, or the folder, with bounds.
    columns : sequence of BoundColumn
        Those that the release shows as bounds; with none its rows already have labels.

    Yields
    ------
    tuple of Path and dict
        Place of its rows with labels meanwhile, and by column the number of rows whose bounds are those of no label:
        theirs is missing.

    Raises
    ------
    ReleaseFormatError
        A column is not there.
    pyarrow.ArrowException, OSError
        The data cannot be read.
    """
    if not columns:
        yield data, {}
        return
    parts = parts_of(data)
    workers = workers_for(parts)
    with closing(PrivateFolder()) as scratch:
        labels = scratch.path / _NAME
        if workers is None or any(part.parent != data for part in parts):
            yield labels, write_labelled(data, columns, labels)
            return
        made = LabelledByWorkers(workers=workers, data=data, columns=tuple(columns), folder=labels)
        strange = made.outline()
        with read_by(made):
            yield labels, strange
