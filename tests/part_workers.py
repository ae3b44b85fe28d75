"""Workers for tests: what they are given is pickled, and they see the rows of files that this machine does not have."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anonkit.bundle.data_files import GroupStep, Message
from anonkit.engines.writing.parquet_files import RelabelInto

_HEAD, _TAIL = 4, 8


class Elsewhere:
    """Workers of another machine.

    Parameters
    ----------
    here, there : Path, optional
        A folder as this machine names it, and where the workers find its files; the same where none are given.
    tasks : int
        Into so many runs files are divided.
    """

    def __init__(self, here: Path | None = None, there: Path | None = None, tasks: int = 2) -> None:
        self.here, self.there, self.tasks = here, there, tasks
        self.calls: list[int] = []

    def each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Do the work as another process would: nothing is shared."""
        self.calls.append(len(items))
        work = pickle.dumps(function)
        moved = [self._moved(item) for item in items]
        return [pickle.loads(pickle.dumps(pickle.loads(work)(item))) for item in moved]

    def regrouped(
        self,
        deal: Callable[[Any], Iterable[Message]],
        steps: Sequence[GroupStep],
        items: Sequence[Any],
        groups: int,
    ) -> list[Message]:
        """Deal and work on the groups as other processes would."""
        self.calls.append(len(items))
        work = pickle.dumps(deal)
        said = [message for item in items for message in pickle.loads(work)(self._moved(item))]
        for step in steps:
            together: dict[int, list[bytes]] = {}
            for group, message in said:
                assert 0 <= group < groups
                together.setdefault(group, []).append(message)
            work = pickle.dumps(step)
            said = [made for group, all_said in together.items() for made in pickle.loads(work)(group, all_said[::-1])]
        return said

    def _moved(self, item: Any) -> Any:
        """Return a path, or several, as they are named there; files that are named otherwise are the same to all."""
        if isinstance(item, Path):
            return self._seen(item)
        return [self._moved(one) for one in item] if isinstance(item, list | tuple) else item

    def _seen(self, path: Path) -> Path:
        if self.here is None or self.there is None:
            return path
        return self.there / path.relative_to(self.here)


def without_rows(folder: Path, there: Path) -> Elsewhere:
    """Move a folder of data, and leave files in its place that have the footers alone: who reads a row here fails."""
    shutil.copytree(folder, there)
    for part in folder.glob("*.parquet"):
        content = bytearray(part.read_bytes())
        end = len(content) - _TAIL - int.from_bytes(content[-_TAIL:-4], "little")
        content[_HEAD:end] = bytes(end - _HEAD)
        part.write_bytes(content)
    return Elsewhere(folder, there)


@dataclass(frozen=True, kw_only=True)
class Forging(RelabelInto):
    """A worker that writes other rows than were checked: the first row of each file twice, its last not at all."""

    def __call__(self, part: Path) -> tuple[int, str]:
        """Write them with the metadata that were requested."""
        table = pq.read_table(part)
        forged = pa.concat_tables([table.slice(0, 1), table.slice(0, table.num_rows - 1)])
        aside = self.folder / "forged"
        pq.write_table(forged, aside)
        made = super().__call__(aside)
        (self.folder / aside.name).replace(self.folder / part.name)
        return made
