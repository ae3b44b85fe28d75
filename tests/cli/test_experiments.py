# SPDX-License-Identifier: Apache-2.0
"""The harness of experiments is found in a checkout alone, and never beside a recipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from experiments.experiment_scene import written
from papers.harness.experiment_recipe import Experiment

from anonkit.cli import anonkit, experiments, precommit
from anonkit.cli.boundary import run
from anonkit.cli.experiments import is_experiment
from anonkit.errors import PolicyError


def test_an_installed_package_refuses_an_experiment_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    """Exit 4 and the hint, for the command and the hook of pre-commit; nothing is written."""
    recipe = written(tmp_path)
    monkeypatch.setattr(experiments, "RECIPES", tmp_path / "site-packages" / "recipes")

    assert run(anonkit, ["run", str(recipe), "--out", str(tmp_path / "out")], "anonkit") == 4
    said = capfd.readouterr().err
    assert "experiments run in a checkout" in said
    assert "Hint: in the checkout: pip install" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
    assert precommit.main(["declarations", str(recipe)]) == 1
    assert "experiments run in a checkout" in capfd.readouterr().err
    assert precommit.main(["declarations", str(repository / "recipes" / "bank-rfka.toml")]) == 0


def test_no_code_is_imported_from_beside_a_recipe(tmp_path: Path) -> None:
    """A recipe is data, whoever wrote it: a harness in its folder is not run."""
    planted = tmp_path / "papers" / "harness"
    planted.mkdir(parents=True)
    (tmp_path / "papers" / "__init__.py").write_text("raise SystemExit('run from beside the recipe')")
    (planted / "__init__.py").write_text("raise SystemExit('run from beside the recipe')")
    done = subprocess.run(
        [sys.executable, "-m", "anonkit", "run", written(tmp_path), "--quick", "--no-plot", "--quiet"],
        cwd=planted, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_a_recipe_without_an_experiment_is_none(tmp_path: Path, repository: Path) -> None:
    """Recipes of release stay what they are, and what cannot be read is said by their reader."""
    assert not is_experiment(repository / "recipes" / "bank-rfka.toml")
    assert not is_experiment(tmp_path / "absent.toml")
    with pytest.raises(PolicyError, match="describes no experiment"):
        Experiment.load(repository / "recipes" / "bank-rfka.toml")
