"""Numbers that are close together for their size are released exactly, or refused by the bounds that are declared."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.errors import PolicyError
from anonkit.methods import example_of, method_class, method_names
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

N = 40
SIZES = st.floats(-300, 300).map(lambda power: 10.0**power) | st.sampled_from([0.0, 52.5, 1e16, -1e16, 1.7e9])
GAPS = st.floats(-18, 3).map(lambda power: 10.0**power)
FINEST = {"bins": 1024, "points": 4096}


def released(name: str, low: float, gap: float, bins: bool) -> None:
    """Release forty numbers a gap apart, in the finest cells; what the method makes of them is checked as ever."""
    numbers = low + gap * np.arange(N)
    bounds = (float(numbers[0]), float(numbers[-1]))
    try:
        column = Column(name="x", role=Role.QUASI_IDENTIFIER, bounds=bounds)
    except PolicyError:
        return
    parameters: dict[str, Any] = dict(example_of(method_class(name))) | ({"k": 5} if "k" in _named(name) else {})
    if bins and "k" not in _named(name):
        parameters |= {key: most for key, most in FINEST.items() if key in _named(name)}
    if "epsilon" in parameters:
        parameters["epsilon"] = 8.0
    categories = {"y": Column(name="y", role=Role.TARGET, categories=("no", "yes"))}
    policy = Policy(columns={"x": column, **categories})
    table = pa.table({"x": numbers, "y": ["no", "yes"] * (N // 2)})
    anonkit.release(table, method=name, policy=policy, ledger=None, **parameters)


def _named(name: str) -> set[str]:
    return {one.name for one in anonkit.methods.method_parameters(name)}


@pytest.mark.slow
@settings(max_examples=400)
@given(name=st.sampled_from(method_names()), low=SIZES, gap=GAPS, relative=st.booleans(), bins=st.booleans())
def test_close_numbers_are_exact_or_refused(name: str, low: float, gap: float, relative: bool, bins: bool) -> None:
    """Over sizes and gaps; no release fails in the checks of what it made."""
    released(name, low, gap * abs(low) if relative else gap, bins)


@settings(max_examples=6)
@given(name=st.sampled_from(method_names()), low=SIZES, gap=st.floats(-12, -5).map(lambda power: 10.0**power))
@example(name="dp-tree", low=52.5, gap=1e-8)
@example(name="rr", low=1e16, gap=1.0)
@example(name="errph", low=1.0, gap=2.0**-37)
@example(name="errph", low=1.0, gap=1e-9)
def test_a_few_close_numbers_are_exact_or_refused(name: str, low: float, gap: float) -> None:
    """Both bounds that are just far enough apart and bounds that are not are tested."""
    released(name, low, gap * max(abs(low), 1.0), True)


@given(low=st.floats(-1e15, 1e15), steps=st.integers(1, 1 << 22))
def test_the_bounds_that_are_refused_are_a_rule(low: float, steps: int) -> None:
    """A million doubles between them, as many as those near the larger bound are apart; never by what is in a table."""
    high = low + steps * math.ulp(low)
    distance = math.ulp(max(abs(low), abs(high)))
    if high - low < (1 << 20) * distance or high - low < 1e-100:
        with pytest.raises(PolicyError, match="bounds"):
            Column(name="x", bounds=(low, high))
    else:
        Column(name="x", bounds=(low, high))


@pytest.mark.parametrize("bounds", [(0.0, 1e101), (0.0, 1e-101), (-1e300, 1e300)])
def test_bounds_beyond_sums_of_squares_are_refused(bounds: tuple[float, float]) -> None:
    """Their squares are no doubles."""
    with pytest.raises(PolicyError, match="within"):
        Column(name="x", bounds=bounds)
