"""The first line of a table: the decision between names and records, and messages without cells.

Tables of mixed objects, at every Python entry point: no cell is in an error, nor in what led to it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from error_chains import all_that_is_said

import anonkit
from anonkit.bundle.header_lines import cells_among_names, notes_on_names, refuse_record
from anonkit.consumers import Forest, MarginalModel, NaiveBayes
from anonkit.errors import AnonkitError, ChoiceError

MARK = "Zq7MARKERx9"
NUMBER = 918273645546372819
"""An integer that no counting makes."""
MARKS = (MARK, str(NUMBER), MARK.encode().hex())
N = 24


class ShowsItsCell:
    """An object whose every spelling contains a cell."""

    def __repr__(self) -> str:
        return MARK

    def __float__(self) -> float:
        raise ValueError(MARK)

    __int__ = __index__ = __float__  # type: ignore[assignment]


class Failing(ShowsItsCell):
    """One that cannot even be spelled or compared."""

    def __str__(self) -> str:
        raise RuntimeError(MARK)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise TypeError(MARK)

    __hash__ = None  # type: ignore[assignment]


class Stream:
    """A table of another library, which fails while it is read."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise ValueError(f"no stream of {MARK}")


DAY = datetime.datetime(2020, 1, 1)
CELLS: dict[str, list[Any]] = {
    "integers and texts": [1, MARK, 2, f"{MARK}x"],
    "integers, then texts": [*range(20), MARK, *range(3)],
    "days and texts": [DAY.date(), MARK],
    "moments and days": [DAY, DAY.date(), MARK],
    "moments of two zones": [pd.Timestamp(DAY, tz="UTC"), pd.Timestamp(DAY), MARK],
    "dictionaries": [{MARK: MARK}, {"other": NUMBER}],
    "dictionaries and texts": [{MARK: MARK}, MARK],
    "lists": [[MARK], [NUMBER, MARK]],
    "sets": [{MARK}],
    "bytes": [MARK.encode(), b"\xff" + MARK.encode()],
    "bytes and texts": [MARK.encode(), MARK],
    "texts that are no UTF-8": [f"{MARK}\ud800"],
    "objects that tell": [ShowsItsCell()],
    "objects and texts": [ShowsItsCell(), MARK, 1],
    "objects that fail": [Failing()],
    "whole numbers beyond 64 bits": [NUMBER * 10**20, 1],
    "whole numbers and floats": [NUMBER, 1.5, None],
    "decimals": [Decimal(f"{NUMBER}.{'1' * 60}"), Decimal(1)],
    "truth values and texts": [True, MARK],
    "complex numbers": [complex(NUMBER, 1)],
    "exceptions": [ValueError(MARK)],
    "types": [type(MARK, (), {})],
    "frames": [pd.DataFrame({MARK: [MARK]})],
}


def _cells(kind: str, n: int = N) -> pd.Series:
    some = CELLS[kind]
    column = np.empty(n, dtype=object)
    column[:] = [some[at % len(some)] for at in range(n)]
    return pd.Series(column, dtype=object)


def _frame(kind: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "odd": _cells(kind),
            "q": [f"q{at % 3}" for at in range(N)],
            "n": list(range(N)),
            "y": ["u" if at % 2 else "v" for at in range(N)],
        }
    )


DECLARED: dict[str, Any] = {
    "columns": {
        "odd": {"role": "quasi_identifier", "categories": ["1", "2"], "missing": "category"},
        "q": {"role": "quasi_identifier", "categories": ["q0", "q1", "q2"]},
        "n": {"role": "quasi_identifier", "bounds": [0, 30]},
        "y": {"role": "target", "categories": ["u", "v"]},
    }
}


