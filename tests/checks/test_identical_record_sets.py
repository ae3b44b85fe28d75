"""The owner's count of whole sets of rows, and what a receiver can still see of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.checks.identical_record_sets import fewest_alike
from anonkit.cli.summary import release_text
from anonkit.errors import GuaranteeError, ReleaseFormatError
from anonkit.k_anonymity.search.shared_sets import SharedSets
from anonkit.ledger.account import Account
from anonkit.methods import make_method
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.release_space import Output
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import PersonRows
from anonkit.promises.anonymous_classes import ALL_ROWS, ONE_ROW, KAnonymity
from anonkit.promises.promise_kinds import read_promise
from anonkit.report.promise_words.class_words import ClassWords
from tests.checks.forgeries import Files, forged

CELL = st.sampled_from(["a", "b", None])


def released(folder: Path, *, whole: bool, alone: bool = False) -> Path:
    """Release 40 people with two rows each under one reading or the other; return the data file."""
    rows = [
        {"who": person, "age": 20 + person % 4, "ward": "ab"[(person // 4 + visit) % 2], "y": "yn"[person % 2]}
        for person in range(40)
        for visit in (0, 1)
    ]
    rows += [{"who": 40, "age": 20, "ward": "a", "y": "y"}] * (2 if alone else 0)
    rows += [{"who": 40, "age": 21, "ward": "b", "y": "y"}] * (2 if alone else 0)
    columns = {"who": Column(name="who", role=Role.UNIT), "y": Column(name="y", role=Role.TARGET)}
    asked = ReleaseRequest(
        method=make_method("rfka", {"k": 3, "trees": 10}, None),
        policy=Policy(columns=columns, person_rows=PersonRows(whole_set=whole)),
        output=Output.at(folder / "out.parquet"),
        account=Account(ledger=None),
        utility=False,
    )
    release_table(pa.Table.from_pylist(rows), asked)
    return folder / "out.parquet"


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 4), CELL, CELL), min_size=1, max_size=14))
def test_it_counts_as_counting_by_hand_does(rows: list[tuple[int, str | None, str | None]]) -> None:
    """The fewest people with one multiset of combinations, missing being a value, are those found by hand."""
    sets: dict[int, Counter[Any]] = {}
    for person, *cells in rows:
        sets.setdefault(person, Counter())[tuple(cells)] += 1
    by_hand = min(Counter(frozenset(held.items()) for held in sets.values()).values())
    table = pa.table(
        {
            "who": [r[0] for r in rows],
            "a": pa.array([r[1] for r in rows], pa.string()),
            "b": pa.array([r[2] for r in rows], pa.string()),
        }
    )

    assert fewest_alike(table, ["a", "b"], "who") == by_hand


def test_without_columns_numbers_of_rows_are_counted_and_rows_of_nobody_are_none_alike() -> None:
    """Two people with one row and one with two: 1 is the fewest; a row of nobody makes it 0, and so does no row."""
    assert fewest_alike(pa.table({"who": [1, 2, 3, 3]}), [], "who") == 1
    assert fewest_alike(pa.table({"who": [1, None]}), [], "who") == 0
    assert fewest_alike(pa.table({"who": pa.array([], pa.int64())}), [], "who") == 0


def test_a_release_says_who_counted_and_validates(tmp_path: Path) -> None:
    """The report has the check with k; a receiver's validation demands that entry, and repeats what it can."""
    data = released(tmp_path, whole=True)
    checks = {check["name"]: check for check in anonkit.load(data).report["verification"]["checks"]}
    validation = anonkit.validate(data)

    assert checks["k_anonymity_whole_sets"]["observed"] >= 3
    assert validation.passed
    assert {"whole_sets_counted_by_owner", "k_anonymity_people"} <= {check.name for check in validation.checks}
    assert "k_anonymity_whole_sets" in validation.uncountable


