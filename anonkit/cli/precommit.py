# SPDX-License-Identifier: Apache-2.0
"""Hooks for pre-commit: policies and recipes must parse, and no table is committed without its release files.

python -m anonkit.cli.precommit declarations recipe.toml policy.toml
python -m anonkit.cli.precommit tables out.parquet in.csv
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from anonkit.errors import AnonkitError


def declaration_problem(path: Path) -> str | None:
    """Return why anonkit would not read a recipe or policy; None when it would."""
    from anonkit.pipeline.recipe import Recipe
    from anonkit.policy.declaration import Policy

    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        if "method" in raw:
            Recipe.load(path)
        else:
            Policy.load(path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return "is not TOML"
    except AnonkitError as error:
        return error.for_command_line()[0]
    return None


def table_problem(path: Path) -> str | None:
    """Return why a file must not be committed; None for the data file of a release."""
    from anonkit.bundle.stored_release import DATA, DESCRIPTOR, PARAMS, REPORT, Place
    from anonkit.ledger import KEY_SUFFIX, NAME

    if path.name in (NAME, NAME + KEY_SUFFIX) or path.suffix == ".sqlite" or path.name.endswith(f".sqlite{KEY_SUFFIX}"):
        return "looks like a ledger or its key, which are their owner's private files"
    if path.suffix != DATA:
        return "is a table without a release: nothing says that it may be handed out"
    place = Place.of(path)
    missing = [suffix for suffix in (PARAMS, REPORT, DESCRIPTOR) if not place.file(suffix).exists()]
    return f"is not a whole release: {', '.join(place.name(suffix) for suffix in missing)} missing" if missing else None


CHECKS = {"declarations": declaration_problem, "tables": table_problem}


def main(arguments: Sequence[str]) -> int:
    """Look at the files given and return 1 when one is refused, 2 for wrong usage."""
    if not arguments or arguments[0] not in CHECKS:
        sys.stderr.write(f"usage: python -m anonkit.cli.precommit {{{','.join(CHECKS)}}} FILE ...\n")
        return 2
    problems = [(path, CHECKS[arguments[0]](Path(path))) for path in arguments[1:]]
    refused = [f"{path}: {problem}" for path, problem in problems if problem is not None]
    sys.stderr.write("".join(f"{line}\n" for line in refused))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
