# SPDX-License-Identifier: Apache-2.0
"""Hooks for pre-commit: policies and recipes must parse, and no table is committed without its release files.

python -m anonkit.cli.precommit declarations recipe.toml policy.toml
python -m anonkit.cli.precommit tables out.parquet in.csv
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from anonkit.errors import AnonkitError

_LEDGER = re.compile(r"\.(sqlite3?|db)(\.(key|seen|version-\d+))?(-(wal|shm|journal))?\Z")
"""Names of ledgers, of their keys and of what SQLite keeps beside them."""
_OWNERS = re.compile(r"\Aowner[-.].*\.json\Z|\.dossier\.html\Z")
"""Names of what is written for the owner alone."""


def declaration_problem(path: Path) -> str | None:
    """Return the reason why anonkit would not read a recipe or policy; None when it would."""
    from anonkit.cli.experiments import harness
    from anonkit.pipeline.recipe import Recipe
    from anonkit.policy.declaration import Policy
    from anonkit.policy.side_files import read_side_toml

    try:
        raw = read_side_toml(path)
        if "experiment" in raw:
            for quick in (False, *([True] if "quick" in raw else [])):
                harness("experiment_recipe").Experiment.load(path, quick=quick)
        elif "method" in raw:
            Recipe.load(path)
        else:
            Policy.load(path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return "is not TOML"
    except AnonkitError as error:
        return error.for_command_line()[0]
    return None


def table_problem(path: Path) -> str | None:
    """Return the reason against committing a file; None for the data of a release, and for a copy that it lists."""
    from anonkit.bundle.release_place import DATA, DESCRIPTOR, PARAMS, REPORT, Place
    from anonkit.bundle.stored_release import refuse_changed

    if _is_listed_copy(path):
        return None
    name = path.name.lower()
    if _LEDGER.search(name):
        return "looks like a ledger or its key, which are their owner's private files"
    if _OWNERS.search(name):
        return "looks like a page for the owner, which is never published"
    if path.suffix != DATA:
        return "is a table without a release: nothing says that it may be handed out"
    place = Place.of(_data_of(path))
    missing = [suffix for suffix in (PARAMS, REPORT, DESCRIPTOR) if not place.file(suffix).exists()]
    if missing:
        return f"is not a whole release: {', '.join(place.name(suffix) for suffix in missing)} missing"
    try:
        refuse_changed(place, DATA)
    except AnonkitError:
        return "is not the table of the release whose files are beside it"
    return None


def _is_listed_copy(path: Path) -> bool:
    """Return True if a file is a copy of the data, such as a CSV file, that the release beside it lists."""
    from anonkit.bundle.data_files import sha256
    from anonkit.bundle.json_documents import refuse_irregular
    from anonkit.bundle.release_place import DATA, copy_of, listed_copies

    stem, form = copy_of(path.name) or ("", "")
    listed = listed_copies(path.parent, stem).get(form) if stem else None
    if listed is None or table_problem(path.with_name(f"{stem}{DATA}")) is not None:
        return False
    try:
        refuse_irregular(path)
        return sha256(path) == listed
    except (AnonkitError, OSError):
        return False


def _data_of(path: Path) -> Path:
    """Return the data of a release that a file is, or is a part of."""
    from anonkit.bundle.data_files import SUFFIX

    return next((folder for folder in path.parents if folder.suffix == SUFFIX), path)


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
