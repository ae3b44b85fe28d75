"""Cells as codes of public domains: the same codes for texts, dictionaries and other types; nothing is refused.

Keys of joined tables: equal exactly when their texts are.

Cells of columns of every type: whole columns mean what their cells mean one by one.

The one rule by which texts are numbers, and by which people are distinguished: a text at a time, exactly.

Numbers as people write them: declared forms, in every source, on the way into a release and of the next batch.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.domains.cell_values import (
    NumberForm,
    cell_keys,
    cell_numbers,
    cell_texts,
    codes_of_cells,
    exact_decimal,
    join_keys,
    key_of_text,
    labels_of_cells,
    number_of_text,
    numbers_of_cells,
    refuse_kinds,
)
from anonkit.domains.number_bins import UNKNOWN, Categories, Grid
from anonkit.errors import AnonkitError, ParameterError, PolicyError
from anonkit.policy.declaration import Policy

FORMS: dict[str, tuple[dict[str, Any], Callable[[float], str]]] = {
    "1,234.50": ({"thousands": ","}, lambda x: f"{x:,.2f}"),
    "1.234,50": ({"decimal": ",", "thousands": "."}, lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,"))),
    "1 234,50": ({"decimal": ",", "thousands": " "}, lambda x: f"{x:,.2f}".replace(",", "\u202f").replace(".", ",")),
    "1'234.50": ({"thousands": "'"}, lambda x: f"{x:,.2f}".replace(",", "\u2019")),
    "$1,234.50": ({"thousands": ",", "currency": "$"}, lambda x: f"${x:,.2f}".replace("$-", "-$")),
    "1234.50 €": ({"currency": "€"}, lambda x: f"{x:.2f} €"),
    "1234.50 %": ({"percent": True}, lambda x: f"{x:.2f}%"),
    "−1234.50": ({"decimal": "."}, lambda x: f"{x:.2f}".replace("-", "\u2212")),
}
VALUES = [-1234.5, 0.25, 7.0, 999.0, 1000.0, 1234567.5, -3.0, 12.3] * 4


def _csv(path: Path, texts: list[str]) -> object:
    path.with_suffix(".csv").write_text("x\ty\n" + "".join(f"{text}\t{at % 2}\n" for at, text in enumerate(texts)))
    return path.with_suffix(".csv")


def _parquet(path: Path, texts: list[str]) -> object:
    pq.write_table(pa.table({"x": texts, "y": [at % 2 for at in range(len(texts))]}), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _pandas(_: Path, texts: list[str]) -> object:
    return pd.DataFrame({"x": pd.Series(texts, dtype=object), "y": [at % 2 for at in range(len(texts))]})


def _sqlite(path: Path, texts: list[str]) -> object:
    with sqlite3.connect(path.with_suffix(".db")) as connection:
        connection.execute("create table t (x text, y integer)")
        connection.executemany("insert into t values (?, ?)", [(text, at % 2) for at, text in enumerate(texts)])
    connection.close()
    return f"sqlite:///{path.with_suffix('.db')}?table=t"


SOURCES = {"csv": _csv, "parquet": _parquet, "arrow": lambda _, texts: pa.table({"x": texts, "y": [0, 1] * 16}),
           "pandas": _pandas, "sqlite": _sqlite}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
def test_a_declared_form_is_read_in_every_source(tmp_path: Path, source: str, form: str) -> None:
    """Every released number is one of the numbers that were written."""
    keys, written = FORMS[form]
    policy = Policy.from_dict({"columns": {"x": {"role": "insensitive", **keys}, "y": {"role": "quasi_identifier"}}})
    table = SOURCES[source](tmp_path / "t", [written(value) for value in VALUES])
    released = anonkit.release(table, method="mondrian", k=2, policy=policy, no_target=True).to_arrow()
    assert sorted(released["x"].to_pylist()) == sorted(VALUES)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
def test_noise_reads_what_is_declared(tmp_path: Path, source: str, form: str) -> None:
    """Public bounds and the form: at a large epsilon the bins hold the right numbers of cells."""
    keys, written = FORMS[form]
    column = {"role": "quasi_identifier", "bounds": [0, 2000], **keys}
    policy = Policy.from_dict({"columns": {"x": column, "y": {"role": "quasi_identifier", "categories": ["0", "1"]}}})
    plain = Policy.from_dict(
        {"columns": {"x": {k: column[k] for k in ("role", "bounds")}, "y": {"categories": ["0", "1"]}}}
    )

    def counts(table: object, declared: Policy) -> list[dict[str, Any]]:
        made = anonkit.release(table, method="rr", epsilon=40.0, policy=declared, no_target=True, seed=1)
        return sorted(made.to_arrow()["x"].value_counts().to_pylist(), key=str)

    table = SOURCES[source](tmp_path / "t", [written(value) for value in VALUES])
    assert counts(table, policy) == counts(pa.table({"x": VALUES, "y": [0, 1] * 16}), plain)


def test_the_next_batch_is_read_by_the_stored_form(tmp_path: Path) -> None:
    """A cell of another form refuses it, and is not shown."""
    policy = Policy.from_dict({"columns": {"x": {"role": "quasi_identifier", "decimal": ",", "thousands": "."}}})
    table = pa.table({"x": [f"1.{at:03d},5" for at in range(100, 140)], "y": [0, 1] * 20})
    release = anonkit.release(table, method="mondrian", k=5, policy=policy, no_target=True)
    release.save(tmp_path / "out.parquet")
    assert anonkit.validate(tmp_path / "out.parquet").passed
    batch = anonkit.apply(tmp_path / "out.params.json", table)
    assert batch.report["rows"]["out"] == 40
    with pytest.raises(AnonkitError, match="row 2 is no number written with") as caught:
        anonkit.apply(tmp_path / "out.params.json", pa.table({"x": ["1.100,5", "1,100.5"] * 20, "y": [0, 1] * 20}))
    assert "1,100.5" not in str(caught.value)


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), st.sampled_from(list(FORMS)))
def test_a_number_is_read_as_it_was_written(value: float, form: str) -> None:
    """Each cell by itself."""
    keys, written = FORMS[form]
    (plain,) = NumberForm(**keys).plain(pa.array([written(value)])).to_pylist()
    assert float(plain) == value


@pytest.mark.parametrize(
    ("keys", "texts"),
    [
        ({"thousands": ","}, ["12,34", "1,2345", "0,123", ",123", "1.234,5", "", "x", "1,234.", "$5"]),
        ({"decimal": ","}, ["1.5", "1,5,5", "5%"]),
        ({"currency": "€"}, ["5 $", "€ € 5", "5€%"]),
    ],
)
def test_what_is_of_another_form_is_no_number(keys: dict[str, Any], texts: list[str]) -> None:
    """Nothing is guessed beside a declaration."""
    assert NumberForm(**keys).plain(pa.array(texts)).to_pylist() == [None] * len(texts)


@pytest.mark.parametrize(
    "column",
    [
        {"thousands": "."},
        {"decimal": ";"},
        {"thousands": "_"},
        {"currency": "12"},
        {"percent": 1},
        {"decimal": ",", "categories": ["1"]},
    ],
)
def test_a_form_that_is_none_is_refused(column: dict[str, Any]) -> None:
    """`thousands = "."` needs a decimal comma: both marks would be one."""
    if column == {"thousands": "."}:
        with pytest.raises(ParameterError):
            NumberForm(**column)
    with pytest.raises(PolicyError, match="column 'x'"):
        Policy.from_dict({"columns": {"x": column}})


@pytest.mark.parametrize("as_file", [True, False])
def test_rows_to_predict_from_are_read_by_the_declared_form(tmp_path: Path, as_file: bool) -> None:
    """Under noise the params carry the form, and texts are predicted from as the numbers they are."""
    column = {"bounds": [0, 4000], "decimal": ",", "thousands": ".", "currency": "€"}
    policy = Policy.from_dict({"columns": {"x": column, "y": {"role": "target", "categories": ["a", "b"]}}})
    values = [500.0 + 1000 * (at % 4) for at in range(400)]
    texts = [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in values]
    label = ["a" if x < 2000 else "b" for x in values]
    table = pa.table({"x": texts, "y": label})
    out = tmp_path / "out.parquet"
    anonkit.release(table, method="rr", epsilon=20.0, policy=policy).save(out)
    assert anonkit.validate(out).passed
    numbers = anonkit.reconstruct(out, test=pa.table({"x": values, "y": label})).predictions
    pacsv.write_csv(table, tmp_path / "t.csv")
    test: object = tmp_path / "t.csv" if as_file else table
    assert anonkit.reconstruct(out, test=test).predictions.equals(numbers)
    assert set(numbers["y"].to_pylist()) == {"a", "b"}
    frame = anonkit.reconstruct(out, test=table.to_pandas()).predictions
    assert frame.equals(numbers)


TEXT = st.none() | st.text(max_size=4) | st.sampled_from(["7", "007", "7.0", " 7", "x37", "٧"])


@given(st.lists(st.tuples(TEXT, TEXT), min_size=2, max_size=8))
def test_two_keys_are_one_when_all_their_texts_are(rows: list[tuple[str | None, str | None]]) -> None:
    """007 and 7 are two, `a`+`b` is not `ab`, a missing part makes no key; reading units merges none of them."""
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    keys = join_keys(columns).to_pylist()

    for at, one in enumerate(rows):
        assert (keys[at] is None) == (None in one)
        for also, other in enumerate(rows):
            assert (keys[at] is not None and keys[at] == keys[also]) == (None not in one and one == other)
    assert cell_keys(pa.array(keys, pa.string())).to_pylist() == keys


def test_numbers_by_the_type_of_their_file_are_one_number() -> None:
    """7 in a column of integers, 7.0 in one of floats and the text 7 are one key; the text 007 is another."""
    keys = [
        join_keys([pa.array(values, kind)])[0].as_py()
        for values, kind in (([7], pa.int64()), ([7.0], pa.float64()), (["7"], pa.string()), (["007"], pa.string()))
    ]

    assert keys[0] == keys[1] == keys[2] != keys[3]


SPELLED = st.sampled_from(
    ["12", "12.0", " 12", "1.2e1", "012", "x7", " x7", "", " ", "2.5", "-0", "1e400", "nan", "inf", "0x1F", "+7", "7."]
)
TEXTS = st.none() | SPELLED | st.text(max_size=6) | st.integers().map(str) | st.floats().map(repr)
COLUMNS = st.one_of(
    st.lists(TEXTS).map(lambda cells: pa.array(cells, pa.string())),
    st.lists(TEXTS).map(lambda cells: pa.array(cells, pa.string()).dictionary_encode()),
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda cells: pa.array(cells, pa.int64())),
    st.lists(st.none() | st.integers(0, 2**64 - 1)).map(lambda cells: pa.array(cells, pa.uint64())),
    st.lists(st.none() | st.floats()).map(lambda cells: pa.array(cells, pa.float64())),
    st.lists(st.none() | st.floats(width=32)).map(lambda cells: pa.array(cells, pa.float32())),
    st.lists(st.none() | st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-3))).map(
        lambda cells: pa.array(cells, pa.decimal128(30, 3))
    ),
    st.lists(st.none() | st.booleans()).map(lambda cells: pa.array(cells, pa.bool_())),
    st.lists(st.none() | st.dates()).map(lambda cells: pa.array(cells, pa.date32())),
    st.lists(st.none() | st.datetimes()).map(lambda cells: pa.array(cells, pa.timestamp("us"))),
)


@given(COLUMNS)
def test_a_column_means_what_its_cells_mean(column: pa.Array) -> None:
    """Keys, texts and numbers of a column are those of its cells one by one: no cell looks at another."""
    for read in (cell_keys, cell_texts):
        alone = [read(column[at : at + 1]).to_pylist()[0] for at in range(len(column))]
        assert read(column).to_pylist() == alone
        assert read(column[1:]).to_pylist() == alone[1:]
    numbers = [cell_numbers(column[at : at + 1])[0] for at in range(len(column))]
    assert np.array_equal(cell_numbers(column), np.array(numbers), equal_nan=True)


@given(COLUMNS)
def test_the_fast_way_is_the_rule(column: pa.Array) -> None:
    """Arrow's result for whole columns is the rule's result for the text of each cell."""
    texts = cell_texts(column).to_pylist()
    assert cell_keys(column).to_pylist() == [None if text is None else key_of_text(text) for text in texts]


@given(st.lists(TEXTS))
def test_the_numbers_of_texts_are_the_rule(cells: list[str | None]) -> None:
    """Numbers are rounded once, wherever they are parsed; all else is missing."""
    wanted = [number_of_text(cell) if cell is not None else None for cell in cells]
    floats = np.array([np.nan if number is None else number for number in wanted], dtype=np.float64)
    assert np.array_equal(cell_numbers(pa.array(cells, pa.string())), floats, equal_nan=True)


@given(st.lists(st.none() | st.text("0123456789.-/", max_size=40) | st.integers(0, 400).map(lambda n: "7" * n)))
def test_plain_numbers_are_the_rule(cells: list[str | None]) -> None:
    """Texts of digits, points and signs read the same at the speed of a scan, however many digits they have."""
    wanted = [number_of_text(cell) if cell is not None else None for cell in cells]
    floats = np.array([np.nan if number is None else number for number in wanted], dtype=np.float64)
    assert np.array_equal(cell_numbers(pa.array(cells, pa.string())), floats, equal_nan=True)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([12], pa.int8()),
        pa.array([12], pa.uint64()),
        pa.array([12.0], pa.float64()),
        pa.array([12.0], pa.float32()),
        pa.array([Decimal("12.00")]),
        pa.array(["012"]),
        pa.array([" 1.2e1"]).dictionary_encode(),
    ],
    ids=lambda cells: str(cells.type),
)
def test_a_number_is_one_key_in_every_type(cells: pa.Array) -> None:
    """Twelve is twelve, whatever file it came from."""
    assert cell_keys(cells).to_pylist() == ["12"]


def test_typed_cells_have_plain_texts() -> None:
    """Truth values, dates, times and floats are spelled as people spell them; NaN is missing."""
    assert cell_texts(pa.array([True, False])).to_pylist() == ["true", "false"]
    assert cell_texts(pa.array([datetime.date(2020, 2, 1)])).to_pylist() == ["2020-02-01"]
    moments = pa.array([datetime.datetime(2020, 2, 1), datetime.datetime(2020, 2, 1, 1, 2, 3, 500_000)])
    assert cell_texts(moments).to_pylist() == ["2020-02-01 00:00:00", "2020-02-01 01:02:03.5"]
    assert cell_texts(pa.array([1.0, 0.1, float("nan")])).to_pylist() == ["1", "0.1", None]
    assert cell_texts(pa.array([Decimal("2.50")])).to_pylist() == ["2.5"]
    assert cell_texts(pa.array([0.1], pa.float32())).to_pylist() == ["0.1"]
    assert cell_keys(pa.array([2**53 + 1, 2**53])).to_pylist() == ["9007199254740993", "9007199254740992"]


DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    "text", ["12", "12.0", " 12", "1.2e1", "012", "+12", "12.", "0.12e2", "120e-1", "１２", "١٢\t"]
)
def test_every_spelling_of_a_number_is_one(text: str) -> None:
    """Blanks, zeros, signs, points, exponents and digits of other scripts do not make another number."""
    assert exact_decimal(text) == "12"


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "0x1F", "1_000", "1,000", "", " ", ".", "+", "e5", "1e", "1e5.0", "1 2", "12a"]
)
def test_words_other_bases_and_separators_are_no_numbers(text: str) -> None:
    """A cell that is not plain decimal notation stays a string."""
    assert exact_decimal(text) is None


@given(DECIMALS)
def test_the_form_is_exact(value: Decimal) -> None:
    """The one form of a decimal is equal to it, and to the form of every other spelling."""
    form = exact_decimal(str(value))
    assert form is not None
    assert Decimal(form) == value
    assert exact_decimal(form) == form
    assert exact_decimal(f" {value:f}0" if "." in f"{value:f}" else f"0{abs(value):f}.00") == (
        form if "." in f"{value:f}" else exact_decimal(str(abs(value)))
    )


@given(DECIMALS, DECIMALS)
def test_two_numbers_share_a_form_exactly_when_they_are_equal(one: Decimal, other: Decimal) -> None:
    """No two numbers are merged, none is split."""
    assert (exact_decimal(str(one)) == exact_decimal(str(other))) is (one == other)


@given(st.integers())
def test_whole_numbers_are_exact_beyond_doubles(value: int) -> None:
    """2**53 + 1 is not 2**53."""
    assert exact_decimal(str(value)) == str(value)
    assert exact_decimal(str(value + 1)) != exact_decimal(str(value))


def test_huge_exponents_are_not_multiplied_out() -> None:
    """A cell of a few characters costs a few characters, whatever number it spells."""
    assert exact_decimal("1e999999999") == "1e999999999"
    assert exact_decimal("-10e-999999999") == "-1e-999999998"
    assert exact_decimal("0e99999999999999999999") == "0"
    assert exact_decimal("1e99999999999999999999") is None
    assert exact_decimal("1e" + "0" * 5000 + "1") == "10"
    assert exact_decimal("9" * 100_000) == "9" * 100_000
    assert number_of_text("1e999999999") == float("inf")
    assert number_of_text("1e-999999999") == 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_rounded_once(value: float) -> None:
    """A text is the double that Python reads from it."""
    assert number_of_text(repr(value)) == value
    assert number_of_text(f"{Decimal(value):f}") == value


@given(st.text())
def test_a_key_is_its_own_key(text: str) -> None:
    """Keys are settled: the key of a key is the same key, and blanks at the ends do not matter."""
    key = key_of_text(text)
    assert key is None or key_of_text(key) == key
    assert key_of_text(f" {text}\t") == key


def test_texts_are_distinguished_by_their_letters() -> None:
    """Only blanks at the ends and compatibility forms do not matter; blanks alone are nobody."""
    assert key_of_text(" a b ") == "a b"
    assert key_of_text("ｘ７") == "x7"
    assert key_of_text("A") != key_of_text("a")
    assert key_of_text(" \t") is None


LETTERS = Categories(values=("b", "a"), has_missing=True)


def _batch(array: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([array], names=["c"])


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_texts_and_dictionaries_have_the_same_codes(folded: bool, kind: type) -> None:
    """Places in the declared order; missing comes last."""
    array = pa.array(["a", None, "b", "a"])
    codes = codes_of_cells(_batch(array.dictionary_encode() if folded else array), "c", LETTERS, kind)
    assert codes.tolist() == [1, 2, 0, 1]
    assert codes.dtype == kind


def test_other_types_are_known_by_their_texts() -> None:
    """Numbers and truth values are declared as they are written."""
    digits, flags = Categories(values=("2", "1")), Categories(values=("true", "false"))
    assert codes_of_cells(_batch(pa.array([1, 2])), "c", digits).tolist() == [1, 0]
    assert codes_of_cells(_batch(pa.array([True, False])), "c", flags).tolist() == [0, 1]


@pytest.mark.parametrize("array", [pa.array(["a", "SECRET"]), pa.array(["a", "SECRET"]).dictionary_encode()])
def test_a_stranger_is_missing(array: pa.Array) -> None:
    """A refusal would disclose that somebody has it."""
    assert codes_of_cells(_batch(array), "c", LETTERS).tolist() == [1, 2]


def test_a_category_of_a_dictionary_that_no_cell_holds_is_no_stranger() -> None:
    """Only cells count."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["a", "other"]))
    assert codes_of_cells(_batch(array), "c", LETTERS).tolist() == [1, 1]


