"""Columns in clear: read by SQL from the table alone, judged as a release judges them, by workers too."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from part_workers import Elsewhere

import anonkit
from anonkit.bundle.data_files import read_by
from anonkit.checks import shown_columns
from anonkit.checks.shown_columns import CLEAR_CHECK as CHECK
from anonkit.checks.shown_columns import allowed_in_clear, columns_in_clear, look_at_unchanged
from anonkit.errors import ParameterError

ROWS = 300
MAILS = [f"p{at}@example.org" for at in range(ROWS)]
ORDER = random.Random(3).sample(range(ROWS), ROWS)
DAYS = [datetime.date(1950, 1, 1) + datetime.timedelta(days=37 * at) for at in range(ROWS)]
CELLS: dict[str, pa.Array] = {
    "mail": pa.array(MAILS),
    "mail as categories": pa.array(MAILS).dictionary_encode(),
    "rows": pa.array(ORDER),
    "rows as floats": pa.array([float(at) for at in ORDER]),
    "colour": pa.array(["red", "blue", None] * 100),
    "truth": pa.array([True, False, None] * 100),
    "price": pa.array([round(1.37 * at * at, 2) for at in range(ROWS)]),
    "born": pa.array(DAYS),
    "seen": pa.array([at * 10**12 + 1 for at in range(ROWS)], pa.timestamp("ns")),
    "zoned": pa.array([at * 10**6 for at in range(ROWS)], pa.timestamp("us", tz="Europe/Berlin")),
    "nothing": pa.array([None] * ROWS, pa.string()),
}


@pytest.mark.parametrize(
    ("name", "refused", "said"),
    [
        ("mail", 1, "e-mail"),
        ("mail as categories", 1, "e-mail"),
        ("rows", 1, "number the rows"),
        ("rows as floats", 1, "number the rows"),
        ("colour", 0, None),
        ("truth", 0, None),
        ("price", 0, "value of their own"),
        ("born", 0, "value of their own"),
        ("seen", 0, "value of their own"),
        ("zoned", 0, "value of their own"),
        ("nothing", 0, None),
    ],
)
def test_cells_of_every_type_are_judged(name: str, refused: int, said: str | None) -> None:
    """Identifying cells are counted, nearly unique ones are reported, and others pass without a message."""
    found = look_at_unchanged(pa.table({name: CELLS[name]}), [name])
    (check,) = found.checks

    assert (check.name, check.passed, check.observed, check.required) == (CHECK, not refused, refused, 0)
    assert (said is None) is (found.notes == ())
    assert said is None or said in found.notes[0]
    allowed = look_at_unchanged(pa.table({name: CELLS[name]}), [name], allowed=[name])
    assert allowed.checks[0].passed


def test_nothing_is_looked_at_where_nothing_is_in_clear() -> None:
    """No check is made then, so that no release has to have one."""
    assert look_at_unchanged(pa.table(CELLS), []).checks == ()


def test_a_column_that_goes_with_a_known_one_is_said_once() -> None:
    """A birth year beside an age and its double; times and refused columns are not compared."""
    ages = [20 + at % 50 for at in range(ROWS)]
    table = pa.table(
        {**CELLS, "age": ages, "double": [2 * age for age in ages], "born in": [2000 - age for age in ages]}
    )
    notes = look_at_unchanged(table, ["mail", "born in", "colour", "born"], known=["age", "double", "seen"]).notes

    assert [note for note in notes if "goes with" in note] == [note for note in notes if "'born in'" in note]
    assert sum("goes with 'age'" in note for note in notes) == 1
    assert look_at_unchanged(table, ["mail"], known=["age"]).notes == look_at_unchanged(table, ["mail"]).notes


def test_of_many_values_evenly_spaced_ones_are_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of values is counted over all."""
    monkeypatch.setattr(shown_columns, "_SPELLED", 40)
    for name in ("mail", "rows"):
        assert not look_at_unchanged(pa.table({name: CELLS[name]}), [name]).checks[0].passed


def test_files_that_workers_read_are_judged_by_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nearly every row differs no row comes here: one file of a release is a sample of its rows."""
    monkeypatch.setattr("anonkit.checks.table_scans._FEW", 10)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        pq.write_table(pa.table(CELLS).slice(part * 100, 100), folder / f"part-{part}.parquet")
    with read_by(Elsewhere()):
        for name, refused in (("mail", 1), ("rows", 1), ("price", 0), ("colour", 0)):
            assert look_at_unchanged(folder, [name]).checks[0].observed == refused


def test_a_report_says_what_is_in_clear() -> None:
    """Of k-anonymous releases what is kept beside quasi-identifiers, of randomized ones what the promise lists."""
    columns: list[dict[str, Any]] = [
        {"name": "q", "role": "quasi_identifier", "action": "kept"},
        {"name": "y", "role": "target", "action": "kept", "released_as_is": True},
        {"name": "n", "role": "identifier", "action": "dropped"},
    ]
    anonymous = {"guarantee": {"parameters": {"k": 5}}, "columns": columns}
    local = {"guarantee": {"parameters": {"epsilon": 1, "clear": ["y"]}}, "columns": columns}
    central = {"guarantee": {"parameters": {"epsilon": 1, "k": 5}}, "columns": columns}

    assert [columns_in_clear(report) for report in (anonymous, local, central)] == [["y"], ["y"], []]
    assert allowed_in_clear(anonymous) == ["y"]


def test_a_plain_table_is_refused_and_a_release_has_its_own_word(tmp_path: Path) -> None:
    """`release_as_is` names columns of plain tables; an unknown one is refused."""
    table = pa.table({"q": ["a", "b", "c"] * 100, "mail": MAILS})
    given: dict[str, Any] = {"quasi_identifiers": ["q"], "k": 5}
    assert not anonkit.validate(table, **given).passed
    assert anonkit.validate(table, **given, release_as_is=["mail"]).passed
    with pytest.raises(ParameterError, match="'post' is not in the table"):
        anonkit.validate(table, **given, release_as_is=["post"])

    out = tmp_path / "out.parquet"
    anonkit.release(
        table, method="mondrian", k=5, sensitive=["mail"], release_as_is=["mail"], no_target=True, output=out
    )
    validation = anonkit.validate(out)
    assert validation.passed, [check for check in validation.checks if not check.passed]
    assert validation.to_dict()["notes"] == list(validation.notes) != []
    with pytest.raises(ParameterError, match="release_as_is is about plain tables"):
        anonkit.validate(out, release_as_is=["mail"])
