# SPDX-License-Identifier: Apache-2.0
"""Forests that were grown for one test are reused by the others: they took a third of the processor time.

`learned` states of its work that the same arguments give the same result in any process. Tests of this property, and of
the forests' results (`methods`, `contract`, `golden`, `k_anonymity`, `utility`, `privacy`), grow their own, and so
does every test that replaces a part of the package.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from anonkit.utility import learning_process

FOLDERS = (
    "auditing",
    "bundle",
    "checks",
    "cli",
    "consumers",
    "drafting",
    "engines",
    "ledger",
    "pages",
    "pipeline",
    "report",
)
"""Folders of tests that may reuse results of learning for another test."""
_FOLDER = "FORESTS_OF_THESE_TESTS"
"""Variable by which processes of one run find what the others have learned."""


def may_remember(item: pytest.Item, tests: Path) -> bool:
    """Return whether a test neither tests the forests nor replaces a part of the package."""
    folder = item.path.relative_to(tests).parts[0] if item.path.is_relative_to(tests) else ""
    return folder in FOLDERS and "monkeypatch" not in getattr(item, "fixturenames", ())


_LEARNING = (
    *("k_anonymity.search.importance", "k_anonymity.search.out_of_sample_predictions"),
    *("utility.class_utility", "utility.number_utility"),
)
"""Modules that learn forests, each of which has the function by its own name."""


class RememberedForests:
    """The results of learning in this run of the tests, by any of its processes."""

    def __init__(self, tests: Path, folder: Path) -> None:
        self._tests, self._folder = tests, folder
        self._is_on = False
        self._learn: Callable[..., Any] = learning_process.learned

    def install(self) -> None:
        """Replace the learning function, in the modules that learn, too: some are imported when a folder is named."""
        learning_process.learned = self.learned
        for name in _LEARNING:
            module: Any = importlib.import_module(f"anonkit.{name}")
            module.learned = learning_process.learned

    def learned(self, work: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Return the result of work, from memory if the same work was done before."""
        if not self._is_on:
            return self._learn(work, *args, **named)
        place = self._folder / hashlib.sha256(pickle.dumps((work, args, named))).hexdigest()
        if place.exists():
            return pickle.loads(place.read_bytes())
        result = self._learn(work, *args, **named)
        new = place.with_suffix(f".{os.getpid()}")
        new.write_bytes(pickle.dumps(result))
        new.replace(place)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Use the memory while a test runs that may."""
        self._is_on = may_remember(item, self._tests)
        try:
            return (yield)
        finally:
            self._is_on = False


def remember_forests(config: pytest.Config, tests: Path) -> None:
    """Let the processes of one run share what they learn, in a folder that the first of them makes and deletes."""
    if _FOLDER not in os.environ:
        folder = os.environ[_FOLDER] = tempfile.mkdtemp(prefix="anonkit-forests-")

        def forget() -> None:
            os.environ.pop(_FOLDER, None)
            shutil.rmtree(folder, ignore_errors=True)

        config.add_cleanup(forget)
    remembered = RememberedForests(tests, Path(os.environ[_FOLDER]))
    remembered.install()
    config.pluginmanager.register(remembered, "remembered-forests")
