"""Forgeries of k-anonymous releases: model, rows, roles, actions, risks, labels and boxes.

Each table names what is done and the check that refuses it; docs/how-to/validate.md has it in words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checks.forgeries import ANONYMOUS, Edit, Files, Tree, forged, over, refused, verdict
from checks.forging import (
    at,
    both,
    cells,
    checked,
    declared,
    entry,
    first_quasi_identifier,
    forget,
    on_first,
    recounted,
    source_cells,
    stated_anew,
)

import anonkit
from anonkit.datasets import bank_customers


def figure(*path: str | int, to: Any) -> tuple[Edit, str]:
    """Change a disclosure risk."""
    return at("report", "disclosure_risk", *path, to=to), "disclosure_risk"


def relabelled(files: Files) -> None:
    """Move the rows of one class to a label that another class has: every label is one the recoding makes."""
    name = first_quasi_identifier(files)
    rows, others = files.table.to_pylist(), pc.unique(files.table.column(name)).to_pylist()
    key = [one["name"] for one in files.report["columns"] if one["action"] == "generalized"]
    shown = {tuple(row[each] for each in key) for row in rows}
    for one in sorted(shown, key=str):
        for label in others:
            if (label, *one[1:]) not in shown:
                moved = [label if tuple(row[each] for each in key) == one else row[name] for row in rows]
                cells(name, lambda column, moved=moved: pa.array(moved, pa.string()))(files)
                return
    raise AssertionError("every combination of labels is a box")


def new_label(files: Files) -> None:
    """Call a group otherwise, in the data, the params and the report."""
    column = next(one for one in files.params["recoding"]["columns"] if one["kind"] != "kept")
    old, new = next(label for label in column["labels"] if label != "*"), "[140, 141)"
    column["labels"] = [new if label == old else label for label in column["labels"]]
    if "values" in files.columns(column["name"]):
        told = files.columns(column["name"])["values"]
        files.columns(column["name"])["values"] = [new if label == old else label for label in told]
    cells(column["name"], lambda cells_: pa.array([new if c == old else c for c in cells_.to_pylist()], pa.string()))(
        files
    )


def recoding_part(files: Files) -> Tree:
    """Return a column that the recoding cuts into intervals."""
    recoding = files.params["recoding"]
    return next(one for one in recoding.get("axes", recoding.get("columns")) if one["kind"] == "intervals")


def moved_cut(files: Files) -> None:
    """Put a cut elsewhere."""
    recoding_part(files)["cuts"][0] = "14.5"


def odd_missing(files: Files) -> None:
    """State the opposite on whether a column has missing values."""
    part = recoding_part(files)
    part["missing"] = not part["missing"]


def narrower(files: Files) -> None:
    """Leave the last run of parts out of a set that has several parts."""
    sets = files.params["recoding"]["narrowed"]["sets"]
    ends = next(ends for of_axis in sets for ends in of_axis if ends[-1] > ends[-2])
    ends[-1] -= 1


def beyond(files: Files) -> None:
    """Let every box show all of an axis that the tree divides."""
    recoding = files.params["recoding"]
    axis = recoding["nodes"][0]["axis"]
    n_intervals = len(recoding["axes"][axis]["cuts"]) + 1 if "cuts" in recoding["axes"][axis] else None
    size = n_intervals or len(recoding["axes"][axis]["values"]) + recoding["axes"][axis]["other"]
    size += recoding["axes"][axis]["missing"]
    recoding["narrowed"]["sets"][axis] = [[0, size - 1]]
    for box in recoding["narrowed"]["boxes"]:
        box[axis] = 0


def nothing_of(files: Files) -> None:
    """Let every box show the first part of an axis, which the boxes on one side of the root do not hold."""
    recoding = files.params["recoding"]
    axis = recoding["nodes"][0]["axis"]
    recoding["narrowed"]["sets"][axis] = [[0, 0]]
    for box in recoding["narrowed"]["boxes"]:
        box[axis] = 0


ANY_ANONYMOUS: dict[str, tuple[Edit, str]] = {
    "k lower in the report": (stated_anew(at("report", "guarantee", "parameters", "k", to=2)), "model"),
    "k lower in params": (at("params", "model", "k", to=2), "model"),
    "k higher in params": (at("params", "model", "k", to=50), "model"),
    "k of the method": (at("report", "method", "parameters", "k", to=2), "model"),
    "l in params": (at("params", "model", "l", to=4), "model"),
    "entropy l in params": (at("params", "model", "entropy_l", to=4), "model"),
    "recursive in params": (at("params", "model", "recursive", to="3,2"), "model"),
    "t in params": (at("params", "model", "t", to=0.1), "model"),
    "alpha in params": (at("params", "model", "alpha", to=0.5), "model"),
    "t promised in the report": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].update(t_closeness=1.0)),
        "model",
    ),
    "alpha promised in the report": (
        stated_anew(lambda files: files.report["guarantee"]["parameters"].update(alpha_k_anonymity=1.0)),
        "model",
    ),
    "limit in params": (at("params", "max_suppression", to=0.9), "model|suppression"),
    "limit in the report": (at("report", "rows", "suppression_limit", to=0.9), "suppression"),
    "share suppressed": (at("report", "rows", "suppressed_fraction", to=0.0001), "suppression"),
    "rows suppressed": (at("report", "rows", "suppressed", to=lambda rows: rows + 1), "rows_accounted"),
    "rows dropped": (at("report", "rows", "dropped_missing", to=3), "rows_accounted"),
    "rows read": (at("report", "rows", "in", to=lambda rows: rows + 40), "rows_accounted"),
    "rows read and suppressed": (
        both(
            at("report", "rows", "in", to=lambda rows: rows + 4000),
            at("report", "rows", "suppressed", to=lambda rows: rows + 4000),
        ),
        "suppression",
    ),
    "source cells, no quasi-identifiers": (
        recounted(
            both(
                on_first(source_cells),
                lambda files: files.report["guarantee"]["parameters"].update(quasi_identifiers=[]),
            )
        ),
        "roles",
    ),
    "source cells in a column that is none": (recounted(both(on_first(source_cells), on_first(forget))), "roles"),
    "a quasi-identifier less": (recounted(on_first(forget)), "roles"),
    "role in the report": (on_first(lambda name: entry(name, role="insensitive")), "roles"),
    "role in params": (on_first(lambda name: declared(name, role="insensitive")), "roles"),
    "role in promise and report": (
        recounted(both(on_first(forget), on_first(lambda name: entry(name, role="insensitive", action="kept")))),
        "roles",
    ),
    "role in all but the recoding": (
        recounted(
            both(
                on_first(forget),
                on_first(lambda name: declared(name, role="insensitive")),
                on_first(lambda name: entry(name, role="insensitive")),
            )
        ),
        "actions",
    ),
    "sensitive in the report": (entry("customer_value", sensitive=None), "roles"),
    "sensitive in params": (declared("age", sensitive=True), "roles"),
    "another target": (at("params", "target", to=None), "roles"),
    "people in params": (at("params", "unit", to="age"), "roles"),
    "action": (on_first(lambda name: entry(name, action="kept")), "actions"),
    "detail": (on_first(lambda name: entry(name, detail="full")), "actions"),
    "highest risk": figure("prosecutor", "max", to=0.001),
    "mean risk": figure("prosecutor", "mean", to=0.001),
    "share at risk": figure("prosecutor", "share_at_risk", to=0.5),
    "threshold of risk": figure("prosecutor", "risk_threshold", to=0.9),
    "journalist": figure("journalist", "max", to=0.001),
    "journalist's mean": figure("journalist", "mean", to=0.001),
    "marketer": figure("marketer", "success_rate", to=0.001),
    "uniques": figure("uniques", to=7),
    "classes": figure("classes", to=3),
    "records of a class": figure("class_sizes", 0, "records", to=1000),
    "smallest class found": figure("k_anonymity", "k", to=50),
    "people in it": figure("k_anonymity", "people", to=50),
    "kind of risk": figure("basis", to="population"),
    "k with the target known": figure("with_clear_columns", "k", to=50),
    "share alone with the target known": figure("with_clear_columns", "share_alone", to=0.0005),
    "share below k with the target known": figure("with_clear_columns", "share_below_k", to=0.0005),
    "columns that may be known": figure("with_clear_columns", "columns", to=[]),
    "nothing that may be known": (
        lambda files: files.report["disclosure_risk"].pop("with_clear_columns"),
        "disclosure_risk",
    ),
    "width of the target": (at("params", "target_width", to=1000.0), "disclosure_risk"),
    "confidence in a value": figure("by_value", "customer_value", 0, "highest_confidence", to=0.1),
    "base rate of a value": figure("by_value", "customer_value", 0, "base_rate", to=0.9),
    "lift of a value": figure("by_value", "customer_value", 0, "lift", to=1.0),
    "holders above a half": figure("by_value", "customer_value", 0, "share_above_half", to=0.0005),
    "holders above nine tenths": figure("by_value", "customer_value", 0, "share_above_nine_tenths", to=0.0005),
    "a value of another name": figure("by_value", "customer_value", 0, "value", to="nobody's"),
    "a value left out": (
        lambda files: files.report["disclosure_risk"]["by_value"]["customer_value"].pop(0),
        "disclosure_risk",
    ),
    "a column of values left out": (
        lambda files: files.report["disclosure_risk"]["by_value"].pop("customer_value"),
        "disclosure_risk",
    ),
    "classes of another size": (at("report", "disclosure_risk", "class_sizes", 0, "size", to=60), "class_sizes"),
    "k found": (checked("k_anonymity", observed=50), "verification"),
    "k asked": (checked("k_anonymity", required=2), "verification"),
    "discernibility": (at("report", "utility", "discernibility", to=1), "utility"),
    "size of classes": (at("report", "utility", "average_equivalence_class_size", to=1.5), "utility"),
    "values that can be released": (
        on_first(lambda name: entry(name, released_values=1000)),
        "told:",
    ),
    "a label nobody made": (
        recounted(on_first(lambda name: cells(name, lambda c: pa.array(["[1, 2)"] * len(c), pa.string())))),
        "domain:",
    ),
    "another type of cells": (
        on_first(lambda name: cells(name, lambda c: c.cast(pa.large_string()))),
        "types",
    ),
}
"""Edits of a k-anonymous release."""

GLOBAL: dict[str, tuple[Edit, str]] = {
    "a label its parts cannot make": (new_label, "labels:"),
    "a cut moved": (moved_cut, "labels:"),
    "a part more": (odd_missing, "labels:"),
    "the listed labels": (
        lambda files: files.columns(first_quasi_identifier(files))["values"].append("other"),
        "told:",
    ),
}
LOCAL: dict[str, tuple[Edit, str]] = {
    "a true label on a class whose box cannot make it": (recounted(relabelled), "boxes"),
    "a cut moved": (moved_cut, "boxes"),
}
NARROWED: dict[str, tuple[Edit, str]] = {
    "a box narrower in params than its rows show": (lambda files: narrower(files), "boxes"),
    "boxes that are not narrowed": (lambda files: files.params["recoding"].pop("narrowed"), "boxes"),
    "a box that shows what it does not hold": (lambda files: beyond(files), "boxes"),
    "a true label on a class whose box shows another": (recounted(relabelled), "boxes"),
}
UNREADABLE: dict[str, Edit] = {
    "a box too few": lambda files: files.params["recoding"]["narrowed"]["boxes"].pop(),
    "a set that there is not": at("params", "recoding", "narrowed", "boxes", 0, 0, to=10_000),
    "a set from the end": at("params", "recoding", "narrowed", "boxes", 0, 0, to=-1),
    "an empty set": at("params", "recoding", "narrowed", "sets", 0, 0, to=[]),
    "a box that shows a part it does not hold": nothing_of,
    "a set in the wrong order": at("params", "recoding", "narrowed", "sets", 0, 0, to=[1, 1, 0, 0]),
    "a set beyond its axis": at("params", "recoding", "narrowed", "sets", 0, 0, to=[0, 10_000]),
    "a key more": at("params", "recoding", "narrowed", "note", to="x"),
    "narrowed boxes that merge": at("params", "recoding", "merged", to=True),
}
SENSITIVE: dict[str, tuple[Edit, str]] = {
    "l found": figure("l_diversity", "customer_value", "l", to=3.0),
    "entropy l found": figure("l_diversity", "customer_value", "entropy_l", to=2.9),
    "recursive found": figure("l_diversity", "customer_value", "recursive_c_2", to=0.1),
    "share in classes of one value": figure("l_diversity", "customer_value", "share_of_one_value", to=0.0005),
    "t found": figure("t_closeness", "customer_value", "t", to=0.01),
    "alpha found": figure("t_closeness", "customer_value", "alpha", to=0.01),
    "l verified": (checked("l_diversity:customer_value", observed=3.0), "verification"),
    "l lower": (stated_anew(at("report", "guarantee", "parameters", "l_diversity", to=1)), "model"),
    "missing called a value in params": (declared("customer_value", missing_is_value=True), "roles"),
    "missing called a value in the promise": (
        stated_anew(at("report", "guarantee", "parameters", "missing_is_value", to=["customer_value"])),
        "roles",
    ),
    "no sensitive column": (
        recounted(at("report", "guarantee", "parameters", "sensitive", to=[])),
        "roles",
    ),
}


@pytest.mark.untraced
@pytest.mark.parametrize(("forgery", "method"), over(ANY_ANONYMOUS, ANONYMOUS))
def test_a_forged_k_anonymous_release_is_refused(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """All that the report states of the classes is recounted, or agrees with the params."""
    refused(releases[method], ANY_ANONYMOUS[forgery], tmp_path)


@pytest.mark.slow_cases("a label its parts cannot make-rfka")
@pytest.mark.parametrize(("forgery", "method"), over(GLOBAL, ("rfka", "greedy-hamdist")))
def test_a_forged_global_recoding_is_refused(
    releases: dict[str, Files], method: str, forgery: str, tmp_path: Path
) -> None:
    """A label is what its parts make, in params, report and data."""
    refused(releases[method], GLOBAL[forgery], tmp_path)


@pytest.mark.parametrize("forgery", LOCAL)
def test_a_forged_local_recoding_is_refused(releases: dict[str, Files], forgery: str, tmp_path: Path) -> None:
    """A row shows one box, in all its columns."""
    refused(releases["mondrian"], LOCAL[forgery], tmp_path)


@pytest.fixture(scope="module")
def narrowed(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release without a target, whose boxes are as narrow as their rows."""
    folder = tmp_path_factory.mktemp("narrowed")
    table = bank_customers(600, seed=3).select(["age", "education", "occupation", "income"])
    anonkit.release(table, method="mondrian", k=10, no_target=True, ledger=None).save(folder / "out.parquet")
    return Files.read(folder / "out.parquet")


@pytest.mark.parametrize("forgery", NARROWED)
def test_forged_narrow_boxes_are_refused(narrowed: Files, forgery: str, tmp_path: Path) -> None:
    """A box shows what its set of parts is called, and nothing that the tree does not leave it."""
    refused(narrowed, NARROWED[forgery], tmp_path)


@pytest.mark.parametrize("forgery", UNREADABLE)
def test_narrow_boxes_of_no_tree_are_refused(narrowed: Files, forgery: str, tmp_path: Path) -> None:
    """Boxes that are not those of the tree, or that another program would read otherwise, are not validated."""
    code, failed = verdict(forged(narrowed, UNREADABLE[forgery], tmp_path))

    assert code in (1, 3), failed


@pytest.mark.parametrize("forgery", SENSITIVE)
def test_forged_figures_of_a_sensitive_column_are_refused(
    releases: dict[str, Files], forgery: str, tmp_path: Path
) -> None:
    """Diversity and closeness are recounted."""
    refused(releases["rfka"], SENSITIVE[forgery], tmp_path)
