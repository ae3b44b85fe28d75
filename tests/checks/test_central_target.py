"""Bins of a numeric target, worked out again from the published histogram: what does not follow from it is refused."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks.central_params import facts_of
from anonkit.checks.central_target import rows_of_cells, target_checks
from anonkit.errors import ReleaseFormatError
from tests.dp_trees.additive_model.test_target_bins import histogram


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=21), st.integers(1 << 40, 1 << 53))
def test_rows_that_stand_out_are_found_alike_by_two_codes(counts: list[int], rate: int) -> None:
    """The method's and the check's, written apart."""
    told = histogram(counts, rate)
    assert told.rows.tolist() == pytest.approx(rows_of_cells(counts, told.draw.rate).tolist())


def params_of(method: str) -> dict[str, Any]:
    """The params of a release whose target is a number."""
    table = pa.table({"a": ["0", "1"] * 200, "y": [(at * at) % 64 + 0.5 for at in range(400)]})
    policy = {"columns": {"a": {"categories": ["0", "1"]}, "y": {"role": "target", "bounds": [0, 64]}}}
    made = anonkit.release(table, method=method, epsilon=4.0, policy=policy, seed=1, ledger=None, utility=False)
    return deepcopy(dict(made.params))


@pytest.fixture(scope="module")
def params() -> dict[str, Any]:
    """Of bins that follow from a histogram."""
    return params_of("dp-forest")


def observed(params: dict[str, Any]) -> str | None:
    """The defect of the bins; None where they are as rebuilt."""
    (check,) = target_checks(params, facts_of(params))
    assert check.passed == (check.observed is None)
    return check.observed  # type: ignore[return-value]


def moved_end(target: dict[str, Any]) -> None:
    """The first bin has a cell less."""
    target["domain"]["ends"][0] -= 1


FORGED: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "an end": (moved_end, "bins that do not follow"),
    "a bin less": (lambda target: target["domain"]["ends"].pop(0) and target["domain"]["means"].pop(0), "bins that do"),
    "a mean": (lambda target: target["domain"]["means"].__setitem__(0, 0.0), "means that do not follow"),
    "no histogram": (lambda target: target.pop("histogram"), "no histogram"),
    "another rate": (lambda target: target["histogram"].update(rate=1), "no line speaks of"),
    "more bins than there may be": (lambda target: target["histogram"].update(bins=9), "no line speaks of"),
    "a count less": (lambda target: target["histogram"]["counts"].pop(), "no line speaks of"),
}


@pytest.mark.parametrize("name", FORGED)
def test_bins_that_do_not_follow_from_the_histogram_are_found(name: str, params: dict[str, Any]) -> None:
    """Each end, each mean, and the histogram itself, of which a line of the account speaks."""
    assert observed(params) is None
    forged = deepcopy(params)
    edit, words = FORGED[name]
    edit(forged["target"])
    assert words in str(observed(forged))


def test_means_that_are_no_numbers_are_damage(params: dict[str, Any]) -> None:
    """An error of the params and no verdict on them."""
    forged = deepcopy(params)
    forged["target"]["domain"]["means"][0] = "many"
    with pytest.raises(ReleaseFormatError):
        observed(forged)


def test_without_a_histogram_bins_are_equal() -> None:
    """As many as the method asks for, whatever the rows are; other ends are refused."""
    params = params_of("dp-nb")
    assert observed(params) is None
    params["target"]["histogram"] = {"rate": 1, "bins": 2, "counts": [1, 2]}
    assert observed(params) == "other bins than equal ones"
