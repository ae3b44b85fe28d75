"""Forgeries of k-anonymous releases: model, rows, roles, actions, risks, labels and boxes.

Each table names what is done and the check that refuses it; docs/how-to/validate.md has it in words.

Caps, widths and marks of sensitive columns: recounted by hand, and forged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from checks.forgeries import Edit, Files, Tree, forged, over, refused, verdict
from checks.forging import (
    at,
    both,
    cells,
    checked,
    declared,
    first_quasi_identifier,
    recounted,
    stated_anew,
)

import anonkit
from anonkit.checks.class_promise import value_checks
from anonkit.checks.counted_as import LEAST_CAP, CountedAs, LookedAt, ReadValues
from anonkit.checks.disclosure import Disclosure, measure
from anonkit.datasets import bank_customers
from anonkit.errors import UncheckedError
from anonkit.policy.declaration import Policy

# --- by hand ---------------------------------------------------------------------------------------------------------


# --- what can follow by the rule -------------------------------------------------------------------------------------


def strange(numbers: Sequence[Any], reading: ReadValues, name: str = "pay") -> int:
    """Widths and caps of a column, in a table of one class, that do not follow by the rule."""
    table = pa.table({"q": ["a"] * len(numbers), name: numbers})
    return int(measure(table, ["q"], sensitive=[name], reading=reading).sensitive[name]["strange"])


NUMBERS = [float(number) for number in range(100, 200)]
"""5 % of the middle 90 % are 4.5."""


@pytest.mark.parametrize(
    ("width", "left_out", "expected"),
    [(4.5, 0, 0), (4.4, 0, 1), (0.0, 0, 1), (4.7, 3, 0), (9.0, 3, 1), (900.0, 40, 0), (1.0, None, 0)],
)
def test_a_width_follows_from_the_table_and_the_rows_left_out(width: float, left_out: Any, expected: int) -> None:
    """Exactly where none was; any where they may have been anywhere; of another table nothing is known."""
    assert strange(NUMBERS, ReadValues(widths={"pay": width}, left_out=left_out)) == expected


@pytest.mark.parametrize(
    ("name", "cells", "more", "width", "expected"),
    [
        ("code", list(range(100)), {}, 0.0, 0),
        ("code", list(range(100)), {}, 4.5, 1),
        ("code", list(range(100)), {"tolerances": {"code": 0.1}}, 9.0, 0),
        ("pay", list(range(5)), {}, 0.0, 0),
        ("pay", [0.5, 0.7], {"categories": {"pay": ["0.5", "0.7"]}}, 0.0, 0),
        ("pay", pa.array([None, None], pa.float64()), {}, 0.0, 0),
        ("pay", NUMBERS, {"tolerances": {"pay": 0.0}}, 0.0, 0),
    ],
)
def test_codes_and_categories_are_no_measures(
    name: str, cells: Any, more: dict[str, Any], width: float, expected: int
) -> None:
    """Integers under such a header, few of them, and declared categories have no width, unless it is declared."""
    assert strange(cells, ReadValues(widths={name: width}, left_out=0, **more), name) == expected


def test_a_width_that_nobody_fixed_is_the_one_of_the_table() -> None:
    """As of a file that is no release."""
    assert measure(pa.table({"pay": NUMBERS[:4] + NUMBERS}), [], sensitive=["pay"]).sensitive["pay"]["l"] == 20


@pytest.mark.parametrize(
    ("caps", "left_out", "expected"),
    [
        ([["a", 0.85]], 0, 0),
        ([["a", 0.9]], 0, 1),
        ([["a", None]], 0, 1),
        ([["a", 0.7]], 0, 1),
        ([["a", 0.86]], 1, 0),
        ([], 0, 1),
        ([["a", 0.9]], None, 0),
    ],
)
def test_a_cap_follows_from_the_table_and_the_rows_left_out(caps: Any, left_out: Any, expected: int) -> None:
    """Of a value that 7 of 10 have it is .85, of one that one has .55."""
    caps = [*caps, ["b", 0.55], ["c", 0.55], ["d", 0.55]]
    cells = ["a"] * 7 + ["b", "c", "d"]
    assert strange(cells, ReadValues(caps={"pay": caps}, left_out=left_out)) == expected


def test_a_cap_of_people_follows_within_what_is_told_of_them() -> None:
    """Eight of ten people: at most .9, and never nothing."""
    rows = [(f"p{at}", "a" if at < 8 else "b") for at in range(10)]
    table = pa.table({"q": ["x"] * 10, "u": [u for u, _ in rows], "s": [s for _, s in rows]})

    def found(cap: Any) -> int:
        reading = ReadValues(caps={"s": [["a", cap], ["b", 0.6]]}, left_out=0)
        return int(measure(table, ["q"], sensitive=["s"], unit="u", reading=reading).sensitive["s"]["strange"])

    assert (found(0.9), found(0.99), found(0.52)) == (0, 1, 1)


def test_numbers_have_the_cap_of_the_range_that_they_are_in() -> None:
    """A list of caps begins each range; what is below all of them has the least cap, and so has a missing one."""
    looked = LookedAt.of(pa.chunked_array([[1.0, 2.0, 3.0, None]]), "s", ReadValues(caps={"s": [[2.0, 0.6]]}))
    assert looked.caps is not None
    assert looked.caps.tolist() == [LEAST_CAP, 0.6, 0.6, LEAST_CAP]
    assert CountedAs().ends is None


def test_a_figure_that_is_strange_is_a_check_that_fails() -> None:
    """By column."""
    found = Disclosure(rows=1, classes=1, k=1, people=None, class_sizes=((1, 1),), sensitive={"s": {"strange": 2.0}})
    (check,) = value_checks(found, ["s"])
    assert (check.name, check.passed, check.observed) == ("sensitive_values:s", False, 2)


# --- forgeries -------------------------------------------------------------------------------------------------------


def _table() -> pa.Table:
    rng = np.random.default_rng(5)
    n = 600
    return pa.table(
        {
            "age": rng.integers(20, 80, n),
            "place": rng.integers(0, 12, n),
            "illness": rng.choice(["flu", "cough", "back", "HIV"], n, p=[0.5, 0.3, 0.19, 0.01]),
            "pay": np.round(rng.lognormal(8, 0.4, n), 1),
            "grade": rng.choice(["a", "b", "c"], n),
        }
    )


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release with a capped text, a capped measure, and a column with an alpha of its own."""
    out = tmp_path_factory.mktemp("sensitive") / "out.parquet"
    columns = {
        "illness": {"role": "sensitive"},
        "pay": {"role": "sensitive"},
        "grade": {"role": "sensitive", "alpha": 0.9},
    }
    policy = Policy.from_dict({"columns": columns, "target": False})
    anonkit.release(_table(), method="mondrian", k=10, policy=policy, output=out, ledger=None)
    assert anonkit.validate(out).passed
    return Files.read(out)


