"""Choice of the tests that run while branches are measured: together they reach every branch that any test reaches.

Tracing makes a test 40 to 60 % slower, and most tests of the checks reach the same branches with other files. So the
gate measures a few (`tests/traced_tests.txt`) and runs all others without. `python tests/traced_tests.py` measures
every test of `MEASURED` (Makefile) and writes the list anew. It is needed where the gate finds a branch that no listed
test reaches, though some other test does.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
LIST = REPOSITORY / "tests" / "traced_tests.txt"


def listed() -> frozenset[str]:
    """Return the node ids of the tests that run while branches are measured."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def fewest(reached: Mapping[str, frozenset[int]], seconds: Mapping[str, float]) -> list[str]:
    """Return tests that together reach whatever any reaches: greedily those that reach most of the rest a second.

    Parameters
    ----------
    reached
        The branches that each test reaches, as numbers.
    seconds
        How long each test takes.
    """
    left = set().union(*reached.values()) if reached else set()
    chosen = []
    # a test that alone reaches a branch is needed in any case: what it reaches besides costs nothing
    holders: dict[int, list[str]] = {}
    for test, branches in reached.items():
        for branch in branches:
            holders.setdefault(branch, []).append(test)
    for test in dict.fromkeys(tests[0] for tests in holders.values() if len(tests) == 1):
        chosen.append(test)
        left -= reached[test]
    while left:
        best = max(reached, key=lambda test: (len(reached[test] & left) / max(seconds.get(test, 0.0), 0.001), test))
        chosen.append(best)
        left -= reached[best]
    return sorted(chosen)


def made(name: str) -> list[str]:
    """Return the words of a variable of the Makefile."""
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    found = re.search(rf"^{name} = (.*)$", text, re.MULTILINE)
    assert found is not None, name
    return found.group(1).split()


def reached_branches(data: Path) -> dict[str, frozenset[int]]:
    """Return the branches that each test reaches, by coverage's own file, with those of its fixtures.

    What an import of another test module reached, too, counts as well: that module may not be among the chosen ones.
    """
    with sqlite3.connect(data) as connection:
        rows = connection.execute(
            "SELECT context, file_id, fromno, tono FROM arc JOIN context ON context_id = context.id WHERE context != ''"
        )
        numbers: dict[tuple[int, int, int], int] = {}
        found: dict[str, set[int]] = {}
        for context, *branch in rows:
            number = numbers.setdefault(tuple(branch), len(numbers))
            found.setdefault(context.rpartition("|")[0], set()).add(number)
    return {test: frozenset(branches) for test, branches in found.items()}


class _Durations:
    """A plugin that notes how long each test takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def main() -> int:
    """Measure every test of the checks, and write the list; return pytest's exit code."""
    durations = _Durations()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "coverage"
        os.environ["COVERAGE_FILE"] = str(data)
        os.environ["OMP_NUM_THREADS"] = "1"
        options = ["-q", "-p", "no:cacheprovider", "-n", "auto", "--dist", "worksteal", "--hypothesis-profile", "fewer"]
        packages = [f"--cov={package}" for package in made("EVERY_BRANCH")]
        code = pytest.main(
            [*options, *made("MEASURED"), *packages, "--cov-context=test", "--cov-report="], plugins=[durations]
        )
        if code:
            return int(code)
        chosen = fewest(reached_branches(data), durations.seconds)
    LIST.write_text("".join(f"{test}\n" for test in chosen), encoding="utf-8")
    print(
        f"{len(chosen)} of {len(durations.seconds)} tests, {sum(durations.seconds[test] for test in chosen):.0f} of "
        f"{sum(durations.seconds.values()):.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
