"""The report states the results of the checks as recomputed: verified ones, and those that need the source.

The labels that a descriptor explains: a cell has a label exactly where the explanation says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.forgeries import SMALL, Files, forged, verdict
from hypothesis import given
from hypothesis import strategies as st

import anonkit
from anonkit.checks import document_agreement
from anonkit.checks.document_agreement import label_lists, verification_checks, wrong_lists
from anonkit.k_anonymity import held_out_labels as writing
from anonkit.k_anonymity.held_out_labels import label_entries
from anonkit.promises.guarantee import Check
from anonkit.published.recoding import (
    CategoryAxis,
    GlobalRecoding,
    Grouping,
    IntervalAxis,
    LocalRecoding,
    Recoding,
    RecodingSplit,
    unique_labels,
)

KEY = "anonkit:labels"
AGES = IntervalAxis(name="age", cuts=(18, 30, 65), has_missing=True)
SHARES = IntervalAxis(name="share", cuts=(0.5, 1.0, 2.5e-7 + 1), has_missing=False)
JOBS = CategoryAxis(name="job", values=("clerk", "miner", "a|b"), has_other=True, has_missing=True)
CELLS = {
    "age": pa.array([17, 18, 29, 30, 64, 65, 100, None]),
    "share": pa.array([0.0, 0.5, 0.75, 1.0, 1.0000001, 1.1]),
    "job": pa.array(["clerk", "miner", "a|b", "pilot", None]),
}


@st.composite
def recodings(draw: st.DrawFn) -> tuple[Recoding, IntervalAxis | CategoryAxis]:
    """Draw a recoding of one column, of one level or two, or box by box."""
    axis = draw(st.sampled_from([AGES, SHARES, JOBS]))
    groups = draw(st.lists(st.integers(0, 2), min_size=axis.size, max_size=axis.size))
    if not draw(st.booleans()):
        names = [axis.label([at for at, one in enumerate(groups) if one == group]) for group in groups]
        labels = unique_labels(names, groups)
        coarser = (("*",) * axis.size,) if draw(st.booleans()) else None
        return GlobalRecoding(columns=(Grouping(axis=axis, labels=labels, coarser=coarser),)), axis
    first = tuple(at for at, group in enumerate(groups) if group == 0)
    second = tuple(at for at, group in enumerate(groups) if group == 1)
    nodes = (
        RecodingSplit(axis=0, left=first, children=(1, 2)),
        None,
        RecodingSplit(axis=0, left=second, children=(3, 4)),
        None,
        None,
    )
    return LocalRecoding(axes=(axis,), nodes=nodes, merged=draw(st.booleans())), axis


def says(entry: dict[str, Any], cell: Any, axis: IntervalAxis | CategoryAxis) -> bool:
    """Return whether an explanation covers a cell."""
    if "values" in entry:
        name = JOBS.missing_label if cell is None else cell if cell in JOBS.values else JOBS.other_label
        return name in entry["values"]
    low, high = entry.get("low"), entry.get("high")
    return cell is not None and (low is None or cell >= low) and (high is None or cell < high)


@given(recodings())
def test_a_released_label_covers_its_cell(made: tuple[Recoding, IntervalAxis | CategoryAxis]) -> None:
    """The explanation of every released label covers its cell; the check finds the same list."""
    recoding, axis = made
    params = {"recoding": recoding.to_dict(), "columns": [{"name": axis.name}]}
    entries = {entry["label"]: entry for entry in label_entries(params)[axis.name]}
    cells = CELLS[axis.name]
    shown, _ = recoding.apply(pa.record_batch({axis.name: cells}))
    for cell, label in zip(cells.to_pylist(), shown[axis.name].to_pylist(), strict=True):
        if label is not None and (cell is not None or "values" in entries[label]):
            assert says(entries[label], cell, axis)
    assert label_lists(params) == label_entries(params)


@given(recodings())
def test_a_cell_that_one_interval_covers_is_under_its_label(
    made: tuple[Recoding, IntervalAxis | CategoryAxis],
) -> None:
    """An explanation of one interval, or of values, covers no cell that is released under another label."""
    recoding, axis = made
    listed = label_entries({"recoding": recoding.to_dict(), "columns": [{"name": axis.name}]})[axis.name]
    shown, _ = recoding.apply(pa.record_batch({axis.name: CELLS[axis.name]}))
    pairs = list(zip(CELLS[axis.name].to_pylist(), shown[axis.name].to_pylist(), strict=True))
    labels = {label for _, label in pairs}
    for entry in listed:
        if entry["label"] in labels and "*" not in entry["label"] and entry["label"].count("|") == 0:
            covered = {label for cell, label in pairs if says(entry, cell, axis)}
            assert covered <= {entry["label"]}


def test_declared_groups_are_explained_by_all_they_hold() -> None:
    """A group of the policy is called by its name though a box holds a part of it; the explanation is the group's."""
    axis = IntervalAxis(name="age", cuts=(18, 30, 65), has_missing=False, named=(("adult", (1, 2)),))
    nodes = (
        RecodingSplit(axis=0, left=(0,), children=(1, 2)),
        None,
        RecodingSplit(axis=0, left=(1,), children=(3, 4)),
        None,
        None,
    )
    params = {"recoding": LocalRecoding(axes=(axis,), nodes=nodes).to_dict(), "columns": [{"name": "age"}]}
    assert label_entries(params)["age"][0] == {"label": "adult", "low": 18, "high": 65}
    assert label_lists(params) == label_entries(params)


