"""The results of forests for one test are reused for the next, unless it tests the forests themselves."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from remembered_forests import RememberedForests, may_remember

from anonkit.utility import learning_process

asked: list[int] = []


def doubled(numbers: Any, times: int = 2) -> Any:
    """Replace work that takes long."""
    asked.append(times)
    return np.asarray(numbers) * times


@pytest.fixture
def remembered(tmp_path: Path) -> RememberedForests:
    """A memory of this test alone, which is on."""
    asked.clear()
    made = RememberedForests(tmp_path, tmp_path)
    made._is_on = True
    return made


def test_the_same_work_is_done_once_and_its_result_is_nobody_else_s(remembered: RememberedForests) -> None:
    """A change of an array of one answer changes no other answer."""
    first = remembered.learned(doubled, np.arange(3), times=5)
    first[:] = 0
    assert remembered.learned(doubled, np.arange(3), times=5).tolist() == [0, 5, 10]
    assert asked == [5]


def test_other_work_is_done_anew(remembered: RememberedForests) -> None:
    """One number more, another parameter, another function."""
    for work, args in [(doubled, [1]), (doubled, [1, 2]), (functools.partial(doubled, times=3), [1])]:
        remembered.learned(work, args)
    assert asked == [2, 2, 3]


def test_nothing_is_remembered_where_it_is_off(remembered: RememberedForests) -> None:
    """As for every test of the forests."""
    remembered._is_on = False
    for _ in range(2):
        remembered.learned(doubled, [1])
    assert asked == [2, 2]


def test_modules_that_learn_use_the_memory() -> None:
    """It is in the place of the function before they are imported."""
    from anonkit.k_anonymity.search import importance, out_of_sample_predictions
    from anonkit.utility import class_utility, number_utility

    for module in (importance, number_utility, out_of_sample_predictions, class_utility):
        assert module.learned is learning_process.learned
        assert isinstance(module.learned.__self__, RememberedForests)


def test_tests_of_forests_and_those_that_replace_code_grow_their_own(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Their folder, and the fixture that replaces code, decide."""

    class Item:
        def __init__(self, folder: str, *fixtures: str) -> None:
            self.path, self.fixturenames = tmp_path / folder / "test_it.py", fixtures

    found = {name: may_remember(Item(name), tmp_path) for name in ("pipeline", "golden", "methods", "privacy")}  # type: ignore[arg-type]
    assert found == {"pipeline": True, "golden": False, "methods": False, "privacy": False}
    assert not may_remember(Item("pipeline", "monkeypatch"), tmp_path)  # type: ignore[arg-type]
    assert not may_remember(request.node, Path(__file__).parent)
