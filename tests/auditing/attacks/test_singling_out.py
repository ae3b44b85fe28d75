"""The singling-out attack: predicates that match one person of the source.

The linkability attack finds the released row of a person whose true values are known.
"""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.auditing.attacks.attack_evidence import Values
from anonkit.auditing.attacks.singling_out import ranked, singled_out


def test_any_row_of_a_person_is_theirs() -> None:
    """Two own rows of four that tie: half of the first places; all of the first ten."""
    scores = np.zeros(4)
    assert ranked(scores, np.array([0, 2])) == (0.5, 1.0)
    assert ranked(np.zeros(20), 3) == (1 / 20, pytest.approx(0.5))
    assert ranked(np.zeros(20), np.array([3, 4]))[1] == pytest.approx(1 - (10 * 9) / (20 * 19))


def test_several_rows_of_one_person_are_singled_out() -> None:
    """A description that fits three rows of one person is a hit; one that fits two people is none."""
    rows = {"q": Values(values=["a", "b"], codes=np.array([0, 0, 0, 1, 1]))}
    people = np.array([7, 7, 7, 8, 9])
    found = [{"q": np.array([True, False])}, {"q": np.array([False, True])}]
    assert singled_out(found, rows).successes == 0
    assert singled_out(found, rows, people).successes == 1
