# SPDX-License-Identifier: Apache-2.0
"""Public names of anonkit, read from its sources: where each is defined, its signature and its docstring.

Sources are parsed and not imported, so that modules whose tools are not installed here (Airflow, Dagster, Prefect) are
read like all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDTH = 100
"""Letters of a signature that are on one line."""


@dataclass(frozen=True)
class Found:
    """A definition, and the module that it is in."""

    module: str
    node: ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
    doc: str
    """Its docstring; of an assignment the text below it."""


@cache
def tree(module: str) -> ast.Module:
    """Return a module of the package, parsed."""
    path = ROOT / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def is_module(name: str) -> bool:
    """Return whether a dotted name is a module of the package."""
    path = ROOT / Path(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def public_names(module: str) -> list[str]:
    """Return what a module offers: `__all__`, else what it defines without an underscore, in the order of the file."""
    body = tree(module).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(_listed(node.value, body))
    return [
        name
        for node, _ in _with_texts(body)
        for name in _names(node)
        if not name.startswith("_") and not isinstance(node, ast.Import | ast.ImportFrom)
    ]


def _listed(value: ast.expr, body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names of `__all__`, those of a mapping that it unpacks among them."""
    if isinstance(value, ast.Call):  # list(_HOME)
        value = value.args[0]
    if isinstance(value, ast.Name):
        (found,) = [
            one.value for one in body if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == value.id
        ]
        value = found
    for one in value.keys if isinstance(value, ast.Dict) else value.elts:  # type: ignore[attr-defined]
        if isinstance(one, ast.Starred):
            yield from _listed(one.value, body)
        else:
            yield ast.literal_eval(one)


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    return [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []


def _with_texts(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield statements with the text that is below each, those of `if` and `try` too."""
    flat: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.If | ast.Try):
            flat += node.body
        flat.append(node)
    for node, below in zip(flat, [*flat[1:], None], strict=True):
        text = ""
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            text = " ".join(below.value.value.split())
        yield node, text


def definition(module: str, name: str) -> Found | None:
    """Return what a name of a module means, wherever in the package it is defined; None for names of other packages."""
    for node, text in _with_texts(tree(module).body):
        if name in _names(node):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                return Found(module, node, ast.get_docstring(node) or "")
            if isinstance(node, ast.Assign | ast.AnnAssign):
                return Found(module, node, text)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "anonkit":
            for alias in node.names:
                if (alias.asname or alias.name) == name and not is_module(f"{node.module}.{alias.name}"):
                    return definition(str(node.module), alias.name)
    return None


def signature(node: ast.FunctionDef, name: str, *, method: bool = False) -> str:
    """Return how a function is called, with types and defaults; on one line where it fits."""
    arguments = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    if method and not any(ast.unparse(one) == "staticmethod" for one in node.decorator_list):
        (arguments.posonlyargs or arguments.args).pop(0)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    parts = list(_arguments(arguments))
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > WIDTH:
        line = f"{name}(\n{''.join(f'    {one},{chr(10)}' for one in parts)}){returned}"
    return line


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    """Yield the parts of a signature, as they are written."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    for number, (one, default) in enumerate(zip(plain, defaults, strict=True), 1):
        yield _argument(one, default)
        if number == len(arguments.posonlyargs):
            yield "/"
    if arguments.vararg:
        yield f"*{ast.unparse(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(one, default)
    if arguments.kwarg:
        yield f"**{ast.unparse(arguments.kwarg)}"


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    typed = ast.unparse(one)
    if default is None:
        return typed
    return f"{typed} = {ast.unparse(default)}" if one.annotation else f"{typed}={ast.unparse(default)}"


def fields(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """Return the public fields and members of a class: name, type with default, text."""
    found = []
    for one, text in _with_texts(node.body):
        (name,) = _names(one) if isinstance(one, ast.AnnAssign | ast.Assign) and len(_names(one)) == 1 else ("_",)
        if name.startswith("_") or not isinstance(one, ast.AnnAssign | ast.Assign):
            continue
        kind = ast.unparse(one.annotation) if isinstance(one, ast.AnnAssign) else ""
        default = ast.unparse(one.value) if one.value is not None and _is_informative(one.value) else ""
        found.append((name, " = ".join(filter(None, (kind, default))), text))
    return found


def _is_informative(value: ast.expr) -> bool:
    """Return whether a default informs the reader and is no machinery of fields."""
    return not isinstance(value, ast.Call)


def is_property(node: ast.FunctionDef) -> bool:
    """Return whether a function is a property and no method."""
    return any(ast.unparse(one).split(".")[-1] in ("property", "cached_property") for one in node.decorator_list)


def is_of_class(node: ast.FunctionDef) -> bool:
    """Return whether a method is called on the class, without an object."""
    return any(ast.unparse(one) in ("classmethod", "staticmethod") for one in node.decorator_list)


def is_dataclass(node: ast.ClassDef) -> bool:
    """Return whether a class is made of its fields."""
    return any(ast.unparse(one).startswith("dataclass") for one in node.decorator_list)


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Return the public methods and properties of a class, itself alone."""
    return [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]


def bases(found: Found) -> list[Found]:
    """Return the base classes that anonkit defines, the nearest first, and theirs."""
    own: list[Found] = []
    for base in found.node.bases if isinstance(found.node, ast.ClassDef) else ():
        one = definition(found.module, ast.unparse(base).split("[")[0])
        if one is not None:
            own += [one, *bases(one)]
    return own


def returned_classes(found: Found) -> Iterator[Found]:
    """Yield the classes of anonkit that a function, or a method of a class, says it returns."""
    functions = methods(found.node) if isinstance(found.node, ast.ClassDef) else [found.node]
    for function in functions:
        if isinstance(function, ast.FunctionDef) and function.returns is not None:
            for part in ast.walk(function.returns):
                one = definition(found.module, part.id) if isinstance(part, ast.Name) else None
                if one is not None and isinstance(one.node, ast.ClassDef) and not one.node.name.startswith("_"):
                    yield one