@pytest.mark.parametrize("required", [None, 2])
def test_without_the_owners_count_the_promise_is_refused(tmp_path: Path, required: int | None) -> None:
    """A report that promises whole sets and has no such check, or one for a smaller k, does not validate."""
    data = released(tmp_path, whole=True)

    def edit(files: Files) -> None:
        checks = files.report["verification"]["checks"]
        kept = [check for check in checks if required or check["name"] != "k_anonymity_whole_sets"]
        files.report["verification"]["checks"] = [
            {**check, "required": required} if check["name"] == "k_anonymity_whole_sets" else check for check in kept
        ]

    again = forged(Files.read(data), edit, tmp_path)

    assert "whole_sets_counted_by_owner" in {check.name for check in anonkit.validate(again).checks if not check.passed}


def test_one_row_known_is_said_everywhere(tmp_path: Path) -> None:
    """The weak reading names itself in statement, unit, assumptions and limits, and has no check of whole sets."""
    data = released(tmp_path, whole=False)
    report = anonkit.load(data).report
    promise = report["guarantee"]

    assert "only one row of a person is taken to be known" in promise["statement"]
    assert promise["parameters"]["rows_known"] == ONE_ROW
    assert "of whom one row is known" in promise["unit"]
    assert any("one row of a person" in text for text in promise["assumptions"])
    assert any("protected one by one" in text for text in promise["not_protected"])
    assert "k_anonymity_whole_sets" not in {check["name"] for check in report["verification"]["checks"]}
    assert anonkit.validate(data).passed


def test_a_promise_is_read_back_and_a_strange_word_is_damage() -> None:
    """Blocks of both readings come back as they were; another word for what is known is refused."""
    for known in (None, ONE_ROW, ALL_ROWS):
        promise = KAnonymity(k=3, quasi_identifiers=("a",), unit="who", rows_known=known)
        assert KAnonymity.from_dict(promise.to_dict()) == promise
    block = KAnonymity(k=3, quasi_identifiers=("a",), unit="who", rows_known=ALL_ROWS).to_dict()
    block["parameters"]["rows_known"] = "some"
    with pytest.raises(ReleaseFormatError):
        read_promise(block)


def test_the_risk_that_is_shown_is_that_of_the_promise(tmp_path: Path) -> None:
    """Page, owner's page and terminal give the risk by all rows, from the owner's count, beside that by one row."""
    release = anonkit.load(released(tmp_path, whole=True))
    alike = next(
        c["observed"] for c in release.report["verification"]["checks"] if c["name"] == "k_anonymity_whole_sets"
    )
    figures = {said: figure for figure, said in ClassWords().figures(release.report)}
    told = " ".join(release_text(release).split())

    assert figures["highest risk by all rows of a person"] == f"1 in {alike}"
    assert "highest risk of re-identification by one row" in figures
    assert f"1 in {alike} at most: the chance to re-identify a person by all rows together" in told


def test_a_method_that_forgets_whole_sets_is_refused_by_the_recount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were nobody left out for a rare set, and every cut taken for allowed, nothing would be written."""
    monkeypatch.setattr(SharedSets, "gone", lambda self, partition: np.zeros(partition.classes.size, dtype=bool))
    with pytest.raises(GuaranteeError, match="k_anonymity_whole_sets is 1, 3 was required"):
        released(tmp_path, whole=True, alone=True)

    assert not list(tmp_path.glob("out.*"))


def test_params_that_hide_that_rows_were_left_out_are_refused(tmp_path: Path) -> None:
    """The joint view rests on that word: a release of whole sets without it, or with another, does not validate."""
    original = Files.read(released(tmp_path, whole=True))
    for at, word in enumerate((None, "all")):
        (tmp_path / str(at)).mkdir()

        def edit(files: Files, word: str | None = word) -> None:
            files.params.pop("rows_of_people") if word is None else files.params.update(rows_of_people=word)

        again = forged(original, edit, tmp_path / str(at))
        assert "suppression" in {check.name for check in anonkit.validate(again).checks if not check.passed}