def test_missing_cells_and_kept_columns_have_no_labels() -> None:
    """A box of missing cells alone shows an empty cell; a column that is kept shows its own values."""
    nodes = (RecodingSplit(axis=0, left=(4,), children=(1, 2)), None, None)
    boxes = {"recoding": LocalRecoding(axes=(AGES,), nodes=nodes).to_dict(), "columns": [{"name": "age"}]}
    assert [entry["label"] for entry in label_lists(boxes)["age"]] == ["*"]
    kept = {"recoding": {"kind": "global", "columns": [{"name": "job", "kind": "kept"}]}, "columns": [{"name": "job"}]}
    assert label_lists(kept) == label_entries(kept) == {}
    assert label_lists(boxes) == label_entries(boxes)


def test_what_json_would_round_stays_a_text() -> None:
    """Dates are texts, and so are integers and decimals of more digits than readers of JSON keep."""
    axis = {"name": "x", "kind": "intervals", "missing": False}
    cuts = {
        "2020-02-01": "2020-02-01",
        "0.1": 0.1,
        "-3": -3,
        str(2**53 + 1): str(2**53 + 1),
        "0.12345678901234567891": "0.12345678901234567891",
    }
    for text, number in cuts.items():
        column = {**axis, "cuts": [text], "labels": [f"< {text}", f">= {text}"]}
        params = {"recoding": {"kind": "global", "columns": [column]}, "columns": [{"name": "x"}]}
        (below, above) = label_lists(params)["x"]
        assert (below["high"], above["low"]) == (number, number)
        assert type(below["high"]) is type(number)
        assert label_lists(params) == label_entries(params)


def test_places_and_long_lists_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of a map are outlined in the params; a column whose labels would fill pages has its recoding alone."""
    labels = AGES.label([0]), *[AGES.label([1, 2, 3])] * 3, None
    recoding = {"kind": "global", "columns": [{**AGES.to_dict(), "labels": list(labels)}]}
    plain = {"recoding": recoding, "columns": [{"name": "age"}]}
    assert len(label_lists(plain)["age"]) == len(label_entries(plain)["age"]) == 2
    place = {"recoding": recoding, "columns": [{"name": "age", "place": {}}]}
    assert label_lists(place) == label_entries(place) == {}
    monkeypatch.setattr(document_agreement, "_MOST_LISTED", 1)
    monkeypatch.setattr(writing, "MOST_LISTED", 1)
    assert label_lists(plain) == label_entries(plain) == {}
    assert label_lists({}) == label_entries({}) == {}


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory, small_customers: pa.Table) -> Files:
    """A release that explains its labels, in memory."""
    output = tmp_path_factory.mktemp("true") / "out.parquet"
    asked = {"target": "customer_value", "output": output, "ledger": None}
    anonkit.release(small_customers, method="mondrian", **asked, **SMALL["mondrian"])
    return Files.read(output)


def _fields(files: Files) -> list[dict[str, Any]]:
    return [field for field in files.descriptor["resources"][0]["schema"]["fields"] if KEY in field]


def another_bound(files: Files) -> None:
    """Let an interval reach one further."""
    entry = next(entry for field in _fields(files) for entry in field[KEY] if entry.get("high") is not None)
    entry["high"] += 1


def another_value(files: Files) -> None:
    """Let a set of categories have one value less."""
    next(entry for field in _fields(files) for entry in field[KEY] if len(entry.get("values", ())) > 1)["values"].pop()


def no_explanation(files: Files) -> None:
    """Leave out what one column means."""
    del _fields(files)[0][KEY]


@pytest.mark.slow_cases("another_bound")
@pytest.mark.parametrize("edit", [another_bound, another_value, no_explanation])
def test_an_explanation_that_the_recoding_contradicts_is_refused(explained: Files, edit: Any, tmp_path: Path) -> None:
    """The receiver reads labels by the descriptor: `validate` compares it with the recoding."""
    assert verdict(forged(explained, lambda files: None, tmp_path)) == (0, ())
    assert verdict(forged(explained, edit, tmp_path)) == (1, ("descriptor",))


def test_releases_of_earlier_versions_explain_nothing(explained: Files) -> None:
    """Without any explanation there is nothing to compare."""
    fields = explained.descriptor["resources"][0]["schema"]["fields"]
    assert wrong_lists(fields, explained.params) == 0
    bare = [{key: value for key, value in field.items() if key != KEY} for field in fields]
    assert wrong_lists(bare, explained.params) == 0
    assert wrong_lists([*bare[:1], *fields[1:]], explained.params) == (KEY in fields[0])


MADE = Check(name="k_anonymity", passed=True, observed=10, required=10)
JOINT = {"name": "joint_k", "passed": True, "observed": "10 or more", "required": 10}


def verified(*stated: dict[str, Any]) -> Check:
    """The verdict on a report that states these checks."""
    report = {"verification": {"checks": [MADE.to_dict(), *stated]}}
    (found,) = verification_checks(report, [MADE], ("joint_k",))
    return found


@pytest.mark.parametrize("observed", ["10 or more", 10, 11])
def test_a_check_of_the_source_has_reached_what_it_required(observed: object) -> None:
    """The margin is not always published."""
    assert verified({**JOINT, "observed": observed}).passed


@pytest.mark.parametrize("change", [{"observed": 9}, {"passed": False}, {"name": "other"}, {"more": 1}])
def test_a_check_of_the_source_that_says_otherwise_fails(change: dict[str, Any]) -> None:
    """Below what it required, failed, of another name, or with a key too many."""
    assert not verified({**JOINT, **change}).passed


def test_a_check_that_occurs_twice_or_is_invented_fails() -> None:
    """Every check that is made is there once, as it comes out now."""
    assert verified().passed
    assert not verified(MADE.to_dict()).passed
    other = {**MADE.to_dict(), "observed": 12}
    (found,) = verification_checks({"verification": {"checks": [other]}}, [MADE], ())
    assert found.observed == 1
