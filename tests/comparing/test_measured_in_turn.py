"""Releases of a comparison are measured in a second process while the next is made: faster, with the same figures."""

from __future__ import annotations

import os
from typing import Any

import pytest

import anonkit
from anonkit.bundle.stored_release import Release
from anonkit.comparing.frontier_points import Point
from anonkit.comparing.measured_in_turn import measured_apart, measured_in_turn
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import GuaranteeError
from anonkit.estimators import learning_process
from anonkit.estimators.learning_process import Imports, learned, learning_beside


def _compared(seen: list[str]) -> dict[str, Any]:
    def note(point: Point) -> None:
        seen.append(point.label)

    return anonkit.compare(
        bank_customers(400, seed=1),
        target="customer_value",
        policy=bank_customers_policy(),
        methods=["datafly", "mondrian"],
        k=[5, 500],
        attacks=10,
        seen=note,
    ).to_dict()


@pytest.mark.slow
def test_a_second_process_measures_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise a comparison is the same each time, here and there, and is shown in the order of the settings."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    here, there = [], []
    alone = _compared(here)
    measured = []
    answer = learning_process._Process.answer

    def noted(self: Any, work: Any, args: Any, named: Any) -> Any:
        found = answer(self, work, args, named)
        measured.append((getattr(work, "__name__", ""), found is not None))
        return found

    monkeypatch.setattr(learning_process._Process, "answer", noted)
    with learning_beside(Imports(first=())), measured_apart(learned):
        beside = _compared(there)
    assert alone == beside
    assert ("point", True) in measured
    assert here == there == ["datafly, k = 5", "datafly, k = 500", "mondrian, k = 5", "mondrian, k = 500"]


class _Halves:
    """Measures at once, and says whether in the first process."""

    def __init__(self) -> None:
        self.first = os.getpid()

    def settled(self) -> _Halves:
        return self

    def point(self, method: str, parameter: str, value: float, outcome: object) -> tuple[str, float, bool]:
        return method, value, os.getpid() == self.first


def test_points_come_in_the_order_of_their_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured by the other process, shown in turn; a refusal is known here."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    seen: list[Any] = []
    halves: Any = _Halves()
    with learning_beside(Imports(first=())), measured_apart(learned), measured_in_turn(halves, seen.append) as measured:
        measured.add("a", "k", 2, Release(params={}, report={}))
        measured.add("b", "k", 3, GuaranteeError("no"))
        measured.add("c", "k", 4, Release(params={}, report={}))
        points = measured.points()
    assert list(points) == seen == [("a", 2, False), ("b", 3, True), ("c", 4, False)]


def test_a_busy_process_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that arrives while the process is busy for another thread is done here."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    with learning_beside(Imports(first=())):
        process = learning_process._running
        assert process is not None
        with process._asked:
            assert process.answer(len, ("abc",), {}) is None
        assert process.answer(len, ("abc",), {}) == (3,)
