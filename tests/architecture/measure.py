"""Measure the package: `python tests/architecture/measure.py [--tree CHECKOUT] [--walk METHOD ...] [--times N]`.

Prints one table of figures for the tree that contains it, or for any other checkout of the project, old ones too:
sizes, names at the top, stems used twice, dependencies between the names at the top, arguments, files that test a
promise's kind (`package_figures.py` defines these counts), and walks, from a small release of each of some methods
(`walks.py` defines a walk).
`--walk METHOD` prints the walks of one method, stay by stay; `--times N` adds import times, the best of N.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from architecture.package_figures import PackageFigures
from architecture.walks import ColumnReads, Follower, Tables, Tracer, Walk, named

METHODS: dict[str, dict[str, Any]] = {
    "rfka": {"k": 5, "trees": 20},
    "mondrian": {"k": 5},
    "rr": {"epsilon": 3.984375},
    "ppnb": {"p_keep": 0.5},
    "dp-forest": {"epsilon": 3.984375},
    "dp-nb": {"epsilon": 3.984375},
}
"""Methods whose releases are traced, with parameters that make them quick."""

COLUMNS = ("column_of_texts", "column_of_numbers")
"""The columns that are followed: one with declared categories and a hierarchy, one with bounds and bin widths.

No word of the package is called so.
"""


# --- walks -----------------------------------------------------------------------------------------------------------


def _table(n_rows: int = 300) -> Any:
    import pyarrow as pa

    return pa.table(
        {
            "column_of_numbers": [20 + (7 * row) % 50 for row in range(n_rows)],
            "column_of_texts": ["abcd"[(row * row // 3) % 4] for row in range(n_rows)],
            "third_column": ["xy"[row % 2] for row in range(n_rows)],
            "class_column": ["yes" if (row * row) % 4 > 1 or row % 7 == 0 else "no" for row in range(n_rows)],
        }
    )


def _policy(anonkit: Any) -> Any:
    tree = tuple((value, group, "*") for value, group in zip("abcd", ("ab", "ab", "cd", "cd"), strict=True))
    declared = (
        anonkit.Column(name="column_of_numbers", bounds=(0.0, 100.0), ladder=(5.0, 10.0, 20.0)),
        anonkit.Column(name="column_of_texts", categories=("a", "b", "c", "d"), tree=tree),
        anonkit.Column(name="third_column", categories=("x", "y")),
        anonkit.Column(name="class_column", role=anonkit.Role.TARGET, categories=("no", "yes")),
    )
    return anonkit.Policy(columns={each.name: each for each in declared})


def walks_of(tree: Path, method_name: str) -> dict[str, Walk]:
    """Release a small table by one method of a tree under the profiler; return the walks by the names of the values.

    One process can trace one tree only: its package is imported.
    """
    if str(tree) not in sys.path:
        sys.path.insert(0, str(tree))
    anonkit = importlib.import_module("anonkit")
    package = Path(str(anonkit.__file__)).parent
    if package.resolve() != (tree / "anonkit").resolve():
        raise RuntimeError("another tree is imported already: a process traces one")
    parameters = METHODS[method_name]
    method = importlib.import_module("anonkit.methods").make_method(method_name, parameters, None)
    start = type(method).release.__code__
    homes = frozenset(str(sys.modules[each.__module__].__file__) for each in (anonkit.Column, anonkit.Policy))
    columns = {
        (name, where): Follower(f"{name}, {where}", package, named(name), levels=3, start=begins, homes=homes)
        for name in COLUMNS
        for where, begins in (("in the method", start), ("in the release", None))
    }
    with tempfile.TemporaryDirectory() as folder:
        import pyarrow.csv

        pyarrow.csv.write_csv(_table(), Path(folder) / "in.csv")
        tables = Tables(str(Path(folder) / "in.csv"))
        asked = parameters.get("epsilon")
        others = [
            Follower("source", package, tables, homes=frozenset({str(package / "engines/snapshots/addresses.py")})),
            Follower("method", package, lambda value: value is method),
            *([Follower("epsilon", package, lambda value: type(value) is float and value == asked)] if asked else []),
        ]
        reads = {name: [columns[name, where] for where in ("in the method", "in the release")] for name in COLUMNS}
        tracer = Tracer(package, [*columns.values(), *others], tables, start)
        declared, output, ledger = _policy(anonkit), Path(folder) / "out.parquet", Path(folder) / "ledger.sqlite"
        given = {"method": method, "policy": declared, "output": output, "ledger": ledger, "seed": 1}
        with ColumnReads(anonkit.Column, package, reads, homes):
            tracer.run(lambda: anonkit.release(tables.first, **given))
    return {follower.value: follower.walk for follower in (*columns.values(), *others)}


def _print_walk(walk: Walk) -> None:
    print(f"\n{walk.value}: {len(walk.stays)} stays, {len(walk.files)} files, {len(walk.climbs)} climbs")
    climbs = set(map(id, walk.climbs))
    for stay in walk.stays:
        print(f"  {'^' if id(stay) in climbs else ' '} {'  ' * stay.depth}{stay.file} {stay.function}")
    print(f"  files: {' '.join(walk.files)}")
    if walk.askers:
        print("  asked for its domain by:", ", ".join(f"{asker} ({n})" for asker, n in walk.askers.items()))


# --- times -----------------------------------------------------------------------------------------------------------


def times(tree: Path, repeats: int) -> dict[str, float]:
    """Return the seconds of `import anonkit`, by Python's own clock, and of `anonkit --help`: the best of some runs."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    imports, helps = [], []
    for _ in range(repeats):
        command = [sys.executable, "-X", "importtime", "-c", "import anonkit"]
        done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True, check=True)
        found = re.search(r"\|\s*(\d+) \| anonkit$", done.stderr, re.MULTILINE)
        if found is None:
            raise RuntimeError("Python told no import time")
        imports.append(int(found[1]) / 1e6)
        start = time.perf_counter()
        command = [sys.executable, "-m", "anonkit", "--help"]
        subprocess.run(command, env=environment, cwd=tree, capture_output=True, check=True)
        helps.append(time.perf_counter() - start)
    return {"import anonkit, s": round(min(imports), 4), "anonkit --help, s": round(min(helps), 3)}


