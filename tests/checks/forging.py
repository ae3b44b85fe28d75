"""Forgeries of a release in memory: edits to be combined; careful ones recompute all that can be recomputed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from checks.forgeries import Edit, Files

from anonkit.checks.class_promise import looked_at
from anonkit.checks.disclosure import measure
from anonkit.promises.anonymous_classes import KAnonymity
from anonkit.promises.promise_kinds import read_promise

SEEDED = "seeded: not for release"


def say(**blocks: Any) -> Edit:
    """Change keys of the report's guarantee."""
    return lambda files: files.report["guarantee"].update(blocks)


def at(document: str, *path: str | int, to: Any) -> Edit:
    """Change one value of a document; a function is given the old value."""

    def edit(files: Files) -> None:
        place = getattr(files, document)
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to(place[path[-1]]) if callable(to) else to

    return edit


def both(*edits: Edit) -> Edit:
    """Do one thing after another."""

    def edit(files: Files) -> None:
        for one in edits:
            one(files)

    return edit


def without_following(edit: Edit) -> Edit:
    """Leave the page and the descriptor as they are."""
    return both(edit, lambda files: setattr(files, "follow", False))


def stated_anew(edit: Edit) -> Edit:
    """Make the sentences of the promise from its changed parameters, as a careful forger would."""

    def careful(files: Files) -> None:
        edit(files)
        files.report["guarantee"] = read_promise(files.report["guarantee"]).to_dict()

    return careful


def recounted(edit: Edit) -> Edit:
    """Make sentences, class sizes, risks and verified figures again from what the edit left."""

    def careful(files: Files) -> None:
        edit(files)
        report = files.report
        promise = KAnonymity.from_dict(report["guarantee"])
        found = measure(
            files.table,
            [name for name in promise.quasi_identifiers if name in files.table.column_names],
            sensitive=promise.sensitive,
            **looked_at(promise, files.table.column_names, files.params.get("target"), ()),
        )
        report["guarantee"] = promise.to_dict()
        report["disclosure_risk"] = found.to_dict(0.2)
        report["utility"] |= {
            "discernibility": sum(size * size * classes for size, classes in found.class_sizes),
            "average_equivalence_class_size": found.rows / found.classes,
        }
        again = {check.name: check.to_dict() for check in promise.verify(found)}
        report["verification"]["checks"] = [
            again.get(check["name"], check) for check in report["verification"]["checks"]
        ]

    return careful


def checked(name: str, **figures: Any) -> Edit:
    """Change what the report says that a check found."""

    def edit(files: Files) -> None:
        for check in files.report["verification"]["checks"]:
            if check["name"] == name:
                check.update(figures)

    return edit


def cells(name: str, make: Callable[[pa.ChunkedArray], Any]) -> Edit:
    """Put other cells into a column of the data."""

    def edit(files: Files) -> None:
        where = files.table.column_names.index(name)
        made = make(files.table.column(name))
        files.table = files.table.set_column(where, name, pa.chunked_array(made) if isinstance(made, list) else made)

    return edit


def first_quasi_identifier(files: Files) -> str:
    """Return a released column that the recoding made."""
    return next(one["name"] for one in files.report["columns"] if one["action"] == "generalized")


def on_first(make: Callable[[str], Edit]) -> Edit:
    """Do something to a released quasi-identifier."""
    return lambda files: make(first_quasi_identifier(files))(files)


def source_cells(name: str) -> Edit:
    """Put values that distinguish every row into a column."""
    return cells(name, lambda column: pa.array([f"{number}" for number in range(len(column))]))


def forget(name: str) -> Edit:
    """Take a column out of the promised quasi-identifiers."""
    return lambda files: files.report["guarantee"]["parameters"]["quasi_identifiers"].remove(name)


def entry(name: str, **told: Any) -> Edit:
    """Change what the report says of a column."""
    return lambda files: files.columns(name).update(told)


def declared(name: str, **told: Any) -> Edit:
    """Change what the params say of a column."""
    return lambda files: next(one for one in files.params["columns"] if one["name"] == name).update(told)
