"""The table of awkward files in the guide says what anonkit says. Run this file to print the table anew."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading.declared_tables import unusable_cells
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import AnonkitError
from anonkit.policy.declaration import Policy

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "declare-a-policy.md"
ROWS = "age,city\n" + "".join(f"{20 + at % 60},Paris\n" for at in range(899))
AGES = [str(20 + at % 60) for at in range(899)]
LINES = "".join(f'{{"age":{20 + at % 60},"city":"Paris"}}\n' for at in range(899))
NOTHING = "nothing: it is read"

Make = Callable[[Path], Path]


def _text(name: str, text: str, encoding: str = "utf-8") -> Make:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(gzip.compress(text.encode(encoding))[:-9] if name.endswith(".gz") else text.encode(encoding))
        return path

    return make


def _parquet(ages: list[str]) -> Make:
    def make(folder: Path) -> Path:
        pq.write_table(pa.table({"age": ages, "city": ["Paris"] * len(ages)}), folder / "t.parquet")
        return folder / "t.parquet"

    return make


def _lake(log: str) -> Make:
    def make(folder: Path) -> Path:
        (folder / "t" / log).mkdir(parents=True)
        (folder / "t" / log / "00000000000000000000.json").write_text("{}")
        pq.write_table(pa.table({"age": [1]}), folder / "t" / "0.parquet")
        return folder / "t"

    return make


LISTED = Policy(missing_values=("", "N"))
CASES: dict[tuple[str, str], tuple[Make, Policy]] = {
    ("CSV", "one `N` among 899 ages"): (_text("t.csv", ROWS + "N,Paris\n"), Policy()),
    ("CSV", "`N` in 11 % of the ages"): (_text("t.csv", "age,city\n" + "N,Paris\n" * 111 + ROWS[9:]), Policy()),
    ("CSV", 'the same, `missing_values = ["", "N"]`'): (_text("t.csv", ROWS + "N,Paris\n"), LISTED),
    ("Parquet", "one `N` among 899 ages, all texts"): (_parquet([*AGES, "N"]), Policy()),
    ("Parquet", 'the same, `missing_values = ["", "N"]`'): (_parquet([*AGES, "N"]), LISTED),
    ("JSON Lines", 'one `"N"` among 899 ages'): (_text("t.jsonl", LINES + '{"age":"N","city":"Paris"}\n'), Policy()),
    ("JSON Lines", 'the same, `missing_values = ["", "N"]`'): (
        _text("t.jsonl", LINES + '{"age":"N","city":"Paris"}\n'),
        LISTED,
    ),
    ("CSV", "written in cp1252"): (_text("t.csv", ROWS + "20,Zürich\n", "cp1252"), Policy()),
    ("CSV", "written in UTF-16"): (_text("t.csv", ROWS, "utf-16"), Policy()),
    ("JSON Lines", "written in UTF-16 without a mark"): (_text("t.jsonl", LINES, "utf-16-le"), Policy()),
    ("CSV", 'written in UTF-16, `encoding = "utf-16"`'): (_text("t.csv", ROWS, "utf-16"), Policy(encoding="utf-16")),
    ("Parquet", 'any, `encoding = "cp1252"`'): (_parquet(AGES), Policy(encoding="cp1252")),
    ("CSV", "a row with a cell too many"): (_text("t.csv", ROWS + "20,Paris,7\n"), Policy()),
    ("CSV", "a quote that is never closed"): (_text("t.csv", ROWS + '20,"Paris\n'), Policy()),
    ("CSV", "two columns of one name"): (_text("t.csv", "age,age\n1,2\n"), Policy()),
    ("CSV", "nothing"): (_text("t.csv", ""), Policy()),
    ("CSV, gzip", "cut off"): (_text("t.csv.gz", ROWS), Policy()),
    ("JSON Lines", "a list in a cell"): (_text("t.jsonl", LINES + '{"age":[1],"city":"Paris"}\n'), Policy()),
    ("folder", "a Delta table with an empty log"): (_lake("_delta_log"), Policy()),
    ("folder", "a Hudi table"): (_lake(".hoodie"), Policy()),
    ("workbook", "cut off"): (_text("t.xlsx", "PK"), Policy()),
    ("other", "any"): (_text("t.docx", "PK"), Policy()),
}


def said(make: Make, policy: Policy, folder: Path) -> str:
    """The message and the hint, or the notes, of reading a file; what depends on the folder is left out."""
    folder.mkdir(exist_ok=True, parents=True)
    try:
        path = make(folder)
        with LocalEngine() as engine, snapshot(path) as stays:
            opened = stays.scan(engine, policy)
            for _ in opened.batches():
                pass
            notes = unusable_cells(opened, policy.resolve(opened.schema.names), engine).get("reading_notes", [])
    except AnonkitError as error:
        message, hint = error.for_command_line()
        return " ".join(f"{message}. Hint: {hint}".replace(f"{folder}/", "").split())
    return " ".join(notes) or NOTHING


def row(case: tuple[str, str], folder: Path) -> str:
    """One line of the table."""
    text = said(*CASES[case], folder)
    return f"| {case[0]} | {case[1]} | {text if text == NOTHING else f'`` {text} ``'} |"


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_the_guide_says_what_anonkit_says_of_a_file(case: tuple[str, str], tmp_path: Path) -> None:
    """Message, hint and note are there word by word."""
    assert row(case, tmp_path / "here") in PAGE.read_text(encoding="utf-8").splitlines()


def test_listed_and_declared_remedies_lead_to_numbers(tmp_path: Path) -> None:
    """Each format that the page's table calls read has ages that are integers."""
    for case, (make, policy) in CASES.items():
        if policy is LISTED:
            folder = tmp_path / case[0].replace(" ", "")
            folder.mkdir()
            with LocalEngine() as engine:
                assert engine.scan(make(folder), policy).schema.field("age").type == pa.int64()


if __name__ == "__main__":
    print("| source | what it holds | what is said |\n| --- | --- | --- |")
    for place, each in enumerate(CASES):
        with tempfile.TemporaryDirectory() as temporary:
            print(row(each, Path(temporary) / str(place)))
