"""Two reports side by side: what differs, and which promise is the stronger one."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import anonkit
from anonkit.errors import ReleaseFormatError
from anonkit.report.differences import diff_reports


@pytest.fixture(scope="module")
def reports() -> tuple[dict[str, Any], dict[str, Any]]:
    """The same table at k = 5 and at k = 8."""
    table = anonkit.datasets.bank_customers(300, seed=1)
    first, second = (dict(anonkit.release(table, method="mondrian", k=k).report) for k in (5, 8))
    return first, second


def test_nothing_differs_from_itself(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """The same promise, no difference."""
    found = diff_reports(reports[0], copy.deepcopy(reports[0]))
    assert found.differences == ()
    assert found.verdict == "the same promise"


def test_the_promise_comes_first(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """k as it was and as it is, then rows, columns and figures."""
    found = diff_reports(reports[1], reports[0])
    assert found.verdict == "a stronger promise"
    assert found.differences[0].key == "guarantee.parameters.k"
    assert (found.differences[0].before, found.differences[0].after) == (5, 8)
    assert diff_reports(reports[0], reports[1]).verdict == "a weaker promise"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"k": 5, "t_closeness": 0.3}, {"k": 5, "t_closeness": 0.2}, "a stronger promise"),
        ({"k": 5}, {"k": 5, "l_diversity": 2}, "a stronger promise"),
        ({"k": 5, "l_diversity": 2}, {"k": 9}, "not comparable"),
        ({"epsilon": 1.0}, {"epsilon": "inf"}, "a weaker promise"),
        ({"k": 5, "quasi_identifiers": ["a"]}, {"k": 9, "quasi_identifiers": ["b"]}, "not comparable"),
    ],
)
def test_which_promise_is_stronger(
    reports: tuple[dict[str, Any], dict[str, Any]], before: dict[str, Any], after: dict[str, Any], verdict: str
) -> None:
    """More k and l, less t and epsilon; both ways at once cannot be compared."""
    old, new = ({**reports[0], "guarantee": {**reports[0]["guarantee"], "parameters": one}} for one in (before, after))
    assert diff_reports(new, old).verdict.startswith(verdict)


def test_another_kind_is_not_comparable(reports: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """No figure turns k into epsilon."""
    other = {**reports[0], "guarantee": {**reports[0]["guarantee"], "kind": "local-dp"}}
    assert diff_reports(other, reports[0]).verdict == "not comparable: k-anonymity before, local-dp now"


def test_what_is_no_report_is_refused() -> None:
    """Damaged files are named as such."""
    with pytest.raises(ReleaseFormatError):
        diff_reports({}, {})