def _declared(**odd: Any) -> anonkit.Policy:
    return anonkit.Policy.from_dict({"columns": {**DECLARED["columns"], "odd": odd}})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with releases of a plain table."""
    folder = tmp_path_factory.mktemp("made")
    plain = _frame("integers and texts").assign(odd=[1, 2] * (N // 2))
    asked: dict[str, Any] = {"policy": anonkit.Policy.from_dict(DECLARED), "ledger": None, "utility": False}
    anonkit.release(plain, method="mondrian", k=3, output=folder / "k.parquet", **asked)
    anonkit.release(plain, method="dp-marginals", epsilon=4.0, output=folder / "dp.parquet", **asked)
    return folder


ENTRIES: dict[str, Callable[[Any, Path], object]] = {
    "release": lambda rows, made: anonkit.release(rows, method="mondrian", k=3, target="y", ledger=None),
    "release by classes of people": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, target="y", unit="odd", ledger=None
    ),
    "release of a sensitive column": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, l=2, target="y", sensitive=["odd"], ledger=None
    ),
    "release with a target": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, target="odd", ledger=None
    ),
    "release with categories": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, policy=_declared(categories=["1", "2"]), ledger=None
    ),
    "release with bounds": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, policy=_declared(bounds=[0, 9], outside="refuse"), ledger=None
    ),
    "release with dates": lambda rows, made: anonkit.release(
        rows, method="mondrian", k=3, policy=_declared(type="date", bounds=["2000-01-01", "2030-01-01"]), ledger=None
    ),
    "release with noise": lambda rows, made: anonkit.release(
        rows, method="dp-marginals", epsilon=1.0, policy=anonkit.Policy.from_dict(DECLARED), ledger=None
    ),
    "release with noise and people": lambda rows, made: anonkit.release(
        rows, method="dp-marginals", epsilon=1.0, policy=_declared(role="unit"), ledger=None
    ),
    "release with domains of the table": lambda rows, made: anonkit.release(
        rows, method="dp-marginals", epsilon=1.0, target="y", domains_from_data=True, ledger=None
    ),
    "release of answers": lambda rows, made: anonkit.release(
        rows, method="ppnb", p_keep=0.5, policy=anonkit.Policy.from_dict(DECLARED), ledger=None
    ),
    "apply": lambda rows, made: anonkit.apply(made / "k.params.json", rows, ledger=None),
    "audit of a release": lambda rows, made: anonkit.audit(made / "k.parquet", rows, attacks=20),
    "audit with control rows": lambda rows, made: anonkit.audit(
        made / "k.parquet", _frame("truth values and texts").assign(odd=1), control=rows, attacks=20
    ),
    "audit of a table": lambda rows, made: anonkit.audit(rows, _frame("bytes").assign(odd=1), attacks=20),
    "audit of a table by itself": lambda rows, made: anonkit.audit(
        rows, rows, sensitive=["odd"], quasi_identifiers=["q"], attacks=20
    ),
    "compare": lambda rows, made: anonkit.compare(rows, target="y", methods=["mondrian"], k=[3], attacks=20),
    "risk": lambda rows, made: anonkit.risk(rows, population=_frame("bytes").assign(odd=1)),
    "draft_policy": lambda rows, made: anonkit.draft_policy(rows),
    "validate": lambda rows, made: anonkit.validate(rows, k=2, quasi_identifiers=["odd"]),
    "validate of a sensitive column": lambda rows, made: anonkit.validate(
        rows, l=2, quasi_identifiers=["q"], sensitive=["odd"]
    ),
    "reconstruct": lambda rows, made: anonkit.reconstruct(made / "dp.parquet", test=rows),
}


def refused_in_silence(act: Callable[[], object]) -> None:
    """Let something be done or refused; fail where a cell is in what is returned or raised."""
    told: list[str] = []
    try:
        told.append(repr(act()))
    except AnonkitError as error:
        told += all_that_is_said(error)
    assert [mark for mark in MARKS for text in told if mark in text] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_cases("validate-*", "*-integers and texts")
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_point_shows_a_cell_of_mixed_objects(
    entry: str, kind: str, made: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A table of Python objects is released, or refused by an error of anonkit without a cell."""
    refused_in_silence(lambda: ENTRIES[entry](_frame(kind), made))
    said = capfd.readouterr()
    assert [mark for mark in MARKS if mark in said.out + said.err + caplog.text] == []