NUMBERED = Categories(values=("1", "2.5", "x"), has_missing=True)


@pytest.mark.parametrize(
    ("array", "codes"),
    [
        (pa.array(["1", "1.0", " 01", "2.50", "x", "x ", "3", None]), [0, 0, 0, 1, 2, 2, 3, 3]),
        (pa.array([1, 2, None]), [0, 3, 3]),
        (pa.array([1.0, 2.5, float("nan"), None]), [0, 1, 3, 3]),
        (pa.array([Decimal("1.00"), Decimal("2.50")]), [0, 1]),
        (pa.array(["1.0", "x"]).dictionary_encode(), [0, 2]),
        (pa.array([True]), [3]),
    ],
    ids=["texts", "integers", "floats", "decimals", "dictionary", "truth values"],
)
def test_a_category_is_known_by_its_text_or_its_decimal(array: pa.Array, codes: list[int]) -> None:
    """1, "1.0" and 1.0 find a declared "1", in every type; blanks around words do not count."""
    assert codes_of_cells(_batch(array), "c", NUMBERED).tolist() == codes


def test_texts_alone_may_be_compared() -> None:
    """A column of codes: 1 and 01 are two; an integer is 1 in a column of floats too."""
    domain = Categories(values=("1", "01"), has_missing=True, texts_alone=True)
    assert codes_of_cells(_batch(pa.array(["1", "01", "1.0"])), "c", domain).tolist() == [0, 1, 2]
    assert codes_of_cells(_batch(pa.array([1.0, None])), "c", domain).tolist() == [0, 2]


