# SPDX-License-Identifier: Apache-2.0
"""Cells that somebody has suppressed with `*`: counted, and k with and without them.

A validation as JUnit results: failures are failures, and what was not checked is an error.
"""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.requirements import SuppressedCells, junit_error, junit_xml, suppressed_cells
from anonkit.promises.guarantee import Check

HOLDS = Check(name="k_anonymity", passed=True, observed=5, required=5)
BROKEN = Check(name="t_closeness:a<b>\x00", passed=False, observed=0.5, required=0.1)


def test_every_check_is_a_test_case() -> None:
    """Counts, names and the figures of what failed."""
    suite = ElementTree.fromstring(junit_xml("out.parquet", [HOLDS, BROKEN])).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "observed 0.5, required 0.1"


def test_what_was_not_checked_is_an_error() -> None:
    """Neither a promise nobody looked at nor a suite without checks is a success."""
    for text in (junit_xml("x", [HOLDS], ["l_diversity"]), junit_xml("x", [])):
        suite = ElementTree.fromstring(text).find("testsuite")
        assert suite is not None
        assert suite.get("errors") == "1"


def test_what_ended_without_a_result_is_one_error() -> None:
    """Code and message of what went wrong, without characters that no XML file holds."""
    suite = ElementTree.fromstring(junit_error("x", "SOURCE", "it is \x00 away")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "1")
    error = suite.find("testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("SOURCE", "it is \ufffd away")


rows = st.lists(st.tuples(st.sampled_from(["20", "30", "*", None]), st.sampled_from("fm*")), min_size=1, max_size=30)


@given(people=rows)
def test_figures_are_those_of_counting(people: list[tuple[str | None, str]]) -> None:
    """Figures are those of counting, for any cells; None where no cell is suppressed."""
    table = pa.table({"age": [one for one, _ in people], "sex": [one for _, one in people]})
    found, classes = suppressed_cells(table, ["age", "sex"]), Counter(people)
    hidden = {row: row.count("*") for row in classes}
    if not any(hidden.values()):
        assert found is None
        return
    assert found == SuppressedCells(
        rows=sum(n for row, n in classes.items() if hidden[row] == 2),
        cells=sum(n for row, n in classes.items() if hidden[row] == 1),
        rows_with_cells=sum(n for row, n in classes.items() if hidden[row] == 1),
        k=min(classes.values()),
        k_without_rows=min((n for row, n in classes.items() if hidden[row] < 2), default=0),
        k_without_cells=min((n for row, n in classes.items() if not hidden[row]), default=0),
    )


def test_a_table_with_suppressed_rows_says_so() -> None:
    """Three suppressed rows are a class of three; k without them is beside, and the check is of all rows."""
    table = pa.table({"age": ["20"] * 10 + ["*"] * 3, "sex": ["f"] * 10 + ["*"] * 3})
    found = anonkit.validate(table, quasi_identifiers=["age", "sex"], k=5)
    assert not found.passed
    assert any("k is 3 with them" in note and "10 without the suppressed rows" in note for note in found.notes)
    assert found.to_dict()["disclosure_risk"]["suppressed"]["rows"] == 3
    numbers = pa.table({"age": [20] * 10, "sex": ["f"] * 10})
    assert "suppressed" not in anonkit.validate(numbers, quasi_identifiers=["age"], k=5).to_dict()["disclosure_risk"]
    assert suppressed_cells(numbers, []) is None
