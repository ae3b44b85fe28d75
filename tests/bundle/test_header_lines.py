"""The first line of a table: the decision between names and records, and messages without cells."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.bundle.header_lines import cells_among_names, notes_on_names, refuse_record
from anonkit.errors import ChoiceError

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
