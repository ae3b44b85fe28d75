"""The account of an (epsilon, delta) release: lines and their sum, against enumeration."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.approximate_account import (
    PublishedLine,
    account_of,
    approximate_checks,
    composed,
    exponential,
    hockey_stick,
    loss_checks,
    not_below,
)
from anonkit.errors import ReleaseFormatError

WEIGHTS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.integers(0, 50), min_size=2 * width + 1, max_size=2 * width + 1).filter(any)
)
EPSILONS = st.fractions(0, 5, max_denominator=1000)


def uncovered(first: dict[Any, Fraction], second: dict[Any, Fraction], factor: Fraction) -> Fraction:
    """The worst set of outcomes, found among all of them: each outcome is in it, or not."""
    outcomes = sorted(first.keys() | second.keys())
    return max(
        sum((first.get(each, Fraction(0)) - factor * second.get(each, Fraction(0)) for each in some), Fraction(0))
        for size in range(len(outcomes) + 1)
        for some in itertools.combinations(outcomes, size)
    )


def noisy(weights: list[int], true: int) -> dict[int, Fraction]:
    """The law of a count with noise."""
    return {true + at: Fraction(weight, sum(weights)) for at, weight in enumerate(weights) if weight}


@given(WEIGHTS, st.integers(1, 2), EPSILONS)
def test_delta_is_that_of_the_worst_set_of_outcomes(weights: list[int], sensitivity: int, epsilon: Fraction) -> None:
    """All sets of outcomes of all neighbours are tried: none needs more, one needs all but a rounding."""
    delta = hockey_stick(weights, sensitivity, epsilon)
    above, below = exponential(epsilon, is_above=True), exponential(epsilon, is_above=False)

    def worst(factor: Fraction) -> Fraction:
        return max(
            uncovered(noisy(weights, here), noisy(weights, there), factor)
            for shift in range(1, sensitivity + 1)
            for here, there in ((0, shift), (shift, 0))
        )

    assert worst(above) <= delta
    assert delta <= worst(below) + Fraction(1, 10**40)


@given(st.fractions(0, 700, max_denominator=10**6))
def test_the_exponential_is_enclosed(exponent: Fraction) -> None:
    """The lower bound is below the upper one, and both are e to the power but for 1e-50 parts."""
    below, above = exponential(exponent, is_above=False), exponential(exponent, is_above=True)

    assert below < above
    assert above - below < above / 10**50
    assert math.isclose(float(below), math.exp(exponent), rel_tol=1e-12)
    series = sum((exponent**n / math.factorial(n) for n in range(60)), Fraction(0)) if exponent < 2 else None
    assert series is None or below < series + Fraction(1, 10**50) < above + Fraction(2, 10**50)


def line(weights: list[int], epsilon: Fraction, times: int = 1) -> PublishedLine:
    """A line that states no less than its noise costs."""
    delta = hockey_stick(weights, 1, epsilon)
    return PublishedLine(name="n", weights=tuple(weights), sensitivity=1, times=times, epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("weights", [[1, 2, 4, 2, 1], [1, 1, 1], [1, 6, 1]])
def test_two_draws_cost_no_more_than_their_sum(weights: list[int], epsilon: Fraction) -> None:
    """Both noisy counts of one row seen together, by enumeration of their joint law: basic composition holds."""
    loss = composed([line(weights, epsilon), line(weights, epsilon)], 1)
    joint = {
        at: {
            (one, two): first * second
            for one, first in noisy(weights, at).items()
            for two, second in noisy(weights, at).items()
        }
        for at in (0, 1)
    }
    factor = exponential(loss.epsilon, is_above=True)
    for here, there in ((0, 1), (1, 0)):
        rest = sum(
            (max(Fraction(0), chance - factor * joint[there].get(out, 0)) for out, chance in joint[here].items()),
            Fraction(0),
        )
        assert rest <= loss.delta


@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize("weights", [[1, 2, 4, 8, 4, 2, 1], [1, 1, 1, 1, 1], [1, 6, 1]])
def test_several_rows_cost_what_group_privacy_says(weights: list[int], rows: int) -> None:
    """A person with several rows in one cell moves it by as many: what the group pays covers it."""
    loss = composed([line(weights, Fraction(1, 2))], rows)

    assert hockey_stick(weights, rows, loss.epsilon) <= loss.delta
    assert loss.epsilon == Fraction(rows, 2)


def test_a_float_of_a_loss_is_never_below_it() -> None:
    """A third is no float; the next one above is published."""
    assert Fraction(not_below(Fraction(1, 3))) >= Fraction(1, 3)
    assert not_below(Fraction(1, 4)) == 0.25


RAW: dict[str, Any] = {
    "name": "count",
    "mechanism": "integer-noise",
    "weights": [1, 2, 1],
    "sensitivity": 1,
    "times": 1,
    "epsilon": 1.0,
    "delta": 0.5,
}


@pytest.mark.parametrize(
    "change",
    [
        {"mechanism": "gaussian"},
        {"weights": []},
        {"weights": [1, 1]},
        {"weights": [0, 0, 0]},
        {"weights": [1, -1, 1]},
        {"weights": [1, True, 1]},
        {"sensitivity": 0},
        {"times": 0},
        {"epsilon": "1"},
        {"epsilon": -1.0},
        {"epsilon": math.inf},
        {"epsilon": math.nan},
        {"delta": 1.5},
        {"more": 1},
    ],
)
def test_a_line_that_cannot_be_worked_out_is_refused(change: dict[str, Any]) -> None:
    """Nothing is taken on trust: no unknown mechanism, no figure out of its range, no further key."""
    with pytest.raises(ReleaseFormatError):
        account_of({"account": [{**RAW, **change}]})


@pytest.mark.parametrize("rows", [1, 2])
def test_a_unit_of_several_rows_needs_its_column(rows: int) -> None:
    """Rows of nobody cannot be several of one person."""
    params = {"account": [RAW], "composition": {"adjacency": "add or remove one record", "rows_per_unit": rows}}
    promise = {
        "parameters": {"epsilon": 2.0, "delta": 0.9, "rows_per_unit": rows, "unit_column": None},
        "adjacency": "add or remove one record",
    }
    if rows == 1:
        assert all(check.passed for check in loss_checks(params, promise))
    else:
        with pytest.raises(ReleaseFormatError):
            list(loss_checks(params, promise))


def test_an_account_without_lines_accounts_for_nothing() -> None:
    """Nothing in the release would have noise."""
    with pytest.raises(ReleaseFormatError, match="has no line"):
        account_of({"account": []})


@pytest.mark.parametrize("params", [{}, {"format": "anonkit-noisy-histogram-1"}, {"format": []}])
def test_params_without_their_parts_are_damaged(params: dict[str, Any], tmp_path: Path) -> None:
    """No format, no account: said of the files, and no traceback."""
    with pytest.raises(ReleaseFormatError, match=r"lack a key|of a histogram only"):
        list(approximate_checks(tmp_path / "out.parquet", params, {}))
