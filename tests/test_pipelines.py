"""The examples of pipelines: pandera runs here, Great Expectations beside its checks, others in tests/integrations."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from anonkit.pipeline.recipe import Recipe

PIPELINES = Path(__file__).parents[1] / "examples" / "pipelines"
EXAMPLES = sorted(path.name for path in PIPELINES.glob("*.py"))


def _script(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PIPELINES / name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.usefixtures("pandera_is_there")
def test_a_pandera_check() -> None:
    """A good table passes, a bad one fails."""
    lines = _script("pandera_check.py").splitlines()
    assert lines == ["good: 6 rows pass", "bad: 2 failures"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_integration_is_python(name: str) -> None:
    """It compiles where its tool is not installed either."""
    compile((PIPELINES / name).read_text(encoding="utf-8"), name, "exec")


def test_the_recipe_of_the_examples_can_be_read() -> None:
    """Dagster, Airflow and Prefect release by it."""
    assert Recipe.load(PIPELINES / "customers.toml").output.place is not None
