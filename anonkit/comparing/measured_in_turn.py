# SPDX-License-Identifier: Apache-2.0
"""Releases of a comparison measured in turn: in the second process, where there is one, while the next is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from anonkit.bundle.stored_release import Release
from anonkit.comparing.frontier_points import Point
from anonkit.comparing.train_test_halves import Halves
from anonkit.errors import AnonkitError
from anonkit.estimators.learning_process import has_process, learned


class MeasuredInTurn:
    """The points of a comparison, in the order in which the releases were made."""

    def __init__(self, halves: Halves, seen: Callable[[Point], None], pool: ThreadPoolExecutor | None) -> None:
        self._halves, self._seen, self._pool = halves, seen, pool
        self._waiting: list[Future[Point]] = []
        self._points: list[Point] = []

    def add(self, method: str, parameter: str, value: float | None, outcome: Release | AnonkitError) -> None:
        """Measure a release, or take note that there is none; those that are measured by now are shown."""
        if self._pool is None or isinstance(outcome, AnonkitError):
            measured: Future[Point] = Future()
            measured.set_result(self._halves.point(method, parameter, value, outcome))
        else:
            measured = self._pool.submit(learned, self._halves.point, method, parameter, value, outcome)
        self._waiting.append(measured)
        while self._waiting and self._waiting[0].done():
            self._show_first()

    def points(self) -> tuple[Point, ...]:
        """Return the points when all are measured."""
        while self._waiting:
            self._show_first()
        return tuple(self._points)

    def _show_first(self) -> None:
        self._points.append(self._waiting.pop(0).result())
        self._seen(self._points[-1])


@contextmanager
def measured_in_turn(halves: Halves, seen: Callable[[Point], None]) -> Iterator[MeasuredInTurn]:
    """Measure releases until the block ends.

    Parameters
    ----------
    halves : Halves
    seen : callable
        Called with every point, in the order of the releases.
    """
    if not has_process():  # a thread would only take turns with the search for the next release
        yield MeasuredInTurn(halves, seen, None)
        return
    pool = ThreadPoolExecutor(1)
    try:
        yield MeasuredInTurn(halves.settled(), seen, pool)
    finally:
        pool.shutdown(cancel_futures=True)
