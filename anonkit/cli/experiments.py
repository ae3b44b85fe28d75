# SPDX-License-Identifier: Apache-2.0
"""The harness of the experiments on papers: part of a checkout, in `recipes/papers`, and of no installed package."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import anonkit
from anonkit.errors import AnonkitError, MissingDependencyError
from anonkit.policy.side_files import read_side_toml

RECIPES = Path(anonkit.__file__).resolve().parents[1] / "recipes"
"""The folder of recipes of the checkout that this package runs from, if it runs from one.

Code is imported from there alone, never from beside a recipe: a recipe is data, whoever wrote it.
"""


def is_experiment(path: str | Path) -> bool:
    """Return whether a recipe describes an experiment; one that cannot be read does not."""
    try:
        return "experiment" in read_side_toml(Path(path))
    except (AnonkitError, OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False


def harness(module: str) -> Any:
    """Import a module of `recipes/papers/harness` and return it.

    Parameters
    ----------
    module : str
        Name of the module, such as "experiment_runner".

    Raises
    ------
    MissingDependencyError
        The package does not run from a checkout.
    """
    if not (RECIPES / "papers" / "harness" / "__init__.py").is_file():
        raise MissingDependencyError(
            "experiments run in a checkout of anonkit's repository alone, and this is an installed package",
            "in the checkout: pip install -e '.[plots]'",
        )
    if str(RECIPES) not in sys.path:
        sys.path.append(str(RECIPES))
    return import_module(f"papers.harness.{module}")
