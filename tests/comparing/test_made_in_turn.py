"""A second process makes and measures releases of a comparison: faster, with the same figures in the same order."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

import anonkit
from anonkit.comparing.comparison import made_apart, made_in_turn
from anonkit.comparing.model_scores import FrontierPoint
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.errors import GuaranteeError
from anonkit.utility import learning_process
from anonkit.utility.learning_process import Imports, done_here, learned, learning_beside


def _compared(seen: list[str]) -> dict[str, Any]:
    def note(point: FrontierPoint) -> None:
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
    with learning_beside(Imports(first=())), made_apart(learned, done_here):
        beside = _compared(there)
    assert alone == beside
    assert ("tried", True) in measured
    assert here == there == ["datafly, k = 5", "datafly, k = 500", "mondrian, k = 5", "mondrian, k = 500"]


class _Maker:
    """A maker that notes the process; it can be sent to another one."""

    def __init__(self) -> None:
        self.first = os.getpid()

    def make(self, asked: tuple[str, bool]) -> tuple[str, bool]:
        name, _ = asked
        if name == "broken":
            raise GuaranteeError("no")
        return name, os.getpid() == self.first


def _may_be_apart(asked: tuple[str, bool]) -> bool:
    return asked[1]


def _made(asked: list[tuple[str, bool]]) -> tuple[list[tuple[str, bool]], list[str]]:
    """Make things; the first one begun here waits until the other process has done what it may."""
    seen: list[tuple[str, bool]] = []
    begun: list[str] = []
    with made_in_turn(asked, _Maker().make, may_be_apart=_may_be_apart, seen=seen.append) as turns:

        def begin(one: tuple[str, bool]) -> None:
            begun.append(one[0])
            while len(begun) == 1 and turns.left and _may_be_apart(asked[turns.left[-1]]):
                time.sleep(0.01)

        turns.work(begin)
        made = turns.results()
    assert made == seen
    return made, begun


def test_what_is_made_apart_comes_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process makes the last ones, as far as they may be made out of turn; results are in order."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    asked = [("a", True), ("b", False), ("c", True), ("d", True)]
    with learning_beside(Imports(first=())), made_apart(learned, done_here):
        made, begun = _made(asked)
    assert made == [("a", True), ("b", True), ("c", False), ("d", False)]
    assert begun == ["a", "b"]
    assert _made([(name, False) for name, _ in asked])[0] == [(name, True) for name, _ in asked]


def test_what_fails_apart_is_raised_in_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results before it are shown; the error is the one that it has here."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    maker, asked, seen = _Maker(), [("a", True), ("broken", True)], list[tuple[str, bool]]()

    def make() -> None:
        with made_in_turn(asked, maker.make, may_be_apart=_may_be_apart, seen=seen.append) as turns:
            turns.work(lambda _: None)
            turns.results()

    with learning_beside(Imports(first=())), made_apart(learned, done_here), pytest.raises(GuaranteeError, match="no"):
        make()
    assert [name for name, _ in seen] in (["a"], [])


def test_a_busy_process_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work for it while it works for another thread is done here."""
    monkeypatch.setattr(learning_process, "_processors", lambda: 2)
    with learning_beside(Imports(first=())):
        process = learning_process._running
        assert process is not None
        with process._asked:
            assert process.answer(len, ("abc",), {}) is None
        assert process.answer(len, ("abc",), {}) == (3,)
