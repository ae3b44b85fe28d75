"""Write the generated parts of docs/explanation/architecture.md from the package itself: `python` this file.

Rooms by row, the first line of every module, and the files a method is made of: nobody edits these by hand.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "anonkit"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
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
    """Return all modules of the package, rooms before what stands in them."""
    return sorted(PACKAGE.rglob("*.py"), key=lambda path: (path.parent.relative_to(PACKAGE).parts, path.stem))


def rooms() -> dict[str, Path]:
    """Return the rooms at the top of the package and the file whose first line tells what each is for."""
    packages = {path.parent.name: path for path in PACKAGE.glob("*/__init__.py")}
    files = {path.stem: path for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    return packages | files


def room_table(rows: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    """Yield the lines of the table of rooms, the lowest row last."""
    yield "| row | room | what it is for |"
    yield "| --- | --- | --- |"
    for number, names in reversed(list(enumerate(rows, start=1))):
        for name in names:
            path = rooms()[name]
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
    """Yield the lines that tell the first line of every module, room by room."""
    room = ""
    for path in module_files():
        inside = path.parent.relative_to(PACKAGE).as_posix()
        if inside != room:
            room = inside
            yield ""
            yield "### At the top" if room == "." else f"### `{room}/`"
            yield ""
        yield f"* `{path.name}`: {first_line(path)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten(page: str, rows: tuple[tuple[str, ...], ...]) -> str:
    """Return the page with its three generated parts as the package has them today."""
    parts = {"rooms": room_table(rows), "methods": method_table(), "modules": module_list()}
    for name, lines in parts.items():
        before, start, rest = page.partition(f"<!-- {name}: python tests/architecture/module_map.py -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        assert start, f"the page has lost the place of its {name}"
        assert end, f"the page has lost the end of its {name}"
        page = before + start + "\n" + "\n".join(lines).strip("\n") + "\n\n" + end + after
    return page


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))
    from test_imports import ROWS

    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), ROWS), encoding="utf-8")
