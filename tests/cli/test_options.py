"""Options of a source on the command line and in recipes: the same words and the same rows wherever a table is read."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter


@pytest.fixture
def workbook(table: Path) -> Path:
    """The small table as the second of two sheets, its names in the third row."""
    path = table.with_name("in.xlsx")
    with table.open(encoding="utf-8") as file, xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Notes").write_string(0, 0, "MARK")
        page = book.add_worksheet("People")
        page.write_string(0, 0, "As of 2020")
        for row, cells in enumerate(csv.reader(file), start=2):
            for column, cell in enumerate(cells):
                page.write(row, column, int(cell) if cell.isdigit() else cell)
    return path


HOW = ("--sheet", "People", "--header-row", "3")


@pytest.mark.slow
def test_every_command_reads_the_sheet(cli: Any, workbook: Path, table: Path, quick: tuple[str, ...]) -> None:
    """Released, drafted, audited, applied and validated, with the figures of the CSV file where there are some."""
    folder = workbook.parent
    output, params = folder / "out.parquet", folder / "out.params.json"

    assert cli("release", workbook, output, *HOW, *quick, "--quiet").code == 0
    drafts = [
        cli("init", source, *how, "-o", "-").out.replace("# in", "") for source, how in ((table, ()), (workbook, HOW))
    ]
    assert drafts[0] == drafts[1]
    audits = [
        cli("audit", output, "--original", source, *how, "--json", "--attacks", "20").document["inference"]
        for source, how in ((table, ()), (workbook, HOW))
    ]
    assert audits[0] == audits[1]
    checked = [
        cli("validate", source, *how, "--qi", "age,sex", "--k", "1", "--json").document["checks"]
        for source, how in ((table, ()), (workbook, HOW))
    ]
    assert checked[0] == checked[1]
    assert cli("apply", params, workbook, folder / "next.parquet", *HOW, "--quiet", "--no-ledger").code == 0


def test_a_plain_table_from_a_pipe_is_validated(cli: Any, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the file of the same rows."""
    asked = ("--qi", "age,sex", "--k", "1", "--json")
    of_file = cli("validate", table, *asked).document["checks"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes())))

    assert cli("validate", "-", "--format", "csv", *asked).document["checks"] == of_file


@pytest.mark.slow
def test_a_test_table_may_be_a_sheet(cli: Any, workbook: Path, table: Path) -> None:
    """Predictions for the rows of a sheet are scored as those for the rows of the CSV file."""
    output = table.with_name("noisy.parquet")
    policy = table.with_name("policy.toml")
    policy.write_text(
        "[columns]\nname = {role = 'identifier'}\nzip = {role = 'identifier'}\nillness = {role = 'identifier'}\n"
        "age = {bounds = [20, 60]}\nsex = {categories = ['F', 'M']}\n"
        "income = {role = 'target', categories = ['low', 'high']}\n",
        encoding="utf-8",
    )
    assert cli("release", table, output, "--method", "rr", "--epsilon", "4", "--policy", policy, "--quiet").code == 0
    scores = [
        cli("reconstruct", output, "--test", source, *how, "--json").document
        for source, how in ((table, ()), (workbook, HOW))
    ]

    assert scores[0] == scores[1]
    assert scores[0]["accuracy"] is not None


@pytest.mark.slow
def test_a_recipe_has_the_same_words(cli: Any, workbook: Path) -> None:
    """`sheet` and `header_row` are keys; a key of another type is refused."""
    recipe = workbook.with_name("recipe.toml")
    text = 'method = "mondrian"\ninput = "in.xlsx"\noutput = "out.parquet"\nsheet = "People"\nheader_row = 3\n'
    end = '[policy]\ncolumns = { name = { role = "identifier" } }\n[parameters]\nk = 3\n'
    recipe.write_text(text + end, encoding="utf-8")
    assert cli("run", recipe, "--quiet").code == 0
    recipe.write_text(text.replace('"People"', "7") + end, encoding="utf-8")
    ran = cli("run", recipe)

    assert ran.code == 3
    assert "sheet must be a text" in ran.err


@pytest.mark.parametrize(
    ("how", "code", "says"),
    [
        (("--sheet", "Peple"), 3, "no sheet 'Peple'"),
        ((), 3, "2 sheets: 'Notes', 'People'"),
        (("--sheet", "People", "--header-row", "999"), 3, "no row 999"),
        (("--query", "select 'MARK'"), 2, "query"),
        (("--format", "csw"), 2, "csw"),
        (("--decimal", ";"), 2, "decimal"),
    ],
)
def test_a_refusal_is_one_line_and_a_hint(
    cli: Any, workbook: Path, quick: tuple[str, ...], how: tuple[str, ...], code: int, says: str
) -> None:
    """With the exit code of its kind, no cell, and nothing written."""
    output = workbook.with_name("out.parquet")
    ran = cli("release", workbook, output, *how, *quick)

    assert ran.code == code
    assert says in ran.err
    assert "MARK" not in ran.err
    assert not output.exists()
