# SPDX-License-Identifier: Apache-2.0
"""Linear algebra on one thread: matrices of models are small, and on busy cores the threads wait for each other.

On one thread of OpenBLAS a product of two matrices of 100 x 100 takes a thirtieth of the processor time of two, where
other processes keep the cores busy. Results do not depend on the number of cores, either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_thread() -> Iterator[None]:
    """Let products and decompositions of matrices use one thread; also a decorator.

    The libraries beneath have one limit for all threads of a process; calls that overlap may leave it at one.
    """
    with _thread_pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _thread_pools() -> Any:
    """Look for the libraries that have threads, once: a look takes milliseconds, and all of ours come with NumPy."""
    import numpy as np  # noqa: F401 (what is looked for)
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()
