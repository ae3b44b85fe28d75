# SPDX-License-Identifier: Apache-2.0
"""Comparison of a release's copies in other forms, such as a CSV file, with its data, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from anonkit.bundle.exports.opened_targets import ReleasedTable, copy_at
from anonkit.bundle.release_names import COPIES, DATA
from anonkit.bundle.release_place import Place
from anonkit.checks.exported_rows import export_checks
from anonkit.errors import AnonkitError, MissingDependencyError
from anonkit.promises.guarantee import Check

_SAME = "the same"
_UNREADABLE = "unreadable"
_DIFFERENCES = {
    "exported_file": _UNREADABLE,
    "exported_columns": "other columns",
    "exported_types": "other types",
    "exported_rows": "another number of rows",
    "exported_cells": "other cells",
}
"""Meaning of the first comparison that fails; see `anonkit.checks.exported_rows`."""


def copy_checks(place: Place, descriptor: Mapping[str, Any]) -> Iterator[Check]:
    """Compare every copy that the descriptor names with the data: columns, types, and the rows in any order.

    Parameters
    ----------
    place : Place
    descriptor : mapping
        Of the release. A file that it does not name is none of the release, whatever its name.

    Yields
    ------
    Check
        `copy:csv` and so on: the copy holds what the data hold. What is observed is "the same", "absent", or the first
        difference in words.
    """
    named = {resource["name"] for resource in descriptor["resources"]}
    for form, suffix in COPIES.items():
        if form in named:
            path = place.folder / place.name(suffix)  # a store has no copies
            found = _difference(place, suffix) if path.is_file() else "absent"
            yield Check(name=f"copy:{form}", passed=found == _SAME, observed=found, required=_SAME)


def _difference(place: Place, suffix: str) -> str:
    """Return the first comparison that fails."""
    try:
        with closing(copy_at(place.file(suffix))) as form:
            checks = export_checks(form, ReleasedTable(data=place.file(DATA)))
            return next((_DIFFERENCES[check.name] for check in checks if not check.passed), _SAME)
    except MissingDependencyError:
        raise  # a copy that cannot be read here is not judged
    except AnonkitError:  # no file of its form, or data of which there can be no copy
        return _UNREADABLE
