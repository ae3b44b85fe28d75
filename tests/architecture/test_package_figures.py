"""The package stays one that a newcomer can learn: each figure of `measure.py` that was agreed on has an upper limit.

A change may lower a limit and never raise it: more names, arguments or climbs need a new layout first.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from architecture.measure import COLUMNS, walks_of
from architecture.package_figures import PackageFigures
from architecture.walks import Walk

TREE = Path(__file__).parents[2]

LIMITS: dict[str, tuple[int, int]] = {
    # figure: (limit today, what it shall become)
    "names at the top": (30, 27),  # utility: measures that were in checks, consumers and estimators
    "dependencies between names at the top": (201, 167),  # utility has arrows of its own: from all that measure models
    "stems used twice": (0, 0),
    "files that test a promise's kind": (0, 0),
    "imports of makers in checks": (0, 0),
    "imports of makers in consumers": (0, 0),
    "widest function of the main path": (6, 6),
    "rfka: files a column enters": (22, 12),
    "rfka: climbs of the source": (27, 6),
    "rfka: times a column is asked for its domain": (5, 1),
    "dp-forest: times a column is asked for its domain": (1, 1),
    "rr: times a column is asked for its domain": (1, 1),
}


@cache
def _package_figures() -> PackageFigures:
    return PackageFigures(TREE / "anonkit")


@cache
def _walks(method: str) -> dict[str, Walk]:
    return walks_of(TREE, method)


def _in_the_method(method: str) -> list[Walk]:
    return [_walks(method)[f"{column}, in the method"] for column in COLUMNS]


def _figure(what: str) -> int:
    package = _package_figures()
    method, _, of_walks = what.partition(": ")
    match of_walks or what:
        case "names at the top":
            return len(package.names_at_the_top)
        case "dependencies between names at the top":
            return len(package.dependencies)
        case "stems used twice":
            return len(package.stems_used_twice)
        case "files that test a promise's kind":
            return len(package.tests_of_kinds)
        case "imports of makers in checks" | "imports of makers in consumers":
            return sum(package.imports_of_makers(what.rpartition(" ")[2]).values())
        case "widest function of the main path":
            return package.widest_of_the_main_path()[1]
        case "files a column enters":
            return max(len(walk.files) for walk in _in_the_method(method))
        case "climbs of the source":
            return len(_walks(method)["source"].climbs)
        case "times a column is asked for its domain":
            return max(sum(walk.askers.values()) for walk in _in_the_method(method))
    raise LookupError(what)


@pytest.mark.parametrize("what", LIMITS)
def test_no_figure_of_the_package_grows(what: str) -> None:
    """Names at the top, double stems, arguments, tests of a promise's kind and walks stay within their limits."""
    limit, target = LIMITS[what]

    assert _figure(what) <= limit, f"{what}: at most {limit} (it shall become {target})"
