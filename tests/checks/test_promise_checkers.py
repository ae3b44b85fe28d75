"""Releases of drawn rows: delta by a second hand, and what is forged in their files is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from checks.drawn_tables import EASY, POLICY, UNTARGETED, people
from checks.forgeries import Edit, Files, forged, verdict

import anonkit
from anonkit.checks.promise_checkers import _wrong_cuts
from anonkit.promises.approximate_dp import AnonymousDP

ONE, WORDS = 1 << 52, 1 << 32


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A release with a target."""
    out = tmp_path_factory.mktemp("drawn") / "out.parquet"
    anonkit.release(people(), policy=POLICY, output=out, **EASY)
    return Files.read(out)


def test_the_release_itself_validates(release: Files, tmp_path: Path) -> None:
    """With what it shows as it has to be: a group of the tree, and whether the score is high."""
    assert verdict(release.write(tmp_path)) == (0, ())
    shown = {entry["name"]: entry["action"] for entry in release.report["columns"] if entry["action"] != "dropped"}
    assert shown == {"job": "generalized", "score": "generalized", "ill": "kept"}
    assert set(release.table.column("score").to_pylist()) == {"< 40", ">= 40"}


def test_a_release_without_a_target_validates_for_other_columns_too(tmp_path: Path) -> None:
    """And for a k of the reader's own."""
    out = tmp_path / "out.parquet"
    made = anonkit.release(people(), policy=UNTARGETED, output=out, **EASY)
    names = made.to_arrow().column_names
    assert "ill" not in names
    assert anonkit.validate(out).passed
    assert anonkit.validate(out, quasi_identifiers=names[:1], k=5).passed
    assert not anonkit.validate(out, k=100_000).passed


def _claim(**parameters: Any) -> Edit:
    """Let the promise, the budget and the method state other figures, with all sentences made anew."""

    def edit(files: Files) -> None:
        block = files.report["guarantee"]
        block = {**block, "parameters": {**block["parameters"], **parameters}}
        files.report["guarantee"] = AnonymousDP.from_dict(block).to_dict()
        for name in {"epsilon", "delta"} & parameters.keys():
            files.report["budget"][name] = parameters[name]
        for name in {"epsilon", "delta", "k"} & parameters.keys():
            files.report["method"]["parameters"][name] = parameters[name]
            files.params["method_parameters"][name] = parameters[name]

    return edit


def _draw(**facts: Any) -> Edit:
    return lambda files: files.params["draw"].update(facts)


def _choice(**facts: Any) -> Edit:
    return lambda files: files.params["choice"].update(facts)


def _column(name: str) -> Callable[[Files], dict[str, Any]]:
    return lambda files: next(one for one in files.params["recoding"]["columns"] if one["name"] == name)


def _without_most_of_a_class(files: Files) -> None:
    rows = files.table.to_pylist()
    one = [at for at, row in enumerate(rows) if row == rows[0]]
    files.table = pa.Table.from_pylist([row for at, row in enumerate(rows) if at not in one[3:]])
    files.report["rows"]["out"] = files.table.num_rows


def _relabelled(name: str, value: str) -> Edit:
    def edit(files: Files) -> None:
        at = files.table.column_names.index(name)
        files.table = files.table.set_column(at, name, pa.array([value] * files.table.num_rows))

    return edit


