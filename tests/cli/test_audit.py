"""`anonkit audit`: the attacks as a table and as JSON, for the owner."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_people_see_every_attack_with_its_controls(cli: Any, table: Path, released: Path) -> None:
    """One line an attack, the banner above, notes on stderr."""
    ran = cli("audit", released, "--original", table, "--attacks", "20")
    assert ran.code == 0
    assert "DO NOT PUBLISH" in ran.out
    for word in ("singling out", "linkability", "inference", "identity", "renamed", "shuffled"):
        assert word in ran.out
    assert "Person" not in ran.out + ran.err


def test_machines_get_the_keys_of_the_contract(cli: Any, table: Path, released: Path) -> None:
    """`attack_rate`, `control_rate`, `risk`, `ci` of each attack; membership with control rows."""
    document = cli("audit", released, "--original", table, "--control", table, "--attacks", "20", "--json").document
    assert document["ok"] is True
    for name in ("singling_out", "linkability", "inference", "membership"):
        assert {"attack_rate", "control_rate", "risk", "ci"} <= set(document[name])


def test_any_table_can_be_attacked(cli: Any, table: Path) -> None:
    """The raw table as its own release: every row is found."""
    ran = cli("audit", table, "--original", table, "--sensitive", "illness", "--attacks", "20", "--json")
    assert ran.code == 0
    assert ran.document["linkability"]["attack_rate"] > 0.9


def test_what_is_not_there_is_named(cli: Any, table: Path, released: Path) -> None:
    """Exit code 3 and the path."""
    ran = cli("audit", released, "--original", "absent.csv")
    assert ran.code == 3
    assert "'absent.csv' does not exist" in ran.err
