"""Decimals of more digits than a double keeps stay what they are, in text and JSON files."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.engines.reading.many_digits import as_decimals, has_many_digits
from anonkit.errors import SourceError
from anonkit.policy.declaration import Policy

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