FORGERIES: dict[str, tuple[Edit, str]] = {
    "a smaller epsilon": (_claim(epsilon=1.0), "epsilon"),
    "a smaller delta": (_claim(delta=1e-12), "delta"),
    "a larger k": (_claim(k=400), "alike_rows"),
    "a smaller k": (_claim(k=2), "draw"),
    "people": (_claim(unit_column="who"), "draw"),
    "several rows of a person": (_claim(rows_per_unit=2), "draw"),
    "more rows drawn": (lambda files: _draw(sampled=files.params["draw"]["sampled"] * 3 // 2)(files), "delta"),
    "a stated delta below what it is": (_draw(delta=0.0), "delta"),
    "a draw that cost less": (_draw(rate=ONE), "draw"),
    "coins of another size": (_draw(sampled_of=1 << 31), "draw"),
    "a figure more": (_draw(rows=1280), "draw"),
    "a choice that cost less": (_choice(rate=1), "draw"),
    "a choice by another mechanism": (_choice(mechanism="discrete-laplace"), "draw"),
    "a choice that was made twice": (_choice(times=2), "epsilon"),
    "a score that moves less": (_choice(sensitivity=1), "draw"),
    "a choice that says it was free": (_choice(epsilon=0.0), "draw"),
    "a choice at a level": (_choice(level=1), "draw"),
    "a choice that ends a path": (_choice(ends_path=True), "draw"),
    "a choice of something else": (_choice(purpose="noise"), "draw"),
    "a figure more of the choice": (_choice(rows=1280), "draw"),
    "a budget that says less of the draw": (
        lambda files: files.report["budget"]["per_attribute"][1].update(epsilon=0.01), "budget_lines"),
    "a budget without the choice": (lambda files: files.report["budget"]["per_attribute"].pop(0), "budget_lines"),
    "a budget of levels": (
        lambda files: files.report["budget"]["per_level"].append({"level": 0, "epsilon": 0.1}), "budget_lines"),
    "a budget of other names": (
        lambda files: files.report["budget"]["per_attribute"][0].update(name="which rows are drawn"), "budget_lines"),
    "a column that says it is shown in full": (lambda files: files.columns("job").update(detail="full"), "actions"),
    "another unit of epsilon": (_choice(rate_unit="2**-60"), "draw"),
    "rows that are gone": (_without_most_of_a_class, "alike_rows"),
    "a target nobody declared": (_relabelled("ill", "perhaps"), "domain:ill"),
    "a label nobody declared": (_relabelled("score", "[3, 4)"), "domain:score"),
    "a cut beyond the bounds": (lambda files: _column("score")(files).update(cuts=["70"]), "cuts:score"),
    "other values": (lambda files: _column("job")(files)["values"].reverse(), "values:job"),
    "how many rows there were": (lambda files: files.report["rows"].update(drawn=640), "rows"),
    "a column more in the recoding": (
        lambda files: files.params["recoding"]["columns"].append({"name": "sex", "kind": "kept"}),
        "columns",
    ),
    "a column less in the params": (lambda files: files.params["columns"].pop(0), "columns"),
    "a column that was kept": (lambda files: files.columns("job").update(action="kept"), "actions"),
    "fewer columns that may be known": (_claim(quasi_identifiers=["job"]), "columns"),
    "other sizes of classes": (
        lambda files: files.report["disclosure_risk"]["class_sizes"].pop(),
        "class_sizes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_release_is_refused(name: str, release: Files, tmp_path: Path) -> None:
    """All files and hashes rewritten: the check that is there for it fails."""
    edit, check = FORGERIES[name]
    code, failed = verdict(forged(release, edit, tmp_path))
    assert code != 0
    assert check in failed


def test_nonsense_in_the_params_is_a_damaged_file(release: Files, tmp_path: Path) -> None:
    """No crash, and no verdict."""
    code, failed = verdict(forged(release, _draw(sampled="many"), tmp_path))
    assert code != 0
    assert failed


@pytest.mark.parametrize(
    ("cuts", "high", "wrong"),
    [
        ((10, 20, 30), 40, 0),
        ((10, 20, 35), 40, 1),
        ((10, 20), 60, 1),
        ((20, 10), 40, 1),
        ((-5,), 40, 1),
        ((7,), 40, 0),
    ],
)
def test_cuts_are_multiples_of_one_width_between_the_bounds(cuts: tuple[int, ...], high: int, wrong: int) -> None:
    """A gap of another width, an end that is further than a width, cuts in no order, and a cut outside are counted."""
    assert _wrong_cuts([Fraction(cut) for cut in cuts], (0, high)) == wrong
