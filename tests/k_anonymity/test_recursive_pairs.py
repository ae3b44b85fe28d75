"""Recursive (c, l)-diversity is requested as text or, in Python, as a pair of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.methods.rfka import RFKA


@given(c=st.floats(0.01, 100) | st.integers(1, 9), l=st.integers(2, 99), as_list=st.booleans(), of_numpy=st.booleans())
def test_a_pair_is_what_its_text_is(c: float, l: int, as_list: bool, of_numpy: bool) -> None:  # noqa: E741
    """For any numbers in the pair, the method and its description are the same."""
    pair = (np.float64(c), np.int64(l)) if of_numpy else (c, l)
    given_so: Any = list(pair) if as_list else pair
    assert RFKA(k=5, recursive=given_so).diversity.recursive == (c, l)
    assert RFKA(k=5, recursive=f"{c},{l}").diversity == RFKA(k=5, recursive=given_so).diversity


@pytest.mark.parametrize("wrong", [3, (3,), (3, 2, 1), ("3", 2), (True, 2), (3, 2.5), (0, 2), (3, 1), {3: 2}, "3", ()])
def test_what_is_no_pair_is_refused_by_name(wrong: Any) -> None:
    """One clear line, and no AttributeError of a tuple."""
    with pytest.raises(ParameterError, match=r"^recursive "):
        RFKA(k=5, recursive=wrong)
