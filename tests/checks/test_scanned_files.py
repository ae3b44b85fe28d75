"""Cells that differ in their last digits alone are different, in every kind of file and type of column."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.disclosure import measure
from anonkit.errors import EngineError

ROWS = 60
"""Six ages of ten rows each; six values of the other column in every age, in one or two rows."""
AGES = [at // 10 for at in range(ROWS)]


def of_six(values: Any, kind: pa.DataType) -> pa.Array:
    """Return a column with a value for each remainder of the row number by six."""
    return pa.array([values(at % 6) for at in range(ROWS)], kind)


FINE = {
    "moments": of_six(lambda at: 10**18 + at, pa.timestamp("ns")),
    "moments with a zone": of_six(lambda at: 10**18 + at, pa.timestamp("ns", "Europe/Berlin")),
    "durations": of_six(lambda at: 10**15 + at, pa.duration("ns")),
    "durations in microseconds": of_six(lambda at: 10**12 + at, pa.duration("us")),
    "durations as categories": of_six(lambda at: 10**15 + at, pa.duration("ns")).dictionary_encode(),
    "times of day": of_six(lambda at: 10**13 + at, pa.time64("ns")),
    "20 digits": of_six(lambda at: Decimal(12345678901234567000 + at), pa.decimal128(20, 0)),
    "38 digits": of_six(lambda at: Decimal(f"12345678901234567.00000000000000000{at}"), pa.decimal128(38, 18)),
}
WRITTEN = {
    "whole numbers": "1234567890123456789{}",
    "40 digits": "1.23456789012345678901234567890123456789{}",
    "decimals": "-0.1234567890123456789{}",
    "with an exponent": "1.234567890123456789{}e-5",
    "moments": "2020-01-31 23:59:59.12345678{}",
    "moments of long ago": "1500-01-31 23:59:59.12345678{}",
    "moments finer than nanoseconds": "2020-01-31 23:59:59.123456789{}",
    "moments with a zone": "2020-01-31T23:59:59.12345678{}Z",
    "times of day": "23:59:59.12345678{}",
}


def counted(table: Any) -> tuple[int, float]:
    """Return k by both columns, and l of the second in classes of the first."""
    by_both = measure(table, ["age", "s"])
    by_age = measure(table, ["age"], sensitive=["s"])
    return by_both.k, by_age.sensitive["s"]["l"]


@pytest.mark.parametrize("name", FINE)
def test_fine_cells_of_typed_tables_are_different(name: str, tmp_path: Path) -> None:
    """In memory, and in a file of Parquet."""
    table = pa.table({"age": AGES, "s": FINE[name]})
    assert counted(table) == (1, 6)
    pq.write_table(table, tmp_path / "rows.parquet")
    assert counted(tmp_path / "rows.parquet") == (1, 6)


def test_the_oldest_times_of_parquet_are_different(tmp_path: Path) -> None:
    """INT96, as Spark and Hive wrote them, has nanoseconds."""
    table = pa.table({"age": AGES, "s": FINE["moments"]})
    pq.write_table(table, tmp_path / "rows.parquet", use_deprecated_int96_timestamps=True)
    assert counted(tmp_path / "rows.parquet") == (1, 6)


@pytest.mark.quick_cases(
    "moments-age,s,Age", "moments finer than nanoseconds-age,s", "40 digits-age,s", "times of day-age,s"
)
@pytest.mark.parametrize(
    ("name", "header"),
    [*((name, "age,s") for name in WRITTEN), ("whole numbers", "age,s,Age"), ("moments", "age,s,Age")],
)
def test_fine_cells_of_text_files_are_different(name: str, header: str, tmp_path: Path) -> None:
    """Beside a column of doubles, dates and times that loses nothing; with names that differ in capitals alone too."""
    more = ",7" * (header.count(",") - 1)
    lines = [f"{at // 10},{WRITTEN[name].format(at % 6)}{more},0.{at},2020-01-01 10:00:00" for at in range(ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join([f"{header},share,at", *lines]))
    found = anonkit.validate(tmp_path / "rows.csv", quasi_identifiers=["age", "s"], k=1)
    assert found.disclosure is not None
    assert found.disclosure.k == 1


@given(cells=st.lists(st.tuples(st.integers(0, 10**25), st.integers(0, 24), st.booleans()), min_size=1, max_size=12))
def test_numbers_of_text_files_are_those_of_decimals(
    cells: list[tuple[int, int, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Numbers of text files are those of decimals, with any number of digits and of zeros at their ends."""
    numbers = [Decimal(digits).scaleb(-scale) for digits, scale, _ in cells]
    texts = [f"{number:f}" for number in numbers]
    texts = [
        text + ("0" if "." in text else ".0") if padded else text
        for text, (*_, padded) in zip(texts, cells, strict=True)
    ]
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    path.write_text("\n".join(["s,t", *(f"{text},x" for text in texts)]))
    with_k = max(1, min(numbers.count(number) for number in numbers))
    assert measure(path, ["s"]).k == with_k


def test_spellings_of_one_moment_are_one(tmp_path: Path) -> None:
    """In whatever zone it is written, also where another cell has nanoseconds."""
    cells = ["2020-01-01 10:00:00.123456789+01:00", "2020-01-01T09:00:00.123456789Z", "2020-01-01 09:00:00Z"]
    (tmp_path / "rows.csv").write_text("\n".join(["s,t", *(f"{cells[at % 3]},x" for at in range(9))]))
    disclosure = measure(tmp_path / "rows.csv", ["s"])
    assert (disclosure.classes, disclosure.k) == (2, 3)


@pytest.mark.parametrize("in_file", [False, True])
def test_decimals_beyond_38_digits_are_refused(in_file: bool, tmp_path: Path) -> None:
    """DuckDB would take them for doubles."""
    table = pa.table({"age": [1, 2], "s": pa.array([Decimal(10**45), Decimal(10**45 + 1)], pa.decimal256(50, 0))})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(EngineError, match="column 's' has decimal numbers of more than 38 digits"):
        measure(tmp_path / "rows.parquet" if in_file else table, ["s"])


@pytest.mark.quick_cases("20 digits", "moments with a zone")
@pytest.mark.parametrize("name", FINE)
def test_a_release_counts_fine_sensitive_values(name: str, tmp_path: Path) -> None:
    """They are as many values in the release as in its recount, and leave as they came."""
    table = pa.table({"age": AGES, "s": FINE[name], "class": [str(at % 2) for at in range(ROWS)]})
    out = tmp_path / "out.parquet"
    anonkit.release(table, method="mondrian", k=5, target="class", sensitive=["s"], output=out, ledger=None)
    assert anonkit.validate(out).passed
    released = pq.read_table(out).column("s").cast(pa.string())
    assert set(released.to_pylist()) == set(table.column("s").cast(pa.string()).to_pylist())


def test_many_digits_that_doubles_distinguish_are_counted_as_doubles(tmp_path: Path) -> None:
    """Numbers of 18 digits that differ in the first are different values either way."""
    path = tmp_path / "t.csv"
    path.write_text("age,x\n" + "".join(f"{at // 10},0.{at % 5 + 1}23456789012345678\n" for at in range(ROWS)))
    assert measure(path, ["age", "x"]).k == 2