TABLES: dict[str, Callable[[], Any]] = {
    "polars objects": lambda: pl.DataFrame(
        {"odd": pl.Series([ShowsItsCell()] * 4, dtype=pl.Object), "y": list("uvuv")}
    ),
    "polars structs": lambda: pl.DataFrame({"odd": [{"a": MARK}] * 4, "y": list("uvuv")}),
    "Arrow structs": lambda: pa.table({"odd": [{MARK: MARK}] * 4, "y": list("uvuv")}),
    "Arrow maps": lambda: pa.table(
        {"odd": pa.array([[(MARK, 1)]] * 4, pa.map_(pa.string(), pa.int64())), "y": list("uvuv")}
    ),
    "Arrow bytes": lambda: pa.table({"odd": [MARK.encode()] * 4, "y": list("uvuv")}),
    "Arrow texts that are no UTF-8": lambda: pa.table(
        {"odd": pa.array([MARK.encode() + b"\xff"] * 4).view(pa.string()), "y": list("uvuv")}
    ),
    "pandas categories": lambda: pd.DataFrame({"odd": pd.Categorical([MARK, 1, 2.5, DAY]), "y": list("uvuv")}),
    "pandas intervals": lambda: pd.DataFrame(
        {"odd": pd.arrays.IntervalArray.from_breaks([NUMBER + 2 * at for at in range(5)]), "y": list("uvuv")}
    ),
    "pandas columns that are no texts": lambda: pd.DataFrame({("odd", 1): [MARK] * 4, "y": list("uvuv")}),
    "a stream that fails": Stream,
    "a list of rows": lambda: [{"odd": MARK, "y": "u"}] * 4,
    "an object": ShowsItsCell,
    "one that fails": Failing,
    "an array": lambda: np.array([[MARK, 1], [MARK, 2]], dtype=object),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.quick_cases("release-*", "validate-*", "*-pandas categories", "*-a stream that fails")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_point_shows_a_cell_of_an_odd_table(entry: str, table: str, made: Path) -> None:
    """Tables of other libraries, tables that are none, and streams that fail."""
    refused_in_silence(lambda: ENTRIES[entry](TABLES[table](), made))


@pytest.mark.parametrize(
    "call",
    [
        lambda table: anonkit.apply(table, "k.params.json", ledger=None),
        anonkit.load,
        MarginalModel.from_release,
        Forest.from_release,
        NaiveBayes.from_release,
    ],
)
@pytest.mark.parametrize("n", [2, 900])
def test_a_table_in_the_place_of_a_path_is_not_spelled(call: Callable[[Any], Any], n: int) -> None:
    """Frames are spelled by their cells, which had been the name of a file in the message, of any length."""
    for table in (pd.DataFrame({"a": [MARK] * n}), pa.table({"a": [MARK] * n}), [MARK] * n):
        with pytest.raises(AnonkitError, match="is named by the path") as caught:
            call(table)
        assert MARK not in all_that_is_said(caught.value)


AGES = ["35", "51", "28", "51", "62"]
DAYS = ["2020-01-31", "2021-05-02", "2019-12-24", "2020-01-31", "2022-08-09"]
SEXES = ["F", "M", "F", "M", "F"]


def texts(cells: list[str | None]) -> pa.Array:
    """Cells of a column."""
    return pa.array(cells, pa.string())


@pytest.mark.parametrize(
    ("name", "cells", "found"),
    [
        ("40", AGES, 1),  # a number over numbers, within them
        ("28", AGES, 1),
        ("70", AGES, 0),  # beyond them: a name such as 1990 over counts
        ("4,5", ["1,5", "9,25", "4,5"], 1),
        ("age", AGES, 0),
        ("2018-03-01", DAYS, 1),  # a date over dates
        ("03.01.2018 10:05", ["31.01.2020 09:00", "24.12.2019 10:30"], 1),
        ("2018-03-01", SEXES, 0),
        ("F", SEXES, 1),  # a value that two cells hold, and not all
        ("M ", SEXES, 1),
        ("X", SEXES, 0),
        ("a", ["a", "b", "c"], 0),  # one cell alone
        ("a", ["a", "a", "a"], 0),  # the only value there is
        ("?", ["?", "x", None, "?"], 1),
        ("", SEXES, 0),
        ("F", [None, "", " "], 0),
        ("5", [], 0),
    ],
)
def test_a_name_looks_like_a_cell(name: str, cells: list[str | None], found: int) -> None:
    """By the cells below it alone."""
    assert cells_among_names([name], [texts(cells)]) == found


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["2018", "2019", "2020", "2021"], 0),
        (["1", "2", "3", "4", "5"], 0),
        (["country", "1990", "1995", "2000"], 0),
        (["7", "3", "9"], 3),
        (["7", "7", "7"], 3),
        (["2019", "2020"], 2),  # two have always one distance
        (["1", "2", "3", "90", "17", "55"], 6),  # a short run among others is chance
        (["5", "1", "2", "3"], 0),
    ],
)
def test_numbers_that_run_evenly_are_names(names: list[str], found: int) -> None:
    """Years and 1 to n, over cells of which each could be one."""
    cells = texts([str(value) for value in range(0, 3_000, 7)])

    assert cells_among_names(names, [cells] * len(names)) == found


