# SPDX-License-Identifier: Apache-2.0
"""Failures of third-party libraries: their messages may quote cells, so they are classified and never passed on.

An error raised inside an `except` block keeps the one it replaces in `__context__`, even with `from None`. Here
the replacement is raised after the block, so that no attribute leads back to a message with cells in it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from anonkit.errors import AnonkitError

_T = TypeVar("_T")

Explain = Callable[[Exception], AnonkitError]
"""Turns a foreign error into one of ours; it may read the message, and must not keep it."""

_LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_NO_THREAD = "Unknown error: Failed to launch worker thread"
FOREIGN = (pa.ArrowException, OSError, EOFError, ArithmeticError, LookupError, TypeError, ValueError)
"""Errors of pyarrow, numpy and the file system on bad data; programming errors and signals pass."""


def shielded(action: Callable[[], _T], explain: Explain, foreign: tuple[type[Exception], ...] = FOREIGN) -> _T:
    """Return the result of `action`; a foreign error is replaced by what `explain` makes of it.

    Raises
    ------
    MemoryError, OSError
        There is not enough memory, or no file may be opened any more: no fault of what is read.
    """
    try:
        return action()
    except AnonkitError:
        raise
    except foreign as error:
        failure = _of_machine(error) or explain(error)
    raise failure


def _of_machine(error: Exception) -> Exception | None:
    """Return the error to raise where the machine, and not the data, is at fault: its words may quote cells."""
    if isinstance(error, MemoryError):  # Arrow's is an error of data as well
        return MemoryError()
    if isinstance(error, OSError) and error.errno in _LIMITS:
        return OSError(error.errno, os.strerror(error.errno))
    if type(error) is pa.ArrowException and str(error).startswith(_NO_THREAD):
        return OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return None


def shielded_iterator(items: Iterable[_T], explain: Explain) -> Iterator[_T]:
    """Yield the items; a foreign error on the way is replaced by what `explain` makes of it."""
    iterator = iter(items)
    end = object()
    while (item := shielded(lambda: next(iterator, end), explain)) is not end:
        yield item  # type: ignore[misc]
