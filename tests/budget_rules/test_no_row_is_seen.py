"""No function of the budget rules can see a row: by what they import, and by the types of all that they take."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import anonkit.budget_rules

PACKAGE = Path(anonkit.budget_rules.__file__).parent
MODULES = [import_module(f"anonkit.budget_rules.{found.name}") for found in pkgutil.iter_modules([str(PACKAGE)])]
ALLOWED = {"int", "float", "bool", "str", "None", "Fraction", "tuple", "list", "Sequence", "Iterable", "Mapping", "..."}
"""Types of public facts and published values, and containers of them: no array, no table, no source of rows."""
NUMPY = {"arange", "argsort", "array", "asarray", "cumsum", "float64", "hypot", "int64", "mean", "minimum", "ndarray"}
NUMPY |= {"nonzero", "outer", "sort", "sqrt", "full", "triu_indices"}
"""Functions of numpy that a rule may call: arithmetic on its own numbers, and nothing that reads or loads."""
READS = {"open", "eval", "exec", "getattr", "vars", "globals", "__import__", "compile", "input"}


def aliases(module: ModuleType) -> dict[str, Any]:
    """The names of types that a module defines by itself, such as a pair of columns."""
    return {name: own for name, own in vars(module).items() if typing.get_origin(own) is not None}


def names_of(annotation: ast.expr | None, module: ModuleType) -> Iterator[str]:
    """Every name of an annotation, those of aliases taken apart."""
    assert annotation is not None, f"{module.__name__} has a parameter of no stated type"
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            own = aliases(module).get(node.id)
            yield from [node.id] if own is None else names_of(ast.parse(str(own), mode="eval").body, module)
        elif isinstance(node, ast.Attribute):
            yield node.attr


def classes() -> set[str]:
    """The classes of the package, whose own fields are looked at too."""
    return {name for module in MODULES for name, own in vars(module).items() if inspect.isclass(own)
            and own.__module__.startswith("anonkit.budget_rules.")}  # fmt: skip


def taken(tree: ast.Module) -> Iterator[ast.expr | None]:
    """The type of every parameter and of every field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from (one.annotation for one in every if one.arg not in ("self", "cls"))
            assert node.args.vararg is None
            assert node.args.kwarg is None
        elif isinstance(node, ast.ClassDef):
            yield from (one.annotation for one in node.body if isinstance(one, ast.AnnAssign))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_rule_takes_public_facts_and_published_values_alone(module: ModuleType) -> None:
    """Numbers, words, and values made of them: nothing that could hold the rows of a table, or fetch them."""
    tree = ast.parse(inspect.getsource(module))
    found = {name for annotation in taken(tree) for name in names_of(annotation, module)}
    assert found - ALLOWED - classes() == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_rule_imports_arithmetic_and_other_rules_alone(module: ModuleType) -> None:
    """Neither files, nor engines, nor randomness, nor any other package of anonkit."""
    tree = ast.parse(inspect.getsource(module))
    imported = {node.module.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert plain <= {"math", "numpy"}
    assert imported <= {
        "__future__", "anonkit", "bisect", "collections", "dataclasses", "fractions", "functools", "itertools", "numpy",
        "typing",
    }  # fmt: skip
    assert all(name.startswith("anonkit.budget_rules") for name in names if name.startswith("anonkit"))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert called & READS == set()
    of_numpy = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    }
    assert of_numpy <= NUMPY


def test_the_one_source_of_values_is_a_protocol_of_published_readings() -> None:
    """A rule asks for a reading by name and share; what answers it is a method that draws, or a check that looks up."""
    found = {name for module in MODULES for name, own in vars(module).items() if getattr(own, "_is_protocol", False)}
    assert found - {"Protocol"} == {"PublishedReadings"}
