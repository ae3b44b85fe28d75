"""The report as Markdown, read back by a parser that knows nothing of how it was written."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

import anonkit
from anonkit import Policy
from anonkit.errors import ReleaseFormatError
from anonkit.report.markdown import escaped, report_markdown, validation_markdown

ANY_TEXT = st.text(st.sampled_from("ab1 |*_`~<>[](){}!#+-.:/\\&@\n\t\u202e\ud800=\"'$^%;?"), max_size=30) | st.text(
    max_size=30
)
"""Mostly what Markdown and HTML give a meaning."""
LINES_OF_THE_PAGE = {"heading_open", "paragraph_open", "table_open", "bullet_list_open"}


def _parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def _marks(text: str) -> set[str]:
    """Everything but plain text that a parser finds within the lines of a page."""
    inner = [token for block in _parsed(text) for token in block.children or ()]
    return {token.type for token in inner} - {"text", "text_special"}


def _texts(text: str) -> list[str]:
    """The lines and cells of a page as a reader sees them."""
    return [
        "".join(child.content for child in block.children or ()) for block in _parsed(text) if block.type == "inline"
    ]


@pytest.fixture(scope="module")
def reports() -> dict[str, Mapping[str, Any]]:
    """Reports of every kind of promise, by the name of the method."""
    table = pa.table({"age": [20, 30, 40, 50] * 15, "sex": ["f", "m"] * 30, "ill": ["no", "no", "yes"] * 20})
    declared = {
        "age": {"bounds": [18, 90]},
        "sex": {"categories": ["f", "m"]},
        "ill": {"categories": ["no", "yes"], "role": "target"},
    }
    policy = Policy.from_dict({"columns": declared})
    methods: dict[str, dict[str, Any]] = {
        "mondrian": {"k": 5}, "dp-nb": {"epsilon": 1.0}, "rr": {"epsilon": 2.0}, "ppnb": {"p_keep": 0.5},
    }  # fmt: skip
    return {
        method: anonkit.release(table, method=method, policy=policy, seed=1, **parameters).report
        for method, parameters in methods.items()
    }


@given(text=ANY_TEXT)
def test_a_text_of_the_table_is_shown_and_does_nothing(text: str) -> None:
    """For any name or note a parser finds one line of plain text in it, in a list and in a cell too."""
    assume(escaped(text))
    for page in (f"- {escaped(text)}", f"| a |\n| --- |\n| {escaped(text)} |", f"x\n\n{escaped(text)}"):
        assert _marks(page) == set(), page
        assert sum(token.type in LINES_OF_THE_PAGE for token in _parsed(page)) == (2 if page[0] != "|" else 1)


@given(text=st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=40))
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    """Escaping loses no sign that can be printed."""
    (shown,) = _texts(f"| a |\n| --- |\n| {escaped(text)} |")[1:]
    assert shown == text


@given(name=ANY_TEXT, note=ANY_TEXT.filter(escaped))
def test_no_name_or_note_changes_the_page(reports: Mapping[str, Mapping[str, Any]], name: str, note: str) -> None:
    """With any name of a column, of the table and of a note the page keeps its headings, tables and rows."""
    plain: dict[str, Any] = copy.deepcopy(dict(reports["mondrian"]))
    hostile = copy.deepcopy(plain)
    for report, (called, said) in ((plain, ("name", "said")), (hostile, (name, note))):
        report["columns"][0]["name"], report["dataset"], report["notes"] = called, called or None, [said]
    shape = [[token.type for token in _parsed(report_markdown(one))] for one in (plain, hostile)]
    assert shape[0] == shape[1]
    assert _marks(report_markdown(hostile)) == {"strong_open", "strong_close"}


def test_a_seeded_release_is_not_for_release_whatever_its_promise(reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The warning is before everything else the page says."""
    for report in reports.values():
        assert _texts(report_markdown(report))[1].startswith("Not for release.")


def test_every_promise_shows_its_figures_checks_limits_and_columns(reports: Mapping[str, Mapping[str, Any]]) -> None:
    """The statement, every limit, every assumption and the name of every column are on the page, whatever the kind."""
    for method, report in reports.items():
        texts, promise = _texts(report_markdown(report)), report["guarantee"]
        for told in (
            promise["statement"],
            *promise["not_protected"],
            *promise["assumptions"],
            *report["notes"],
        ):
            assert told in texts
        assert {column["name"] for column in report["columns"]} <= set(texts)
        assert f"Rows released: {report['rows']['out']:,}" in texts
        assert any(text.startswith(f"Method: {method}") for text in texts)


def test_a_broken_promise_is_said_first(reports: Mapping[str, Mapping[str, Any]]) -> None:
    """A check that failed: the page says so before the statement, and the table of checks begins with it."""
    report: dict[str, Any] = {**copy.deepcopy(dict(reports["mondrian"])), "randomness": "secure"}
    assert _texts(report_markdown(report))[1].startswith("Checked on the released table")
    report["verification"]["checks"][-1]["passed"] = False
    texts = _texts(report_markdown(report))
    assert texts[1] == f"The promise does not hold: 1 of {len(report['verification']['checks'])} checks failed."
    assert next(text for text in texts if text in ("passed", "FAILED")) == "FAILED"
    report["verification"]["checks"] = []
    assert _texts(report_markdown(report))[1].startswith("Not all of the promise was checked")


def test_checks_of_a_validation_are_a_table_with_failures_first() -> None:
    """One row a check, what failed on top."""
    checks = [
        {"name": "k_anonymity", "passed": True, "observed": 7, "required": 5},
        {"name": "epsilon", "passed": False, "observed": 2.0, "required": 1.0},
    ]
    cells = _texts(validation_markdown(checks))[4:]
    assert cells[:4] == ["FAILED", "Privacy loss ε, computed again from the published parameters", "2", "at most 1"]
    assert cells[4:] == ["passed", "Rows in the smallest equivalence class", "7", "at least 5"]


def test_a_hash_widens_no_table() -> None:
    """A long finding or requirement is shown by its beginning."""
    checks = [{"name": "hash:data", "passed": True, "observed": "a" * 64, "required": "a" * 64}]
    assert _texts(validation_markdown(checks))[6:] == ["a" * 12 + "…"] * 2


def test_a_truth_value_is_shown_as_the_count_that_was_required() -> None:
    """`no` beside `exactly 0` says nothing; beside a required truth value it does."""
    checks = [
        {"name": "page", "passed": True, "observed": False, "required": 0},
        {"name": "other", "passed": True, "observed": True, "required": True},
    ]
    assert _texts(validation_markdown(checks))[6:8] == ["0", "exactly 0"]
    assert _texts(validation_markdown(checks))[10:] == ["yes", "yes"]


def test_what_is_no_report_is_refused() -> None:
    """One clear error, whatever is missing."""
    with pytest.raises(ReleaseFormatError):
        report_markdown({"guarantee": {}})
