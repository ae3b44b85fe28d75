# SPDX-License-Identifier: Apache-2.0
"""Public tables of experiments, known by their rows: a file of another name or form with the same rows is the table."""

from __future__ import annotations

import csv
import gzip
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from anonkit.errors import SourceError, option

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A documented public table, and the files in which its publisher has it."""

    documented: str
    """Name, publisher and address of its description."""
    columns: tuple[str, ...]
    """Names of the columns, in order; the publisher's own files have no header line."""
    rows: str
    """SHA-256 of `plain_text`."""
    files: tuple[tuple[str, ...], ...]
    """Files that hold it, each a tuple of parts that follow each other."""


@cache
def public_tables() -> dict[str, PublicTable]:
    """Return the tables of the papers by the name of their file."""
    raw = tomllib.loads((Path(__file__).parent / "public_tables.toml").read_text(encoding="utf-8"))
    return {
        name: PublicTable(
            documented=one["documented"],
            columns=tuple(one["columns"]),
            rows=one["rows"],
            files=tuple(tuple(parts) for parts in one["files"]),
        )
        for name, one in raw.items()
    }


def plain_text(parts: Sequence[bytes], columns: Sequence[str] = ()) -> str:
    """Return a table as comma-separated text: a header line, line feeds, cells without outer blanks.

    Parameters
    ----------
    parts : sequence of bytes
        Contents of its files, in order; each may be compressed by gzip.
    columns : sequence of str
        Names of the columns where a file may lack the header line. Its rows may then end in a full stop, and lines
        that begin with `|` are remarks (the form of C4.5, which UCI's tables have).

    Raises
    ------
    UnicodeDecodeError, csv.Error, OSError, EOFError
        A part is no text.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    header = list(columns)
    if header:
        writer.writerow(header)
    for part in parts:
        text = (gzip.decompress(part) if part.startswith(_GZIP) else part).decode("utf-8-sig")
        for cells in csv.reader(StringIO(text), skipinitialspace=True):
            row = [cell.strip() for cell in cells]
            if not any(row) or (columns and row[0].startswith("|")):
                continue
            if columns:
                row[-1] = row[-1].removesuffix(".")
            if row == header:
                continue
            if not header:
                header = row
            writer.writerow(row)
    return out.getvalue()


@dataclass(frozen=True, kw_only=True)
class TableFile:
    """A public table, known by the SHA-256 of a file that holds it, and by its rows."""

    name: str
    """Relative to the folder of tables."""
    sha256: str
    """Of the file, or of the table as `plain_text`."""

    @property
    def known(self) -> PublicTable | None:
        """Description of the table, if it is one of the papers'."""
        return public_tables().get(self.name)

    @property
    def documented(self) -> str:
        """Name and place of its description; empty where the recipe alone knows it."""
        return "" if self.known is None else self.known.documented

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Path]:
        """Yield a file that holds the table as it is meant.

        Raises
        ------
        SourceError
            It is not there, or has other rows.
        """
        known = self.known
        candidates = [(self.name,), *(() if known is None else known.files)]
        found = next((parts for parts in candidates if all((folder / part).is_file() for part in parts)), None)
        if found is None:
            others = " or ".join(" and ".join(parts) for parts in candidates[1:])
            described = f"; {self.documented} ({others})" if known is not None else ""
            raise SourceError(
                f"the table {str(folder / self.name)!r} is not there",
                f"{option('data', 'DIR')} says where tables are{described}",
            )
        contents = [(folder / part).read_bytes() for part in found]
        if len(contents) == 1 and sha256(contents[0]).hexdigest() == self.sha256:
            yield folder / found[0]
            return
        text = _text_of(contents, () if known is None else known.columns)
        wanted = {self.sha256, *(() if known is None else (known.rows,))}
        if text is None or sha256(text.encode()).hexdigest() not in wanted:
            raise self._another(folder, found, contents, text)
        with TemporaryDirectory(prefix="anonkit-table-") as place:
            path = Path(place) / "table.csv"
            path.write_text(text, encoding="utf-8", newline="")
            yield path

    def checked(self, folder: Path) -> None:
        """Look whether the table is there and is the one that is meant.

        Raises
        ------
        SourceError
        """
        with self.opened(folder):
            pass

    def _another(self, folder: Path, found: Sequence[str], contents: Sequence[bytes], text: str | None) -> SourceError:
        """Return the refusal of other rows."""
        digest = sha256(contents[0] if text is None else text.encode()).hexdigest()
        of_rows = "its sha256" if text is None else "the sha256 of its rows"
        wanted = self.sha256 if self.known is None else self.known.rows
        meant = f"; the table is {self.documented}" if self.documented else ""
        return SourceError(
            f"{str(folder / found[0])!r} is not the table that the recipe means: {of_rows} is {digest}",
            f"the recipe says {wanted}{meant}; figures on other rows are not the same experiment",
        )


def _text_of(contents: Sequence[bytes], columns: Sequence[str]) -> str | None:
    """Return the table as plain text; None where a part is no text."""
    try:
        return plain_text(contents, columns)
    except (UnicodeDecodeError, csv.Error, OSError, EOFError):
        return None
