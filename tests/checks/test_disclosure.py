"""The independent recount against a plain one in pandas.

The owner's count of whole sets of rows, and what a receiver can still see of it.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.checks.disclosure import fewest_alike, measure
from anonkit.checks.table_scans import columns_of
from anonkit.cli.summary import release_text
from anonkit.errors import EngineError, GuaranteeError, ReleaseFormatError
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


CELLS = st.sampled_from(["a", "b", "", None])
ROWS = st.lists(st.tuples(CELLS, CELLS, st.sampled_from([1.0, 2.0, 5.0, None])), min_size=1, max_size=40)
Row = tuple[str | None, str | None, float | None]


def _arrow(rows: list[Row], numeric: bool) -> pa.Table:
    q, r, s = (list(column) for column in zip(*rows, strict=True))
    if not numeric:
        s = [None if value is None else str(value) for value in s]
    text = pa.string()
    return pa.table(
        {"q": pa.array(q, text), "r": pa.array(r, text), "s": pa.array(s, pa.float64() if numeric else text)}
    )


def _plain(given_rows: list[Row], numeric: bool, missing_is_value: bool) -> dict[str, float]:
    """Recount with loops what the definitions of the papers say; missing is one more, largest value, or none."""
    rows = [(q, r, math.inf if s is None else s) for q, r, s in given_rows]
    values = sorted({s for _, _, s in rows if missing_is_value or s != math.inf})
    valued = [s for _, _, s in rows if s in values]
    overall = np.array([valued.count(v) for v in values]) / max(len(valued), 1)
    out = {"l": math.inf, "entropy_l": math.inf, "t": 0.0, "alpha": 0.0, "k": math.inf}
    for key in {row[:2] for row in rows}:
        out["k"] = min(out["k"], sum(row[:2] == key for row in rows))
        members = [s for *k, s in rows if tuple(k) == key and s in values]
        if not members:
            out |= {"l": 0, "entropy_l": 0, "t": 1.0}
            continue
        p = np.array([members.count(v) for v in values]) / len(members)
        out["l"] = min(out["l"], float((p > 0).sum()))
        out["entropy_l"] = min(out["entropy_l"], math.exp(-sum(x * math.log(x) for x in p if x)))
        gap = p - overall
        moved = np.abs(np.cumsum(gap)).sum() / max(len(values) - 1, 1) if numeric else np.abs(gap).sum() / 2
        out["t"] = max(out["t"], float(moved))
        out["alpha"] = max(out["alpha"], float(p.max()))
    return out


@settings(max_examples=80, deadline=None)
@given(ROWS, st.booleans(), st.booleans())
def test_the_recount_equals_the_definitions(rows: list[Row], numeric: bool, missing_is_value: bool) -> None:
    """k, l, entropy l, t (ordered and equal distance) and alpha are what their papers define."""
    declared = ["s"] if missing_is_value else []
    found = measure(_arrow(rows, numeric), ["q", "r"], sensitive=["s"], missing_is_value=declared)
    plain = _plain(rows, numeric, missing_is_value)

    assert found.k == plain["k"]
    for name in ("l", "entropy_l", "t", "alpha"):
        assert found.sensitive["s"][name] == pytest.approx(plain[name]), name


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(ROWS, st.booleans())
def test_columns_counted_together_are_counted_as_alone(rows: list[Row], missing_is_value: bool) -> None:
    """Rows alike in all columns are one line to the recount: what it says of one column does not change by another."""
    table = _arrow(rows, True)
    declared = ["r", "s"] if missing_is_value else []
    both = measure(table, ["q"], sensitive=["r", "s"], missing_is_value=declared)
    classes = measure(table, ["q"]).class_sizes
    for name in ("r", "s"):
        alone = measure(table, ["q"], sensitive=[name], missing_is_value=declared)
        assert both.sensitive[name] == alone.sensitive[name]
        assert both.class_sizes == alone.class_sizes == classes
    people = measure(table.append_column("u", pa.array(range(len(rows)))), ["q"], sensitive=["r"], unit="u")
    assert people.class_sizes == both.class_sizes


def test_missing_is_no_sensitive_value_unless_declared() -> None:
    """A class of hiv and missing discloses hiv for all with a value: l is 1, and 2 if missing is declared a value."""
    table = pa.table({"q": ["x"] * 10, "s": ["hiv"] * 9 + [None]})
    assert measure(table, ["q"], sensitive=["s"]).sensitive["s"]["l"] == 1
    assert measure(table, ["q"], sensitive=["s"]).sensitive["s"]["alpha"] == 1
    assert measure(table, ["q"], sensitive=["s"], missing_is_value=["s"]).sensitive["s"]["l"] == 2


def test_recursive_diversity_by_hand() -> None:
    """One class with counts 3, 2, 1: c must exceed 3 / 3 for l = 2 and 3 / 1 for l = 3."""
    table = pa.table({"q": ["x"] * 6, "s": ["a", "a", "a", "b", "b", "c"]})
    found = measure(table, ["q"], sensitive=["s"]).sensitive["s"]

    assert found["recursive_c_2"] == pytest.approx(1.0)
    assert found["recursive_c_3"] == pytest.approx(3.0)


def test_people_are_counted_once() -> None:
    """With a unit column a class of three rows of two people counts two."""
    table = pa.table({"q": ["x", "x", "x"], "who": [1, 1, 2]})
    found = measure(table, ["q"], unit="who")

    assert (found.k, found.people) == (3, 2)


def test_no_quasi_identifier_makes_one_class_and_no_row_makes_none() -> None:
    """The edges: everything dropped, nothing there."""
    table = pa.table({"q": pa.array(["x", "y"])})
    assert measure(table, []).k == 2
    assert measure(table.slice(0, 0), ["q"]).k == 0
    assert measure(table.slice(0, 0), []).rows == 0


def test_every_format_is_counted_alike(tmp_path: Path) -> None:
    """Parquet file, Parquet folder, CSV, compressed CSV and JSON Lines give the same classes."""
    frame = pd.DataFrame({"zip": ["01234"] * 3 + ["NA"] * 2 + ["1234"], "n": [1, 1, 1, 2, 2, 3]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    (tmp_path / "folder" / "part=a").mkdir(parents=True)
    pq.write_table(table, tmp_path / "x.parquet")
    pq.write_table(table, tmp_path / "folder" / "part=a" / "0.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "y.csv.gz", index=False)
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)

    for name in ("x.parquet", "folder", "x.csv", "y.csv.gz", "x.jsonl"):
        assert measure(tmp_path / name, ["zip", "n"]).class_sizes == ((1, 1), (2, 1), (3, 1)), name


def test_a_column_that_is_not_there_is_an_error_without_cells(tmp_path: Path) -> None:
    """DuckDB's message is replaced."""
    with pytest.raises(EngineError, match="recounting the table failed"):
        measure(pa.table({"q": ["MARKER"]}), ["nope"])