def test_more_than_half_of_the_names_must_look_like_cells() -> None:
    """Two of three refuse the table, one of two is counted; no message has a name."""
    with pytest.raises(ChoiceError, match="2 of its 3 cells are like those below them") as refusal:
        refuse_record(["40", "F", "Xqvwj"], [texts(AGES), texts(SEXES), texts(SEXES)], shown="'in.csv'")

    assert refusal.value.exit_code == 2
    assert "Xqvwj" not in str(refusal.value)
    assert "header=False" in str(refusal.value)
    assert refuse_record(["40", "sex"], [texts(AGES), texts(SEXES)], shown="'in.csv'") == 1
    with pytest.raises(ChoiceError, match="the way out"):
        refuse_record(["40"], [texts(AGES)], shown="'in.csv'", hint="the way out")


def test_declared_names_are_names() -> None:
    """A first line of which the policy declares half of the names is a header, for any cells."""
    assert refuse_record(["F", "40"], [texts(SEXES), texts(AGES)], shown="'in.csv'", declared={"F"}) == 0


def test_no_cell_decides_under_differential_privacy() -> None:
    """Numbers and dates among the names, and the columns of the policy, whatever the cells below are."""
    for cells in (AGES, SEXES, ["z"] * 5):
        assert refuse_record(["F", "M"], [texts(cells)] * 2, shown="'in.csv'", cell_by_cell=True) == 0
        assert refuse_record(["sex", "40"], [texts(cells)] * 2, shown="'in.csv'", cell_by_cell=True) == 1
        assert refuse_record(["2018", "2019", "2020"], [texts(cells)] * 3, shown="'in.csv'", cell_by_cell=True) == 0
        with pytest.raises(ChoiceError, match="2 of its 3 cells are numbers or dates"):
            refuse_record(["40", "2018-03-01", "F"], [texts(cells)] * 3, shown="'in.csv'", cell_by_cell=True)
        with pytest.raises(ChoiceError, match="none of the 2 columns of the policy is in it"):
            refuse_record(["F", "M"], [texts(cells)] * 2, shown="'x'", cell_by_cell=True, declared={"age", "sex"})
        # one column alone may be mistyped: the refusal of unknown columns says so
        assert refuse_record(["F", "M"], [texts(cells)] * 2, shown="'x'", cell_by_cell=True, declared={"age"}) == 0


def test_notes_have_counts_alone() -> None:
    """One, several, or none."""
    assert notes_on_names(0) == []
    assert notes_on_names(1)[0].startswith("1 name of a column looks like a cell")
    assert notes_on_names(3)[0].startswith("3 names of columns look like cells")