# --- the table -------------------------------------------------------------------------------------------------------


def figures(tree: Path) -> Iterator[tuple[str, object, str]]:
    """Yield the figures that are read from the files of a tree: what, how many, and which."""
    package = PackageFigures(tree / "anonkit")
    top = package.names_at_the_top
    yield (
        "names at the top",
        len(top),
        f"{len(package.modules_at_the_top)} modules, {len(package.packages_at_the_top)} packages",
    )
    yield "packages at any depth", package.packages, ""
    for what, value in package.sizes().items():
        yield what, value, ""
    stems = package.stems_used_twice
    yield "stems used twice", len(stems), " ".join(stems)
    yield (
        "dependencies between names at the top",
        len(package.dependencies),
        f"{len(package.imports)} imports between files",
    )
    for layer in ("checks", "consumers"):
        makers = package.imports_of_makers(layer)
        yield (
            f"imports of makers in {layer}/",
            sum(makers.values()),
            " ".join(f"{name} {n}" for name, n in makers.items()),
        )
    yield "arguments of release", package.arguments_of("release"), ""
    yield "arguments of apply", package.arguments_of("apply"), ""
    name, widest = package.widest_of_the_main_path()
    yield "arguments of the widest function of the main path", widest, name
    yield "arguments of the command `release`", package.arguments_of_command("release"), ""
    tests = package.tests_of_kinds
    yield (
        "files that test a promise's kind",
        len(tests),
        " ".join(f"{file}({len(lines)})" for file, lines in tests.items()),
    )
    datafly = package.file_named("datafly")
    lines = "no such file" if datafly is None else f"{datafly.code_lines} of them code"
    yield "lines of datafly", 0 if datafly is None else datafly.lines, lines


def walk_figures(tree: Path) -> Iterator[tuple[str, object, str]]:
    """Yield the figures of the walks, each method traced in a process of its own."""
    for method in METHODS:
        command = [sys.executable, __file__, "--tree", str(tree), "--walk", method, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for value, walk in json.loads(done.stdout).items():
            more = (
                f"{walk['top_level']} names at the top, {walk['stays']} stays, {walk['climbs']} climbs "
                f"({walk['hands_on']} hand it on)"
                + (f"; asked for its domain {walk['asked']} times by {walk['askers']}" if "column" in value else "")
            )
            yield f"{method}: {value}", f"{walk['files']} files", more


def summary(walk: Walk) -> dict[str, int]:
    """Return the numbers of a walk."""
    return {
        "files": len(walk.files),
        "top_level": len(walk.top_level_names),
        "stays": len(walk.stays),
        "climbs": len(walk.climbs),
        "hands_on": walk.hands_on,
        "askers": len(walk.askers),
        "asked": sum(walk.askers.values()),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[2], help="a checkout")
    parser.add_argument("--walk", choices=sorted(METHODS), help="print the walks of one method, stay by stay")
    parser.add_argument("--json", action="store_true", help="with --walk: its numbers, for another program")
    parser.add_argument("--times", type=int, default=0, metavar="N", help="add import times, the best of N")
    parser.add_argument("--no-walks", action="store_true", help="only what is read from the files")
    asked = parser.parse_args()
    tree = asked.tree.resolve()
    if asked.walk:
        walks = walks_of(tree, asked.walk)
        if asked.json:
            print(json.dumps({value: summary(walk) for value, walk in walks.items()}))
        else:
            for walk in walks.values():
                _print_walk(walk)
        return
    for what, value, which in figures(tree):
        print(f"{what:52s} {value!s:>9s}  {which}".rstrip())
    if not asked.no_walks:
        for what, value, which in walk_figures(tree):
            print(f"{what:52s} {value!s:>9s}  {which}".rstrip())
    for what, seconds in (times(tree, asked.times) if asked.times else {}).items():
        print(f"{what:52s} {seconds:>9}")


if __name__ == "__main__":
    main()