def test_risks_follow_from_the_class_sizes() -> None:
    """Prosecutor, journalist and marketer risk by hand: classes of 1 and 3 rows."""
    table = pa.table({"q": ["x", "y", "y", "y"]})
    risk = measure(table, ["q"]).to_dict(0.2)

    assert risk["prosecutor"] == {"max": 1.0, "mean": 0.5, "share_at_risk": 1.0, "risk_threshold": 0.2}
    assert risk["marketer"] == {"success_rate": 0.5}
    assert risk["uniques"] == 1


def test_a_file_that_is_no_table_is_an_error_without_cells(tmp_path: Path) -> None:
    """The error of a reader quotes cells; the message is replaced."""
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 MARKER")
    with pytest.raises(EngineError, match="cannot be read") as found:
        columns_of(path)
    assert "MARKER" not in str(found.value)


def test_diversity_of_no_row_is_none_and_of_some_classes_is_that_of_those() -> None:
    """Classes whose cells are all missing have no value to be diverse in, and the others are measured alone."""
    table = pa.table({"q": ["x", "x", "y", "y"], "s": ["a", "b", None, None]})
    found = measure(table, ["q"], sensitive=["s"]).sensitive["s"]
    assert found["l"] == 0
    assert measure(table.slice(0, 2), ["q"], sensitive=["s"]).sensitive["s"]["l"] == 2
    assert measure(table.slice(0, 0), ["q"], sensitive=["s"]).sensitive["s"]["l"] == 0


@pytest.mark.quick_cases("n", "people", "s0", "class")
@pytest.mark.parametrize("sensitive", ["class", "classes", "t", "n", "people", "unit", "s0", "q0", "value", "target"])
def test_columns_may_have_any_names(sensitive: str) -> None:
    """Also those that the counting has for itself, in every role: classes, values and people are the same."""
    other, whose = ("cells", "domain") if sensitive != "class" else ("s", "numbered")
    cells = {"a": [1, 1, 2, 2, 2], "b": ["x", "y", "x", "x", None], "c": [1, 2, 3, 4, 4]}

    def measured(names: dict[str, str]) -> Any:
        table = pa.table({names[name]: values for name, values in cells.items()})
        found = measure(table, [names["a"]], sensitive=[names["b"]], unit=names["c"], target=names["b"])
        assert found.uniform is not None
        return found.k, found.people, found.sizes, found.sensitive[names["b"]], found.uniform.share

    plain = measured({"a": "a", "b": "b", "c": "c"})
    assert measured({"a": other, "b": sensitive, "c": whose}) == plain
    assert measured({"a": sensitive, "b": whose, "c": other}) == plain
    assert measured({"a": whose, "b": other, "c": sensitive}) == plain


@pytest.mark.quick_cases("0.999-*", "0.3-gzip", "1.0-zstd")
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999, 1.0])
def test_a_compressed_file_is_counted_to_its_end_or_not_at_all(tmp_path: Path, compression: str, share: float) -> None:
    """Rows before a cut may be alike where the rows behind it are not: DuckDB before 2.0 counts them all the same."""
    rows = ["age,zip", *(f"{20 + at % 7},{at * 7919 % 1000003}" for at in range(3000)), "91,1"]
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, compression) as stream:
        stream.write("\n".join(rows).encode())
    whole = packed.getvalue().to_pybytes()
    path = tmp_path / f"in.csv.{'gz' if compression == 'gzip' else 'zst'}"
    path.write_bytes(whole[: int(len(whole) * share)])
    if share == 1:
        assert measure(path, ["age"]).k == 1
        return
    for look in (columns_of, lambda table: measure(table, ["age"])):
        with pytest.raises(EngineError, match=f"is not a whole {compression} file"):
            look(path)
    path.write_bytes(whole)
    assert measure(path, ["age"]).k == 1
