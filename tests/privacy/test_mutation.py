"""Mutants are changes of the code as it is: each is looked at in seconds, those of the slow tests too."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from privacy.mutation import changed_source

TESTS = Path(__file__).parents[1]


def tables() -> dict[str, int]:
    """The modules of tests that change lines of the package, and how many changes each spells out."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "Mutant(" in source:
            calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
            named = [{one.arg: one.value for one in call.keywords} for call in calls if _is_mutant(call)]
            number = sum("where" in given and ast.unparse(given["where"]) != "''" for given in named)
            if number:
                found[".".join(path.relative_to(TESTS.parent).with_suffix("").parts)] = number
    return found


def _is_mutant(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "Mutant"


def mutants_in(value: Any) -> Iterator[Any]:
    """Yield the mutants of a table, whatever stands beside them."""
    if hasattr(value, "where") and hasattr(value, "old"):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from mutants_in(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from mutants_in(one)


TABLES = tables()


@pytest.mark.parametrize("module", TABLES)
def test_every_mutant_changes_one_place_of_the_code_as_it_is(module: str) -> None:
    """A line that has moved is named here, before a mutant is run; one that is in no table would not be."""
    values = vars(importlib.import_module(module)).items()
    own = {id(one): one for name, value in values if name.isupper() for one in mutants_in(value)}
    assert len(own) >= TABLES[module], "give each mutant a name in capitals at the top of its module"
    for mutant in own.values():
        compile(changed_source(mutant), mutant.where, "exec")


def test_the_tables_are_found() -> None:
    """More than two hundred changes in at least nine modules."""
    assert len(TABLES) >= 9
    assert sum(TABLES.values()) > 200


@pytest.mark.parametrize(
    "where",
    ["mechanisms.accounting:rate_within", "anonkit.mechanisms.accounting:Accounting.epsilon"],
)
def test_a_line_that_is_not_there_once_is_refused(where: str) -> None:
    """Neither one that has gone, nor one that occurs twice."""

    class Gone:
        def __init__(self, where: str, old: str) -> None:
            self.where, self.old, self.new = where, old, "0"

    for old in ("a line that has gone", "e"):
        with pytest.raises(AssertionError, match="mend the mutant"):
            changed_source(Gone(where, old))
