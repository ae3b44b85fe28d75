# SPDX-License-Identifier: Apache-2.0
"""Releases of a comparison measured in turn: in the second process, where there is one, while the next is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar

from anonkit.bundle.stored_release import Release
from anonkit.comparing.frontier_points import Point
from anonkit.comparing.train_test_halves import Halves
from anonkit.errors import AnonkitError

Apart = Callable[..., Point]
"""Does the work of a function with its arguments in another process."""
_APART: ContextVar[Apart | None] = ContextVar("apart", default=None)


@contextmanager
def measured_apart(apart: Apart) -> Iterator[None]:
    """Measure the releases of comparisons in another process until the block ends.

    Parameters
    ----------
    apart : callable
        `apart(function, *arguments)` returns what the function gives, and may take as long as it does.
    """
    token = _APART.set(apart)
    try:
        yield
    finally:
        _APART.reset(token)


class MeasuredInTurn:
    """The points of a comparison, in the order in which the releases were made."""

    def __init__(
        self,
        halves: Halves,
        seen: Callable[[Point], None],
        apart: Apart | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._halves, self._seen, self._apart, self._pool = halves, seen, apart, pool
        self._waiting: list[Future[Point]] = []
        self._points: list[Point] = []

    def add(self, method: str, parameter: str, value: float | None, outcome: Release | AnonkitError) -> None:
        """Measure a release, or take note that there is none; those that are measured by now are shown."""
        if self._pool is None or self._apart is None or isinstance(outcome, AnonkitError):
            measured: Future[Point] = Future()
            measured.set_result(self._halves.point(method, parameter, value, outcome))
        else:
            measured = self._pool.submit(self._apart, self._halves.point, method, parameter, value, outcome)
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
    apart = _APART.get()
    if apart is None:  # a thread would only take turns with the search for the next release
        yield MeasuredInTurn(halves, seen)
        return
    pool = ThreadPoolExecutor(1)
    try:
        yield MeasuredInTurn(halves.settled(), seen, apart, pool)
    finally:
        pool.shutdown(cancel_futures=True)
