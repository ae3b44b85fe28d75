"""One-line mutations of the package, and whether somebody refuses what a mutant writes.

A mutant names a function, a fragment of its source, and the replacement. The function is compiled anew and
put wherever the package holds it, for as long as a test runs. Who refuses it is part of the declaration: `release`,
which writes nothing; `validate`, run afterwards by the sound package from the files alone; or a test, named by its
file and function, which fails under the mutant.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Protocol

import pytest

import anonkit
from anonkit.errors import AnonkitError, ChoiceError, GuaranteeError

Run = Callable[[Path], object]
"""Makes a release at a path."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A mutation, and who refuses it."""

    where: str
    """`module:function` or `module:Class.member`, under `anonkit`."""
    old: str
    """A fragment of its source that is in it once."""
    new: str
    """The replacement."""
    refused_by: str
    """`release`, `validate`, or `tests/…/test_x.py::test_name`."""
    check: str = ""
    """Beginning of the name of the check that fails, for `release` and `validate`."""
    run: str = ""
    """The release, by its name in the table of the tests."""
    arguments: tuple[Any, ...] = ()
    """The arguments of the named test."""


_OPTIONAL = ("spark", "expectations", "integrations.")
"""Modules that need what need not be installed."""


@cache
def _load_everything() -> None:
    """Import every module of the package: one that came while a mutant is in place would keep it."""
    for found in pkgutil.walk_packages(anonkit.__path__, "anonkit."):
        if not any(part in found.name for part in _OPTIONAL) and not found.name.endswith("__main__"):
            importlib.import_module(found.name)


@contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """Hold a mutant in place; nothing that it computed is remembered afterwards, nor what the sound package did."""
    forget()
    try:
        with pytest.MonkeyPatch.context() as patch:
            mutate(mutant, patch)
            yield
    finally:
        forget()


def forget() -> None:
    """Empty every cache of the package: a channel that a mutant made would serve the sound package too."""
    for module in [one for key, one in sys.modules.items() if key.partition(".")[0] == "anonkit"]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear") and not inspect.isclass(value):
                value.cache_clear()


class Change(Protocol):
    """A mutation, whoever refuses it."""

    where: str
    old: str
    new: str


def place_of(where: str) -> tuple[ModuleType, Any, str, Any]:
    """Return module, owner and name of `module:Class.member`, and what is there; `anonkit.` may be left out."""
    module_name, _, path = where.partition(":")
    module = importlib.import_module(f"anonkit.{module_name.removeprefix('anonkit.')}")
    *owners, name = path.split(".")
    owner: Any = reduce(getattr, owners, module)
    return module, owner, name, inspect.getattr_static(owner, name)


def changed_source(mutant: Change) -> str:
    """Return the source of a mutant, decorators included, from column 0."""
    function = place_of(mutant.where)[-1]
    for inner in ("__func__", "fget", "func", "__wrapped__"):
        function = getattr(function, inner, function)
    assert isinstance(function, FunctionType), f"{mutant.where}: only functions can be mutated"
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(mutant.old) == 1, f"{mutant.where} does not have {mutant.old!r} once: mend the mutant"
    return source.replace(mutant.old, mutant.new)


def mutate(mutant: Change, patch: pytest.MonkeyPatch, *, inside: Collection[str] = ("anonkit",)) -> None:
    """Put a mutant in place of the function it is made from, wherever these packages hold that."""
    _load_everything()
    module, owner, name, original = place_of(mutant.where)
    code = compile(
        "from __future__ import annotations\n" + changed_source(mutant), f"<mutant of {mutant.where}>", "exec"
    )
    scope: dict[str, Any] = {}
    exec(code, vars(module), scope)  # the package's own source with one fragment changed
    changed = scope[name]
    if isinstance(changed, cached_property):
        changed.__set_name__(owner, name)
    patch.setattr(owner, name, changed)
    for other in [one for key, one in sys.modules.items() if key.partition(".")[0] in inside]:
        for held, value in list(vars(other).items()):
            if value is original:
                patch.setattr(other, held, changed)


def refusal(mutant: Mutant, runs: dict[str, Run], folder: Path) -> str:
    """Return what refused a mutant, or an empty text when it survived.

    For `release` and `validate` the names of the failed checks, for a test the kind of its failure.
    """
    if mutant.refused_by == "release":
        return _refused_release(mutant, runs, folder)
    if mutant.refused_by == "validate":
        output = folder / "out.parquet"
        with in_place(mutant):
            runs[mutant.run](output)
        return " ".join(check.name for check in anonkit.validate(output).checks if not check.passed)
    return _failed_test(mutant)


def _refused_release(mutant: Mutant, runs: dict[str, Run], folder: Path) -> str:
    with in_place(mutant):
        try:
            runs[mutant.run](folder / "out.parquet")
        except (ChoiceError, GuaranteeError) as error:
            assert list(folder.glob("out.*")) == [], "a release that is refused writes nothing"
            return error.message.rpartition(": ")[2]
    return ""


_REFUSALS = (AssertionError, ArithmeticError, LookupError, AnonkitError)


def _failed_test(mutant: Mutant) -> str:
    file, _, name = mutant.refused_by.partition("::")
    parts = Path(file).with_suffix("").parts[1:]
    test = getattr(importlib.import_module(".".join(parts)), name)
    with in_place(mutant):
        try:
            test(*mutant.arguments)
        except (*_REFUSALS, ExceptionGroup) as error:  # of hypothesis, where several examples fail in their own ways
            if isinstance(error, ExceptionGroup) and error.split(_REFUSALS)[1] is not None:
                raise
            return type(error).__name__
    return ""
