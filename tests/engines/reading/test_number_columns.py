"""A few words among numbers make a column categories: the owner is informed, and nobody else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.cli.summary import notes_of, public_warnings
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.cell_keys import cell_numbers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading import number_columns
from anonkit.engines.reading.number_columns import CountNumbers
from anonkit.engines.reading.settled_tables import unusable_cells
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.report.lost_cells import lost_cells

WORD = "Zwischensumme"
N_ROWS = 400
FIGURE, NOTES = "cells_among_numbers", "reading_notes"


def table(words: int, word: str = WORD) -> pa.Table:
    """Customers, the first of whose ages are a word."""
    customers = bank_customers(N_ROWS, seed=3)
    ages = [word] * words + [str(age) for age in customers.column("age").to_pylist()[words:]]
    return customers.set_column(customers.column_names.index("age"), "age", pa.array(ages))


def told(source: Any, policy: Policy | None = None) -> dict[str, Any]:
    """The messages to the owner about a table, by the way it is read."""
    policy = policy or Policy()
    with LocalEngine() as engine:
        opened = engine.scan(source, policy)
        return unusable_cells(opened, policy.resolve(opened.schema.names), engine)


@pytest.mark.parametrize("words", [1, N_ROWS * 11 // 100])
def test_words_among_numbers_are_counted_for_the_owner_and_never_quoted(words: int, tmp_path: Path) -> None:
    """One cell and 11 % of them: column, count, share and remedy, for the owner and in no file of the release."""
    pacsv.write_csv(table(words), tmp_path / "in.csv")
    release = anonkit.release(
        tmp_path / "in.csv",
        output=tmp_path / "out.parquet",
        k=5,
        trees=3,
        ledger=None,
        owner_report=tmp_path / "private",
    )
    share = {1: "0.25 %", 44: "11 %"}[words]
    (note,) = release.owner[NOTES]
    assert release.owner[FIGURE] == {"age": {"cells": N_ROWS, "no_numbers": words}}
    assert note.startswith(f"{words} of {N_ROWS} cells ({share}) of column 'age' ")
    assert 'missing_values = ["", "TEXT"]' in note
    assert WORD not in str(release.owner)
    (warning,) = public_warnings(release)
    assert "column 'age'" in warning.lower()
    assert str(words) not in warning
    (counted,) = lost_cells(release.owner, counted=True)
    assert f"{words} of {N_ROWS} cells" in counted
    assert note not in notes_of(release, owner=True)
    assert note not in release.report["notes"]
    files = [path.read_text() for path in tmp_path.glob("out.*") if path.suffix != ".parquet"]
    assert not any(FIGURE in text or NOTES in text or "read as categories" in text for text in files)
    private = "".join(path.read_text() for path in (tmp_path / "private").iterdir())
    assert json.dumps(note)[1:-1] in private
    for label in sorted(set(release.to_arrow().column("age").to_pylist()), key=len, reverse=True):
        private = private.replace(label, "")  # what is released may be named
    assert WORD not in private


def test_the_remedy_makes_it_numbers_and_the_note_goes(tmp_path: Path) -> None:
    """With the word in missing_values, or the column declared to be text, nothing is pointed out."""
    pacsv.write_csv(table(3), tmp_path / "in.csv")
    assert FIGURE in told(tmp_path / "in.csv")
    listed = Policy(missing_values=("", WORD))
    assert told(tmp_path / "in.csv", listed) == {}
    text = Policy(columns={"age": Column(name="age", type=ColumnType.TEXT)})
    assert told(tmp_path / "in.csv", text) == {}


@pytest.mark.parametrize(
    ("cells", "mixed"),
    [
        ([str(at) for at in range(75)] + ["x"] * 25, True),
        ([str(at) for at in range(74)] + ["x"] * 26, False),
        ([*map(str, range(1, 11)), *"?"], True),
        (["1.5", "-2", " 3", "+4", "1e3", "0", "0.0", "7", "8", None, "N"], True),
        (["1", "2", "3", "4", "5", "6", "7", "7.0", "8 or more"] * 9, False),
        ([*map(str, range(10115, 10199)), "01067", "N"], False),
        ([*map(str, range(99)), "12345678901234567", "N"], False),
        (["a", "b"] * 10, False),
        (["1", "2"] * 10, False),
        ([None] * 9, False),
    ],
)
def test_nearly_all_cells_must_be_numbers_and_none_a_code(cells: Sequence[str | None], mixed: bool) -> None:
    """Three quarters are enough, if eight differ; a code makes all of them codes; missing cells count for nothing."""
    found = told(pa.table({"q": pa.array(cells, pa.string()), "y": ["u"] * len(cells)}))
    assert (found.get(FIGURE, {}).get("q") is not None) == mixed


def test_simulated_tables_are_not_complained_of(tmp_path: Path) -> None:
    """No column of the simulated customers is pointed out, whatever file they come from."""
    customers = bank_customers(N_ROWS, customer_id=True)
    pacsv.write_csv(customers, tmp_path / "in.csv")
    pq.write_table(customers, tmp_path / "in.parquet")
    assert told(tmp_path / "in.csv") == told(tmp_path / "in.parquet") == told(customers) == {}


def test_a_declared_identifier_is_not_spoken_of() -> None:
    """The owner's figures leave out a declared identifier and have a guessed one."""
    source = pa.table({"q": [*map(str, range(99)), WORD], "y": ["u", "v"] * 50, "r": ["a", "b"] * 50})
    taken = anonkit.release(source, k=5, trees=3, target="y", ledger=None)
    assert taken.owner[FIGURE] == {"q": {"cells": 100, "no_numbers": 1}}
    named = anonkit.release(source, k=5, trees=3, target="y", identifiers=["q"], ledger=None)
    assert FIGURE not in named.owner