def told(name: str, **more: Any) -> Edit:
    """Change what the params say of a column; None takes it away."""

    def edit(files: Files) -> None:
        entry = next(one for one in files.params["columns"] if one["name"] == name)
        for key, value in more.items():
            entry.pop(key) if value is None else entry.update({key: value})

    return edit


def promised(**more: Any) -> Edit:
    """Change the parameters of the promise, and its sentences; None takes one away."""

    def edit(files: Files) -> None:
        parameters = files.report["guarantee"]["parameters"]
        for key, value in more.items():
            parameters.pop(key) if value is None else parameters.update({key: value})

    return stated_anew(edit)


def uncapped(files: Files) -> None:
    """Take the cap on an illness away, in the promise and in the params."""
    promised(confidence_cap={"columns": ["pay"], "exempt_above": 0.8})(files)
    told("illness", caps=None)(files)
    files.report["verification"]["checks"] = [
        check for check in files.report["verification"]["checks"] if check["name"] != "confidence_cap:illness"
    ]


FORGERIES: dict[str, tuple[Edit, str]] = {
    "caps as high as can be": (
        told("illness", caps=[["back", 0.9], ["cough", 0.9], ["flu", 0.9]]),
        "sensitive_values:",
    ),
    "a value exempt": (told("illness", caps=[["back", 0.6], ["cough", 0.66], ["flu", None]]), "sensitive_values:"),
    "no caps": (told("illness", caps=[]), "sensitive_values:"),
    "caps of numbers": (told("pay", caps=[[0.0, 0.9]]), "sensitive_values:"),
    "a cap above all": (told("illness", caps=[["flu", 1.0]]), "sensitive_columns"),
    "a cap that is none": (told("illness", caps=[["flu", True]]), "sensitive_columns"),
    "a value twice": (told("illness", caps=[["flu", 0.75], ["flu", 0.9]]), "sensitive_columns"),
    "numbers in no order": (told("pay", caps=[[9000.0, 0.6], [10.0, 0.55]]), "sensitive_columns"),
    "a narrow width": (told("pay", width=0.0), "sensitive_values:"),
    "a width that is no number": (told("pay", width=True), "sensitive_columns|documents"),
    "no width": (told("pay", width=None), "sensitive_columns"),
    "another tolerance": (told("pay", tolerance=0.001), "sensitive_values:"),
    "another alpha": (told("grade", alpha=1.0), "sensitive_columns"),
    "alpha of one promised": (promised(of_columns={"grade": {"alpha_k_anonymity": 1.0}}), "sensitive_columns"),
    "nothing asked of a column": (promised(of_columns=None), "sensitive_columns"),
    "no cap at all": (uncapped, "sensitive_columns"),
    "another list of marks": (at("params", "no_values", to=["flu"]), "sensitive_columns"),
    "no list of marks": (at("params", "no_values", to=[]), "sensitive_columns"),
    "another folding": (at("params", "folding", to="none"), "sensitive_columns"),
    "caps of a column that is not sensitive": (told("age", caps=[]), "sensitive_columns"),
    "an illness of all in one class": (
        both(at("report", "rows", "suppressed", to=0), lambda files: _all_ill(files)),
        "confidence_cap:",
    ),
}


def _all_ill(files: Files) -> None:
    """Make all rows of the first class those of one illness."""
    rows = files.table.to_pylist()
    key = [name for name in files.report["guarantee"]["parameters"]["quasi_identifiers"] if name in rows[0]]
    first = [rows[0][name] for name in key]
    cells = ["HIV" if [row[name] for name in key] == first else row["illness"] for row in rows]
    at_ = files.table.schema.get_field_index("illness")
    files.table = files.table.set_column(at_, "illness", pa.array(cells, pa.string()))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_sensitive_column_is_refused(original: Files, forgery: str, tmp_path: Path) -> None:
    """Caps, widths, marks and what is requested agree with the table, and with the promise."""
    refused(original, FORGERIES[forgery], tmp_path)


def test_a_release_of_the_first_version_is_not_called_checked(original: Files, tmp_path: Path) -> None:
    """It has a sensitive column, and does not say what counts as a value of it."""
    files = original.copy()
    del files.params["no_values"]
    with pytest.raises(UncheckedError, match="does not say what counts as a value"):
        anonkit.validate(files.write(tmp_path))


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
