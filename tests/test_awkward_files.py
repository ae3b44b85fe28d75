"""Awkward files, generated: drafted, released, validated, exported and read back; no value is lost."""

from __future__ import annotations

import csv
import gzip
import io
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import anonkit
from anonkit.policy.declaration import Policy

_SWAPPED = str.maketrans(",.", ".,")
NUMBERS: dict[str, Callable[[float], str]] = {
    "plain": lambda x: f"{x:.2f}",
    "1,234.50": lambda x: f"{x:,.2f}",
    "1.234,50": lambda x: f"{x:,.2f}".translate(_SWAPPED),
    "1 234,50": lambda x: f"{x:,.2f}".replace(",", "\u00a0").replace(".", ","),
    "1'234.50": lambda x: f"{x:,.2f}".replace(",", "'"),
    "$1,234.50": lambda x: f"${x:,.2f}".replace("$-", "-$"),
    "1.234,50 €": lambda x: f"{x:,.2f} €".translate(_SWAPPED),
    "12.3%": lambda x: f"{x:.2f}%",
    "12,3 %": lambda x: f"{x:.2f} %".replace(".", ","),
}
DAYS: dict[str, str] = {
    "2020-01-31": "%Y-%m-%d",
    "31.01.2020": "%d.%m.%Y",
    "01/31/2020": "%m/%d/%Y",
    "31/01/2020": "%d/%m/%Y",
    "2020/01/31": "%Y/%m/%d",
    "31-Jan-20": "%d-%b-%y",
    "20200131": "%Y%m%d",
}
MOMENTS: dict[str, str] = {
    "2020-01-31 10:00": "%Y-%m-%d %H:%M",
    "T Z": "%Y-%m-%dT%H:%M:%SZ",
    "31.01.2020 10:00": "%d.%m.%Y %H:%M",
    "01/31/2020 10:00 AM": "%m/%d/%Y %I:%M %p",
}
HEADERS = [("amount", "date", "moment", "group"), ("Betrag in €", "Geburtstag date", "Zeit", "Größe"),
           ("a b", "the date,", 'm"q"', "g;h"), ("X1", "DATE_2", "été", "Straße")]  # fmt: skip
ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "utf-16"]
PREAMBLES = ["", "", "Report of March\n\n", "# made by a machine\n", "sep={}\n"]
ROWS = 48


@dataclass(frozen=True, kw_only=True)
class AwkwardFile:
    """A generated file, and what its cells are."""

    path: Path
    encoding: str | None
    names: Sequence[str]
    rows: list[tuple[Any, ...]]
    how: dict[str, str]
    """The owner's declaration: the delimiter, if the names contain other ones."""
    said: str
    """The forms of its cells, in words."""


def awkward_file(folder: Path, seed: int) -> AwkwardFile:
    """Write a file of numbers, days, moments and groups in the ways of one seed."""
    draw = random.Random(seed)
    number, day, moment = (draw.choice(list(ways)) for ways in (NUMBERS, DAYS, MOMENTS))
    names, missing = draw.choice(HEADERS), draw.random() < 0.5
    rows: list[tuple[Any, ...]] = []
    for at in range(ROWS):
        value = round(draw.choice([-1, 1]) * 10 ** draw.uniform(-1, 6), 2)
        when = datetime(draw.randint(1990, 2029), draw.randint(1, 12), draw.randint(1, 28), draw.randint(0, 23), 30)
        cells = [1234567.25 if at == 0 else value, date(1999, 12, 31) if at == 1 else when.date(), when]
        if at == 2:
            cells[2] = datetime(2001, 11, 30, 10, 45)
        if missing and at > 2:
            cells = [None if draw.random() < 0.1 else cell for cell in cells]
        rows.append((*cells, "uv"[at % 2]))
    written = [
        [
            "" if row[0] is None else NUMBERS[number](row[0]),
            "" if row[1] is None else row[1].strftime(DAYS[day]),
            "" if row[2] is None else row[2].strftime(MOMENTS[moment]),
            row[3],
        ]
        for row in rows
    ]
    said = f"seed {seed}: {number} | {day} | {moment}"
    if draw.random() < 0.2:
        book = openpyxl.Workbook()
        for line in [list(names), *written]:
            book.active.append([cell or None for cell in line])
        book.save(folder / "t.xlsx")
        return AwkwardFile(
            path=folder / "t.xlsx", encoding=None, names=names, rows=rows, how={}, said=f"{said} | workbook"
        )
    delimiter, end = draw.choice([",", ";", "\t", "|"]), draw.choice(["\n", "\r\n"])
    text = io.StringIO(newline="")
    quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([names, *written])
    preamble, encoding = draw.choice(PREAMBLES).format(delimiter), draw.choice(ENCODINGS)
    data = (preamble.replace("\n", end) + text.getvalue()).encode(encoding)
    packed = draw.random() < 0.2
    path = folder / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    said += f" | {delimiter!r} {end!r} {preamble!r} {encoding}"
    declared = None if encoding in ("utf-8", "utf-8-sig") else encoding
    how = {"delimiter": delimiter} if any(mark in name for name in names for mark in ",;") else {}
    return AwkwardFile(path=path, encoding=declared, names=names, rows=rows, how=how, said=said)


def losses(file: AwkwardFile, folder: Path) -> tuple[int, list[str]]:
    """Return how many cells are another value in the end, and what was lost without a word."""
    draft = anonkit.draft_policy(file.path, encoding=file.encoding, **file.how)
    (folder / "policy.toml").write_text(draft, encoding="utf-8")
    *values, group = file.names
    policy = Policy.load(folder / "policy.toml").with_roles(insensitive=values, quasi_identifiers=[group])
    release = anonkit.release(file.path, method="mondrian", k=5, policy=policy, no_target=True, **file.how)
    out = folder / "out.parquet"
    release.save(out)
    silent = [] if anonkit.validate(out).passed else ["the release is not valid"]
    anonkit.export(out, folder / "back.csv")
    back = anonkit.release(folder / "back.csv", method="mondrian", k=5, policy=_plain(values, group), no_target=True)
    wrong = 0
    for table, where in ((release.to_arrow(), "release"), (back.to_arrow(), "export")):
        for at, name in enumerate(values):
            cells = [_normal(cell) for cell in table[name].to_pylist()]
            expected = [_normal(row[at]) for row in file.rows]
            texts = sum(isinstance(cell, str) for cell in cells)
            if texts and "declare which of both" not in " ".join(draft.replace("#", "").split()):
                silent.append(f"{where}: column {at} stays text")
            elif not texts:
                wrong += (Counter(expected) - Counter(cells)).total()
    return wrong, silent


def _plain(values: Sequence[str], group: str) -> Policy:
    roles = {name: {"role": "insensitive"} for name in values}
    return Policy.from_dict({"columns": {**roles, group: {"role": "quasi_identifier"}}})


def _normal(cell: Any) -> Any:
    """Return one spelling of a value: an `int` for an integer, a moment for a day."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    return float(cell) if isinstance(cell, int | float) else cell


@pytest.mark.parametrize("seed", [pytest.param(at, marks=() if at < 12 else pytest.mark.slow) for at in range(200)])
def test_no_value_of_an_awkward_file_is_lost(tmp_path: Path, seed: int) -> None:
    """0 wrong values and 0 silent losses through draft, release, validation and export."""
    file = awkward_file(tmp_path, seed)
    assert losses(file, tmp_path) == (0, []), file.said