@pytest.mark.parametrize("array", [pa.array(["b", None]), pa.array(["b", "SECRET"]).dictionary_encode()])
def test_a_domain_without_missing_takes_the_first(array: pa.Array) -> None:
    """That is what `missing = "first"` declares."""
    assert codes_of_cells(_batch(array), "c", Categories(values=("a", "b"))).tolist() == [1, 0]
    assert codes_of_cells(_batch(pa.array([3.0, None])), "c", Grid(lower=1, upper=4, cells=3)).tolist() == [2, 0]


def test_rows_without_a_class_have_no_label() -> None:
    """Unless missing is declared a class."""
    array = _batch(pa.array(["b", None, "SECRET"]))
    assert labels_of_cells(array, "c", Categories(values=("a", "b"))).tolist() == [1, UNKNOWN, UNKNOWN]
    assert labels_of_cells(array, "c", Categories(values=("a", "b"), has_missing=True)).tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    "array", [pa.array([1.0, None, -7.0, 99.0]), pa.array(["1", "many", "-1e400", "99"]), pa.array([1, None, -7, 99])]
)
def test_numbers_are_clamped_and_texts_among_them_are_missing(array: pa.Array) -> None:
    """Null, not-a-number and words are missing; what is beyond a bound is at the bound."""
    grid = Grid(lower=0, upper=4, cells=4, has_missing=True)
    assert codes_of_cells(_batch(array), "c", grid).tolist() == [1, 4, 0, 3]
    assert np.array_equal(numbers_of_cells(_batch(array), "c", (0, 4)), [1, np.nan, 0, 4], equal_nan=True)


