# SPDX-License-Identifier: Apache-2.0
"""Releases of a comparison, made and measured: two at a time where there is a second process, shown in their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

Order = TypeVar("Order")
Made = TypeVar("Made")

Apart = Callable[..., Any]
"""Does the work of a function with its arguments in another process."""
_APART: ContextVar[tuple[Apart, Callable[[], AbstractContextManager[None]]] | None] = ContextVar("apart", default=None)


@contextmanager
def made_apart(apart: Apart, beside: Callable[[], AbstractContextManager[None]] = nullcontext) -> Iterator[None]:
    """Make some of the releases of comparisons in another process until the block ends.

    Parameters
    ----------
    apart : callable
        `apart(function, *arguments)` returns what the function gives, and may take as long as it does.
    beside : callable
        Context of what this process makes meanwhile.
    """
    token = _APART.set((apart, beside))
    try:
        yield
    finally:
        _APART.reset(token)


class Turns(Generic[Order, Made]):
    """Things to be made: this thread takes from the begin, one that waits for the other process from the end.

    Parameters
    ----------
    orders : sequence
        Arguments of `make`, in the order in which results are shown.
    make : callable
        Can be pickled where there is a second process; the same in any process.
    seen : callable
        Called in this thread with every result, in the order of `orders`.
    """

    def __init__(self, orders: Sequence[Order], make: Callable[[Order], Made], seen: Callable[[Made], None]) -> None:
        self._orders, self._make, self._seen = orders, make, seen
        self._left = list(range(len(orders)))
        self._lock = threading.Lock()
        self._made: list[Future[Made]] = [Future() for _ in orders]
        self._shown: list[Made] = []

    def work(self, begun: Callable[[Order], None]) -> None:
        """Make what is left, one after the other, and show what is made by now.

        Parameters
        ----------
        begun : callable
            Called with what is begun in this process.
        """
        while (at := self._taken(0)) is not None:
            begun(self._orders[at])
            self._made[at].set_result(self._make(self._orders[at]))
            while len(self._shown) < len(self._made) and self._made[len(self._shown)].done():
                self._show_next()

    def results(self) -> list[Made]:
        """Return all results when the last one is there.

        Raises
        ------
        Exception
            What `make` has raised in the other process.
        """
        while len(self._shown) < len(self._made):
            self._show_next()
        return self._shown

    def work_apart(self, apart: Apart, may_be_apart: Callable[[Order], bool]) -> None:
        """Have the other process make what is left, the last first, until something may not be made out of turn."""
        while (at := self._taken(-1, may_be_apart)) is not None:
            try:
                self._made[at].set_result(apart(self._make, self._orders[at]))
            except BaseException as error:
                self._made[at].set_exception(error)
                return

    @property
    def left(self) -> tuple[int, ...]:
        """Numbers of what nobody has begun."""
        return tuple(self._left)

    def stop(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._left.clear()

    def _taken(self, end: int, may_be: Callable[[Order], bool] | None = None) -> int | None:
        """Take the number of the first, or last, of what is left, if it may be taken; None where there is none."""
        with self._lock:
            if not self._left or (may_be is not None and not may_be(self._orders[self._left[end]])):
                return None
            return self._left.pop(end)

    def _show_next(self) -> None:
        self._shown.append(self._made[len(self._shown)].result())
        self._seen(self._shown[-1])


@contextmanager
def made_in_turn(
    orders: Sequence[Order],
    make: Callable[[Order], Made],
    *,
    may_be_apart: Callable[[Order], bool],
    seen: Callable[[Made], None],
) -> Iterator[Turns[Order, Made]]:
    """Make things in turn until the block ends; where there is a second process, it makes the last ones meanwhile.

    Parameters
    ----------
    orders, make, seen
        As of `Turns`.
    may_be_apart : callable
        Whether something may be made in the second process, and before what comes before it.
    """
    two, turns = _APART.get(), Turns(orders, make, seen)
    if two is None:
        yield turns
        return
    apart, beside = two
    with ThreadPoolExecutor(1) as pool:
        pool.submit(turns.work_apart, apart, may_be_apart)
        try:
            with beside():
                yield turns
        finally:
            turns.stop()
