"""Who may import whom: the rows of the house, and which third parties may be imported where."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "anonkit"

ROWS: tuple[tuple[str, ...], ...] = (
    ("redaction", "errors", "randomness"),
    ("policy", "domains", "parameters", "promises", "protocols", "mechanisms", "estimators"),
    ("report", "schemas", "bundle", "published"),
    ("k_anonymity", "randomized_response", "dp_trees"),
    ("methods", "engines", "consumers", "checks", "datasets"),
    ("drafting", "auditing"),
    ("ledger",),
    ("pipeline", "comparing"),
    ("cli", "__main__"),
)
SIBLINGS = ("methods", "engines", "consumers", "checks", "datasets")
EVERYWHERE = ("errors", "__init__")
HEAVY = {"sklearn", "scipy", "pandas", "polars", "duckdb", "opendp", "pyspark", "great_expectations", "matplotlib"}
HOME_OF_HEAVY: dict[str, set[str]] = {
    "consumers/forest.py": {"sklearn"},
    "consumers/naive_bayes.py": {"sklearn"},
    "consumers/comparators/dtpd.py": {"sklearn"},
    "consumers/comparators/dtcrd.py": {"sklearn"},
    "checks/batch_counts.py": {"great_expectations"},
    "checks/expectations.py": {"great_expectations"},
    "engines/spark/spark_engine.py": {"pyspark"},
    "engines/spark/spark_categories.py": {"pyspark"},
    "engines/spark/spark_columns.py": {"pyspark"},
    "engines/spark/spark_copies.py": {"pyspark"},
    "engines/spark/spark_counts.py": {"pyspark"},
    "engines/spark/spark_order.py": {"pyspark"},
    "engines/spark/spark_sessions.py": {"pyspark"},
    "engines/spark/spark_sources.py": {"pyspark"},
}
"""Files that may import a heavy package at their top, because they are themselves imported late."""


def _row(room: str) -> int:
    for number, rooms in enumerate(ROWS):
        if room in rooms:
            return number
    raise AssertionError(f"room {room!r} stands in no row of the house: give it one")


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _imports(path: Path, *, top_only: bool) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_only else list(ast.walk(tree))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found: list[str] = []
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
            if node.module == "anonkit":
                found += [f"anonkit.{alias.name}" for alias in node.names]
    return found


MAKERS = (
    *("methods", "mechanisms", "estimators", "published", "dp_trees", "randomized_response", "k_anonymity"),
    *("engines", "consumers"),
)
CHECKERS: dict[str, tuple[str, ...]] = {
    "checks/central*.py": (*MAKERS, "domains", "promises.pure_central_dp"),
    "checks/local*.py": (*MAKERS, "domains"),
}
"""Files that check a promise, and the rooms that make one: whoever checks imports nothing of what is checked."""

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_from_rows_above(path: Path) -> None:
    """No room imports from a later row, and siblings do not import each other."""
    room = _room(path)
    for name in _imports(path, top_only=False):
        parts = name.split(".")
        if parts[0] != "anonkit" or len(parts) == 1 or parts[1] in EVERYWHERE or parts[1] == "__version__":
            continue
        other = parts[1]
        assert _row(other) <= _row(room), f"{room} must not import {other}"
        if room in SIBLINGS and other in SIBLINGS:
            assert room == other, f"siblings: {room} must not import {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_packages_are_imported_late(path: Path) -> None:
    """Heavy third parties are imported inside functions."""
    allowed = HOME_OF_HEAVY.get(str(path.relative_to(PACKAGE)), set())
    heavy = {name.split(".")[0] for name in _imports(path, top_only=True)} & HEAVY
    assert heavy <= allowed


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_spark_engine_knows_spark(path: Path) -> None:
    """PySpark is imported nowhere else, not even late."""
    if "pyspark" in {name.split(".")[0] for name in _imports(path, top_only=False)}:
        assert path.parent == PACKAGE / "engines" / "spark"


PROMISES = sorted(PACKAGE.glob("checks/*.py"))
"""Files that decide whether a promise holds; attacks, which play an adversary, stand in `auditing`."""


@pytest.mark.parametrize("path", PROMISES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_whoever_checks_a_promise_imports_nothing_that_made_it(path: Path) -> None:
    """Claims are worked out from the file format alone: no mechanism, tree, recoding or family of methods."""
    makers = {"mechanisms", "published", "k_anonymity", "randomized_response", "dp_trees", "methods"}
    found = {name.split(".")[1] for name in _imports(path, top_only=False) if name.startswith("anonkit.")}
    assert found & makers == set()


@pytest.mark.parametrize("pattern", CHECKERS)
def test_who_checks_a_promise_imports_nothing_of_what_is_checked(pattern: str) -> None:
    """Neither directly nor through another file of the checks: a fault of the methods is no fault of the check."""
    waiting = sorted(PACKAGE.glob(pattern))
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for name in _imports(path, top_only=False):
            parts = name.split(".")
            if parts[0] != "anonkit" or len(parts) == 1:
                continue
            assert not {parts[1], ".".join(parts[1:3])} & set(CHECKERS[pattern]), f"{path.name} must not import {name}"
            inner = PACKAGE.joinpath(*parts[1:]).with_suffix(".py")
            if inner.exists() and inner not in seen:
                seen.add(inner)
                waiting.append(inner)


def test_every_public_name_is_there() -> None:
    """Every name of `anonkit.__all__` can be imported, and nothing heavy is needed to import the package."""
    code = (
        "import sys, anonkit\n"
        "heavy = {'numpy', 'pyarrow', 'pandas', 'sklearn', 'duckdb', 'cryptography'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "missing = [name for name in anonkit.__all__ if getattr(anonkit, name) is None]\n"
        "assert not missing, missing\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
