# SPDX-License-Identifier: Apache-2.0
"""A table in files of this machine with a format beyond their names: a copy, or the format that `--format` names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from anonkit.engines.reading.preambles import GivenLayout
from anonkit.policy.declaration import Policy

TEXTS = "texts"
"""A Parquet file in which cells are strings or missing, in all or some columns: typed as those of a text file are."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FileTable:
    """A table that the readers open by its format, as often as they need to.

    Privacy
    -------
    Its paths may lie in a private folder: messages show `named`.
    """

    paths: Sequence[Path]
    """One file or folder; several files of Parquet are one table in their order."""
    format: str
    """`csv`, `tsv`, `jsonl`, `parquet`, `arrow`, or `TEXTS`."""
    named: str
    """The owner's name of the table, for messages and for its dataset; secrets of an address are still in it."""
    texts: frozenset[str] | None = None
    """Of `TEXTS`: the columns whose cells are strings; None: all are. The others have the types of the file."""
    points: bool = True
    """Of `TEXTS`: numbers have a decimal point, whatever the policy declares of text files."""
    compression: str | None = None
    """`gzip` or `zstd`, of the whole file."""
    has_header: bool = True
    """Of `csv` and `tsv`: the first line holds the names of the columns, and is no row."""
    names: Sequence[str] | None = None
    """Of `csv` and `tsv` without a header: names of the columns; None: c1, c2, …"""
    delimiter: str | None = None
    """Of `csv` and `tsv`: the delimiter of cells; None: by the format or the header."""
    skip_rows: int | None = None
    """Of `csv` and `tsv`: lines above the header; None: they are found."""
    cells_among_names: int = 0
    """Of `TEXTS`: how many names looked like cells when it was copied. See `anonkit.bundle.header_lines`."""
    encoding: str | None = None
    """Of text formats, one of `anonkit.policy.encodings.ENCODINGS`; None: the policy's."""

    def __repr__(self) -> str:
        return f"<FileTable of {self.format}>"

    def layout(self, policy: Policy) -> GivenLayout:
        """Return the declared layout of the lines of a text, by options and by the policy."""
        return GivenLayout(
            has_header=self.has_header,
            names=self.names,
            delimiter=self.delimiter,
            skip_rows=self.skip_rows,
            declared=frozenset(policy.columns),
            by_shape=policy.cell_by_cell,
        )

    @property
    def shown(self) -> str:
        """Name of the table in messages."""
        return "standard input" if self.named == "-" else repr(self.named)

    @property
    def path(self) -> Path:
        """The file or folder, where there is one."""
        return self.paths[0]
