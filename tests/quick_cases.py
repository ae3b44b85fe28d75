"""Which cases of a test with many run in the gate: what `@pytest.mark.quick_cases` names; the others are `slow`."""

from __future__ import annotations

from collections import defaultdict

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
        if named is not None and item.callspec.id not in named:  # type: ignore[attr-defined]
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
            if not named or named - cases[test]:
                raise pytest.UsageError(f"{test} names cases that it has not: {sorted(named - cases[test])}")
