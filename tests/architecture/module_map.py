"""Write the table of layers in docs/explanation/architecture.md, and docs/reference/modules.md: `python` this file.

Packages by layer, the first line of every module, and the files a method is made of: nobody edits these by hand.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "anonkit"
PAGES = (ROOT / "docs" / "explanation" / "architecture.md", ROOT / "docs" / "reference" / "modules.md")
UPDATE = "out of date: python tests/architecture/module_map.py"

MATHEMATICS = ("mechanisms", "estimators", "published")
FAMILIES = ("k_anonymity", "randomized_response", "dp_trees")


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def first_line(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(parsed(path)) or "").partition("\n")[0]


def module_files() -> list[Path]:
    """Return all modules of the package, a package before its subpackages."""
    return sorted(PACKAGE.rglob("*.py"), key=lambda path: (path.parent.relative_to(PACKAGE).parts, path.stem))


def packages() -> dict[str, Path]:
    """Return the packages and modules at the top, and the file whose first line says what each is for."""
    folders = {path.parent.name: path for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.stem: path for path in PACKAGE.glob("*.py") if path.stem != "__init__"}


def layer_table(layers: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """Yield the lines of the table of packages, the lowest layer last."""
    yield "| layer | package | what it is for |"
    yield "| --- | --- | --- |"
    for number, names in reversed(list(enumerate(layers, start=1))):
        for name in names:
            path = packages()[name]
            shown = f"{name}/" if path.name == "__init__.py" else f"{name}.py"
            yield f"| {number} | `{shown}` | {_cell(first_line(path))} |"


def method_table() -> Iterator[str]:
    """Yield the lines that tell which files each method reaches; methods that reach the same ones share a line."""
    yield "| methods | files of their family | mathematics, and what is published |"
    yield "| --- | --- | --- |"
    made_of: dict[tuple[str, str], list[str]] = {}
    for path in sorted((PACKAGE / "methods").glob("*.py")):
        if path.stem != "__init__":
            reached = reached_from(path)
            parts = (_listed(reached, FAMILIES), _listed(reached, MATHEMATICS))
            made_of.setdefault(parts, []).append(f"`{path.stem}`")
    for parts, methods in made_of.items():
        yield f"| {', '.join(methods)} | {parts[0]} | {parts[1]} |"


def reached_from(path: Path) -> set[Path]:
    """Return the files that a method imports, directly or not, in other methods, in families and in mathematics."""
    reached, waiting = {path}, [path]
    while waiting:
        for other in _imported(waiting.pop()):
            if other not in reached and other.relative_to(PACKAGE).parts[0] in ("methods", *FAMILIES, *MATHEMATICS):
                reached.add(other)
                waiting.append(other)
    return reached


@cache
def _imported(path: Path) -> list[Path]:
    """Return the files of the package that a file imports; every method that reaches it asks."""
    found: list[Path] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anonkit."):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                place = ROOT.joinpath(*str(name).split("."))
                found += [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.exists()]
    return found


def _listed(files: set[Path], among: tuple[str, ...]) -> str:
    own = [path for path in sorted(files) if path.relative_to(PACKAGE).parts[0] in among and path.stem != "__init__"]
    return f"{len(own)}: {', '.join(path.stem for path in own)}" if own else "none"


def module_list() -> Iterator[str]:
    """Yield the first line of every module, package by package."""
    package = ""
    for path in module_files():
        inside = path.parent.relative_to(PACKAGE).as_posix()
        if inside != package:
            package = inside
            yield ""
            yield "### At the top" if package == "." else f"### `{package}/`"
            yield ""
        yield f"* `{path.name}`: {first_line(path)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten(page: str, layers: tuple[tuple[str, ...], ...]) -> str:
    """Return a page with its generated parts as the package has them today."""
    parts = {"packages": layer_table(layers), "methods": method_table(), "modules": module_list()}
    for name, lines in parts.items():
        before, start, rest = page.partition(f"<!-- {name}: python tests/architecture/module_map.py -->\n")
        if start:
            _, end, after = rest.partition(f"<!-- end of {name} -->")
            assert end, f"the page has lost the end of its {name}"
            page = before + start + "\n" + "\n".join(lines).strip("\n") + "\n\n" + end + after
    return page


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    from test_imports import LAYERS

    for written in PAGES:
        written.write_text(rewritten(written.read_text(encoding="utf-8"), LAYERS), encoding="utf-8")
