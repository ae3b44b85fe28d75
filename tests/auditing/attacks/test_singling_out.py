"""The singling-out attack: predicates that match one person of the source."""

from __future__ import annotations

import numpy as np

from anonkit.auditing.attacks.attack_evidence import Values
from anonkit.auditing.attacks.singling_out import singled_out


def test_several_rows_of_one_person_are_singled_out() -> None:
    """A description that fits three rows of one person is a hit; one that fits two people is none."""
    rows = {"q": Values(values=["a", "b"], codes=np.array([0, 0, 0, 1, 1]))}
    people = np.array([7, 7, 7, 8, 9])
    found = [{"q": np.array([True, False])}, {"q": np.array([False, True])}]
    assert singled_out(found, rows).successes == 0
    assert singled_out(found, rows, people).successes == 1
