"""Permitted imports: the layers of the package, and the places of third parties."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[1] / "anonkit"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("redaction", "errors", "documents", "randomness", "domains", "parameters", "promises", "budget_rules"),
    ("policy", "report", "protocols"),
    ("published", "estimators", "mechanisms", "bundle", "utility"),
    ("k_anonymity", "randomized_response", "dp_trees"),
    ("methods", "engines", "consumers", "checks", "datasets"),
    ("drafting", "auditing"),
    ("ledger",),
    ("pipeline", "comparing"),
    ("desk",),
    ("cli", "integrations", "__main__"),
)
"""Packages by layer, the lowest first: one imports those of its own layer and below it, and never in a circle."""
SIBLINGS = ("methods", "engines", "consumers", "checks", "datasets")
ONLY: dict[str, set[str]] = {
    "budget_rules": set(),
    "published": {"errors", "documents", "domains"},
    "consumers": {"errors", "documents", "domains", "estimators", "published", "bundle", "utility"},
    "checks": {"errors", "documents", "bundle", "promises", "report", "utility"},
    "utility": {"errors", "documents", "domains"},
    "engines": {"errors", "documents", "domains", "randomness", "policy", "protocols", "bundle"},
}
"""Code of receivers and checks of a promise import no owner's side; engines import no family of methods."""
SHARED = {
    ("checks", "budget_rules"): "pure functions of public facts and published values: a wrong one costs utility, and "
    "never privacy (tests/budget_rules/test_no_row_is_seen.py)",
}
"""The one package that checks share with the methods that they check, and why."""
EXCEPTIONS = {
    ("checks/shown_columns.py", "drafting"): "what identifiers look like: judged by one module for both sides",
    ("checks/population_validation.py", "estimators"): "models of unique people; they decide about no promise",
}
DOORS = {("checks/expectations.py", "integrations")}
"""Modules at a documented import path that re-export what another package defines, and define nothing themselves."""
HEAVY = {"sklearn", "scipy", "pandas", "polars", "duckdb", "opendp", "pyspark", "great_expectations", "matplotlib"}
TOOLS = {"airflow", "dagster", "dbt", "dvc", "prefect", "snakemake"}
"""Tools of other people's pipelines."""
HOME_OF_HEAVY: dict[str, set[str]] = {
    "consumers/published_classifiers.py": {"sklearn"},
    "consumers/naive_bayes.py": {"sklearn"},
    "consumers/release_features.py": {"sklearn"},
    "consumers/randomized_tree.py": {"sklearn"},
    "consumers/reconstruction.py": {"sklearn"},
    "integrations/great_expectations/batch_counts.py": {"great_expectations"},
    "integrations/great_expectations/class_expectations.py": {"great_expectations"},
    "engines/spark/spark_engine.py": {"pyspark"},
    "engines/spark/spark_beside.py": {"pyspark"},
    "engines/spark/spark_sources.py": {"pyspark"},
    "engines/spark/spark_workers.py": {"pyspark"},
}
"""Files that may import a heavy package at their top, because they are themselves imported late."""


def _layer(package: str) -> int:
    for number, packages in enumerate(LAYERS):
        if package in packages:
            return number
    raise AssertionError(f"package {package!r} is in no layer: give it one")