def test_integers_beyond_floats_are_rounded() -> None:
    """A number of 19 digits is a number all the same, and no error quotes it."""
    array = pa.array([2**63 - 1, None, -(2**63), 2**53 + 1])
    assert numbers_of_cells(_batch(array), "c", None).tolist()[::2] == [2.0**63, -(2.0**63)]
    assert numbers_of_cells(_batch(pa.array([2**64 - 1], pa.uint64())), "c", None).tolist() == [2.0**64]


@pytest.mark.parametrize("kind", [pa.bool_(), pa.date32(), pa.timestamp("us")])
def test_bounds_on_another_type_are_refused(kind: pa.DataType) -> None:
    """By the type alone, which is no cell's."""
    with pytest.raises(PolicyError, match="column 'c' has bounds but its cells are not numbers"):
        refuse_kinds(pa.schema([("c", kind)]), ["c"])


@pytest.mark.parametrize("kind", [np.uint8, np.int32])
@pytest.mark.parametrize("listed", [["b", "a"], ["a", "b"], ["b", "a", "other"], []])
def test_a_code_does_not_depend_on_the_dictionary_that_brings_its_cell(listed: list[str], kind: type) -> None:
    """In the declared order, in another, with strangers, with missing cells, or with no entry at all."""
    for cells in (listed * 3, [*listed, None, *listed]):
        array = pa.DictionaryArray.from_arrays(
            pa.array([None if cell is None else listed.index(cell) for cell in cells], pa.int32()),
            pa.array(listed, pa.string()),
        )
        codes = codes_of_cells(_batch(array), "c", LETTERS, kind)
        assert codes.tolist() == [LETTERS.codes_of.get(cell, 2) for cell in cells]
        assert codes.dtype == kind
