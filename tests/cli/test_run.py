# SPDX-License-Identifier: Apache-2.0
"""`anonkit run`: a recipe becomes the release that it describes; options are those of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anonkit.bundle.stored_release import load


def recipe(folder: Path, **changed: str) -> Path:
    """A recipe of a small simulated table."""
    lines = {
        "simulate": "{ rows = 200, seed = 1 }",
        "method": '"mondrian"',
        "parameters": "{ k = 5 }",
        "output": '"out.parquet"',
        **changed,
    }
    path = folder / "recipe.toml"
    path.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()))
    return path


def test_a_recipe_makes_its_release(cli: Any, tmp_path: Path) -> None:
    """Beside the recipe, with the method and parameters that it names; a second run leaves it."""
    ran = cli("run", recipe(tmp_path), "--json")
    assert ran.code == 0, ran.err
    release = load(tmp_path / "out.parquet")
    assert release.report["method"]["name"] == "mondrian"
    assert release.report["guarantee"]["parameters"]["k"] == 5


def test_a_mistake_is_wrong_usage(cli: Any, tmp_path: Path) -> None:
    """A method that there is not; nothing is written."""
    ran = cli("run", recipe(tmp_path, method='"mondrain"'))
    assert ran.code == 2
    assert "mondrian" in ran.err
    assert not (tmp_path / "out.parquet").exists()
