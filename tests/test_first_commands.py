"""The first command on tables that nobody declared anything of: nobody is published unprotected."""

from __future__ import annotations

from pathlib import Path

import pytest
from first_command import K, first_command
from undeclared_tables import AWKWARD, ORDINARY, UndeclaredTable

AWKWARD_BY_NAME = {table.name: table for table in AWKWARD}
ORDINARY_BY_NAME = {table.name: table for table in ORDINARY}


def test_there_are_sixty_awkward_and_forty_ordinary_tables() -> None:
    """As many as the page on safe defaults says."""
    assert (len(AWKWARD_BY_NAME), len(ORDINARY_BY_NAME)) == (60, 40)


@pytest.mark.quick_cases("born last", "illness last", "names last", "accounts last", "no header, *", "tiny")
@pytest.mark.parametrize("table", AWKWARD_BY_NAME.values(), ids=AWKWARD_BY_NAME)
def test_the_first_command_publishes_nobody_unprotected(table: UndeclaredTable, tmp_path: Path) -> None:
    """A release keeps k for everything that it shows but a harmless label, and no identifier is in any file."""
    outcome = first_command(table, tmp_path)
    assert outcome.unprotected == ()
    assert outcome.exit_code in (0, 1, 2)
    assert table.header or outcome.exit_code == 2


@pytest.mark.quick_cases("churn from age sex education job", "class from size colour score")
@pytest.mark.parametrize("table", ORDINARY_BY_NAME.values(), ids=ORDINARY_BY_NAME)
def test_an_ordinary_table_is_released_by_one_command(table: UndeclaredTable, tmp_path: Path) -> None:
    """Its class label is guessed, nine in ten rows are there, and at least two columns beside the label."""
    outcome = first_command(table, tmp_path)
    assert (outcome.exit_code, outcome.unprotected, outcome.target) == (0, (), table.label)
    assert outcome.rows >= max(K, 0.9 * table.rows)
    assert len(outcome.columns) >= 2
