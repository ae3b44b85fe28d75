"""Numbers as people write them: declared forms, in every source, on the way into a release and of the next batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.domains.written_numbers import NumberForm
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
