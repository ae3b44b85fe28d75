"""Matrices of models are small: while a release learns, linear algebra has one thread, and afterwards what it had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

import anonkit
from anonkit.policy.declaration import Policy
from anonkit.published.one_thread import one_thread

POOLS = ThreadpoolController().select(user_api="blas")
if not POOLS.lib_controllers:
    pytest.skip("this NumPy's linear algebra has no threads that could be limited", allow_module_level=True)


def threads() -> set[int]:
    """The number of threads of linear algebra now."""
    return {library["num_threads"] for library in POOLS.info()}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Two threads, whatever the tests were started with."""
    with POOLS.limit(limits=2):
        assert threads() == {2}
        yield
        assert threads() == {2}


def test_the_limit_ends_with_the_last_who_is_inside() -> None:
    """Nested, and where something fails."""
    with one_thread():
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert threads() == {1}
    assert threads() == {2}


@pytest.mark.parametrize(("method", "target", "work"), [("dp-forest", "y", "eigh"), ("dp-marginals", None, "solve")])
def test_a_release_learns_on_one_thread(
    monkeypatch: pytest.MonkeyPatch, method: str, target: str | None, work: str
) -> None:
    """Also one that is called from Python, in a process whose linear algebra has more."""
    draw = np.random.default_rng(1)
    number = draw.integers(0, 40, 3_000)
    table = pd.DataFrame({"a": number, "b": number + draw.integers(0, 9, 3_000), "y": np.where(number > 20, "1", "0")})
    policy = Policy.from_dict(
        {"columns": {"a": {"bounds": [0, 40]}, "b": {"bounds": [0, 48]}, "y": {"categories": ["0", "1"]}}}
    )
    seen: list[set[int]] = []
    real = getattr(np.linalg, work)

    def watched(*args: Any, **named: Any) -> Any:
        seen.append(threads())
        return real(*args, **named)

    monkeypatch.setattr(np.linalg, work, watched)
    asked: dict[str, Any] = {"no_target": True} if target is None else {"target": target}
    anonkit.release(table, method=method, epsilon=3.0, policy=policy, seed=1, ledger=None, **asked)
    assert seen
    assert set.union(*seen) == {1}


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("3", "3")])
def test_commands_begin_with_one_thread(given: str | None, threads: str) -> None:
    """One thread is the default; the owner may set more."""
    code = (
        "import atexit, os, sys; from anonkit.cli import main; sys.argv = ['anonkit', '--version']\n"
        "atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\nmain()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == threads
