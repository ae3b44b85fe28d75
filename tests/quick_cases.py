"""Which cases of a test with many run in the gate: what `@pytest.mark.quick_cases` names; the others are `slow`.

A name is the id of a case, or a pattern of ids (`rfka-*`).
"""

from __future__ import annotations

from collections import defaultdict
from fnmatch import fnmatchcase

import pytest

MARK = "quick_cases"


def _named(item: pytest.Item) -> tuple[str, ...] | None:
    """Return the cases that a test names; None where it names none, or has no cases."""
    marker = item.get_closest_marker(MARK)
    return None if marker is None or not hasattr(item, "callspec") else marker.args


class QuickCases:
    """Hooks that mark as slow what is not named, and refuse names that no case has: none would be left in the gate."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Mark a case that its test does not name."""
        named = _named(item)
        if named is not None and not any(fnmatchcase(item.callspec.id, name) for name in named):  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.slow)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Look for every name among the cases, unless somebody has asked for single ones."""
        if any("[" in argument for argument in config.args):
            return
        names: dict[str, set[str]] = {}
        cases = defaultdict(set)
        for item in items:
            named = _named(item)
            if named is not None:
                test = item.nodeid.split("[")[0]
                names[test] = set(named)
                cases[test].add(item.callspec.id)  # type: ignore[attr-defined]
        for test, named in names.items():
            absent = {name for name in named if not any(fnmatchcase(case, name) for case in cases[test])}
            if not named or absent:
                raise pytest.UsageError(f"{test} names cases that it has not: {sorted(absent)}")
