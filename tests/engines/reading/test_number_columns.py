"""A few words among numbers make a column categories: the owner is informed, and nobody else.

Decimals of more digits than a double keeps stay what they are, in text and JSON files.

Points that may separate thousands: found where they are beside whole numbers, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.cli.summary import notes_of, public_warnings
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.cell_values import cell_numbers
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.engines.reading import number_columns
from anonkit.engines.reading.declared_tables import unusable_cells
from anonkit.engines.reading.number_columns import (
    CountGroups,
    CountNumbers,
    as_decimals,
    columns_of_groups,
    has_many_digits,
    text_columns_of_groups,
)
from anonkit.errors import SourceError
from anonkit.policy.column_declarations import Column, ColumnType
from anonkit.policy.declaration import Policy
from anonkit.report.block_words import lost_cells


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1.234", "900"], True),
        (["1.234", "-12.000", None, " 7 "], True),
        (["1.234", "2.345"], False),  # decimals, all of them
        (["900", "12"], False),
        (["1.234", "900", "1.5"], False),
        (["0.234", "900"], False),  # no group begins with a zero
        (["1.234", "900", "many"], False),
    ],
)
def test_a_column_may_have_groups_where_both_are_found(cells: list[str | None], found: bool) -> None:
    """And nothing else, whole or in batches that are added up."""
    assert columns_of_groups(["a"], [pa.array(cells)], Policy()) == (("a",) if found else ())
    count = CountGroups(names=["a"])
    parts = [pa.record_batch({"a": pa.array(cells[at : at + 1], pa.string())}) for at in range(len(cells))]
    assert count.found(sum(count(part, 0) for part in parts)) == (("a",) if found else ())


@pytest.mark.parametrize(
    "declared", [{"type": "text"}, {"categories": ["1.234", "900"]}, {"decimal": ","}, {"role": "identifier"}]
)
def test_a_declared_column_holds_no_such_doubt(declared: dict[str, object]) -> None:
    """By its type, its values, its written form or its role."""
    policy = Policy.from_dict({"columns": {"a": declared}})
    assert text_columns_of_groups(pa.schema([("a", pa.string()), ("b", pa.string())]), policy) == ["b"]
    assert columns_of_groups(["a"], [pa.array(["1.234", "900"])], policy) == ()


EXACT = [f"1234567890.1234567891{at:02d}" for at in range(40)]
FILES = ("csv", "tsv", "jsonl")


def _file(folder: Path, kind: str, cells: list[str], comma: bool = False) -> Path:
    path = folder / f"t.{kind}"
    if kind == "jsonl":
        lines = [f'{{"q":{cell or "null"},"z":{at}}}' for at, cell in enumerate(cells)]
    else:
        mark = "\t" if kind == "tsv" else ";" if comma else ","
        written = [cell.replace(".", ",") if comma else cell for cell in cells]
        lines = [f"q{mark}z", *(f"{cell}{mark}{at}" for at, cell in enumerate(written))]
    path.write_text("\n".join(lines) + "\n")
    return path


def _policy(role: str, **keys: object) -> Policy:
    return Policy.from_dict(
        {"unit": "none", "columns": {"q": {"role": role, **keys}, "z": {"role": "quasi_identifier"}}}
    )


def _released(path: Path, role: str, **keys: object) -> pa.Table:
    made = anonkit.release(path, method="mondrian", k=4, policy=_policy(role, **keys), no_target=True)
    made.save(path.with_name("out.parquet"))
    assert anonkit.validate(path.with_name("out.parquet")).passed
    return made.to_arrow()


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("keys", [{}, {"type": "number"}], ids=["undeclared", "number"])
@pytest.mark.parametrize("more", [[], ["1.5", "", "2e-3", "-7"]], ids=["alone", "beside others"])
def test_no_digit_of_a_column_that_is_shown_is_lost(
    tmp_path: Path, kind: str, keys: dict[str, object], more: list[str]
) -> None:
    """They were doubles, 40 different values one."""
    table = _released(_file(tmp_path, kind, [*EXACT, *more]), "insensitive", release_as_is=True, **keys)
    filled = [value for value in table["q"].to_pylist() if value is not None]
    assert sorted(filled) == sorted(Decimal(cell) for cell in (*EXACT, *more) if cell)


def test_a_decimal_comma_changes_nothing(tmp_path: Path) -> None:
    """Nor does a part of the file in which no cell is long."""
    policy = Policy.from_dict(
        {
            "decimal": ",",
            "unit": "none",
            "columns": {"q": {"role": "insensitive", "release_as_is": True}, "z": {"role": "quasi_identifier"}},
        }
    )
    path = _file(tmp_path, "csv", [*["0.5"] * 40, *EXACT], comma=True)
    table = anonkit.release(path, method="mondrian", k=4, policy=policy, no_target=True).to_arrow()
    assert sorted(table["q"].to_pylist()) == sorted(map(Decimal, [*["0.5"] * 40, *EXACT]))


@pytest.mark.parametrize("kind", FILES)
def test_cuts_of_a_quasi_identifier_are_exact(tmp_path: Path, kind: str) -> None:
    """And validate counts by them."""
    table = _released(_file(tmp_path, kind, EXACT), "quasi_identifier")
    assert len(set(table["q"].to_pylist())) > 4


def test_what_no_decimal_holds_stays_text_or_is_refused(tmp_path: Path) -> None:
    """In a text file the column is text, in JSON Lines it is refused by name."""
    cells = [f"{10**25 + at}.{'3' * 25}" for at in range(40)]
    table = _released(_file(tmp_path, "csv", cells), "insensitive", release_as_is=True)
    assert sorted(table["q"].to_pylist()) == sorted(cells)
    with pytest.raises(SourceError, match="column 'q' has numbers of more than 38 digits"):
        _released(_file(tmp_path, "jsonl", cells), "insensitive", release_as_is=True)


def test_a_declared_form_of_many_digits_is_refused(tmp_path: Path) -> None:
    """The refusal is of columns that are shown; cuts of a quasi-identifier are made of doubles."""
    path = _file(tmp_path, "csv", EXACT, comma=True)
    with pytest.raises(SourceError, match="column 'q' is released as it is, and one of its numbers has more than 17"):
        _released(path, "insensitive", release_as_is=True, decimal=",")
    _released(path, "quasi_identifier", decimal=",")


def test_methods_with_noise_report_no_digits(tmp_path: Path) -> None:
    """No cell decides there: the same columns are released, whatever one cell is."""
    policy = Policy.from_dict({"columns": {"q": {"bounds": [0, 2e9]}, "z": {"bounds": [0, 40]}}})
    for cells in (EXACT, [f"{10**25}.{'3' * 25}", *EXACT[1:]]):
        path = _file(tmp_path, "jsonl", cells)
        made = anonkit.release(path, method="rr", epsilon=1.0, policy=policy, no_target=True)
        assert made.to_arrow().num_rows == 40


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12), st.integers(0, 3))
def test_decimals_are_what_is_written(value: Decimal, scale: int) -> None:
    """With and without exponents; a double keeps what has no more than 17 digits."""
    for text in (f"{value:f}", f"{value:e}"):
        made = as_decimals(pa.array([text]), scale)
        if made is not None:
            assert made.to_pylist() == [value]
        digits = "".join(map(str, value.as_tuple().digits)).strip("0")
        assert has_many_digits(pa.array([text])) is (len(digits) > 17)
        if len(digits) <= 15:
            assert Decimal(json.dumps(float(text))) == value


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