def _package(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def _is_for_types(test: ast.expr) -> bool:
    return any("TYPE_CHECKING" in (getattr(node, "id", ""), getattr(node, "attr", "")) for node in ast.walk(test))


def _statements(body: list[Any], *, for_types: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements of a body and of all bodies in them, and whether they are for the type checker alone."""
    for node in body:
        inner = for_types or (isinstance(node, ast.If) and _is_for_types(node.test))
        if isinstance(node, ast.stmt):  # the others are handlers of exceptions and cases of a match
            yield node, inner
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, part, []), for_types=inner)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"anonkit.{alias.name}" for alias in node.names] if node.module == "anonkit" else []
        return [node.module, *inner]
    return []


@functools.cache
def _read(path: Path) -> tuple[list[str], list[str], list[str]]:
    """Names that a file imports at its top, anywhere, and anywhere or for the type checker: read once for all tests."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    told = [(id(node) in top, for_types, _names(node)) for node, for_types in _statements(tree.body)]
    early = [name for is_top, for_types, names in told if is_top and not for_types for name in names]
    run = [name for _, for_types, names in told if not for_types for name in names]
    return early, run, [name for _, _, names in told for name in names]


def _imports(path: Path, *, top_only: bool, types: bool = False) -> list[str]:
    """Names that a file imports, at its top or anywhere; those for the type checker alone where `types` says so."""
    early, run, all_of_them = _read(path)
    return early if top_only else all_of_them if types else run


def _packages(path: Path, *, top_only: bool = False) -> set[str]:
    return {name.split(".")[0] for name in _imports(path, top_only=top_only)}


def _packages_imported(path: Path) -> set[str]:
    """Packages that a file imports, early, late or for its types; the top of anonkit is none."""
    names = [name.split(".") for name in _imports(path, top_only=False, types=True)]
    packages = {parts[1] for parts in names if parts[0] == "anonkit" and len(parts) > 1}
    return packages - {"__version__"}


def _named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)
FILES_OF_PACKAGES = [(path, _package(path)) for path in FILES]


def test_a_file_imports_only_from_rows_above() -> None:
    """No package imports from a higher layer, and siblings do not import each other, but for the listed exceptions."""
    later = [
        f"{_named(path)}: {package} must not import {other}"
        for path, package in FILES_OF_PACKAGES
        for other in _packages_imported(path) - {package}
        if (_named(path), other) not in EXCEPTIONS.keys() | DOORS
        and (_layer(other) > _layer(package) or {package, other} <= set(SIBLINGS))
    ]
    assert later == []


def test_receivers_checks_and_engines_know_only_their_packages() -> None:
    """No file of these packages imports others than those listed; an exception is in its table with a reason."""
    listed = [(path, package) for path, package in FILES_OF_PACKAGES if package in ONLY]
    assert {package for _, package in listed} == set(ONLY)
    others = {
        (_named(path), other)
        for path, package in listed
        for other in _packages_imported(path) - ONLY[package] - {package}
        if (package, other) not in SHARED
    }
    assert others == EXCEPTIONS.keys() | DOORS


def test_a_door_defines_nothing() -> None:
    """It has a docstring, imports and a list of names; no other module of the package comes in by it."""
    for name, other in DOORS:
        path = PACKAGE / name
        _, *body = ast.parse(path.read_text(encoding="utf-8")).body
        assert {type(node) for node in body} == {ast.ImportFrom, ast.Assign}
        assert _packages_imported(path) == {other}
        module = f"anonkit.{name.removesuffix('.py').replace('/', '.')}"
        assert [_named(path) for path in FILES if module in _imports(path, top_only=False, types=True)] == []


def test_no_two_packages_import_each_other_in_a_circle() -> None:
    """For any length of the circle: packages have an order in which each imports only those before it."""
    arrows: dict[str, set[str]] = {}
    for path in FILES:
        others = {other for other in _packages_imported(path) if (_named(path), other) not in DOORS}
        arrows.setdefault(_package(path), set()).update(others - {_package(path)})
    list(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the circle


def test_every_file_has_a_name_of_its_own() -> None:
    """One stem, one idea: no two modules of the package have the same file name."""
    stems = Counter(path.stem for path in FILES if not path.stem.startswith("__"))
    assert [stem for stem, number in stems.items() if number > 1] == []


def test_heavy_packages_are_imported_late() -> None:
    """Heavy third parties are imported inside functions."""
    early = {
        _named(path): heavy
        for path in FILES
        if (heavy := _packages(path, top_only=True) & HEAVY - HOME_OF_HEAVY.get(_named(path), set()))
    }
    assert early == {}


def test_a_pipeline_tool_is_imported_by_its_own_module_alone() -> None:
    """A user of one tool needs none of the others, and the rest of the package needs none at all."""
    used = {_named(path): tools for path in FILES if (tools := _packages(path) & TOOLS)}
    assert used
    assert {where for where, tools in used.items() if where != f"integrations/{''.join(tools)}.py"} == set()


def test_only_the_spark_engine_knows_spark() -> None:
    """PySpark is imported nowhere else, not even late."""
    folders = {path.parent for path in FILES if "pyspark" in _packages(path)}
    assert folders == {PACKAGE / "engines" / "spark"}


@pytest.mark.parametrize(
    ("checkers", "promises"),
    [
        ("central*.py", ("pure_central_dp", "noise_promises", "neighbouring_tables")),
        ("stated*.py", ("pure_central_dp", "noise_promises", "neighbouring_tables")),
        ("approximate*.py", ("approximate_dp", "pure_central_dp", "noise_promises", "neighbouring_tables")),
    ],
)
def test_a_loss_is_recounted_without_the_promise_that_claims_it(checkers: str, promises: tuple[str, ...]) -> None:
    """Nor through another file of the checks: the claimed loss is recounted from the file format alone."""
    waiting = sorted(PACKAGE.glob(f"checks/{checkers}"))
    assert waiting
    for path in waiting:  # grows while it is read
        names = [name for name in _imports(path, top_only=False) if name.startswith("anonkit.")]
        assert not {f"anonkit.promises.{promise}" for promise in (*promises, "promise_kinds")} & set(names), path.name
        inner = [PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names]
        waiting += [one for one in inner if one.parent.name == "checks" and one.exists() and one not in waiting]


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
