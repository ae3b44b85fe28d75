"""Figures of a tree that are read from its files: sizes, names, dependencies, arguments, kinds of promises.

Nothing is imported from the tree, and no path in it is known beforehand, so that one script measures any commit.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MAKERS = frozenset(
    {
        *("methods", "k_anonymity", "randomized_response", "mechanisms"),
        *("central_release", "trees", "recoding", "dp_trees"),
    }
)
"""Names at the top, in any commit, under which promises are made: checks and consumers of a release import none."""

CHECKERS = "checks/promise_checkers.py"
"""The one table outside the promises that may have a line for each kind."""


@dataclass(frozen=True)
class File:
    """One Python file of the package, parsed."""

    path: Path
    package: Path

    @property
    def name(self) -> str:
        """Its path below the package."""
        return self.path.relative_to(self.package).as_posix()

    @property
    def top_level(self) -> str:
        """The module or package at the top of the package that contains it."""
        return self.path.relative_to(self.package).with_suffix("").parts[0]

    @property
    def module(self) -> tuple[str, ...]:
        """Its dotted name, from the package on."""
        parts = self.path.relative_to(self.package).with_suffix("").parts
        return parts[:-1] if parts[-1] == "__init__" else parts

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of its syntax tree."""
        return list(ast.walk(self.tree))

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def docstring_lines(self) -> int:
        """Lines of docstrings, also those below fields and constants."""
        return sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in self.nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )

    @cached_property
    def comment_lines(self) -> int:
        """Lines with a comment, but for the licence's."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        comments = [token for token in tokens if token.type == tokenize.COMMENT]
        return len({token.start[0] for token in comments if "SPDX" not in token.string})

    @cached_property
    def code_lines(self) -> int:
        """Lines that hold anything but a comment or a docstring."""
        documented = {
            line
            for node in self.nodes
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        empty = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        filled = {
            line for token in tokens if token.type not in empty for line in range(token.start[0], token.end[0] + 1)
        }
        return len(filled - documented)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Yield every function and method of the file."""
        yield from (node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the named arguments of a function; neither `self` nor what `*` and `**` take."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


@dataclass(frozen=True)
class PackageFigures:
    """The package of a tree, read."""

    package: Path

    @cached_property
    def files(self) -> list[File]:
        return [File(path, self.package) for path in sorted(self.package.rglob("*.py"))]

    @property
    def modules_at_the_top(self) -> list[str]:
        """Modules at the top of the package, without its `__init__`."""
        return [
            file.top_level for file in self.files if file.path.parent == self.package and file.top_level != "__init__"
        ]

    @property
    def packages_at_the_top(self) -> list[str]:
        """Folders of modules at the top of the package."""
        return sorted(path.parent.name for path in self.package.glob("*/__init__.py"))

    @property
    def names_at_the_top(self) -> list[str]:
        """The modules and packages that a newcomer meets first, without `__init__`, `__main__` and data."""
        return [name for name in (*self.modules_at_the_top, *self.packages_at_the_top) if name != "__main__"]

    @property
    def packages(self) -> int:
        """Folders of modules at any depth, the package itself not counted."""
        return len(list(self.package.glob("*/**/__init__.py")))

    @property
    def stems_used_twice(self) -> dict[str, list[str]]:
        """File names that two modules share; a command's file is named after the command and counts."""
        places = defaultdict(list)
        for file in self.files:
            if not file.path.stem.startswith("__"):
                places[file.path.stem].append(file.name)
        return {stem: names for stem, names in sorted(places.items()) if len(names) > 1}

    def sizes(self) -> dict[str, float]:
        """Return the number of files and lines, median and largest file, and shares of lines in percent."""
        lines = [file.lines for file in self.files]
        total = sum(lines)
        return {
            "files": len(lines),
            "lines": total,
            "median file, lines": statistics.median(lines),
            "largest file, lines": max(lines),
            "docstrings, % of lines": round(100 * sum(file.docstring_lines for file in self.files) / total, 1),
            "comments, % of lines": round(100 * sum(file.comment_lines for file in self.files) / total, 1),
        }

    # --- dependencies ------------------------------------------------------------------------------------------------

    @cached_property
    def _modules(self) -> dict[tuple[str, ...], File]:
        return {file.module: file for file in self.files}

    def _imports(self, file: File) -> set[tuple[str, ...]]:
        """Return the modules of the package that a file imports, late and for its types too."""
        found: set[tuple[str, ...]] = set()
        for node in file.nodes:
            if isinstance(node, ast.Import):
                names = [tuple(alias.name.split(".")) for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                base = tuple(node.module.split("."))
                inner = [(*base, alias.name) for alias in node.names]
                modules = [name for name in inner if name[1:] in self._modules]
                names = modules if len(modules) == len(inner) else [base, *modules]
            else:
                continue
            found |= {name[1:] for name in names if name[0] == self.package.name and len(name) > 1}
        return {name for name in found if name in self._modules}

    @cached_property
    def imports(self) -> list[tuple[File, File]]:
        """Every (file, file of the package that it imports), once each."""
        return [
            (file, self._modules[name]) for file in self.files for name in sorted(self._imports(file)) if file.module
        ]

    @property
    def dependencies(self) -> set[tuple[str, str]]:
        """Every (name at the top, other name at the top that it imports)."""
        return {(file.top_level, other.top_level) for file, other in self.imports if file.top_level != other.top_level}

    def imports_of_makers(self, layer: str) -> Counter[str]:
        """Count the imports of `MAKERS` in the files of one name at the top."""
        return Counter(
            other.top_level
            for file, other in self.imports
            if file.top_level == layer and other.top_level in MAKERS - {layer}
        )

    # --- arguments ---------------------------------------------------------------------------------------------------

    def _home_of(self, name: str) -> File:
        """Return the file that defines a public function, as the face of the package imports it."""
        face = next(file for file in self.files if file.module == ())
        for node in ast.walk(face.tree):
            if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
                home = self._modules[tuple(node.module.split("."))[1:]]
                if any(function.name == name for function in home.functions()):
                    return home
        raise LookupError(f"the face of the package imports no function {name!r}")

    def arguments_of(self, name: str) -> int:
        """Count the named arguments of a public function."""
        return next(arguments(each) for each in self._home_of(name).functions() if each.name == name)

    def widest_of_the_main_path(self) -> tuple[str, int]:
        """Return the function with most arguments beside those of the face, in the package that defines `release`."""
        home = self._home_of("release")
        functions = [
            (file, function)
            for file in self.files
            if file.top_level == home.top_level
            for function in file.functions()
            if function.name not in ("release", "apply", "risk", "validate", "__init__")
        ]
        file, widest = max(functions, key=lambda pair: arguments(pair[1]))
        return f"{file.name}:{widest.name}", arguments(widest)

    def arguments_of_command(self, name: str) -> int:
        """Count the arguments of a command of the command line: the widest function of its file."""
        file = next(file for file in self.files if file.top_level == "cli" and file.path.stem == name)
        return max(arguments(function) for function in file.functions())

    def file_named(self, stem: str) -> File | None:
        """Return the file with a stem, if there is one."""
        return next((file for file in self.files if file.path.stem == stem), None)

    # --- promises ----------------------------------------------------------------------------------------------------

    @cached_property
    def promises(self) -> dict[str, File]:
        """Return the classes of promises and the files that define them: they state a kind and a promise."""
        return {
            node.name: file
            for file in self.files
            for node in file.nodes
            if isinstance(node, ast.ClassDef)
            and _states_a_kind(node)
            and any(isinstance(each, ast.FunctionDef) and each.name in ("statement", "formal") for each in node.body)
        }

    @cached_property
    def kinds(self) -> set[str]:
        """The words by which the files of a release name the kinds of promises."""
        return {
            each.value.value
            for file in self.promises.values()
            for node in file.nodes
            if isinstance(node, ast.ClassDef) and node.name in self.promises
            for each in node.body
            if isinstance(each, ast.AnnAssign)
            and ast.unparse(each.target) == "kind"
            and isinstance(each.value, ast.Constant)
            and isinstance(each.value.value, str)
        }

    @property
    def tests_of_kinds(self) -> dict[str, list[int]]:
        """Return the files that test the kind of a promise, and the lines in which they do.

        The files that define promises and the folder which holds nothing else but them are left out, and the one table
        that names the checker of each kind, since files are checked by code that no promise may bring along. A test is
        `isinstance`, `issubclass` or a `case` with a class of promises; `getattr(promise, …)`; a comparison of
        `.kind`, `["kind"]` or `.get("kind")`, or of a name in which it was put, with a kind; a lookup by the kind;
        and a display that names two kinds or more, by their classes or words.
        """
        homes = {file.path for file in self.promises.values()}
        folders = {path.parent for path in homes if path.parent != self.package}
        tests = {
            file.name: sorted({node.lineno for node in file.nodes if self._tests_a_kind(node)})
            for file in self.files
            if file.path not in homes and file.path.parent not in folders and file.name != CHECKERS
        }
        return {name: lines for name, lines in tests.items() if lines}

    def _tests_a_kind(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("isinstance", "issubclass"):
                return self._names_promises(node.args[1]) > 0
            if node.func.id in ("getattr", "hasattr"):
                return _is_of_a_promise(node.args[0])
        if isinstance(node, ast.MatchClass):
            return self._names_promises(node.cls) > 0
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = any(map(self._is_kind, sides)) or any(_is_no_promise(side) for side in sides)
            return named and any(_reads_kind(side) for side in sides)
        if isinstance(node, ast.Subscript):
            return _reads_kind(node.slice) and _is_of_a_promise(node.slice)
        if isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict):
            parts = [key for key in node.keys if key] if isinstance(node, ast.Dict) else node.elts
            return sum(map(self._is_kind, parts)) > 1
        return False

    def _names_promises(self, node: ast.expr) -> int:
        return sum(isinstance(each, ast.Name) and each.id in self.promises for each in ast.walk(node))

    def _is_kind(self, node: ast.expr) -> bool:
        """Return whether an expression is a class of promises, its `kind`, or the word for it, under a name or not."""
        if isinstance(node, ast.Constant):
            return node.value in self.kinds - {"none"}
        if isinstance(node, ast.Attribute):
            return node.attr == "kind" and self._names_promises(node.value) > 0
        return isinstance(node, ast.Name) and (node.id in self.promises or node.id in ("CENTRAL", "LOCAL"))


def _states_a_kind(node: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "kind" and isinstance(each.value, ast.Constant)
        for each in node.body
    )


def _is_no_promise(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "none"


def _is_of_a_promise(node: ast.expr) -> bool:
    return re.search(r"promise|guarantee|block\b", ast.unparse(node)) is not None


def _reads_kind(node: ast.expr) -> bool:
    """Return whether an expression reads the kind of something: `x.kind`, `x["kind"]`, `x.get("kind")`, or `kind`."""
    if isinstance(node, ast.Attribute):
        return node.attr == "kind"
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "kind"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        return isinstance(node.args[0], ast.Constant) and node.args[0].value == "kind"
    return isinstance(node, ast.Name) and node.id == "kind"
