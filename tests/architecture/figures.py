"""Figures of the tree at two commits side by side: `python tests/architecture/figures.py BEFORE [AFTER]`.

Without AFTER it is the files as they are. Nothing of the tree is imported, so that one script measures any commit.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from statistics import median

TREE = Path(__file__).parents[2]

_KEYS = (
    *("trees", "mixtures", "measurements", "scores", "histograms", "rule", "recoding", "draw"),
    *("accounting", "account", "asked_column", "weights", "calibration"),
)
_BRANCH = re.compile(
    rf'"({"|".join(_KEYS)})" (not )?in params|facts\.method|params(\.get\(|\[)"(format|method)"',
)
"""Branches of a check on which key is in the params, or which method made the release."""
_CONVERTER = re.compile(r"(to|from)_(public_params|params|dict|json|list|text|bytes)")
"""Names of functions that write a value as a document, or read it from one."""
CALLS = ("release", "apply", "compare")


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(tree: Path) -> list[Path]:
    """Return the Python files of the package below a tree."""
    return sorted((tree / "anonkit").rglob("*.py"))


def _lines(folder: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*.py"))


def modules_without_test(tree: Path) -> list[str]:
    """Return the modules without a test file called after them below the tests of their package.

    The test of `anonkit/a/b/module.py` is `test_module.py` or `test_b_module.py` somewhere below `tests/a`; that of
    `anonkit/module.py` is `tests/test_module.py`, or below a folder of that name.
    """
    tests: dict[str, set[str]] = {}
    for path in (tree / "tests").rglob("test_*.py"):
        top = path.relative_to(tree / "tests").parts
        tests.setdefault(top[0] if len(top) > 1 else "", set()).add(path.stem)
    missing = []
    for path in modules(tree):
        parts = path.relative_to(tree / "anonkit").with_suffix("").parts
        if path.stem.startswith("__"):
            continue
        places = (parts[0],) if len(parts) > 1 else ("", path.stem)
        names = {f"test_{path.stem}", f"test_{path.parent.name}_{path.stem}"}
        if not any(names & tests.get(place, set()) for place in places):
            missing.append("/".join(parts))
    return missing


def converters(tree: Path) -> Iterator[str]:
    """Yield each function that writes a value as a document, or reads it from one, by hand.

    A declared value inherits its converters from `documents.py`, so those there are not by hand. The methods of a
    protocol have no code: each class that has the method is counted itself.
    """
    for path in modules(tree):
        if path != tree / "anonkit" / "documents.py":
            for node in ast.walk(_parsed(path)):
                if isinstance(node, ast.FunctionDef) and _CONVERTER.fullmatch(node.name) and not _is_stub(node):
                    yield f"{path.relative_to(tree)}:{node.lineno} {node.name}"


def _is_stub(node: ast.FunctionDef) -> bool:
    """Return True if a function has nothing but a docstring and an ellipsis."""
    return all(isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) for line in node.body)


def _parameters(tree: Path, call: str) -> int:
    """Return the number of named parameters of a public call: the widest function of this name at a module's top."""
    found = [
        len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
        for path in modules(tree)
        if path.parent.name in ("pipeline", "comparing")
        for node in _parsed(path).body
        if isinstance(node, ast.FunctionDef) and node.name == call
    ]
    return max(found, default=0)


def _docstrings(tree: ast.Module) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _named_methods(tree: Path) -> int:
    """Return how often a check has the name of a method as a string, docstrings aside."""
    names = {path.stem.replace("_", "-") for path in (tree / "anonkit" / "methods").glob("[!_]*.py")}
    return sum(
        isinstance(node, ast.Constant) and node.value in names and id(node) not in _docstrings(_parsed(path))
        for path in (tree / "anonkit" / "checks").rglob("*.py")
        for node in ast.walk(_parsed(path))
    )


def figures(tree: Path) -> Mapping[str, float]:
    """Return the figures of a tree by what they count."""
    sizes = [len(path.read_text(encoding="utf-8").splitlines()) for path in modules(tree)]
    checks = [path.read_text(encoding="utf-8") for path in (tree / "anonkit" / "checks").rglob("*.py")]
    classes = Counter(
        node.name
        for path in modules(tree)
        for node in _parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {
        "lines of the package": sum(sizes),
        "lines of checks": _lines(tree / "anonkit" / "checks"),
        "lines of tests": _lines(tree / "tests"),
        "lines of recipes": _lines(tree / "recipes"),
        "files of the package": len(sizes),
        "lines of the median file": median(sizes),
        "lines of the longest file": max(sizes),
        "branches of checks on a method or key": sum(
            len([line for line in text.splitlines() if _BRANCH.search(line)]) for text in checks
        ),
        "names of methods as strings in checks": _named_methods(tree),
        **{f"named parameters of {call}": _parameters(tree, call) for call in CALLS},
        "hand-written converters": len(list(converters(tree))),
        "modules without a findable test": len(modules_without_test(tree)),
        "public class names used twice or more": sum(number > 1 for number in classes.values()),
    }


def exported(commit: str, folder: Path) -> Path:
    """Write the Python files of a commit below a folder, and return it."""
    packed = subprocess.run(["git", "archive", commit], cwd=TREE, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, [one for one in archive if one.name.endswith(".py")], filter="data")
    return folder


def main(words: list[str]) -> None:
    """Print the figures of two commits, or of one and the files as they are."""
    if not 1 <= len(words) <= 2:
        raise SystemExit("usage: python tests/architecture/figures.py BEFORE [AFTER]")
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        before = figures(exported(words[0], Path(first)))
        after = figures(exported(words[1], Path(second)) if words[1:] else TREE)
    print(f"{'':40} {words[0][:12]:>12} {words[1][:12] if words[1:] else 'now':>12}")
    for what, number in before.items():
        print(f"{what:40} {number:12,g} {after[what]:12,g}")


if __name__ == "__main__":
    main(sys.argv[1:])
