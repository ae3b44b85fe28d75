"""The linkability attack finds the released row of a person whose true values are known."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.auditing.attacks.linkage import ranked


def test_any_row_of_a_person_is_theirs() -> None:
    """Two own rows of four that tie: half of the first places; all of the first ten."""
    scores = np.zeros(4)
    assert ranked(scores, np.array([0, 2])) == (0.5, 1.0)
    assert ranked(np.zeros(20), 3) == (1 / 20, pytest.approx(0.5))
    assert ranked(np.zeros(20), np.array([3, 4]))[1] == pytest.approx(1 - (10 * 9) / (20 * 19))
