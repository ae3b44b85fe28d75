"""The words by which files name a promise, and the promise read back from a report."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.checks.promise_checkers import CHECKERS
from anonkit.errors import ReleaseFormatError
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.promise_kinds import KINDS, of_kind, read_promise
from anonkit.report.schemas import report_schema

BLOCK = KAnonymity(k=5, quasi_identifiers=("q",)).to_dict()


def test_every_kind_of_promise_has_a_checker_and_a_place_in_the_schema() -> None:
    """No promise can be released that nobody checks, and none is checked that no release can make."""
    assert set(CHECKERS) == set(KINDS) == set(report_schema()["$defs"]["guarantee"]["properties"]["kind"]["enum"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_the_word_of_its_promise(kind: str) -> None:
    """The table and the values agree."""
    assert KINDS[kind].kind == kind


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"kind": None},
        {"kind": ["k-anonymity"]},
        {"kind": "strong"},
        {**BLOCK, "kind": "local-dp"},
        {name: value for name, value in BLOCK.items() if name != "parameters"},
    ],
)
def test_a_promise_that_is_none_is_refused(block: dict[str, Any]) -> None:
    """An unknown kind, and one whose parameters are another's, are format errors and no crash."""
    with pytest.raises(ReleaseFormatError):
        read_promise(block)


def test_an_entry_is_found_by_the_kind_of_a_block() -> None:
    """A table with a line per kind needs no comparison of words."""
    assert of_kind({"k-anonymity": 1, "none": 2}, BLOCK) == 1
