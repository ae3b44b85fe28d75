"""Blocks of the report that methods fill in: their keys are those that the schema of the report describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, get_args

import pytest

from anonkit.report.blocks import Action, Budget, Details, Expense, ReportColumn

SCHEMA: Mapping[str, Any] = json.loads((files("anonkit.report") / "schemas" / "report.schema.json").read_text())


def keys_of(block: type) -> set[str]:
    """The keys of a block, with those of the blocks that it extends."""
    return set(block.__annotations__)


@pytest.mark.parametrize(("block", "definition"), [(ReportColumn, "column"), (Budget, "budget"), (Expense, "expense")])
def test_a_block_has_the_keys_of_its_schema(block: type, definition: str) -> None:
    """No other, and none that no method could fill in."""
    assert keys_of(block) == set(SCHEMA["$defs"][definition]["properties"])


def test_a_method_adds_blocks_of_the_report_alone() -> None:
    """Each by its name at the top."""
    assert keys_of(Details) < set(SCHEMA["properties"])


def test_what_may_become_of_a_column_is_listed_once() -> None:
    """The same words in the type and in the schema; name, role and action are in every entry."""
    column = SCHEMA["$defs"]["column"]
    assert set(get_args(Action)) == set(column["properties"]["action"]["enum"])
    assert set(column["required"]) == set(ReportColumn.__required_keys__) == {"name", "role", "action"}
