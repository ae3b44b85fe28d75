"""The choice of cases that the gate runs of a test with many; the others are `slow`.

`@pytest.mark.quick_cases` names those that run: an id, or a pattern of ids (`rfka-*`). Where few of many take long,
`@pytest.mark.slow_cases` names these by their ids instead.
"""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase

import pytest

MARKS = ("quick_cases", "slow_cases")


def _named(item: pytest.Item) -> tuple[str, tuple[str, ...]] | None:
    """Return the mark of a test with cases, and the cases that it names; None where there is no mark, or no case."""
    if not hasattr(item, "callspec"):
        return None
    return next(((mark.name, mark.args) for mark in item.iter_markers() if mark.name in MARKS), None)


def _names(mark: str, case: str, name: str) -> bool:
    """Return whether a name represents a case: as a pattern, or, where cases are slow, as it is written."""
    return fnmatchcase(case, name) if mark == "quick_cases" else case == name


class QuickCases:
    """Hooks that mark cases as slow, and refuse names that no case has, and tests that leave no case in the gate."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Mark a case that is slow."""
        if (found := _named(item)) is None:
            return
        mark, names = found
        if any(_names(mark, item.callspec.id, name) for name in names) == (mark == "slow_cases"):  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.slow)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Look for every name among the cases, unless single ones were selected."""
        if any("[" in argument for argument in config.args):
            return
        marks: dict[str, tuple[str, tuple[str, ...]]] = {}
        cases = defaultdict(set)
        for item in items:
            if (found := _named(item)) is not None:
                test = item.nodeid.split("[")[0]
                marks[test] = found
                cases[test].add(item.callspec.id)  # type: ignore[attr-defined]
        for test, (mark, names) in marks.items():
            absent = {name for name in names if not any(_names(mark, case, name) for case in cases[test])}
            if not names or absent:
                raise pytest.UsageError(f"{test} names cases that it has not: {sorted(absent)}")
            if mark == "slow_cases" and cases[test] <= set(names):
                raise pytest.UsageError(f"{test} leaves no case in the gate")