def test_nothing_is_counted_under_differential_privacy(tmp_path: Path) -> None:
    """There every cell is read by itself, so that no word changes what the others mean."""
    pacsv.write_csv(table(1), tmp_path / "in.csv")
    policy = bank_customers_policy()
    release = anonkit.release(tmp_path / "in.csv", method="rr", epsilon=30, policy=policy, ledger=None)
    assert FIGURE not in release.owner
    assert NOTES not in release.owner


SPELLINGS = ("1", "01", "1e3", " 4", "-0.0", "0", "1.50", "1_0", "12345678901234567", "nan", "", "5 or more", None)


@pytest.mark.parametrize("texts", [SPELLINGS * 50, tuple(f"{number}" for number in range(600)), (None,) * 5, ()])
def test_cells_are_counted_alike_however_they_arrive(texts: tuple[str | None, ...]) -> None:
    """One by one, in one batch, as codes, and as codes of a larger table: the same counts."""
    count, cells = CountNumbers(names=["a"]), pa.array(texts, pa.string())

    def counted(array: pa.Array) -> list[int]:
        found: list[int] = count(pa.record_batch([array], ["a"]), 0).tolist()
        return found

    expected = sum((np.array(counted(cells.slice(at, 1))) for at in range(len(cells))), np.zeros(count.size, np.int64))
    assert counted(cells) == expected.tolist()
    coded = pa.array([*texts, *(f"none {number}" for number in range(1_000))], pa.string()).dictionary_encode()
    assert counted(cells.dictionary_encode()) == counted(coded.slice(0, len(cells))) == expected.tolist()


@pytest.mark.parametrize("form", ["{},5", "{} %", "{}%", "€ {}", "{} EUR", "-{}.000,25", "1 {}0,5", "1'{}0"])
def test_numbers_in_a_form_that_nobody_declared_are_a_warning(form: str) -> None:
    """Decimal comma, thousands, per cent, currency: named everywhere without a count, and counted for the owner."""
    cells = [form.format(10 + at % 80) for at in range(99)]
    release = anonkit.release(
        pa.table({"pay": [*cells, WORD], "y": ["u", "v"] * 50}), method="mondrian", k=5, target="y", ledger=None
    )
    assert release.owner["cells_in_another_form"] == {"pay": {"cells": 100, "numbers": 99}}
    (warning,) = public_warnings(release)
    assert "'pay'" in warning
    assert "99" not in warning
    assert "99 of 100 cells" in "".join(lost_cells(release.owner, counted=True))


@pytest.mark.parametrize("form", ["{}", "A{}", "{}-{}", "01.{}.2020", "{}.1.2.3", "0{}", "{} or more", "SKU{}", "x"])
def test_other_texts_are_no_numbers_in_another_form(form: str) -> None:
    """Plain numbers, codes, ranges, dates, addresses and words."""
    count, cells = CountNumbers(names=["a"]), pa.array([form.format(at % 80, at) for at in range(10, 99)])
    assert count.in_another_form(count(pa.record_batch([cells], ["a"]), 0)) == {}


def test_a_text_that_repeats_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a column of categories a batch holds few, and reading each cell was a tenth of a large release."""
    read: list[int] = []
    monkeypatch.setattr(number_columns, "cell_numbers", lambda array: (read.append(len(array)), cell_numbers(array))[1])
    texts = pa.array(["Private", "7", "none"] * 4_000)
    assert CountNumbers(names=["a"])(pa.record_batch([texts], ["a"]), 0)[:3].tolist() == [12_000, 8_000, 0]
    assert sum(read) == 3
