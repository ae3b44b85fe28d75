"""The pre-commit hooks: what they let through and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonkit.cli.precommit import main


def test_recipes_and_policies_are_read(repository: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every recipe of the repository passes; a broken one is named with its rule."""
    recipes = sorted(map(str, (repository / "recipes").glob("*.toml")))
    assert recipes
    assert main(["declarations", *recipes]) == 0
    broken = tmp_path / "policy.toml"
    broken.write_text('[columns]\nage = { role = "quasi" }\n')
    assert main(["declarations", str(broken)]) == 1
    assert "role has an unknown value" in capfd.readouterr().err
    broken.write_text("not TOML at all")
    assert main(["declarations", str(broken)]) == 1


def test_a_table_needs_its_release(released: Path, table: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The data file of a release passes; raw tables, halves of a release and ledgers do not."""
    from anonkit.ledger import NAME

    assert main(["tables", str(released)]) == 0
    assert main(["tables", str(released), str(table)]) == 1
    assert "in.csv: is a table without a release" in capfd.readouterr().err
    assert main(["tables", str(released.with_name(NAME))]) == 1
    released.with_name("out.report.json").unlink()
    assert main(["tables", str(released)]) == 1


def test_wrong_usage() -> None:
    """Exit code 2."""
    assert main([]) == 2
    assert main(["other", "x"]) == 2
